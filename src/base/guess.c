#include "base/guess.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MAX_COMPARED = 48 };

// Edit distance. Longer words are not compared.
static size_t distance(const char *a, const char *b)
{
    const size_t n_a = strlen(a);
    const size_t n_b = strlen(b);
    if (n_a > MAX_COMPARED || n_b > MAX_COMPARED) {
        return SIZE_MAX;
    }
    size_t row[MAX_COMPARED + 1];
    for (size_t j = 0; j <= n_b; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= n_a; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            const size_t shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replaced < shorter ? replaced : shorter;
        }
    }
    return row[n_b];
}

void tess_guess_init(tess_guess *guess, const char *wrong)
{
    *guess = (tess_guess){.wrong = wrong, .best_distance = SIZE_MAX};
}

// Whether the word is already in the list, as a whole word.
static bool is_known(const char *known, const char *word, size_t length)
{
    for (const char *at = strstr(known, word); at != NULL; at = strstr(at + 1, word)) {
        if ((at == known || at[-1] == ' ') && (at[length] == '\0' || at[length] == ',')) {
            return true;
        }
    }
    return false;
}

void tess_guess_offer(tess_guess *guess, const char *word, size_t length)
{
    char copy[TESS_GUESS_WORD_CHARS];
    snprintf(copy, sizeof copy, "%.*s", (int)length, word);
    const size_t d = distance(guess->wrong, copy);
    if (d < guess->best_distance) {
        guess->best_distance = d;
        memcpy(guess->best, copy, sizeof copy);
    }
    const size_t used = strlen(guess->known);
    if (used + strlen(copy) + 3 < sizeof guess->known &&
        !is_known(guess->known, copy, strlen(copy))) {
        snprintf(guess->known + used, sizeof guess->known - used, "%s%s", used ? ", " : "", copy);
    }
}

void tess_guess_offer_all(tess_guess *guess, const char *words)
{
    while (*words != '\0') {
        const size_t length = strcspn(words, "|");
        tess_guess_offer(guess, words, length);
        words += length + (words[length] == '|');
    }
}

bool tess_guess_is_near(const tess_guess *guess)
{
    return guess->best_distance <= 2 || guess->best_distance <= strlen(guess->best) / 3;
}
