#include "systems/decode/states/hmm_guesses.h"

#include <stdbool.h>

static const int64_t FIRST_GUESS = 256; // rows: on recordings at hand 50 to 140 were enough
static const int64_t SHARE = 16;        // one wrong guess of so many is a few
static const int64_t NEVER_MANY = 3;    // nor are so many, unless most are wrong

int64_t tess_de_hmm_guess_rows(const tess_de_hmm_guesses *guesses)
{
    const int64_t doubled = atomic_load_explicit(&guesses->doubled, memory_order_relaxed);
    return doubled <= TESS_DE_MOST_DOUBLED ? FIRST_GUESS << doubled : 0;
}

void tess_de_hmm_note_guesses(tess_de_hmm_guesses *guesses, int64_t n_row, int64_t n_made,
                              int64_t n_wrong)
{
    if (n_row != tess_de_hmm_guess_rows(guesses)) {
        return;
    }
    const int64_t made = atomic_fetch_add(&guesses->made, n_made) + n_made;
    const int64_t wrong = atomic_fetch_add(&guesses->wrong, n_wrong) + n_wrong;
    int64_t doubled = atomic_load(&guesses->doubled);
    const bool most = 2 * wrong > made;
    const bool many = most || (SHARE * wrong > made && wrong > NEVER_MANY);
    const bool grows = doubled < TESS_DE_MOST_DOUBLED ? many : most;
    if (grows && atomic_compare_exchange_strong(&guesses->doubled, &doubled, doubled + 1)) {
        atomic_store(&guesses->made, 0);
        atomic_store(&guesses->wrong, 0);
    }
}
