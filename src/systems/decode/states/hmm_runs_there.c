// Rows cut into runs that a device with its own memory takes side by side, a block of threads each.
#include "systems/decode/states/hmm_there.h"

// Rows of a run: few where that keeps a device busy, though each is guessed from many.
static const int64_t LEAST_ROWS = 64;
// Blocks of threads of an H200: two of small models on each of its multiprocessors.
static const int64_t BLOCKS_AT_ONCE = 132;
static const int64_t SMALL_BYTES = 96 << 10;

int64_t tess_de_hmm_runs_at_once(const tess_hmm_model *model)
{
    const int64_t bytes = model->n_scratch * (int64_t)sizeof(double) + model->there_bytes[0];
    return bytes <= SMALL_BYTES ? 2 * BLOCKS_AT_ONCE : BLOCKS_AT_ONCE;
}

// The rows of a part that are among first..end-1.
static int64_t rows_among(const tess_de_hmm_part *part, int64_t first, int64_t end, int64_t *begin)
{
    const int64_t stop = part->first + part->n_row;
    *begin = part->first > first ? part->first : first;
    return (stop < end ? stop : end) - *begin;
}

// Runs of so many rows of a part, where there are n_row in all.
static int64_t runs_of(const tess_de_hmm_cut *cut, int64_t n_row, int64_t n_mine)
{
    int64_t rows = (n_row + cut->at_once - 1) / cut->at_once;
    rows = rows < LEAST_ROWS ? LEAST_ROWS : rows;
    return cut->n_guess > 0 ? (n_mine + rows - 1) / rows : 1;
}

int64_t tess_de_hmm_count_runs(const tess_de_hmm_cut *cut, int64_t first, int64_t n_row)
{
    int64_t n = 0;
    for (int64_t i = 0; i < cut->n_part; i++) {
        int64_t begin;
        const int64_t n_mine = rows_among(&cut->parts[i], first, first + n_row, &begin);
        n += n_mine > 0 ? runs_of(cut, n_row, n_mine) : 0;
    }
    return n;
}

// Rows are counted from the first of all here.
static tess_hmm_run run_of(const tess_de_hmm_cut *cut, int64_t begin, int64_t n_mine, int64_t k,
                           int64_t n, bool is_edge)
{
    const int64_t from = n_mine * k / n;
    const int64_t to = n_mine * (k + 1) / n;
    const int64_t outside = cut->is_back ? n_mine - to : from;
    const bool is_first = cut->is_back ? k == n - 1 : k == 0;
    return (tess_hmm_run){.first = begin + from,
                          .n_row = to - from,
                          .n_guess = outside < cut->n_guess ? outside : cut->n_guess,
                          .begins = !is_first ? TESS_HMM_GUESSED
                                    : is_edge ? TESS_HMM_EDGE
                                              : TESS_HMM_CARRIED};
}

void tess_de_hmm_list_runs(const tess_de_hmm_cut *cut, int64_t first, int64_t n_row,
                           tess_hmm_run *runs)
{
    const int64_t end = first + n_row;
    for (int64_t i = 0; i < cut->n_part; i++) {
        const tess_de_hmm_part *part = &cut->parts[i];
        int64_t begin;
        const int64_t n_mine = rows_among(part, first, end, &begin);
        const int64_t n = n_mine > 0 ? runs_of(cut, n_row, n_mine) : 0;
        const bool is_edge = cut->is_back ? part->is_end && part->first + part->n_row <= end
                                          : part->is_start && part->first >= first;
        for (int64_t k = 0; k < n; k++) {
            *runs++ = run_of(cut, begin - first, n_mine, k, n, is_edge);
        }
    }
}
