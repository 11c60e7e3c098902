// How many rows the guesses of a model go through, by how many of them were wrong.
//
// A wrong guess costs the rows that are done again; a long one costs its rows every time. So
// guesses grow where more than a few are wrong, and a model whose longest ones mostly are is not
// cut any more. A few wrong ones among the thousands of a long recording change nothing.
#ifndef TESS_SYSTEMS_DECODE_HMM_GUESSES_H
#define TESS_SYSTEMS_DECODE_HMM_GUESSES_H

#include <stdatomic.h>
#include <stdint.h>

enum { TESS_DE_MOST_DOUBLED = 3 }; // once more: guesses are made no more

typedef struct tess_de_hmm_guesses {
    _Atomic int64_t made; // since they last grew
    _Atomic int64_t wrong;
    _Atomic int64_t doubled;
} tess_de_hmm_guesses; // all zero: none yet

// Rows that a guess goes through; 0: the model is not cut.
int64_t tess_de_hmm_guess_rows(const tess_de_hmm_guesses *guesses);
// So many of so many rows were made, and so many of them were wrong. Calls may meet. Guesses of a
// chunk are all of one length: those that are shorter than what they grew to meanwhile say nothing
// of it.
void tess_de_hmm_note_guesses(tess_de_hmm_guesses *guesses, int64_t n_row, int64_t n_made,
                              int64_t n_wrong);

#endif
