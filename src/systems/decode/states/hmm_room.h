// The inside of what parts of a chunk are worked on in.
#ifndef TESS_SYSTEMS_DECODE_HMM_ROOM_H
#define TESS_SYSTEMS_DECODE_HMM_ROOM_H

#include "systems/decode/states/hmm_model.h"
#include "systems/decode/states/hmm_parts.h"

enum {
    // Rows of a segment: many beside those it is guessed from, and few beside a stop.
    TESS_DE_LEAST_SEGMENT = TESS_DE_HMM_LEAST_ROWS,
    TESS_DE_MOST_SEGMENT = 4096,
    TESS_DE_GUESS_ROWS = 32, // that a guess goes through at once
    TESS_DE_AGAIN_ROWS = 64  // and what is done again
};

// Rows of a part that one thread takes.
typedef struct tess_de_hmm_segment {
    int64_t first;
    int64_t n_row;
    int64_t n_guess; // rows outside of it that the guess is made from; 0: it is known
    bool is_edge;    // of a sequence: its start, or for the smoother its end
} tess_de_hmm_segment;

struct tess_de_hmm_room {
    tess_blocks blocks;
    int64_t n_thread;
    int64_t n_segment; // at most, of a round
    tess_de_hmm_segment *segments;
    double *scratch;  // [n_thread][n_scratch]
    double *lane;     // [n_thread][n_scratch]
    double *ahead;    // [n_thread][ahead items of a segment]
    char *sink;       // [n_thread][GUESS_ROWS][N_s] rows that nobody wants
    double *unheard;  // [n_thread][GUESS_ROWS] their norms
    double *guesses;  // [n_segment][N_s] the filter: a row as kept; the smoother: widened
    double *ends;     // [n_segment][N_s] what comes behind the segment
    double *again;    // [N_s]
    char *row;        // [N_s] as kept
    double *log_norm; // [rows of a chunk]
    char *spare;      // [rows of a chunk][N_s] filtered rows; NULL: nothing is smoothed
};

// One call.
typedef struct tess_de_hmm_work {
    tess_context *ctx;
    tess_device *device;
    const tess_de_hmm *hmm;
    const tess_de_hmm_chunk *chunk;
    const double *initial;
    double *entering; // what the round's first segment begins with; then the next round's
    tess_de_hmm_room *room;
    int64_t n_segment; // of the round
    int64_t n_guess;   // rows that a guess goes through; 0: sequences are not cut
    size_t row_bytes;
} tess_de_hmm_work;

// hmm_rounds.c. Cuts parts into segments, in the order of time or against it, and gives them to
// fn, as many at once as there is room for.
typedef tess_status (*tess_de_hmm_round)(tess_de_hmm_work *work);
TESS_MUST_CHECK tess_status tess_de_hmm_rounds(tess_de_hmm_work *work,
                                               const tess_de_hmm_part *parts, int64_t n_part,
                                               bool is_back, tess_de_hmm_round fn);
// Whether there are several segments, by the rows that guesses of the call go through.
bool tess_de_hmm_is_cut(tess_de_hmm_work *work, const tess_de_hmm_part *parts, int64_t n_part,
                        bool is_back);

// Forecasts from a row of the chunk on, or NULL.
static inline double *tess_de_hmm_forecasts(const tess_de_hmm_work *work, int64_t row)
{
    double *all = work->chunk->forecasts;
    return all ? all + row * tess_hmm_forecast_width(&work->hmm->model) : NULL;
}

static inline void *tess_de_hmm_row(const tess_de_hmm_work *work, void *rows, int64_t row)
{
    return (char *)rows + (size_t)row * work->row_bytes;
}

#endif
