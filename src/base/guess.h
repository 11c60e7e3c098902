// "Did you mean": the nearest of the words that would have been right.
#ifndef TESS_BASE_GUESS_H
#define TESS_BASE_GUESS_H

#include <stdbool.h>
#include <stddef.h>

enum { TESS_GUESS_WORD_CHARS = 128, TESS_GUESS_KNOWN_CHARS = 400 };

// The best guess so far and a list of everything that was offered.
typedef struct tess_guess {
    const char *wrong;
    size_t best_distance;
    char best[TESS_GUESS_WORD_CHARS];
    char known[TESS_GUESS_KNOWN_CHARS]; // "a, b, c", as many as fit
} tess_guess;

void tess_guess_init(tess_guess *guess, const char *wrong);
void tess_guess_offer(tess_guess *guess, const char *word, size_t length);
// Offers every word of "a|b|c".
void tess_guess_offer_all(tess_guess *guess, const char *words);
// Whether the best is near enough to be what was meant.
bool tess_guess_is_near(const tess_guess *guess);

#endif
