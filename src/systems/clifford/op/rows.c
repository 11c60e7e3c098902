#include "systems/clifford/op/rows.h"

#include "base/status.h"
#include "systems/clifford/op/stages.h"

// Items of an activation in a tile: temporaries stay in a CPU's cache, and keep a GPU busy.
static const int64_t HOST_ITEMS = INT64_C(1) << 18;
static const int64_t DEVICE_ITEMS = INT64_C(1) << 22;

// Beyond, plain f32 kept its bounds in thousands of random problems.
static const int64_t FEW_FEATURES = 16;

static const tess_cl_view absent = {.data = NULL};

static size_t item_bytes(const tess_cl_tile *tile)
{
    return tess_dtype_bytes((tess_dtype)tile->problem.dtype);
}

// Axes of a weight or bias for sums: the last ones.
static tess_cl_view align_axes(tess_cl_view view, int32_t rank)
{
    tess_cl_view out = {.data = view.data};
    for (int32_t i = 0; i < rank; i++) {
        out.stride[3 - rank + i] = view.stride[i];
    }
    return out;
}

// out (of out_dtype) = sum of terms for an operand that is a weight.
static tess_status sum_weights(tess_cl_job *job, int operand, tess_cl_view out, int32_t out_dtype,
                               const tess_cl_view *terms, int32_t n_term, int32_t term_dtype)
{
    int64_t shape[3];
    const int32_t rank = tess_cl_operand_shape(job->op, &job->sizes, operand, shape);
    tess_stage_clifford_sum sum = {.shape = {1, 1, 1},
                                   .out = align_axes(out, rank),
                                   .out_dtype = out_dtype,
                                   .term_dtype = term_dtype,
                                   .n_term = n_term};
    for (int32_t i = 0; i < rank; i++) {
        sum.shape[3 - rank + i] = shape[i];
    }
    for (int32_t i = 0; i < n_term; i++) {
        sum.terms[i] = align_axes(terms[i], rank);
    }
    return tess_cl_enqueue_sum(job, &sum);
}

static tess_cl_view take_weight(tess_cl_tile *tile, int operand)
{
    int64_t shape[3];
    tess_cl_operand_shape(tile->job->op, &tile->job->sizes, operand, shape);
    const size_t bytes = (size_t)(shape[0] * shape[1] * shape[2]) * item_bytes(tile);
    return tess_cl_view_like(tile->job, operand, tess_cl_take(tile->job, bytes));
}

static bool is_normalized_f32(const tess_cl_job *job)
{
    return job->sizes.dtype == TESS_F32 && job->problem.normalize;
}

// r of abs_clamp is the root of eps at least, and its squares do not cancel between grades: with an
// eps that is not tiny nothing is magnified.
enum { ROUGH_EPS_INVERSE = 1000 };

static bool is_bounded(const tess_cl_job *job)
{
    return job->problem.norm_metric == TESS_CLIFFORD_NORM_ABS_CLAMP &&
           job->problem.eps * ROUGH_EPS_INVERSE >= 1;
}

static bool has_both_signs(const tess_clifford_algebra *algebra)
{
    for (int32_t k = 0; k < algebra->n_component; k++) {
        if (algebra->eta[k] < 0) { // that of the scalar is +1
            return true;
        }
    }
    return false;
}

bool tess_cl_is_few(const tess_cl_job *job)
{
    return is_normalized_f32(job) && job->sizes.n_out <= FEW_FEATURES && !is_bounded(job);
}

bool tess_cl_cancels(const tess_cl_job *job)
{
    return is_normalized_f32(job) && job->problem.norm_metric == TESS_CLIFFORD_NORM_CLAMP &&
           has_both_signs(&job->op->algebra);
}

bool tess_cl_is_wide_forward(const tess_cl_job *job)
{
    return tess_cl_cancels(job) ||
           (tess_cl_is_few(job) && job->problem.norm_metric != TESS_CLIFFORD_NORM_EUCLID &&
            has_both_signs(&job->op->algebra));
}

tess_status tess_cl_tile_init(tess_cl_tile *tile, tess_cl_job *job, int sums)
{
    *tile = (tess_cl_tile){.job = job, .problem = job->problem, .sums = sums};
    const int32_t weight_dtype = job->sizes.weight_dtype;
    tile->problem.dtype =
        job->sizes.dtype == TESS_F64 || tess_cl_is_few(job) || tess_cl_cancels(job) ? TESS_F64
                                                                                    : TESS_F32;
    tile->problem.weight_dtype = tile->problem.dtype;
    tile->problem.activation = TESS_CLIFFORD_IDENTITY;
    tile->problem.normalize = 0;
    for (int i = 0; i < CL_Z; i++) {
        if (!tess_cl_is_weight(i) || !job->views[i].data) {
            continue;
        }
        tile->weights[i] = job->views[i];
        if (weight_dtype == tile->problem.dtype) {
            continue;
        }
        tile->weights[i] = take_weight(tile, i);
        if (i < sums || i >= sums + CL_N_MEMBER) {
            TESS_TRY(sum_weights(job, i, tile->weights[i], tile->problem.dtype, &job->views[i], 1,
                                 weight_dtype));
        }
    }
    return TESS_OK;
}

tess_status tess_cl_tile_zero_weight(tess_cl_tile *tile, int operand)
{
    const int32_t dtype = tile->problem.dtype;
    tile->weights[operand] = take_weight(tile, operand);
    return sum_weights(tile->job, operand, tile->weights[operand], dtype, NULL, 0, dtype);
}

// What was summed becomes the results.
static tess_status finish_sums(tess_cl_tile *tile)
{
    tess_cl_job *job = tile->job;
    for (int i = tile->sums; i < tile->sums + CL_N_MEMBER; i++) {
        if (!tile->weights[i].data) {
            continue;
        }
        if (tile->weights[i].data != job->views[i].data || !tile->has_sum[i]) {
            TESS_TRY(sum_weights(job, i, job->views[i], job->sizes.weight_dtype, &tile->weights[i],
                                 tile->has_sum[i], tile->problem.dtype));
        }
    }
    return TESS_OK;
}

// Of the shape and the kind of device alone, so that sums over tiles have the same bits.
static int64_t rows_per_tile(const tess_cl_job *job)
{
    const int64_t wide = job->sizes.n_in > job->sizes.n_out ? job->sizes.n_in : job->sizes.n_out;
    const int64_t items = job->device->shares_host_memory ? HOST_ITEMS : DEVICE_ITEMS;
    const int64_t n_row = items / (wide * job->op->algebra.n_component) / 64 * 64;
    return n_row > 64 ? n_row : 64;
}

tess_status tess_cl_tile_run(tess_cl_tile *tile, tess_cl_tile_fn work)
{
    tess_cl_job *job = tile->job;
    const size_t used_bytes = job->used_bytes;
    const int64_t step = rows_per_tile(job);
    for (int64_t first = 0; first < job->sizes.n_row; first += step) {
        const int64_t left = job->sizes.n_row - first;
        tile->first_row = first;
        tile->problem.n_row = left < step ? left : step;
        job->used_bytes = used_bytes;
        TESS_TRY(work(tile));
        if (!job->queue && first > 0) {
            break; // the first has as many rows as any, the second adds to sums
        }
        TESS_TRY(tess_context_check_cancel(job->ctx));
    }
    job->used_bytes = used_bytes;
    return finish_sums(tile);
}

static int64_t n_component(const tess_cl_tile *tile)
{
    return tile->problem.algebra->n_component;
}

// Room for the rows of an activation.
static tess_cl_view take_rows(tess_cl_tile *tile, int64_t n_feature)
{
    const int64_t plane = tile->problem.n_row * n_feature;
    const size_t bytes = (size_t)(n_component(tile) * plane) * item_bytes(tile);
    return (tess_cl_view){.data = tess_cl_take(tile->job, bytes), .stride = {plane, n_feature, 1}};
}

static int64_t features_of(const tess_cl_tile *tile, int operand)
{
    return operand < CL_Z || operand == CL_LINEAR_OUT ? tile->problem.n_in : tile->problem.n_out;
}

static tess_cl_view rows_of(const tess_cl_tile *tile, int operand)
{
    tess_cl_view view = tile->job->views[operand];
    const int64_t offset = tile->first_row * view.stride[1] *
                           (int64_t)tess_dtype_bytes((tess_dtype)tile->job->sizes.dtype);
    view.data = (unsigned char *)view.data + offset;
    return view;
}

static tess_status convert_rows(tess_cl_tile *tile, int operand, tess_cl_view out,
                                int32_t out_dtype, tess_cl_view from, int32_t dtype)
{
    const tess_stage_clifford_sum copy = {
        .shape = {n_component(tile), tile->problem.n_row, features_of(tile, operand)},
        .out = out,
        .out_dtype = out_dtype,
        .terms = {from},
        .term_dtype = dtype,
        .n_term = tess_cl_is_there(from) ? 1 : 0};
    return tess_cl_enqueue_sum(tile->job, &copy);
}

tess_status tess_cl_rows_load(tess_cl_tile *tile, int operand, tess_cl_view *out)
{
    *out = absent;
    if (!tile->job->views[operand].data) {
        return TESS_OK;
    }
    const int32_t dtype = tile->job->sizes.dtype;
    const tess_cl_view rows = rows_of(tile, operand);
    if (dtype == tile->problem.dtype) {
        *out = rows;
        return TESS_OK;
    }
    *out = take_rows(tile, features_of(tile, operand));
    return convert_rows(tile, operand, *out, tile->problem.dtype, rows, dtype);
}

tess_status tess_cl_rows_store(tess_cl_tile *tile, int operand, tess_cl_view rows)
{
    if (!tile->job->views[operand].data) {
        return TESS_OK;
    }
    return convert_rows(tile, operand, rows_of(tile, operand), tile->job->sizes.dtype, rows,
                        tile->problem.dtype);
}

tess_status tess_cl_rows_add(tess_cl_tile *tile, tess_cl_view *sum, tess_cl_view term,
                             int64_t n_feature)
{
    if (!tess_cl_is_there(term)) {
        return TESS_OK;
    }
    if (!tess_cl_is_there(*sum)) {
        *sum = term;
        return TESS_OK;
    }
    const tess_stage_clifford_sum add = {
        .shape = {n_component(tile), tile->problem.n_row, n_feature},
        .out = *sum,
        .out_dtype = tile->problem.dtype,
        .terms = {*sum, term},
        .term_dtype = tile->problem.dtype,
        .n_term = 2};
    return tess_cl_enqueue_sum(tile->job, &add);
}

// A gate or norm of n features in a pass.
static tess_cl_problem pointwise(const tess_cl_tile *tile, tess_clifford_pass pass,
                                 int64_t n_feature)
{
    tess_cl_problem problem = tile->problem;
    problem.pass = (int32_t)pass;
    problem.n_in = n_feature;
    problem.n_out = n_feature;
    return problem;
}

static tess_stage_clifford_gate gate_stage(const tess_cl_tile *tile, tess_clifford_pass pass)
{
    tess_stage_clifford_gate stage = {.problem = pointwise(tile, pass, tile->problem.n_in)};
    stage.problem.activation = tile->job->problem.activation;
    return stage;
}

static bool has_gate(const tess_cl_tile *tile)
{
    return tile->job->problem.activation != TESS_CLIFFORD_IDENTITY;
}

tess_status tess_cl_rows_gate(tess_cl_tile *tile, tess_cl_view x, tess_cl_view *out)
{
    *out = x;
    if (!has_gate(tile)) {
        return TESS_OK;
    }
    tess_stage_clifford_gate stage = gate_stage(tile, TESS_CLIFFORD_FORWARD);
    *out = take_rows(tile, tile->problem.n_in);
    stage.x = x;
    stage.out = *out;
    return tess_cl_enqueue(tile->job, TESS_STAGE_CLIFFORD_GATE, &stage, sizeof stage);
}

tess_status tess_cl_rows_gate_backward(tess_cl_tile *tile, tess_cl_view x, tess_cl_view grad_out,
                                       tess_cl_view *grad_x)
{
    *grad_x = grad_out;
    if (!has_gate(tile) || !tess_cl_is_there(grad_out)) {
        return TESS_OK;
    }
    tess_stage_clifford_gate stage = gate_stage(tile, TESS_CLIFFORD_BACKWARD);
    *grad_x = take_rows(tile, tile->problem.n_in);
    stage.x = x;
    stage.grad_out = grad_out;
    stage.grad_x = *grad_x;
    return tess_cl_enqueue(tile->job, TESS_STAGE_CLIFFORD_GATE, &stage, sizeof stage);
}

tess_status tess_cl_rows_gate_double(tess_cl_tile *tile, tess_cl_view x, tess_cl_view grad_out,
                                     tess_cl_view cotangent, tess_cl_view *d_grad_out,
                                     tess_cl_view *d_x)
{
    *d_grad_out = cotangent;
    *d_x = absent;
    if (!has_gate(tile) || !tess_cl_is_there(cotangent)) {
        return TESS_OK;
    }
    tess_stage_clifford_gate stage = gate_stage(tile, TESS_CLIFFORD_DOUBLE_BACKWARD);
    *d_grad_out = take_rows(tile, tile->problem.n_in);
    *d_x = take_rows(tile, tile->problem.n_in);
    stage.x = x;
    stage.grad_out = grad_out;
    stage.cotangent = cotangent;
    stage.d_grad_out = *d_grad_out;
    stage.d_x = *d_x;
    return tess_cl_enqueue(tile->job, TESS_STAGE_CLIFFORD_GATE, &stage, sizeof stage);
}

static tess_stage_clifford_norm norm_stage(const tess_cl_tile *tile, tess_clifford_pass pass)
{
    tess_stage_clifford_norm stage = {.problem = pointwise(tile, pass, tile->problem.n_out)};
    stage.problem.normalize = 1;
    return stage;
}

// Room for the statistics of a tile, NULL where nobody wants them. It is taken in any case: a
// workspace is counted before a call says what it wants.
static void *take_statistics(tess_cl_tile *tile)
{
    const int64_t items = tile->problem.algebra->n_grade * tile->problem.n_row;
    void *room = tess_cl_take(tile->job, (size_t)items * item_bytes(tile));
    return tile->job->views[CL_STATISTICS].data ? room : NULL;
}

static tess_status store_statistics(tess_cl_tile *tile, void *statistics)
{
    if (!statistics) {
        return TESS_OK;
    }
    const int32_t dtype = tess_cl_operand_dtype(&tile->job->sizes, CL_STATISTICS);
    unsigned char *all = tile->job->views[CL_STATISTICS].data;
    const size_t offset = (size_t)tile->first_row * tess_dtype_bytes((tess_dtype)dtype);
    const tess_stage_clifford_sum copy = {
        .shape = {1, tile->problem.algebra->n_grade, tile->problem.n_row},
        .out = {.data = all + offset, .stride = {0, tile->job->sizes.n_row, 1}},
        .out_dtype = dtype,
        .terms = {{.data = statistics, .stride = {0, tile->problem.n_row, 1}}},
        .term_dtype = tile->problem.dtype,
        .n_term = 1};
    return tess_cl_enqueue_sum(tile->job, &copy);
}

tess_status tess_cl_rows_norm(tess_cl_tile *tile, tess_cl_view o, tess_cl_view *z)
{
    tess_stage_clifford_norm stage = norm_stage(tile, TESS_CLIFFORD_FORWARD);
    *z = take_rows(tile, tile->problem.n_out);
    stage.x = o;
    stage.out = *z;
    stage.statistics = take_statistics(tile);
    void *statistics = stage.statistics;
    TESS_TRY(tess_cl_enqueue(tile->job, TESS_STAGE_CLIFFORD_NORM, &stage, sizeof stage));
    return store_statistics(tile, statistics);
}

tess_status tess_cl_rows_norm_backward(tess_cl_tile *tile, tess_cl_view o, tess_cl_view grad_out,
                                       tess_cl_view *grad_o)
{
    tess_stage_clifford_norm stage = norm_stage(tile, TESS_CLIFFORD_BACKWARD);
    *grad_o = take_rows(tile, tile->problem.n_out);
    stage.x = o;
    stage.grad_out = grad_out;
    stage.grad_x = *grad_o;
    return tess_cl_enqueue(tile->job, TESS_STAGE_CLIFFORD_NORM, &stage, sizeof stage);
}

tess_status tess_cl_rows_norm_double(tess_cl_tile *tile, tess_cl_view o, tess_cl_view grad_out,
                                     tess_cl_view cotangent, tess_cl_view *d_grad_out,
                                     tess_cl_view *d_o)
{
    *d_grad_out = absent;
    *d_o = absent;
    if (!tess_cl_is_there(cotangent)) {
        return TESS_OK;
    }
    tess_stage_clifford_norm stage = norm_stage(tile, TESS_CLIFFORD_DOUBLE_BACKWARD);
    *d_grad_out = take_rows(tile, tile->problem.n_out);
    *d_o = take_rows(tile, tile->problem.n_out);
    stage.x = o;
    stage.grad_out = grad_out;
    stage.cotangent = cotangent;
    stage.d_grad_out = *d_grad_out;
    stage.d_x = *d_o;
    return tess_cl_enqueue(tile->job, TESS_STAGE_CLIFFORD_NORM, &stage, sizeof stage);
}

static tess_stage_clifford_sgp bare_product(const tess_cl_tile *tile, tess_clifford_pass pass,
                                            tess_cl_view x, tess_cl_view y, int weight)
{
    tess_stage_clifford_sgp stage = {
        .problem = tile->problem, .x = x, .y = y, .weight = tile->weights[weight]};
    stage.problem.pass = (int32_t)pass;
    return stage;
}

tess_status tess_cl_rows_product(tess_cl_tile *tile, tess_cl_view x, tess_cl_view y, int weight,
                                 tess_cl_view *out)
{
    *out = absent;
    if (!tess_cl_is_there(x) || !tess_cl_is_there(y)) {
        return TESS_OK;
    }
    tess_stage_clifford_sgp stage = bare_product(tile, TESS_CLIFFORD_FORWARD, x, y, weight);
    *out = take_rows(tile, tile->problem.n_out);
    stage.out = *out;
    return tess_cl_enqueue_product(tile->job, &stage);
}

tess_status tess_cl_rows_whole_product(tess_cl_tile *tile, tess_cl_view x, tess_cl_view y,
                                       tess_cl_view *z)
{
    tess_stage_clifford_sgp stage = bare_product(tile, TESS_CLIFFORD_FORWARD, x, y, CL_WEIGHT);
    stage.problem.activation = tile->job->problem.activation;
    stage.problem.normalize = tile->job->problem.normalize;
    *z = take_rows(tile, tile->problem.n_out);
    stage.out = *z;
    stage.statistics = take_statistics(tile);
    TESS_TRY(tess_cl_enqueue_product(tile->job, &stage));
    return store_statistics(tile, stage.statistics);
}

// Where a stage puts its gradient of a weight: the sum itself if it is the first.
static tess_cl_view open_part(tess_cl_tile *tile, int result, bool is_wanted)
{
    if (!is_wanted || !tile->weights[result].data) {
        return absent;
    }
    return tile->has_sum[result] ? take_weight(tile, result) : tile->weights[result];
}

static tess_status close_part(tess_cl_tile *tile, int result, tess_cl_view part)
{
    if (!tess_cl_is_there(part)) {
        return TESS_OK;
    }
    const bool is_first = !tile->has_sum[result];
    tile->has_sum[result] = true;
    if (is_first) {
        return TESS_OK;
    }
    const int32_t dtype = tile->problem.dtype;
    const tess_cl_view terms[2] = {tile->weights[result], part};
    return sum_weights(tile->job, result, tile->weights[result], dtype, terms, 2, dtype);
}

tess_status tess_cl_rows_product_backward(tess_cl_tile *tile, tess_cl_view h, tess_cl_view x,
                                          tess_cl_view y, int weight, tess_cl_view *grad_x,
                                          tess_cl_view *grad_y, bool wants_weight)
{
    const tess_cl_view part = open_part(tile, tile->sums + CL_WEIGHT, wants_weight);
    tess_stage_clifford_sgp stage = bare_product(tile, TESS_CLIFFORD_BACKWARD, x, y, weight);
    stage.grad_out = h;
    stage.grad_weight = part;
    if (grad_x) {
        *grad_x = take_rows(tile, tile->problem.n_in);
        stage.grad_x = *grad_x;
    }
    if (grad_y) {
        *grad_y = take_rows(tile, tile->problem.n_in);
        stage.grad_y = *grad_y;
    }
    if (!grad_x && !grad_y && !tess_cl_is_there(part)) {
        return TESS_OK;
    }
    TESS_TRY(tess_cl_enqueue_product(tile->job, &stage));
    return close_part(tile, tile->sums + CL_WEIGHT, part);
}

static tess_stage_clifford_linear linear_stage(const tess_cl_tile *tile, tess_clifford_pass pass,
                                               int weight)
{
    tess_stage_clifford_linear stage = {.problem = tile->problem, .weight = tile->weights[weight]};
    stage.problem.pass = (int32_t)pass;
    if (tile->job->op->kind != TESS_CLIFFORD_LINEAR) {
        stage.problem.n_out = stage.problem.n_in;
    }
    return stage;
}

tess_status tess_cl_rows_linear(tess_cl_tile *tile, tess_cl_view x, int weight, int bias,
                                tess_cl_view *out)
{
    *out = absent;
    if (!tess_cl_is_there(x) || !tess_cl_is_there(tile->weights[weight])) {
        return TESS_OK;
    }
    tess_stage_clifford_linear stage = linear_stage(tile, TESS_CLIFFORD_FORWARD, weight);
    *out = take_rows(tile, stage.problem.n_out);
    stage.x = x;
    stage.bias = bias < 0 ? absent : tile->weights[bias];
    stage.out = *out;
    return tess_cl_enqueue(tile->job, TESS_STAGE_CLIFFORD_LINEAR, &stage, sizeof stage);
}

tess_status tess_cl_rows_linear_backward(tess_cl_tile *tile, tess_cl_view x, tess_cl_view grad_out,
                                         int weight, tess_cl_view *grad_x, bool wants_weight,
                                         bool wants_bias)
{
    if (!tess_cl_is_there(grad_out)) {
        return TESS_OK;
    }
    tess_stage_clifford_linear stage = linear_stage(tile, TESS_CLIFFORD_BACKWARD, weight);
    stage.x = x;
    stage.grad_out = grad_out;
    stage.grad_weight = open_part(tile, tile->sums + CL_LINEAR_WEIGHT, wants_weight);
    stage.grad_bias = open_part(tile, tile->sums + CL_BIAS, wants_bias);
    if (grad_x) {
        *grad_x = take_rows(tile, stage.problem.n_in);
        stage.grad_x = *grad_x;
    }
    if (!grad_x && !stage.grad_weight.data && !stage.grad_bias.data) {
        return TESS_OK;
    }
    const tess_cl_view weight_part = stage.grad_weight;
    const tess_cl_view bias_part = stage.grad_bias;
    TESS_TRY(tess_cl_enqueue(tile->job, TESS_STAGE_CLIFFORD_LINEAR, &stage, sizeof stage));
    TESS_TRY(close_part(tile, tile->sums + CL_LINEAR_WEIGHT, weight_part));
    return close_part(tile, tile->sums + CL_BIAS, bias_part);
}
