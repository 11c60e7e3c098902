#include "systems/decode/events/page.h"

#include <stdarg.h>
#include <stdio.h>

void tess_de_events_say(tess_de_events_page *p, const char *format, ...)
{
    char text[700];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tess_html_paragraph(&p->html, text);
}

const char *tess_de_event_score_words(int32_t score)
{
    static const char *const words[TESS_DECODE_EVENT_N_SCORE] = {
        "weighted correlation", "line fit", "distance",  "net distance",
        "largest jump",         "coverage", "sharpness", "speed"};
    return words[score];
}
