#include "systems/xpcs/report/page.h"

#include <stdio.h>

void tess_xp_printf(tess_html *html, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tess_html_escaped(html, text);
}
