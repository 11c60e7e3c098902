#include "systems/xpcs/fit/lanes.h"

#include "systems/xpcs/fit/phases.h"

#include <string.h>

// Cuts a lane into its parts, all of 8-byte items; base NULL: they are counted alone.
static size_t bind(tess_xp_engine *e, unsigned char *base)
{
    const int64_t n_param = e->problem->n_param;
    const int64_t n_angle = e->problem->n_angle;
    const int64_t n_x = e->max_x;
    double **const vectors[] = {&e->theta,     &e->contrast, &e->offset,   &e->kept_theta,
                                &e->run_theta, &e->x,        &e->gradient, &e->hessian};
    const int64_t n_item[] = {n_param, n_angle, n_angle, n_param, n_param, n_x, n_x, n_x * n_x};
    size_t used = (sizeof *e->lane + 7) / 8 * 8;
    e->lane = (tess_xp_lane *)(void *)base;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        *vectors[i] = base ? (double *)(void *)(base + used) : NULL;
        used += (size_t)n_item[i] * sizeof(double);
    }
    e->trust = base ? (tess_trust *)(void *)(base + used) : NULL;
    used += (tess_trust_bytes(n_x) + 7) / 8 * 8;
    e->kept_block = base ? base + used : NULL;
    used += (e->reduced_bytes + 7) / 8 * 8;
    if (base) {
        tess_xp_reduced_bind(&e->kept, e->kept_block, n_angle, n_param);
    }
    return used;
}

size_t tess_xp_lane_size(const tess_xp_engine *e)
{
    tess_xp_engine counted = *e;
    return bind(&counted, NULL);
}

void tess_xp_lane_bind(tess_xp_engine *e, int64_t k)
{
    (void)bind(e, e->lanes + (size_t)k * e->lane_bytes);
}

const tess_xp_lane *tess_xp_lane_at(const tess_xp_engine *e, int64_t k)
{
    return (const tess_xp_lane *)(const void *)(e->lanes + (size_t)k * e->lane_bytes);
}

void tess_xp_lane_enter(tess_xp_engine *e, int64_t k)
{
    tess_xp_lane_bind(e, k);
    e->head->index = e->lane->index;
    e->head->want = e->lane->want;
    e->head->status = e->lane->status;
    e->head->kept_cost = e->lane->kept_cost;
    e->head->gradient_norm = e->lane->gradient_norm;
}

void tess_xp_lane_leave(tess_xp_engine *e)
{
    e->lane->index = e->head->index;
    e->lane->want = e->head->want;
    e->lane->status = e->head->status;
    e->lane->kept_cost = e->head->kept_cost;
    e->lane->gradient_norm = e->head->gradient_norm;
}

void tess_xp_lanes_clear(tess_xp_engine *e)
{
    for (int64_t k = 0; k < e->n_lane; k++) {
        tess_xp_lane_bind(e, k);
        memset(e->lane, 0, sizeof *e->lane);
        e->lane->index = -1;
    }
    e->head->first_lane = 0;
    e->head->n_begun = 0;
    tess_xp_lane_bind(e, 0);
}

bool tess_xp_has_lanes(const tess_xp_engine *e)
{
    return e->head->phase == TESS_XP_PHASE_PROFILE || e->head->phase == TESS_XP_PHASE_BOOTSTRAP;
}

int64_t tess_xp_lanes_next(tess_xp_engine *e, int64_t most, int64_t *list)
{
    int64_t n = 0;
    // A turn, so that none is left behind; lanes of a pass come in their order.
    for (int64_t turn = 0; turn < 2 && n == 0; turn++) {
        for (int64_t k = turn == 0 ? e->head->first_lane : 0; k < e->n_lane && n < most; k++) {
            const tess_xp_lane *lane = tess_xp_lane_at(e, k);
            if (lane->index >= 0 && !lane->is_lower) {
                list[n++] = k;
            }
        }
    }
    return n;
}
