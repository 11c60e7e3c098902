// Two components. Their derivatives are no products of a factor of the pair and one of the angle,
// so a warp has one angle and 32 pairs at a time. The lanes leave derivatives, M, samples and
// weights in shared memory; a tensor core then multiplies
//
//   D[16][16] += A[16][pairs] B[pairs][16],   A: J (14 rows), M, 1;   B: w J (14 columns), w M, w y
//
// which holds the Hessian, and in rows 14 and 15 and column 15 all other sums of the angle.

#include "backend/cuda/xpcs/pass_two.h"

namespace
{

enum {
    n_param = TESS_XP_TWO_PARAMS,
    n_each = 6 + 3 * n_param,
    n_outer = n_param * (n_param + 1) / 2,
    side = 16,
    edge_rows = 3, // rows 14 and 15 and column 15 of D
    n_extra = 7,   // as xp_extra, and Sf, Sff, Sfy of a cost alone
    job_sums = edge_rows * side + n_extra,
};

// What a block has in shared memory.
struct two_shared {
    double pairs[PAIR_ROWS][xp_run]; // and at the end D of all warps
    double points[xp_max_warps][POINT_ROWS][POINT_STRIDE];
    double jobs[xp_block_angles][job_sums];
    double heads[xp_block_angles * 3];
};
static_assert(xp_max_warps * side * side <= PAIR_ROWS * xp_run, "D of all warps has no room");

// A warp's angle and its share of a tile's columns. Where angles are few, several warps have one.
struct two_job {
    const tess_xp_angle *of;
    int angle; // of all
    int slice;
    int n_slice;
};

struct two_sums {
    double d[2][4]; // columns 0 to 7 and 8 to 15 of D
    double cost[3];
    xp_extra extra;
};

// The products of 32 points.
__device__ __forceinline__ void multiply_points(const double *points, double (&d)[2][4])
{
    const int row = int(threadIdx.x) % 32 / 4, column = int(threadIdx.x) % 4;
    const double *top_row = points + row * POINT_STRIDE + column;
    const bool is_last = row == 7;
#pragma unroll
    for (int step = 0; step < 32; step += 8) {
        double top[2], bottom[2], left[2], right[2];
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const double *at = top_row + step + 4 * k;
            const double low = at[8 * POINT_STRIDE];
            const double w = points[POINT_WEIGHT * POINT_STRIDE + column + step + 4 * k];
            top[k] = at[0];
            bottom[k] = is_last ? 1 : low;
            left[k] = w * top[k];
            right[k] = is_last ? low : w * low;
        }
        multiply_add(d[0], top, bottom, left);
        multiply_add(d[1], top, bottom, right);
    }
}

__device__ __forceinline__ double sample_at(const xp_pass &a, const unsigned char *y, int64_t at)
{
    return a.item_bytes == 4 ? double(__ldg(reinterpret_cast<const float *>(y) + at))
                             : __ldg(reinterpret_cast<const double *>(y) + at);
}

template <int want, int weighing>
__device__ void take_columns(const xp_pass &a, const xp_tile &tile, const record_parts &record,
                             const two_job &job, bool is_one_q, const double *pairs, double *points,
                             two_sums *s)
{
    const int at = int(threadIdx.x) % 32;
    const xp_lane lane = lane_of<weighing>(a, job.of - job.angle, job.angle, true);
    double *point = points + at;
    for (int first = job.slice * 32; first < tile.n_column; first += job.n_slice * 32) {
        const int p = first + at;
        double g = p < tile.n_column
                       ? sample_at(a, record.samples, int64_t(job.angle) * tile.width + p)
                       : nan("");
        g -= lane.mean;
        const bool is_there = g == g;
        double v = is_there ? 1 : 0;
        if (weighing != XP_PLAIN && is_there) {
            v = weight_of(a, tile, record, lane, job.angle, p);
        }
        g = is_there ? g : 0;
        const double all = take_two<want>(pairs + p, *job.of, is_one_q, point);
        const double m = is_there ? all : 0;
        const xp_rows r = xp_products<weighing>(a, lane, m, 1, g, v, &s->extra);
        if (want == COST) {
            s->cost[0] += r.m, s->cost[1] += r.mm, s->cost[2] += r.mg;
            continue;
        }
        point[POINT_MODEL * POINT_STRIDE] = m;
        point[POINT_SAMPLE * POINT_STRIDE] = r.tg;
        point[POINT_WEIGHT * POINT_STRIDE] = weighing == XP_PLAIN ? v : r.t;
        __syncwarp();
        multiply_points(points, s->d);
        __syncwarp();
    }
}

// Of a lane's number of D: its place.
__device__ __forceinline__ void place_of(int half, int k, int *row, int *column)
{
    const int at = int(threadIdx.x) % 32;
    *row = at / 4 + k / 2 * 8;
    *column = half * 8 + at % 4 * 2 + k % 2;
}

__device__ __forceinline__ double warp_sum(double x)
{
    for (int step = 16; step > 0; step /= 2) {
        x += __shfl_xor_sync(0xffffffff, x, step);
    }
    return x;
}

// The sums of a tile onto those of the angle, and onto the warp's Hessian.
template <int want, int weighing>
__device__ void add_job(const two_sums &s, double weight, double *job, double (&hessian)[2][4])
{
    const double extra[] = {s.extra.weight, s.extra.sample, s.extra.square, s.extra.residual,
                            s.cost[0],      s.cost[1],      s.cost[2]};
    double *extras = job + edge_rows * side;
    for (int k = weighing == XP_PLAIN ? 4 : 0; k < (want == COST ? n_extra : 4); k++) {
        const double sum = warp_sum(extra[k]);
        if (threadIdx.x % 32 == 0) {
            extras[k] += sum;
        }
    }
    for (int half = 0; half < 2 && want != COST; half++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            int row, column;
            place_of(half, k, &row, &column);
            const double d = s.d[half][k];
            if (row >= n_param) {
                job[(row - n_param) * side + column] += d;
            }
            if (column == POINT_SAMPLE) {
                job[2 * side + row] += d;
            }
            hessian[half][k] = fma(weight, d, hessian[half][k]);
        }
    }
}

// Sum number of a job's 6 + 3 p, without heads.
template <int want, int weighing>
__device__ double job_sum(const xp_pass &a, const double *job, int number)
{
    const double *extras = job + edge_rows * side;
    const double *by_model = job, *by_one = job + side, *by_sample = job + 2 * side;
    if (number >= 6) {
        const int kind = (number - 6) / n_param, k = (number - 6) % n_param;
        const double *edges[] = {by_one, by_model, by_sample};
        return want == COST ? 0 : edges[kind][k];
    }
    switch (number) {
    case 0:
        return extras[0];
    case 1:
        return want == COST ? extras[4] : by_one[POINT_MODEL];
    case 2:
        return want == COST ? extras[5] : by_model[POINT_MODEL];
    case 3:
        return extras[1];
    case 4:
        return extras[2];
    default:
        return want == COST ? extras[6] : by_model[POINT_SAMPLE];
    }
}

template <int want, int weighing>
__device__ void write_angles(const xp_pass &a, const two_shared &s, const tess_xp_angle *angles,
                             int n, int n_slice, double *out)
{
    for (int x = threadIdx.x; x < n * n_each; x += blockDim.x) {
        const int angle = x / n_each, number = x % n_each;
        double sum = 0;
        for (int k = 0; k < n_slice; k++) {
            sum += job_sum<want, weighing>(a, s.jobs[angle * n_slice + k], number);
        }
        if (weighing == XP_ROBUST) {
            sum *= number == 4 ? a.f_scale * a.f_scale : angles[angle].inverse_variance;
        }
        const bool is_head = number == 0 || number == 3 || number == 4;
        if (weighing == XP_PLAIN && is_head) {
            sum = s.heads[angle * 3 + (number == 0 ? 0 : number - 2)];
        }
        out[x] = sum;
    }
}

template <int want, int weighing>
__device__ void write_outer(const two_shared &s, const tess_xp_angle *angles, int n, int n_slice,
                            double *out)
{
    const double *d = &s.pairs[0][0];
    for (int x = threadIdx.x; x <= n_outer; x += blockDim.x) {
        int row = 0, column = x;
        while (column >= n_param - row && x < n_outer) {
            column -= n_param - row;
            row++;
        }
        double sum = 0;
        for (int w = 0; w < xp_max_warps && x < n_outer && want == HESSIAN; w++) {
            sum += d[(w * side + row) * side + row + column];
        }
        for (int k = 0; k < n * n_slice && x == n_outer && weighing == XP_ROBUST; k++) {
            sum += angles[k / n_slice].inverse_variance * s.jobs[k][edge_rows * side + 3];
        }
        out[x] = sum;
    }
}

// Whether M is below 4e-18 for every pair of a tile at every angle, which then counts as 0.
__device__ __forceinline__ bool is_dark_two(const xp_pass &a, const xp_tile &tile,
                                            const block_angles &angles)
{
    const double *reference = a.grid[blockIdx.z][0];
    const double *sample = reference + TESS_XP_TWO_SAMPLE * a.n_frame;
    const double nearest = fmin(fabs(reference[tile.column] - reference[tile.row]),
                                fabs(sample[tile.column] - sample[tile.row]));
    return 2 * angles.least_w2 * nearest > 40;
}

__device__ __forceinline__ void put_hessian(const double (&hessian)[2][4], int warp, double *out)
{
    for (int half = 0; half < 2; half++) {
        for (int k = 0; k < 4; k++) {
            int row, column;
            place_of(half, k, &row, &column);
            out[(warp * side + row) * side + column] = hessian[half][k];
        }
    }
}

template <int want, int weighing>
__global__ void __launch_bounds__(xp_max_warps * 32, 2)
    two_kernel(const __grid_constant__ xp_pass a)
{
    extern __shared__ double shared[];
    two_shared &s = *reinterpret_cast<two_shared *>(shared);
    const int warp = int(threadIdx.x) / 32, first = int(blockIdx.y) * a.round_angles;
    const int n = min(a.round_angles, a.n_angle - first);
    const int n_slice = n < xp_max_warps ? xp_max_warps / n : 1, n_job = n * n_slice;
    const tess_xp_angle *angles = a.angles + int64_t(blockIdx.z) * a.n_angle;
    const block_angles all = survey(angles + first, n);
    double hessian[2][4] = {}, heads[3] = {};
    for (int x = threadIdx.x; x < n_job * job_sums; x += blockDim.x) {
        s.jobs[0][x] = 0;
    }

    const int64_t full = xp_record_bytes(a.n_angle, a.item_bytes, a.has_sigma);
    const int64_t begin = begin_of(a, blockIdx.x);
    const int n_tile = int(min(int64_t(xp_part_tiles), a.n_tile - begin));
    const unsigned char *records =
        a.records - xp_record_at(a.row_offset, a.first_row, a.first_run, full);
    xp_tile tile = {};
    for (int k = 0; k < n_tile; k++) {
        tile = k == 0 ? xp_tile_at(a.n_frame, uint32_t(a.n_tile - begin))
                      : xp_tile_after(a.n_frame, tile);
        const record_parts record =
            parts_of(a, tile, records + xp_record_at(a.row_offset, tile.row, tile.run, full));
        if (weighing == XP_PLAIN) {
            add_heads(record, first, n, heads);
        }
        if (weighing == XP_PLAIN && is_dark_two(a, tile, all)) {
            continue;
        }
        __syncthreads();
        // Warps take 32 columns at a time: what is behind the last has to be finite.
        for (int p = threadIdx.x; p < (tile.n_column + 31) / 32 * 32; p += blockDim.x) {
            fill_two<want>(a, tile, all, p, &s.pairs[0][0]);
        }
        __syncthreads();
        for (int number = warp; number < n_job; number += xp_max_warps) {
            const int angle = first + number / n_slice;
            const two_job job = {angles + angle, angle, number % n_slice, n_slice};
            two_sums sums = {};
            take_columns<want, weighing>(a, tile, record, job, all.least_w2 == all.most_w2,
                                         &s.pairs[0][0], &s.points[warp][0][0], &sums);
            add_job<want, weighing>(sums, job.of->weight, s.jobs[number], hessian);
        }
    }

    __syncthreads();
    put_hessian(hessian, warp, &s.pairs[0][0]);
    store_heads(heads, n, s.heads);
    __syncthreads();
    const int64_t part = int64_t(a.first_set + blockIdx.z) * a.n_leaf * xp_leaf_parts + blockIdx.x;
    double *out = a.partial + part * a.n_partial;
    write_angles<want, weighing>(a, s, angles + first, n, n_slice, out + first * n_each);
    write_outer<want, weighing>(s, angles + first, n, n_slice,
                                out + a.n_angle * n_each + int(blockIdx.y) * (n_outer + 1));
}

template <int want, int weighing>
cudaError_t launch_two(cudaStream_t stream, dim3 blocks, const xp_pass &a)
{
    const auto kernel = two_kernel<want, weighing>;
    const cudaError_t error = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(sizeof(two_shared)));
    if (error != cudaSuccess) {
        return error;
    }
    kernel<<<blocks, xp_max_warps * 32, sizeof(two_shared), stream>>>(a);
    return cudaGetLastError();
}

template <int weighing>
cudaError_t launch_weighing(cudaStream_t stream, dim3 blocks, const xp_pass &a, int want)
{
    switch (want) {
    case COST:
        return launch_two<COST, weighing>(stream, blocks, a);
    case GRADIENT:
        return launch_two<GRADIENT, weighing>(stream, blocks, a);
    default:
        return launch_two<HESSIAN, weighing>(stream, blocks, a);
    }
}

} // namespace

cudaError_t xp_launch_two(cudaStream_t stream, dim3 blocks, const xp_pass &a, int want,
                          xp_weighing weighing)
{
    switch (weighing) {
    case XP_PLAIN:
        return launch_weighing<XP_PLAIN>(stream, blocks, a, want);
    case XP_WEIGHTED:
        return launch_weighing<XP_WEIGHTED>(stream, blocks, a, want);
    default:
        return launch_weighing<XP_ROBUST>(stream, blocks, a, want);
    }
}
