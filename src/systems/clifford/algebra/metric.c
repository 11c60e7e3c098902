// Metrics as text.
#include "base/status.h"
#include "tessera/clifford/algebra.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    const char *signs;
} named[] = {{"pga", "0+++"}, {"sta", "+---"}, {"cga", "++++-"}};

// n symbols of the same square behind the others.
static int append(tess_clifford_metric *metric, int n, int square)
{
    if (n < 0 || n > TESS_CLIFFORD_MAX_SYMBOLS - metric->n_symbol) {
        return 0;
    }
    memset(metric->square + metric->n_symbol, square, (size_t)n);
    metric->n_symbol += n;
    return 1;
}

static int read_signs(const char *text, tess_clifford_metric *metric)
{
    for (; *text; text++) {
        const char *known = strchr("-0+", *text);
        if (!known || !append(metric, 1, (int)(known - "-0+") - 1)) {
            return 0;
        }
    }
    return metric->n_symbol > 0;
}

// "3,0,1", "Cl(3,0,1)", "p3m0n1"; what is left out is 0.
static int read_counts(const char *text, tess_clifford_metric *metric)
{
    int n[3] = {0, 0, 0};
    int end = 0;
    const size_t length = strlen(text);
    const char *const forms[] = {"Cl(%1d,%1d,%1d)%n", "Cl(%1d,%1d)%n", "cl(%1d,%1d,%1d)%n",
                                 "cl(%1d,%1d)%n",     "%1d,%1d,%1d%n", "%1d,%1d%n",
                                 "p%1dm%1dn%1d%n",    "p%1dm%1d%n"};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        end = 0;
        n[2] = 0;
        // Forms of two counts leave their %n to the third pointer.
        if (f % 2 == 0) {
            (void)sscanf(text, forms[f], &n[0], &n[1], &n[2], &end);
        } else {
            (void)sscanf(text, forms[f], &n[0], &n[1], &end);
        }
        if (end > 0 && (size_t)end == length) {
            return append(metric, n[2], 0) && append(metric, n[0], 1) && append(metric, n[1], -1) &&
                   metric->n_symbol > 0;
        }
    }
    return 0;
}

tess_status tess_clifford_metric_parse(const char *text, tess_clifford_metric *metric)
{
    if (!text || !metric) {
        TESS_FAIL(TESS_E_ARGUMENT, "clifford: text and metric must not be NULL");
    }
    const char *signs = text;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (strcmp(text, named[i].name) == 0) {
            signs = named[i].signs;
        }
    }
    tess_clifford_metric made = {0};
    tess_clifford_metric counted = {0};
    if (read_signs(signs, &made)) {
        *metric = made;
        return TESS_OK;
    }
    if (read_counts(text, &counted)) {
        *metric = counted;
        return TESS_OK;
    }
    TESS_FAIL(TESS_E_ARGUMENT,
              "signature: '%s' is none; give the squares of 1 to %d symbols such as +++ or 0+++, "
              "counts of plus, minus and null symbols such as 3,0,1, or pga, sta, cga",
              text, TESS_CLIFFORD_MAX_SYMBOLS);
}

void tess_clifford_metric_text(const tess_clifford_metric *metric, char *text, size_t capacity)
{
    size_t n = 0;
    for (; n + 1 < capacity && n < (size_t)metric->n_symbol; n++) {
        text[n] = "-0+"[metric->square[n] + 1];
    }
    if (capacity > 0) {
        text[n] = '\0';
    }
}
