// Whether strided arrays share memory, exactly where that is cheap to tell.
#include "systems/clifford/op/operands.h"

enum { MAX_AXES = 2 * TESS_MAX_RANK, MAX_STEPS = 4096 };

// An index that runs from 0 to last and moves the address by stride bytes (positive).
typedef struct axis {
    int64_t stride;
    int64_t last;
} axis;

typedef struct axes {
    axis list[MAX_AXES]; // largest stride first
    int n;
    int n_step;
} axes;

static void add_axis(axes *all, int64_t stride, int64_t last)
{
    if (last == 0 || stride == 0) {
        return;
    }
    int at = all->n++;
    for (; at > 0 && all->list[at - 1].stride < stride; at--) {
        all->list[at] = all->list[at - 1];
    }
    all->list[at] = (axis){stride, last};
}

// Adds the axes of an array; *low becomes the lowest address.
static void add_array(axes *all, const tess_array *a, int64_t *low)
{
    *low = (int64_t)(intptr_t)a->data;
    for (int32_t i = 0; i < a->rank; i++) {
        const int64_t stride = a->stride[i] * a->item_bytes;
        const int64_t last = a->shape[i] - 1;
        *low += stride < 0 ? stride * last : 0;
        add_axis(all, stride < 0 ? -stride : stride, last);
    }
}

static int64_t reach_from(const axes *all, int first)
{
    int64_t reach = 0;
    for (int i = first; i < all->n; i++) {
        reach += all->list[i].stride * all->list[i].last;
    }
    return reach;
}

// Whether some indices of the axes from first on give low <= sum of strides <= high. For arrays
// that are slices of others only one or two indices of an axis come into question.
static bool can_hit(axes *all, int first, int64_t low, int64_t high)
{
    if (first == all->n) {
        return low <= 0 && high >= 0;
    }
    if (++all->n_step > MAX_STEPS) {
        return true;
    }
    const axis this = all->list[first];
    const int64_t rest = reach_from(all, first + 1);
    int64_t begin = low - rest > 0 ? (low - rest + this.stride - 1) / this.stride : 0;
    const int64_t end = high < 0 ? -1 : high / this.stride;
    for (; begin <= this.last && begin <= end; begin++) {
        const int64_t moved = begin * this.stride;
        if (can_hit(all, first + 1, low - moved, high - moved)) {
            return true;
        }
    }
    return false;
}

// Joins axes of the same stride: their indices move the address by their sum alone. Without, every
// row of an array would be tried against every row of one beside it.
static void join_equal(axes *all)
{
    int n = 0;
    for (int i = 0; i < all->n; i++) {
        if (n > 0 && all->list[n - 1].stride == all->list[i].stride) {
            all->list[n - 1].last += all->list[i].last;
        } else {
            all->list[n++] = all->list[i];
        }
    }
    all->n = n;
}

bool tess_cl_overlaps(const tess_array *a, const tess_array *b)
{
    if (tess_array_items(a) == 0 || tess_array_items(b) == 0) {
        return false;
    }
    axes all = {.n = 0};
    int64_t a_low;
    int64_t b_low;
    add_array(&all, a, &a_low);
    const int64_t a_reach = reach_from(&all, 0);
    add_array(&all, b, &b_low);
    const int64_t b_reach = reach_from(&all, 0) - a_reach;
    if (a_low + a_reach + a->item_bytes <= b_low || b_low + b_reach + b->item_bytes <= a_low) {
        return false;
    }
    // An item of a at a_low + i and one of b at b_low + b_reach - j (j runs over the same steps as
    // b's index, from its other end) share a byte where the distance is less than an item.
    const int64_t distance = b_low + b_reach - a_low;
    join_equal(&all);
    return can_hit(&all, 0, distance - a->item_bytes + 1, distance + b->item_bytes - 1);
}

bool tess_cl_overlaps_itself(const tess_array *a)
{
    axes all = {.n = 0};
    int64_t low;
    add_array(&all, a, &low);
    for (int32_t i = 0; i < a->rank; i++) {
        if (a->stride[i] == 0 && a->shape[i] > 1) {
            return true;
        }
    }
    // Every axis steps over all that the finer ones reach.
    for (int i = 0; i < all.n; i++) {
        if (all.list[i].stride < reach_from(&all, i + 1) + a->item_bytes) {
            return true;
        }
    }
    return false;
}
