// The page around what it reports: head, verdict, warnings, contents, footer.
#include "base/file.h"
#include "base/sha256.h"
#include "base/status.h"
#include "page/html_parts.h"

#include <stdio.h>
#include <string.h>

// JSON inside a comment: nothing in it ends the comment or looks like an element.
static void write_origin(tess_html *html, const tess_origin *given)
{
    tess_origin with_run = *given;
    char *origin = NULL;
    size_t bytes = 0;
    with_run.with_run = !html->ctx->is_beside;
    if (tess_origin_make(html->ctx, &with_run, &origin, &bytes) != TESS_OK) {
        html->head.no_memory = true;
        return;
    }
    tess_text_add(&html->head, "<!-- " TESS_ORIGIN_NAME " ");
    for (const char *c = origin; *c; c++) {
        const bool is_plain = *c != '<' && *c != '>' && !(*c == '-' && c > origin && c[-1] == '-');
        if (is_plain) {
            tess_text_append(&html->head, c, 1);
        } else {
            tess_text_printf(&html->head, "\\u%04x", (unsigned)*c);
        }
    }
    tess_text_add(&html->head, " -->\n");
    tess_heap_free(&html->ctx->heap, origin, bytes, TESS_TAG_RESULT);
}

// Nothing is loaded from anywhere, and only our script runs: it is named by its hash.
static void write_policy(tess_html *html)
{
    tess_sha256 hash;
    char digits[65];
    uint8_t bytes[32];
    tess_sha256_init(&hash);
    tess_sha256_add(&hash, tess_page_script, strlen(tess_page_script));
    tess_sha256_text(&hash, digits);
    for (int i = 0; i < 32; i++) {
        unsigned value = 0;
        sscanf(digits + 2 * i, "%2x", &value);
        bytes[i] = (uint8_t)value;
    }
    tess_text_add(&html->head, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                               "'none'; style-src 'unsafe-inline'; img-src data:; script-src "
                               "'sha256-");
    tess_base64(&html->head, bytes, sizeof bytes);
    tess_text_add(&html->head, "'\">\n");
}

void tess_html_begin(tess_html *html, tess_context *ctx, const tess_origin *origin,
                     const char *title)
{
    tess_html_begin_live(html, ctx, origin, title, 0);
}

void tess_html_begin_live(tess_html *html, tess_context *ctx, const tess_origin *origin,
                          const char *title, int refresh_s)
{
    *html = (tess_html){.ctx = ctx};
    tess_text *texts[] = {&html->text,     &html->head,     &html->badges,
                          &html->warnings, &html->contents, &html->footer};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tess_text_init(texts[i], &ctx->heap);
        tess_text_add(texts[i], "");
    }
    tess_text_add(&html->head,
                  "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
    write_policy(html);
    if (refresh_s > 0) {
        tess_text_printf(&html->head, "<meta http-equiv=\"refresh\" content=\"%d\">\n", refresh_s);
    }
    write_origin(html, origin);
    tess_html_element(&html->head, "title", title);
    tess_text_add(&html->head, "<style>");
    tess_text_add(&html->head, tess_page_style);
    tess_text_add(&html->head, "</style></head><body>\n<header>");
    tess_html_element(&html->head, "h1", title);
}

void tess_html_destroy(tess_html *html)
{
    tess_text *texts[] = {&html->text,     &html->head,     &html->badges,
                          &html->warnings, &html->contents, &html->footer};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tess_text_destroy(texts[i]);
    }
}

void tess_html_badge(tess_html *html, tess_html_grade grade, const char *text)
{
    static const char *const tags[] = {"span class=\"good\" title=\"good\"",
                                       "span class=\"check\" title=\"to be checked\"",
                                       "span class=\"bad\" title=\"bad\"", "span"};
    static const char *const signs[] = {"✓ ", "! ", "✗ ", ""};
    char line[512];
    snprintf(line, sizeof line, "%s%s", signs[grade], text);
    tess_html_element(&html->badges, tags[grade], line);
}

void tess_html_warning(tess_html *html, const char *text)
{
    html->n_warning++;
    tess_html_element(&html->warnings, "li", text);
}

void tess_html_warnings(tess_html *html, const char *lines)
{
    while (lines && *lines) {
        const size_t n = strcspn(lines, "\n");
        char line[1024];
        snprintf(line, sizeof line, "%.*s", n < sizeof line ? (int)n : (int)sizeof line - 1, lines);
        tess_html_warning(html, line);
        lines += n + (lines[n] == '\n');
    }
}

void tess_html_cite(tess_html *html, const char *text)
{
    tess_html_element(&html->footer, "h3", "How to cite");
    tess_html_element(&html->footer, "p", text);
}

void tess_html_provenance(tess_html *html, const char *text)
{
    tess_text_add(&html->footer, "<details><summary>Provenance</summary>");
    tess_html_element(&html->footer, "pre", text);
    tess_text_add(&html->footer, "</details>\n");
}

void tess_html_heading(tess_html *html, const char *heading)
{
    const int n = ++html->n_heading;
    tess_text_printf(&html->contents, "<li><a href=\"#s%d\">", n);
    tess_html_escape(&html->contents, heading);
    tess_text_add(&html->contents, "</a></li>\n");
    tess_text_printf(&html->text, "<h2 id=\"s%d\">", n);
    tess_html_escaped(html, heading);
    tess_text_add(&html->text, "</h2>\n");
}

void tess_html_subheading(tess_html *html, const char *heading)
{
    tess_html_element(&html->text, "h3", heading);
}

void tess_html_paragraph(tess_html *html, const char *text)
{
    tess_html_element(&html->text, "p", text);
}

void tess_html_code(tess_html *html, const char *code)
{
    tess_html_element(&html->text, "pre", code);
}

void tess_html_fold_begin(tess_html *html, const char *id, const char *summary, bool is_open)
{
    tess_text_add(&html->text, "<details");
    if (id) {
        tess_text_add(&html->text, " id=\"");
        tess_html_escaped(html, id);
        tess_text_add(&html->text, "\"");
    }
    tess_text_add(&html->text, is_open ? " open>" : ">");
    tess_html_element(&html->text, "summary", summary);
}

void tess_html_fold_end(tess_html *html)
{
    tess_text_add(&html->text, "</details>\n");
}

void tess_html_row_begin(tess_html *html)
{
    tess_text_add(&html->text, "<div class=\"row\">\n");
}

void tess_html_row_end(tess_html *html)
{
    tess_text_add(&html->text, "</div>\n");
}

// Everything between the title and the main part.
static void write_front(tess_html *html)
{
    tess_text *head = &html->head;
    if (html->badges.used > 0) {
        tess_text_add(head, "<p class=\"badges\">");
        tess_text_append(head, html->badges.chars, html->badges.used);
        tess_text_add(head, "</p>\n");
    }
    if (html->n_warning > 0) {
        tess_text_add(head, "<ul class=\"warnings\" aria-label=\"Warnings\">\n");
        tess_text_append(head, html->warnings.chars, html->warnings.used);
        tess_text_add(head, "</ul>\n");
    }
    tess_text_add(head, "</header>\n");
    if (html->n_heading > 1) {
        tess_text_add(head, "<nav><details open><summary>Contents</summary><ol>\n");
        tess_text_append(head, html->contents.chars, html->contents.used);
        tess_text_add(head, "</ol></details></nav>\n");
    }
    tess_text_add(head, "<main>\n");
}

tess_status tess_html_write(tess_html *html, const char *path, int overwrite)
{
    tess_text *texts[] = {&html->head,   &html->text,     &html->footer,
                          &html->badges, &html->warnings, &html->contents};
    const char *chars[6];
    write_front(html);
    tess_text_add(&html->text, "</main>\n<footer>\n");
    tess_text_add(&html->footer, "<p>Tessera " TESS_VERSION "</p></footer>\n<script>");
    tess_text_add(&html->footer, tess_page_script);
    tess_text_add(&html->footer, "</script></body></html>\n");
    for (int i = 0; i < 6; i++) {
        TESS_TRY(tess_text_finish(texts[i], &chars[i]));
    }
    // Piece by piece: the whole may be large.
    tess_temp_file file;
    TESS_TRY(tess_temp_file_create(path, 0666, &file));
    uint64_t at = 0;
    tess_status status = TESS_OK;
    for (int i = 0; i < 3 && status == TESS_OK; i++) {
        status = tess_file_write_at(file.fd, file.path, chars[i], texts[i]->used, at);
        at += texts[i]->used;
    }
    if (status != TESS_OK) {
        tess_temp_file_discard(&file);
        return status;
    }
    return tess_temp_file_commit(&file, overwrite);
}
