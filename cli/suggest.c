// "Did you mean": the nearest known word by edit distance.

#include "opt.h"

#include <string.h>

enum { LONGEST_WORD = 63 };

// Insertions, deletions, substitutions and swaps of neighbours each cost one; swapped letters are
// the commonest slip, so they must not count as two.
static size_t edit_distance(const char *a, const char *b)
{
    const size_t n = strlen(a);
    const size_t m = strlen(b);
    unsigned char rows[3][LONGEST_WORD + 1];

    for (size_t j = 0; j <= m; j++) {
        rows[0][j] = (unsigned char)j;
    }
    for (size_t i = 1; i <= n; i++) {
        unsigned char *row = rows[i % 3];
        const unsigned char *above = rows[(i + 2) % 3];
        const unsigned char *two_above = rows[(i + 1) % 3];
        row[0] = (unsigned char)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned best = above[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U);
            best = above[j] + 1U < best ? above[j] + 1U : best;
            best = row[j - 1] + 1U < best ? row[j - 1] + 1U : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                two_above[j - 2] + 1U < best) {
                best = two_above[j - 2] + 1U;
            }
            row[j] = (unsigned char)best;
        }
    }
    return rows[n % 3][m];
}

// Whether the word is what stands between two dashes of a longer one.
static int is_part(const char *word, const char *candidate)
{
    const size_t length = strlen(word);

    for (const char *at = candidate; *at; at += strcspn(at, "-")) {
        at += *at == '-';
        if (length >= 3 && strcspn(at, "-") == length && strncmp(at, word, length) == 0) {
            return 1;
        }
    }
    return 0;
}

const char *suggest_nearest(const char *word, const char *const *candidates, int64_t n_candidate)
{
    const size_t length = strlen(word);
    size_t best = length / 3 + 1 < 2 ? 2 : length / 3 + 1;
    const char *nearest = NULL;

    for (int64_t i = 0; i < n_candidate && length <= LONGEST_WORD; i++) {
        if (strcmp(word, candidates[i]) == 0) {
            return candidates[i];
        }
        if (strlen(candidates[i]) > LONGEST_WORD) {
            continue;
        }
        // A word cut short is a likely slip too, however much is missing.
        const int is_start = length >= 2 && strncmp(word, candidates[i], length) == 0;
        size_t distance = is_start ? 1 : edit_distance(word, candidates[i]);
        // Half of what was meant: "offset" for "initial-d-offset".
        if (distance > 2 && is_part(word, candidates[i])) {
            distance = 2;
        }
        if (distance < best) {
            best = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}
