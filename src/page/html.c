#include "page/html.h"

#include "base/ucs4.h"
#include "page/html_parts.h"

#include <string.h>

static bool is_control(char c)
{
    return ((unsigned char)c < ' ' && c != '\n' && c != '\t') || c == 127;
}

void tess_html_escape(tess_text *out, const char *text)
{
    for (const char *c = text; *c;) {
        const size_t n = tess_utf8_bytes(c);
        switch (*c) {
        case '<':
            tess_text_add(out, "&lt;");
            break;
        case '>':
            tess_text_add(out, "&gt;");
            break;
        case '&':
            tess_text_add(out, "&amp;");
            break;
        case '"':
            tess_text_add(out, "&quot;");
            break;
        default:
            // No page has control characters but the breaks of its lines, nor half a character of a
            // name that was cut.
            if (n == 0) {
                tess_text_add(out, "\xEF\xBF\xBD");
            } else {
                tess_text_append(out, is_control(*c) ? "?" : c, n);
            }
        }
        c += n > 0 ? n : 1;
    }
}

void tess_html_escaped(tess_html *html, const char *text)
{
    tess_html_escape(&html->text, text);
}

void tess_html_element(tess_text *text, const char *tag, const char *content)
{
    tess_text_printf(text, "<%s>", tag);
    tess_html_escape(text, content);
    tess_text_printf(text, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}
