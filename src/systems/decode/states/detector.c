// Detectors: states one after another, and the likelihood columns they share.
#include "systems/decode/states/detector.h"

#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/states/detector_check.h"

#include <math.h>
#include <string.h>

static int64_t names_bytes(const tess_decode_detector_config *config)
{
    int64_t bytes = 0;
    for (int32_t i = 0; i < config->n_state; i++) {
        bytes += (int64_t)strlen(config->states[i].name) + 1;
    }
    return bytes;
}

// Pointers into info that are filled while the detector is made.
typedef struct tables {
    char *names;
    const char **state_names;
    tess_decode_state *states;
    int64_t *state_first;
    int32_t *state_of_bin;
    int64_t *all_index;
    int64_t *ll_first;
} tables;

static tess_status take_memory(tess_decode_detector *d, const tess_decode_detector_config *config,
                               tables *t)
{
    tess_blocks *m = &d->memory;
    const int64_t n = config->n_state;
    const int64_t n_bin = d->info.n_state_bin;
    const int64_t n_coefficient = config->n_coefficient * n * (n - 1);
    const char *what = "detector";
    const bool is_there =
        (d->environments = tess_blocks_alloc(m, d->n_environment, sizeof(void *), what)) &&
        (d->encodings = tess_blocks_alloc(m, d->n_encoding, sizeof(void *), what)) &&
        (d->state_env = tess_blocks_alloc(m, n, sizeof(void *), what)) &&
        (d->blocks = tess_blocks_alloc(m, n, sizeof *d->blocks, what)) &&
        (d->discrete_initial = tess_blocks_alloc(m, n, sizeof(double), what)) &&
        (d->discrete_transition = tess_blocks_alloc(m, n * n, sizeof(double), what)) &&
        (d->coefficients = tess_blocks_alloc(m, n_coefficient, sizeof(double), what)) &&
        (d->initial = tess_blocks_alloc(m, n_bin, sizeof(double), what)) &&
        (t->names = tess_blocks_alloc(m, names_bytes(config), 1, what)) &&
        (t->state_names = tess_blocks_alloc(m, n, sizeof(char *), what)) &&
        (t->states = tess_blocks_alloc(m, n, sizeof *t->states, what)) &&
        (t->state_first = tess_blocks_alloc(m, n + 1, sizeof(int64_t), what)) &&
        (t->state_of_bin = tess_blocks_alloc(m, n_bin, sizeof(int32_t), what)) &&
        (t->all_index = tess_blocks_alloc(m, n_bin, sizeof(int64_t), what)) &&
        (t->ll_first = tess_blocks_alloc(m, n, sizeof(int64_t), what));
    return is_there ? TESS_OK : TESS_E_MEMORY;
}

static int32_t kind_of(const tess_decode_state *s, double local_position_std)
{
    if (s->is_no_spike) {
        return TESS_DE_COLUMNS_NO_SPIKE;
    }
    return s->is_local && local_position_std < 0 ? TESS_DE_COLUMNS_LOCAL : TESS_DE_COLUMNS_PLACES;
}

// The environment whose bins a state has; NULL for a state of one bin.
static tess_decode_environment *env_of(const tess_decode_detector_config *config,
                                       tess_decode_environment *const *environments, int32_t state)
{
    const tess_decode_state *s = &config->states[state];
    return kind_of(s, config->local_position_std) == TESS_DE_COLUMNS_PLACES
               ? environments[s->environment]
               : NULL;
}

// The columns of a state, found among those of earlier states or added.
static const tess_de_columns *block_of(tess_decode_detector *d, const tess_decode_state *s)
{
    const int32_t kind = kind_of(s, d->config.local_position_std);
    tess_de_columns wanted = {.kind = kind,
                              .environment = s->is_no_spike ? -1 : s->environment,
                              .encoding = s->is_no_spike ? -1 : s->encoding,
                              .has_kernel = s->is_local && kind == TESS_DE_COLUMNS_PLACES,
                              .first = d->info.n_ll,
                              .n_column = 1};
    for (int32_t i = 0; i < d->n_block; i++) {
        const tess_de_columns *b = &d->blocks[i];
        if (b->kind == wanted.kind && b->environment == wanted.environment &&
            b->encoding == wanted.encoding && b->has_kernel == wanted.has_kernel) {
            return b;
        }
    }
    if (kind == TESS_DE_COLUMNS_PLACES) {
        wanted.n_column =
            tess_decode_environment_get_info(d->environments[s->environment])->n_interior;
    }
    d->info.n_ll += wanted.n_column;
    d->blocks[d->n_block] = wanted;
    return &d->blocks[d->n_block++];
}

static void fill_state(tess_decode_detector *d, tables *t, int32_t state)
{
    const tess_decode_environment_info *env =
        d->state_env[state] ? tess_decode_environment_get_info(d->state_env[state]) : NULL;
    const int64_t first = t->state_first[state];
    const int64_t n = env ? env->n_interior : 1;
    t->state_first[state + 1] = first + n;
    for (int64_t p = 0; p < n; p++) {
        t->state_of_bin[first + p] = state;
        t->all_index[first + p] = d->info.n_all_bin + (env ? env->interior_bin[p] : 0);
    }
    d->info.n_all_bin += env ? env->n_bin : 1;
    t->ll_first[state] = block_of(d, &t->states[state])->first;
}

static void fill_parameters(tess_decode_detector *d, const tess_decode_detector_config *config,
                            const tables *t)
{
    const size_t n = (size_t)config->n_state;
    memcpy(d->discrete_initial, config->discrete_initial, n * sizeof(double));
    memcpy(d->discrete_transition, config->discrete_transition, n * n * sizeof(double));
    if (config->n_coefficient > 0) {
        memcpy(d->coefficients, config->coefficients,
               (size_t)config->n_coefficient * n * (n - 1) * sizeof(double));
    }
    if (config->initial) {
        memcpy(d->initial, config->initial, (size_t)d->info.n_state_bin * sizeof(double));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const int64_t n_bin = t->state_first[i + 1] - t->state_first[i];
        for (int64_t p = t->state_first[i]; p < t->state_first[i + 1]; p++) {
            d->initial[p] = d->discrete_initial[i] / (double)n_bin;
        }
    }
}

static void copy_states(tess_decode_detector *d, const tess_decode_detector_config *config,
                        const tess_de_parts *parts, tables *t)
{
    for (int64_t i = 0; i < d->n_environment; i++) {
        d->environments[i] = parts->environments[i];
    }
    for (int64_t i = 0; i < d->n_encoding; i++) {
        d->encodings[i] = parts->encodings[i];
    }
    char *name = t->names;
    for (int32_t i = 0; i < config->n_state; i++) {
        t->states[i] = config->states[i];
        t->states[i].name = t->state_names[i] = name;
        const size_t bytes = strlen(config->states[i].name) + 1;
        memcpy(name, config->states[i].name, bytes);
        name += bytes;
        d->state_env[i] = env_of(config, d->environments, i);
        const tess_decode_state *s = &t->states[i];
        if (!s->is_no_spike && d->encodings[s->encoding]->config.mode == TESS_DECODE_EXACT) {
            d->dtype = TESS_F64;
        }
    }
}

static void point_info(tess_decode_detector *d, const tables *t)
{
    d->config.states = t->states;
    d->config.movements = NULL; // the hidden Markov model has taken them over
    d->config.discrete_initial = d->discrete_initial;
    d->config.discrete_transition = d->discrete_transition;
    d->config.coefficients = d->config.n_coefficient > 0 ? d->coefficients : NULL;
    d->config.initial = d->initial;
    d->info.state_names = t->state_names;
    d->info.state_first = t->state_first;
    d->info.state_of_bin = t->state_of_bin;
    d->info.all_index = t->all_index;
    d->info.ll_first = t->ll_first;
    d->info.discrete_initial = d->discrete_initial;
    d->info.discrete_transition = d->discrete_transition;
    d->info.coefficients = d->config.coefficients;
    d->info.initial = d->initial;
    d->info.needs_position = tess_de_needs_position(d);
}

// Movements as the model takes them: into and out of states of one bin there is nothing to choose,
// and a Local state of many bins is tied to the animal by its kernel alone.
static tess_status movements_of(const tess_decode_detector *d,
                                const tess_decode_detector_config *config,
                                tess_decode_movement *movements)
{
    const int32_t n = config->n_state;
    for (int32_t from = 0; from < n; from++) {
        for (int32_t to = 0; to < n; to++) {
            const size_t at = (size_t)from * (size_t)n + (size_t)to;
            tess_decode_movement_init(&movements[at], sizeof movements[at]);
            TESS_TRY(tess_struct_read(&config->movements[at], &movements[at], sizeof movements[at],
                                      "movements"));
            const bool is_local = config->states[from].is_local || config->states[to].is_local;
            if (!d->state_env[to]) {
                movements[at].kind = TESS_DECODE_DISCRETE;
            } else if (!d->state_env[from]) {
                movements[at].kind = TESS_DECODE_UNIFORM;
            } else if (movements[at].kind == TESS_DECODE_DISCRETE && is_local) {
                movements[at].kind = TESS_DECODE_UNIFORM;
            } else if (movements[at].kind == TESS_DECODE_DISCRETE) {
                TESS_FAIL(TESS_E_ARGUMENT,
                          "movement from state %d ('%s') to %d ('%s') is discrete, but both have "
                          "many bins; choose uniform, random walk or another movement",
                          from, config->states[from].name, to, config->states[to].name);
            }
        }
    }
    return TESS_OK;
}

static void add_to_hash(tess_hash *hash, const void *data, size_t bytes)
{
    const tess_hash pair[2] = {*hash, tess_hash_bytes(tess_hash_default(), data, bytes)};
    *hash = tess_hash_bytes(tess_hash_default(), pair, sizeof pair);
}

static tess_hash hash_movements(const tess_decode_detector *d,
                                const tess_decode_movement *movements)
{
    const int32_t n = d->info.n_state;
    tess_hash hash = {0, 0};
    for (int32_t i = 0; i < n * n; i++) {
        const tess_decode_movement *m = &movements[i];
        const int32_t choices[3] = {m->kind, m->use_manifold, m->direction};
        add_to_hash(&hash, choices, sizeof choices);
        add_to_hash(&hash, &m->variance, sizeof m->variance);
        add_to_hash(&hash, m->mean, sizeof m->mean);
        tess_decode_environment *from = d->state_env[i / n];
        tess_decode_environment *to = d->state_env[i % n];
        const bool has_matrix = m->kind == TESS_DECODE_EMPIRICAL || m->kind == TESS_DECODE_MATRIX;
        if (has_matrix && m->matrix && from && to) {
            const int64_t n_item = tess_decode_environment_get_info(from)->n_bin *
                                   tess_decode_environment_get_info(to)->n_bin;
            add_to_hash(&hash, m->matrix, (size_t)n_item * sizeof *m->matrix);
        }
    }
    return hash;
}

static tess_status make_hmm(tess_context *ctx, tess_decode_detector *d,
                            const tess_decode_detector_config *config)
{
    const size_t n = (size_t)config->n_state;
    const size_t bytes = n * n * sizeof(tess_decode_movement);
    tess_decode_movement *movements =
        tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "movements");
    if (!movements) {
        return TESS_E_MEMORY;
    }
    const tess_de_hmm_desc desc = {.n_state = config->n_state,
                                   .exact = d->dtype == TESS_F64,
                                   .env = d->state_env,
                                   .movements = movements,
                                   .ll_first = d->info.ll_first,
                                   .n_ll = d->info.n_ll};
    tess_status status = movements_of(d, config, movements);
    if (status == TESS_OK) {
        d->movement_hash = hash_movements(d, movements);
        status = tess_de_hmm_create(ctx, &desc, &d->hmm);
    }
    tess_heap_free(&ctx->heap, movements, bytes, TESS_TAG_SCRATCH);
    return status;
}

static void count_bins(tess_decode_detector *d, const tess_decode_detector_config *config,
                       const tess_de_parts *parts)
{
    for (int32_t i = 0; i < config->n_state; i++) {
        tess_decode_environment *env = env_of(config, parts->environments, i);
        d->info.n_state_bin += env ? tess_decode_environment_get_info(env)->n_interior : 1;
    }
}

static tess_status build(tess_context *ctx, tess_decode_detector *d,
                         const tess_decode_detector_config *config, const tess_de_parts *parts)
{
    d->config = *config;
    d->n_environment = parts->n_environment;
    d->n_encoding = parts->n_encoding;
    d->dtype = TESS_F32;
    d->info.struct_size = sizeof d->info;
    d->info.n_state = config->n_state;
    d->info.n_coefficient = config->n_coefficient;
    count_bins(d, config, parts);
    if (config->initial) {
        TESS_TRY(tess_de_check_initial(config->initial, d->info.n_state_bin));
    }
    tables t;
    TESS_TRY(take_memory(d, config, &t));
    copy_states(d, config, parts, &t);
    t.state_first[0] = 0;
    for (int32_t i = 0; i < config->n_state; i++) {
        fill_state(d, &t, i);
    }
    fill_parameters(d, config, &t);
    point_info(d, &t);
    return make_hmm(ctx, d, config);
}

tess_status tess_decode_detector_create(tess_context *ctx, const tess_decode_detector_config *given,
                                        tess_decode_environment *const *environments,
                                        int64_t n_environment,
                                        const tess_decode_encoding *const *encodings,
                                        int64_t n_encoding, tess_decode_detector **out)
{
    tess_error_clear();
    *out = NULL;
    tess_decode_detector_config config;
    tess_decode_detector_config_init(&config, sizeof config);
    TESS_TRY(tess_struct_read(given, &config, sizeof config, "config"));
    const tess_de_parts parts = {.environments = environments,
                                 .encodings = encodings,
                                 .n_environment = environments ? n_environment : 0,
                                 .n_encoding = encodings ? n_encoding : 0};
    TESS_TRY(tess_de_check_config(&config, &parts));
    tess_decode_detector *detector =
        tess_heap_alloc_zero(&ctx->heap, sizeof *detector, TESS_TAG_GENERAL, "detector");
    if (!detector) {
        return TESS_E_MEMORY;
    }
    detector->heap = &ctx->heap;
    tess_blocks_init(&detector->memory, &ctx->heap);
    const tess_status status = build(ctx, detector, &config, &parts);
    if (status != TESS_OK) {
        tess_decode_detector_destroy(detector);
        return status;
    }
    tess_de_detector_warm(ctx, detector);
    *out = detector;
    return TESS_OK;
}

void tess_decode_detector_destroy(tess_decode_detector *detector)
{
    if (!detector) {
        return;
    }
    tess_de_hmm_destroy(detector->hmm);
    tess_blocks_free(&detector->memory);
    tess_heap_free(detector->heap, detector, sizeof *detector, TESS_TAG_GENERAL);
}

const tess_decode_detector_info *tess_decode_detector_get_info(const tess_decode_detector *detector)
{
    return &detector->info;
}

// softmax of (eta_1 .. eta_{S-1}, 0), the largest subtracted first.
static void softmax_row(const double *design, int64_t n_coefficient, const double *coefficients,
                        int64_t stride, int32_t n_state, double *out)
{
    double most = 0;
    for (int32_t j = 0; j < n_state - 1; j++) {
        double eta = 0;
        for (int64_t c = 0; c < n_coefficient; c++) {
            eta += design[c] * coefficients[c * stride + j];
        }
        out[j] = eta;
        most = eta > most ? eta : most;
    }
    out[n_state - 1] = 0;
    double sum = 0;
    for (int32_t j = 0; j < n_state; j++) {
        out[j] = exp(out[j] - most);
        sum += out[j];
    }
    for (int32_t j = 0; j < n_state; j++) {
        out[j] /= sum;
    }
}

void tess_de_transition_rows(const tess_decode_detector *detector, const double *design,
                             int64_t first, int64_t n_row, double *out)
{
    const int32_t n = detector->info.n_state;
    const int64_t n_coefficient = detector->info.n_coefficient;
    const int64_t stride = (int64_t)n * (n - 1);
    for (int64_t t = 0; t < n_row; t++) {
        for (int32_t i = 0; i < n; i++) {
            softmax_row(design + (first + t) * n_coefficient, n_coefficient,
                        detector->coefficients + (int64_t)i * (n - 1), stride, n,
                        out + (t * n + i) * n);
        }
    }
}
