#include "systems/decode/report/page.h"

#include <stdarg.h>
#include <stdio.h>

void tess_de_page_say(tess_de_page *p, const char *format, ...)
{
    char text[700];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tess_html_paragraph(&p->html, text);
}

const char *tess_de_page_axis_name(const tess_de_page *p, int32_t axis)
{
    static const char *const names[] = {"x", "y", "z"};
    return p->view->n_axis > 1 ? names[axis] : "position";
}
