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

tess_ar_unit tess_ar_unit_of(int32_t type)
{
    switch (type) {
    case TESS_AUTOREJECT_MAG:
        return (tess_ar_unit){"fT", 1e15};
    case TESS_AUTOREJECT_GRAD:
        return (tess_ar_unit){"fT/cm", 1e13};
    case TESS_AUTOREJECT_HBO:
    case TESS_AUTOREJECT_HBR:
        return (tess_ar_unit){"\302\265M", 1e6}; // micro sign in UTF-8
    default:
        return (tess_ar_unit){"\302\265V", 1e6};
    }
}

double tess_ar_bad_share(const tess_autoreject_log_info *log, int64_t channel)
{
    int64_t n = 0;
    for (int64_t e = 0; e < log->n_epoch; e++) {
        n += log->labels[e * log->n_chan + channel] > 0;
    }
    return log->n_epoch > 0 ? (double)n / (double)log->n_epoch : 0;
}
