// Second derivatives, composed from the stages of the first (README.md, twice backward).
#include "base/status.h"
#include "systems/clifford/op/rows.h"
#include "systems/clifford/op/run.h"

// What a product is given and gives, for the rows of a tile. Cotangents may be absent (zero).
typedef struct product {
    tess_cl_view x, y, gz;
    tess_cl_view cot_x, cot_y; // of the gradients of x and y
    tess_cl_view gated_x, gated_y;
    tess_cl_view o;              // with a norm: the product
    tess_cl_view h;              // its gradient
    tess_cl_view grad_x, grad_y; // of the gated inputs
    tess_cl_view dgz, dx, dy;    // results
} product;

// Second derivatives of the gates: u is the cotangent of the gradient of a gated input.
typedef struct gates {
    tess_cl_view u_x, u_y;
    tess_cl_view d_x, d_y;
} gates;

static bool has_norm(const tess_cl_tile *tile)
{
    return tile->job->problem.normalize;
}

// The first backward pass as far as the second needs it.
static tess_status redo_first(tess_cl_tile *tile, product *p)
{
    TESS_TRY(tess_cl_rows_gate(tile, p->x, &p->gated_x));
    TESS_TRY(tess_cl_rows_gate(tile, p->y, &p->gated_y));
    p->h = p->gz;
    if (has_norm(tile)) {
        TESS_TRY(tess_cl_rows_product(tile, p->gated_x, p->gated_y, CL_WEIGHT, &p->o));
        TESS_TRY(tess_cl_rows_norm_backward(tile, p->o, p->gz, &p->h));
    }
    return tess_cl_rows_product_backward(tile, p->h, p->gated_x, p->gated_y, CL_WEIGHT, &p->grad_x,
                                         &p->grad_y, false);
}

static tess_status add_product(tess_cl_tile *tile, tess_cl_view x, tess_cl_view y, int weight,
                               tess_cl_view *sum)
{
    tess_cl_view term;
    TESS_TRY(tess_cl_rows_product(tile, x, y, weight, &term));
    return tess_cl_rows_add(tile, sum, term, tile->problem.n_out);
}

// u_h: the cotangent of h.
static tess_status cotangent_of_h(tess_cl_tile *tile, const product *p, const gates *g,
                                  tess_cl_view *u_h)
{
    TESS_TRY(add_product(tile, g->u_x, p->gated_y, CL_WEIGHT, u_h));
    TESS_TRY(add_product(tile, p->gated_x, g->u_y, CL_WEIGHT, u_h));
    if (tess_cl_is_there(tile->weights[CL_COTANGENT + CL_WEIGHT])) {
        TESS_TRY(add_product(tile, p->gated_x, p->gated_y, CL_COTANGENT + CL_WEIGHT, u_h));
    }
    return TESS_OK;
}

// Adds gradients of the bare product of x and y to those of the gated inputs.
static tess_status add_gradients(tess_cl_tile *tile, tess_cl_view h, tess_cl_view x, tess_cl_view y,
                                 int weight, tess_cl_view *d_x, tess_cl_view *d_y,
                                 bool wants_weight)
{
    tess_cl_view grad_x = {.data = NULL};
    tess_cl_view grad_y = {.data = NULL};
    TESS_TRY(tess_cl_rows_product_backward(tile, h, x, y, weight, d_x ? &grad_x : NULL,
                                           d_y ? &grad_y : NULL, wants_weight));
    if (d_x) {
        TESS_TRY(tess_cl_rows_add(tile, d_x, grad_x, tile->problem.n_in));
    }
    return d_y ? tess_cl_rows_add(tile, d_y, grad_y, tile->problem.n_in) : TESS_OK;
}

// Gradients of the gated inputs at fixed h, and those of the weight.
static tess_status at_fixed_h(tess_cl_tile *tile, const product *p, const gates *g,
                              tess_cl_view *d_x, tess_cl_view *d_y)
{
    const bool has_x = tess_cl_is_there(g->u_x);
    const bool has_y = tess_cl_is_there(g->u_y);
    if (has_x || has_y) {
        // Each needs the other's cotangent; the place of an absent one is not read.
        TESS_TRY(add_gradients(tile, p->h, has_x ? g->u_x : p->gated_x, has_y ? g->u_y : p->gated_y,
                               CL_WEIGHT, has_y ? d_x : NULL, has_x ? d_y : NULL, false));
    }
    if (tess_cl_is_there(tile->weights[CL_COTANGENT + CL_WEIGHT])) {
        TESS_TRY(add_gradients(tile, p->h, p->gated_x, p->gated_y, CL_COTANGENT + CL_WEIGHT, d_x,
                               d_y, false));
    }
    if (has_x) {
        TESS_TRY(add_gradients(tile, p->h, g->u_x, p->gated_y, CL_WEIGHT, NULL, NULL, true));
    }
    if (has_y) {
        TESS_TRY(add_gradients(tile, p->h, p->gated_x, g->u_y, CL_WEIGHT, NULL, NULL, true));
    }
    return TESS_OK;
}

// Everything of the product behind redo_first(), cot_x and cot_y being known.
static tess_status double_product(tess_cl_tile *tile, product *p)
{
    gates g;
    TESS_TRY(tess_cl_rows_gate_double(tile, p->x, p->grad_x, p->cot_x, &g.u_x, &g.d_x));
    TESS_TRY(tess_cl_rows_gate_double(tile, p->y, p->grad_y, p->cot_y, &g.u_y, &g.d_y));
    tess_cl_view u_h = {.data = NULL};
    tess_cl_view d_x = {.data = NULL};
    tess_cl_view d_y = {.data = NULL};
    TESS_TRY(cotangent_of_h(tile, p, &g, &u_h));
    TESS_TRY(at_fixed_h(tile, p, &g, &d_x, &d_y));
    p->dgz = u_h;
    if (has_norm(tile) && tess_cl_is_there(u_h)) {
        tess_cl_view d_o;
        TESS_TRY(tess_cl_rows_norm_double(tile, p->o, p->gz, u_h, &p->dgz, &d_o));
        TESS_TRY(add_gradients(tile, d_o, p->gated_x, p->gated_y, CL_WEIGHT, &d_x, &d_y, true));
    }
    TESS_TRY(tess_cl_rows_gate_backward(tile, p->x, d_x, &p->dx));
    TESS_TRY(tess_cl_rows_gate_backward(tile, p->y, d_y, &p->dy));
    TESS_TRY(tess_cl_rows_add(tile, &p->dx, g.d_x, tile->problem.n_in));
    return tess_cl_rows_add(tile, &p->dy, g.d_y, tile->problem.n_in);
}

static tess_status load_product(tess_cl_tile *tile, product *p)
{
    TESS_TRY(tess_cl_rows_load(tile, CL_X, &p->x));
    TESS_TRY(tess_cl_rows_load(tile, CL_GZ, &p->gz));
    return tess_cl_rows_load(tile, CL_COTANGENT + CL_X, &p->cot_x);
}

static tess_status product_tile(tess_cl_tile *tile)
{
    product p = {.x = {.data = NULL}};
    TESS_TRY(load_product(tile, &p));
    TESS_TRY(tess_cl_rows_load(tile, CL_Y, &p.y));
    TESS_TRY(tess_cl_rows_load(tile, CL_COTANGENT + CL_Y, &p.cot_y));
    TESS_TRY(redo_first(tile, &p));
    TESS_TRY(double_product(tile, &p));
    TESS_TRY(tess_cl_rows_store(tile, CL_DGZ, p.dgz));
    TESS_TRY(tess_cl_rows_store(tile, CL_RESULT + CL_X, p.dx));
    return tess_cl_rows_store(tile, CL_RESULT + CL_Y, p.dy);
}

// The cotangent of a linear map's gradient: a W + x cW + cb, each part where it is.
static tess_status linear_cotangent(tess_cl_tile *tile, tess_cl_view x, tess_cl_view cot_x,
                                    tess_cl_view *out)
{
    const int cot_weight = CL_COTANGENT + CL_LINEAR_WEIGHT;
    const bool has_x = tess_cl_is_there(cot_x);
    tess_cl_view term;
    TESS_TRY(tess_cl_rows_linear(tile, cot_x, CL_LINEAR_WEIGHT, CL_COTANGENT + CL_BIAS, out));
    TESS_TRY(tess_cl_rows_linear(tile, x, cot_weight, has_x ? -1 : CL_COTANGENT + CL_BIAS, &term));
    const int64_t n_out =
        tile->job->op->kind == TESS_CLIFFORD_LINEAR ? tile->problem.n_out : tile->problem.n_in;
    return tess_cl_rows_add(tile, out, term, n_out);
}

static tess_status layer_tile(tess_cl_tile *tile)
{
    const int cot_weight = CL_COTANGENT + CL_LINEAR_WEIGHT;
    const int64_t n_in = tile->problem.n_in;
    product p = {.x = {.data = NULL}};
    TESS_TRY(load_product(tile, &p));
    // Not the y of the caller, which is rounded to the type of x.
    TESS_TRY(tess_cl_rows_linear(tile, p.x, CL_LINEAR_WEIGHT, CL_BIAS, &p.y));
    TESS_TRY(redo_first(tile, &p));
    TESS_TRY(linear_cotangent(tile, p.x, p.cot_x, &p.cot_y));
    TESS_TRY(double_product(tile, &p));

    tess_cl_view gy;
    tess_cl_view term = {.data = NULL};
    TESS_TRY(tess_cl_rows_gate_backward(tile, p.y, p.grad_y, &gy));
    TESS_TRY(tess_cl_rows_linear_backward(tile, p.x, p.dy, CL_LINEAR_WEIGHT, &term, true, true));
    TESS_TRY(tess_cl_rows_add(tile, &p.dx, term, n_in));
    if (tess_cl_is_there(tile->weights[cot_weight])) {
        TESS_TRY(tess_cl_rows_linear_backward(tile, p.x, gy, cot_weight, &term, false, false));
        TESS_TRY(tess_cl_rows_add(tile, &p.dx, term, n_in));
    }
    if (tess_cl_is_there(p.cot_x)) {
        TESS_TRY(
            tess_cl_rows_linear_backward(tile, p.cot_x, gy, CL_LINEAR_WEIGHT, NULL, true, false));
    }
    TESS_TRY(tess_cl_rows_store(tile, CL_DGZ, p.dgz));
    return tess_cl_rows_store(tile, CL_RESULT + CL_X, p.dx);
}

static tess_status linear_tile(tess_cl_tile *tile)
{
    const int cot_weight = CL_COTANGENT + CL_LINEAR_WEIGHT;
    product p = {.x = {.data = NULL}};
    TESS_TRY(load_product(tile, &p));
    TESS_TRY(linear_cotangent(tile, p.x, p.cot_x, &p.dgz));
    if (tess_cl_is_there(tile->weights[cot_weight])) {
        TESS_TRY(tess_cl_rows_linear_backward(tile, p.x, p.gz, cot_weight, &p.dx, false, false));
    }
    if (tess_cl_is_there(p.cot_x)) {
        TESS_TRY(
            tess_cl_rows_linear_backward(tile, p.cot_x, p.gz, CL_LINEAR_WEIGHT, NULL, true, false));
    }
    TESS_TRY(tess_cl_rows_store(tile, CL_DGZ, p.dgz));
    return tess_cl_rows_store(tile, CL_RESULT + CL_X, p.dx);
}

// A gate or a norm alone.
static tess_status pointwise_tile(tess_cl_tile *tile)
{
    product p = {.x = {.data = NULL}};
    TESS_TRY(load_product(tile, &p));
    TESS_TRY(tile->job->op->kind == TESS_CLIFFORD_GATE
                 ? tess_cl_rows_gate_double(tile, p.x, p.gz, p.cot_x, &p.dgz, &p.dx)
                 : tess_cl_rows_norm_double(tile, p.x, p.gz, p.cot_x, &p.dgz, &p.dx));
    TESS_TRY(tess_cl_rows_store(tile, CL_DGZ, p.dgz));
    return tess_cl_rows_store(tile, CL_RESULT + CL_X, p.dx);
}

static tess_status work_on_tile(tess_cl_tile *tile)
{
    switch (tile->job->op->kind) {
    case TESS_CLIFFORD_GATE:
    case TESS_CLIFFORD_NORM:
        return pointwise_tile(tile);
    case TESS_CLIFFORD_LINEAR:
        return linear_tile(tile);
    case TESS_CLIFFORD_LAYER:
    case TESS_CLIFFORD_FC_LAYER:
        return layer_tile(tile);
    default:
        return product_tile(tile);
    }
}

// A cotangent of the bias alone: the weight's is zero then, but must be there.
static tess_status complete_cotangents(tess_cl_tile *tile)
{
    const int weight = CL_COTANGENT + CL_LINEAR_WEIGHT;
    if (!tile->weights[CL_COTANGENT + CL_BIAS].data || tile->weights[weight].data ||
        tile->job->views[CL_COTANGENT + CL_X].data) {
        return TESS_OK;
    }
    return tess_cl_tile_zero_weight(tile, weight);
}

tess_status tess_cl_double_work(tess_cl_job *job)
{
    tess_cl_tile tile;
    TESS_TRY(tess_cl_tile_init(&tile, job, CL_RESULT));
    TESS_TRY(complete_cotangents(&tile));
    return tess_cl_tile_run(&tile, work_on_tile);
}

tess_status tess_clifford_double_backward(tess_context *ctx, const tess_clifford_op *op,
                                          const tess_clifford_arrays *in, const tess_array *gz,
                                          const tess_clifford_arrays *cotangents,
                                          const tess_array *dgz,
                                          const tess_clifford_arrays *results,
                                          const tess_clifford_call *call)
{
    tess_error_clear();
    TESS_TRY(tess_cl_check_op(ctx, op));
    tess_cl_operands operands = {.pass = TESS_CLIFFORD_DOUBLE_BACKWARD};
    TESS_TRY(tess_cl_operands_take(&operands, CL_INPUT, in, "in"));
    TESS_TRY(tess_cl_operands_take(&operands, CL_COTANGENT, cotangents, "cotangents"));
    TESS_TRY(tess_cl_operands_take(&operands, CL_RESULT, results, "results"));
    operands.arrays[CL_GZ] = gz;
    operands.arrays[CL_DGZ] = dgz;
    return tess_cl_run(ctx, op, &operands, tess_cl_double_work, call);
}
