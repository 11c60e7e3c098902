// Bytes inside a page.
#include "page/html_parts.h"
#include "runtime/pack.h"

enum { WORTH_PACKING = 256 };

void tess_base64(tess_text *out, const uint8_t *bytes, size_t n)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const uint32_t word = (uint32_t)bytes[i] << 16 |
                              (uint32_t)(i + 1 < n ? bytes[i + 1] : 0) << 8 |
                              (uint32_t)(i + 2 < n ? bytes[i + 2] : 0);
        const char text[4] = {alphabet[word >> 18], alphabet[word >> 12 & 63],
                              i + 1 < n ? alphabet[word >> 6 & 63] : '=',
                              i + 2 < n ? alphabet[word & 63] : '='};
        tess_text_append(out, text, 4);
    }
}

void tess_html_base64(tess_html *html, const uint8_t *bytes, size_t n)
{
    tess_base64(&html->text, bytes, n);
}

int tess_html_blob(tess_html *html, const void *bytes, size_t n)
{
    uint8_t *packed = NULL;
    size_t packed_bytes = 0;
    size_t room = 0;
    const int id = ++html->n_blob;
    if (n >= WORTH_PACKING &&
        tess_pack_memory(&html->ctx->heap, bytes, n, &packed, &packed_bytes, &room) != TESS_OK) {
        html->text.no_memory = true;
        return id;
    }
    const bool is_packed = packed && packed_bytes < n;
    tess_text_printf(&html->text, "<script type=\"application/octet-stream\" id=\"b%d\"%s>", id,
                     is_packed ? " data-packed" : "");
    tess_html_base64(html, is_packed ? packed : bytes, is_packed ? packed_bytes : n);
    tess_text_add(&html->text, "</script>\n");
    if (packed) {
        tess_heap_free(&html->ctx->heap, packed, room, TESS_TAG_IO);
    }
    return id;
}

void tess_html_json(tess_html *html, const char *attributes, const char *json)
{
    tess_text_printf(&html->text, "<script type=\"application/json\" %s>", attributes);
    for (const char *c = json; *c; c++) { // nothing in it ends the element
        tess_text_append(&html->text, *c == '<' ? "\\u003c" : c, *c == '<' ? 6 : 1);
    }
    tess_text_add(&html->text, "</script>\n");
}
