// The engine: a recording's rows through likelihood, filter and smoother, chunk by chunk.
//
//     forward   c = 0 .. n_chunk-1   likelihood -> filter -> filtered rows are kept
//     backward  c = n_chunk-1 .. 0   kept rows (or the forward step again, from the vector noted at
//                                    the chunk's first row) -> smoother; likelihood -> path scores
//     trace     c = 0 .. n_chunk-1   path scores (from those noted on the way back) -> path
//
// While a chunk is filtered a GPU has the likelihood of the next one, and rows of the one before go
// to their files (engine_ahead.c).
//
// Where a chunk ends changes no bit of any result. Rows are those of one sequence or of several,
// which a chunk may end, or hold many of.
#ifndef TESS_SYSTEMS_DECODE_ENGINE_H
#define TESS_SYSTEMS_DECODE_ENGINE_H

#include "base/hash.h"
#include "runtime/errand.h"
#include "runtime/watch.h"
#include "systems/decode/states/detector.h"
#include "systems/decode/states/hmm_parts.h"
#include "systems/decode/states/path_there.h"
#include "systems/decode/states/sequences.h"

// Rows of an array [n_time][width], wherever they lie. All zero: not wanted.
typedef struct tess_de_rows {
    int32_t dtype; // TESS_F32 or TESS_F64; 0: not wanted
    int32_t reserved;
    int64_t width;
    void *memory; // [n_time][width]; NULL: behind the calls
    void *there; // the same in the memory of the device that filters; then of the detector's dtype,
                 // f64 of states, and nothing of it is here
    void *self;
    tess_status (*read)(void *self, int64_t first, int64_t count, void *dst);
    tess_status (*write)(void *self, int64_t first, int64_t count, const void *src);
    // Rows that will not change any more; may be NULL.
    void (*settle)(void *self, int64_t first, int64_t count);
} tess_de_rows;

// Rows in memory, the host's or a device's; array NULL: not wanted.
void tess_de_rows_of_array(const tess_array *array, tess_de_rows *rows);
void tess_de_rows_of_memory(void *memory, int32_t dtype, int64_t width, tess_de_rows *rows);

typedef struct tess_de_engine_desc {
    tess_device *device; // by tess_de_engine_device()
    const tess_decode_detector *detector;
    const tess_decode_observation *observation; // only n_time is used with given_ll
    const double *design; // [n_time of the observation][n_coefficient] or NULL
    tess_de_sequences sequences;
    int64_t n_chunk;          // 0: from the memory limit
    int64_t chunk_rows;       // of a run that is resumed; 0: choose
    int32_t is_strict;        // what the process holds already counts against a limit somebody set
    int32_t smooth;           // go backwards even if no acausal rows are wanted: for next alone
    int32_t is_checked;       // kept rows may have been overwritten by an earlier process: they are
                              // checked, and made again from the boundary where they have
    int32_t likelihood_only;  // nothing is filtered; the evidence is NaN
    int32_t reuses_ll;        // tess_de_engine_reuse_likelihood() will be called
    int32_t is_divided;       // likelihoods are computed by all ranks
    int32_t is_for_all_ranks; // all of which have engines and come to the same rows
    tess_de_rows given_ll;    // [n_ll] known already
    tess_de_rows ll;          // [n_ll] out
    tess_de_rows acausal;     // [N_s]
    tess_de_rows causal;
    tess_de_rows predictive;
    tess_de_rows kept;    // [N_s] filtered rows, where neither acausal nor causal rows are of the
                          // detector's dtype; not wanted: recomputed on the way back
    tess_de_rows kept_ll; // [n_ll] the likelihood for the path, of the detector's dtype; not
                          // wanted: it is computed again on the way
    tess_de_rows path;    // [1] TESS_I64: the most likely path; wants nothing of the above
    tess_de_rows acausal_states; // [S]
    tess_de_rows causal_states;
    tess_de_rows predictive_states;
} tess_de_engine_desc;

// Fewer paths are found on the CPU before a GPU has begun.
enum { TESS_DE_SEQUENCES_THAT_PAY = 32 };

enum { TESS_DE_FORWARD = 0, TESS_DE_BACKWARD = 1, TESS_DE_TRACE = 2 };

// What comes next. At the end: chunk -1 backward, n_chunk otherwise.
typedef struct tess_de_position {
    int64_t pass;
    int64_t chunk;
} tess_de_position;

typedef struct tess_de_engine {
    tess_context *ctx;
    tess_de_engine_desc desc;
    tess_de_position at; // with carry and next as they are before it, also where it failed
    int64_t n_time;
    int64_t n_chunk;
    int64_t chunk_rows; // of every chunk but the last
    uint64_t memory_bytes;
    uint64_t limit_bytes;
    tess_de_sequences sequences; // of desc, or one
    int64_t one[3];              // rows of that one
    tess_de_hmm_carry carry;     // after the last forward step; its evidence is the sequence's
    double *evidence;            // [sequences.n]
    double *boundaries; // [n_chunk][N_s] predicted at the first row of each chunk; NULL: not needed
    tess_hash *kept_hash; // [n_chunk] of the kept rows; NULL unless checked
    double *next;         // [N_s]: smoothed row after the next backward step's chunk; at the
                          // end the first smoothed row of all
    tess_decode_likelihood_report report;
    double likelihood_s;
    double filter_s;
    double smoother_s;
    double store_s; // rows read and written
    int64_t n_recomputed;
    // Its own.
    const tess_de_rows *keep; // where filtered rows are kept; NULL: nowhere
    struct {                  // what must be held, where results do not have room for it
        bool ll;
        bool rows;
        bool predicted;
        bool transition;
        bool boundaries;
        bool path;
        bool kept;      // filtered rows of the whole recording: they fit the limit
        bool parts;     // room for parts of a chunk side by side
        bool forecasts; // of the filter for the smoother, of the whole recording
    } needs;
    double *forecasts;     // [n_time][tess_de_hmm_forecast_items()] or NULL
    uint8_t *has_forecast; // [n_chunk] by the filter, in this process
    struct {               // what stays on the device that filters and smooths (engine_there.c)
        bool has_ll;       // of a chunk
        bool has_all_ll;   // of the whole recording, for later runs and paths
        bool has_filtered; // of the whole recording
        tess_resident ll;  // [chunk_rows or n_time][n_ll]
        tess_resident filtered; // [n_time][N_s]
        bool sends_rows;        // smoothed ones come down while others are smoothed
        tess_resident smoothed; // [n_slot][chunk_rows][N_s]
        // Of each of the context's devices; rows of the others on their way to that which filters.
        tess_resident lent[TESS_MAX_GROUP];
        tess_de_ll_room room[TESS_MAX_GROUP];
    } there;
    int64_t n_slot; // of the buffers below: chunks that are under way at once, of each kind
    struct {        // the likelihood of the next chunk, by another thread and on a device
        tess_errand errand;
        int64_t chunk; // that is under way; -1: none
        int64_t first;
        tess_de_hmm_chunk work;
        tess_decode_likelihood_report report; // with the chunk's
        void *scratch;                        // [chunk_rows][n_ll]; NULL: never sent ahead
    } ahead;
    struct { // rows of the last chunk on their way to where they are wanted
        tess_errand errand;
        int64_t pass;
        int64_t first;
        tess_de_hmm_chunk work;
        double seconds;
    } behind;
    struct { // the most likely path
        tess_de_path *model;
        tess_de_path_there *there; // of sequences that a chunk holds whole; NULL: one by one
        double *ends;              // [n_chunk + 1][N_s] scores of each chunk's first row
        double *scores;            // [chunk_rows][N_s]
        int64_t *rows;             // [chunk_rows]
        int64_t at;                // the bin of the row before the chunk that is traced next
    } path;
    int32_t has_nan;           // among the positions
    bool ranks_know;           // that something failed
    void *ll_buffer;           // [n_slot][chunk_rows][n_ll]
    void *row_buffer;          // [n_slot][chunk_rows][N_s]
    void *predicted_buffer;    // [n_slot][chunk_rows][N_s]
    double *states_buffer;     // [n_slot][3][chunk_rows][S]
    double *transition_buffer; // [chunk_rows][S][S]; NULL: stationary
    void *convert_buffer;
    tess_de_hmm_room *room; // of parts; NULL: rows follow rows
    double *again;          // [N_s]: carry of a chunk that is made again
    double *before;         // [N_s]: carry or next before the step under way
    tess_blocks memory;
    tess_device *states; // where rows are filtered and smoothed
    tess_watch watch;
} tess_de_engine;

// The device that has all stages of the likelihood.
TESS_MUST_CHECK tess_status tess_de_engine_device(tess_context *ctx,
                                                  const tess_decode_detector *detector,
                                                  tess_device **device);
// Checks everything, chooses chunks within the memory limit and takes the memory.
TESS_MUST_CHECK tess_status tess_de_engine_create(tess_context *ctx,
                                                  const tess_de_engine_desc *desc,
                                                  tess_de_engine **out);
// The plan alone: n_chunk, chunk_rows, memory_bytes and limit_bytes of *engine.
TESS_MUST_CHECK tess_status tess_de_engine_plan(tess_context *ctx, const tess_de_engine_desc *desc,
                                                tess_de_engine *engine);
void tess_de_engine_destroy(tess_de_engine *engine);

// Back to the first row, with the detector's present parameters.
void tess_de_engine_rewind(tess_de_engine *engine);
// Goes on from engine->at to the end. after_chunk (may be NULL) is called with self whenever a
// chunk is done and engine->at has moved on.
TESS_MUST_CHECK tess_status tess_de_engine_run(tess_de_engine *engine,
                                               void (*after_chunk)(void *self), void *self);
// 0 to 1: how much of both passes lies before engine->at.
double tess_de_engine_done(const tess_de_engine *engine);
// Later runs read the likelihood that the first one wrote to desc.ll.
void tess_de_engine_reuse_likelihood(tess_de_engine *engine);

// The log evidence of all sequences; NaN where nothing was filtered.
double tess_de_engine_evidence(const tess_de_engine *engine);

// engine_pass.c: the chunk and pass that engine->at tells.
TESS_MUST_CHECK tess_status tess_de_engine_pass(tess_de_engine *engine);
// engine_ahead.c. The likelihood of a chunk: as it was sent for, or now; and the next one is sent
// for. scratch is as for tess_de_engine_likelihood().
TESS_MUST_CHECK tess_status tess_de_engine_fetch(tess_de_engine *engine, int64_t chunk,
                                                 void *scratch, tess_de_hmm_chunk *work);
// Rows of a chunk that a pass made, to where they are wanted: now, or meanwhile.
TESS_MUST_CHECK tess_status tess_de_engine_store(tess_de_engine *engine, int64_t pass,
                                                 int64_t first, const tess_de_hmm_chunk *work);
// Waits for what is under way.
TESS_MUST_CHECK tess_status tess_de_engine_settle(tess_de_engine *engine);
// The same after a failure, whose message stays; what was sent for is forgotten.
void tess_de_engine_drop(tess_de_engine *engine);
// Whether rows go to files, may go there meanwhile, and likelihoods be sent for, by what is wanted.
bool tess_de_engine_writes(const tess_de_engine_desc *desc);
bool tess_de_engine_is_behind(const tess_de_engine *engine);
bool tess_de_engine_is_ahead(const tess_de_engine *engine);

void tess_de_engine_range(const tess_de_engine *engine, int64_t chunk, int64_t *first,
                          int64_t *count);
// Where in a buffer of rows of so many bytes the chunk of this row has its own.
static inline void *tess_de_engine_slot(const tess_de_engine *e, void *buffer, int64_t first,
                                        size_t row_bytes)
{
    const int64_t rows = e->chunk_rows + (e->needs.path ? 1 : 0); // the path looks one row ahead
    const int64_t slot = first / e->chunk_rows % e->n_slot;
    return buffer ? (char *)buffer + (size_t)(slot * rows) * row_bytes : NULL;
}

// engine_likelihood.c: the likelihood of rows first..first+count-1, given or computed: chunk->ll
// and its type, or chunk->there.ll if that is set and it is computed. scratch has room for
// [count][N_s]; it is not used where rows are computed there.
TESS_MUST_CHECK tess_status tess_de_engine_likelihood(tess_de_engine *engine, int64_t first,
                                                      int64_t count,
                                                      tess_decode_likelihood_report *report,
                                                      void *scratch, tess_de_hmm_chunk *chunk);
// engine_path.c: the path's part of the way back, and the way forward again.
TESS_MUST_CHECK tess_status tess_de_engine_score(tess_de_engine *engine, int64_t chunk,
                                                 int64_t first, int64_t count);
TESS_MUST_CHECK tess_status tess_de_engine_trace(tess_de_engine *engine, int64_t chunk,
                                                 int64_t first, int64_t count);

// Whether there is a backward pass.
static inline bool tess_de_engine_smooths(const tess_de_engine *engine)
{
    const tess_de_engine_desc *desc = &engine->desc;
    return desc->smooth || desc->acausal.dtype != 0 || desc->acausal_states.dtype != 0;
}
// engine_plan.c: chunks and memory of an engine whose desc, keep and n_time are set.
TESS_MUST_CHECK tess_status tess_de_engine_choose(tess_de_engine *engine);

// engine_there.c. Chooses what stays on the device: what there is plenty of room for.
void tess_de_engine_choose_there(tess_de_engine *engine, int64_t most_rows);
TESS_MUST_CHECK tess_status tess_de_engine_take_there(tess_de_engine *engine);
void tess_de_engine_free_there(tess_de_engine *engine);
// Models go up, so that what is left for rows is known.
TESS_MUST_CHECK tess_status tess_de_engine_prepare(tess_context *ctx,
                                                   const tess_de_engine_desc *desc);
// Rows of a chunk that begins with this row, of those that stay.
tess_de_hmm_rows_there tess_de_engine_rows_there(const tess_de_engine *engine, int64_t first);
// Smoothed rows of a chunk to where its filtered rows are told to be, in a queue of their own.
TESS_MUST_CHECK tess_status tess_de_engine_fetch_smoothed(const tess_de_engine *engine,
                                                          const tess_de_hmm_chunk *chunk);
// Whether paths of these sequences are found there, each of which lies whole in a chunk; whether
// some result is to stay there.
bool tess_de_engine_has_paths_there(const tess_de_engine *engine);
bool tess_de_engine_has_results_there(const tess_de_engine_desc *desc);
// The likelihood of rows into chunk->there.ll; and into ll, if it is a result or the path needs it.
TESS_MUST_CHECK tess_status tess_de_engine_likelihood_there(tess_de_engine *engine, int64_t first,
                                                            int64_t count,
                                                            tess_decode_likelihood_report *report,
                                                            void *ll, tess_de_hmm_chunk *chunk);

// Wanted in the host's memory or its files.
static inline bool tess_de_rows_are_here(const tess_de_rows *rows)
{
    return rows->dtype != 0 && !rows->there;
}

// engine_rows.c: rows in and out, converted where the types differ.
TESS_MUST_CHECK tess_status tess_de_rows_store(const tess_de_engine *engine,
                                               const tess_de_rows *rows, int64_t first,
                                               int64_t count, const void *src, int32_t dtype);
TESS_MUST_CHECK tess_status tess_de_rows_load(const tess_de_rows *rows, int64_t first,
                                              int64_t count, void *dst);
enum { TESS_DE_CONVERT_BYTES = 1 << 20 };

// predict.c: an engine's description for arrays, with everything checked. EM starts from it.
TESS_MUST_CHECK tess_status tess_de_predict_desc(tess_context *ctx,
                                                 const tess_decode_detector *detector,
                                                 const tess_decode_observation *observation,
                                                 const tess_decode_predict_config *config,
                                                 tess_decode_outputs *outputs,
                                                 tess_de_engine_desc *desc);
// Evidence and counts of a finished engine into outputs, and warnings into the log.
void tess_de_engine_warn(const tess_de_engine *engine);
void tess_de_predict_finish(const tess_de_engine *engine, tess_decode_outputs *outputs);

#endif
