#include "systems/autoreject/report/page.h"

#include <string.h>

void tess_ar_page_name(tess_ar_page *page, const char *name)
{
    enum { LONGEST = 60 };
    char shown[LONGEST + 8];
    size_t n = 0;
    while (name[n] && n < LONGEST) {
        const unsigned char code = (unsigned char)name[n];
        shown[n++] = code < 0x20 || code == 0x7f ? '?' : (char)code;
    }
    if (name[n]) { // never in the middle of a character of UTF-8
        while (n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80) {
            n--;
        }
        memcpy(shown + n, "...", 3);
        n += 3;
    }
    shown[n] = '\0';
    tess_html_escaped(&page->html, shown);
}

double tess_ar_bad_share(const tess_autoreject_log_info *log, int64_t channel)
{
    int64_t n = 0;
    for (int64_t e = 0; e < log->n_epoch; e++) {
        n += log->labels[e * log->n_chan + channel] > 0;
    }
    return log->n_epoch > 0 ? (double)n / (double)log->n_epoch : 0;
}
