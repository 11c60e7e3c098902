// --data-filter: matrices by q, angle and quality, in a line.

#include "xpcs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct part {
    const char *text; // the whole option, for messages
    const char *at;
    size_t length;
} part;

static int starts_with(const part *p, const char *name)
{
    const size_t n = strlen(name);
    return p->length > n && strncmp(p->at, name, n) == 0;
}

static int is_word(const part *p, const char *word)
{
    return strlen(word) == p->length && strncmp(p->at, word, p->length) == 0;
}

static int refuse(const cli *c, const part *p)
{
    return cli_usage_error(c,
                           "--data-filter: '%.*s' in '%s' is none of q=MIN:MAX, phi=MIN:MAX, "
                           "quality=X, any and all-if-none",
                           (int)p->length, p->at, p->text);
}

// "MIN:MAX", either of which may be missing.
static int parse_ends(const cli *c, const part *p, const char *at, double *low, double *high)
{
    const char *const stop = p->at + p->length;
    char *end = NULL;
    *low = strtod(at, &end);
    *low = end == at ? (double)NAN : *low;
    if (end >= stop || *end != ':') {
        return refuse(c, p);
    }
    at = end + 1;
    *high = at < stop ? strtod(at, &end) : (double)NAN;
    if (at < stop && end != stop) {
        return refuse(c, p);
    }
    return isnan(*low) && isnan(*high) ? refuse(c, p) : 0;
}

static int parse_part(const cli *c, const part *p, tess_xpcs_data_filter *filter)
{
    char *end = NULL;
    if (starts_with(p, "q=")) {
        return parse_ends(c, p, p->at + 2, &filter->q_min, &filter->q_max);
    }
    if (starts_with(p, "phi=")) {
        return parse_ends(c, p, p->at + 4, &filter->phi_min, &filter->phi_max);
    }
    if (starts_with(p, "quality=")) {
        filter->quality_min = strtod(p->at + 8, &end);
        return end == p->at + p->length && filter->quality_min >= 0 && filter->quality_min <= 1
                   ? 0
                   : refuse(c, p);
    }
    filter->any |= is_word(p, "any");
    filter->fallback_all |= is_word(p, "all-if-none");
    return is_word(p, "any") || is_word(p, "all-if-none") ? 0 : refuse(c, p);
}

int xpcs_parse_filter(const cli *c, const char *text, tess_xpcs_data_filter *filter)
{
    *filter = (tess_xpcs_data_filter){.struct_size = sizeof *filter,
                                      .q_min = (double)NAN,
                                      .q_max = (double)NAN,
                                      .phi_min = (double)NAN,
                                      .phi_max = (double)NAN,
                                      .quality_min = (double)NAN};
    part p = {.text = text, .at = text};
    for (;;) {
        p.length = strcspn(p.at, ",");
        CLI_TRY(parse_part(c, &p, filter));
        if (p.at[p.length] == '\0') {
            return 0;
        }
        p.at += p.length + 1;
    }
}

static void put_ends(FILE *file, const char *name, double low, double high, int *n)
{
    if (isnan(low) && isnan(high)) {
        return;
    }
    fprintf(file, "%s%s=", (*n)++ ? "," : "", name);
    if (!isnan(low)) {
        fprintf(file, "%.17g", low);
    }
    fputc(':', file);
    if (!isnan(high)) {
        fprintf(file, "%.17g", high);
    }
}

int xpcs_write_filter(FILE *file, const xpcs_job *j)
{
    const tess_xpcs_data_filter *filter = j->data_config.filter;
    int n = 0;
    if (!filter) {
        return 0;
    }
    put_ends(file, "q", filter->q_min, filter->q_max, &n);
    put_ends(file, "phi", filter->phi_min, filter->phi_max, &n);
    if (!isnan(filter->quality_min)) {
        fprintf(file, "%squality=%.17g", n++ ? "," : "", filter->quality_min);
    }
    if (n > 0 && filter->any) {
        fputs(",any", file);
    }
    if (n > 0 && filter->fallback_all) {
        fputs(",all-if-none", file);
    }
    return n > 0;
}
