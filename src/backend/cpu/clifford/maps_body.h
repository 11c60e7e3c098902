// Linear maps of rows for one dtype; included by maps.c only.

static double T_NAME(item)(const maps_job *job, int64_t at)
{
    return (double)((const SCALAR *)job->args->items)[at];
}

// One pair of FEW channels of the result from n0 on, of one row. is_turned: z to x.
static void T_NAME(map_pair)(const maps_job *job, const SCALAR *from, SCALAR *to, int pair,
                             int64_t n0, bool is_turned)
{
    const tess_stage_clifford_maps *a = job->args;
    const tess_cl_maps_side *in = is_turned ? &a->z : &a->x;
    const tess_cl_maps_side *out = is_turned ? &a->x : &a->z;
    const int64_t n_few = out->n_channel - n0 < FEW ? out->n_channel - n0 : FEW;
    double sum[FEW][2] = {{0}};
    for (int64_t k = 0; k < in->n_channel; k++) {
        const SCALAR *channel = from + channel_at(in, k);
        const double first = (double)channel[job->component[pair][0]];
        const double second = (double)channel[job->component[pair][1]];
        for (int64_t i = 0; i < n_few; i++) {
            const int64_t x = is_turned ? n0 + i : k, z = is_turned ? k : n0 + i;
            const int64_t at = ((pair * a->x.n_channel + x) * a->z.n_channel + z) * 4;
            const int64_t aside = is_turned ? 2 : 1; // the other component of the result
            sum[i][0] += first * T_NAME(item)(job, at) + second * T_NAME(item)(job, at + 3 - aside);
            sum[i][1] += first * T_NAME(item)(job, at + aside) + second * T_NAME(item)(job, at + 3);
        }
    }
    for (int64_t s = 0; pair == 0 && s < in->n_scalar; s++) {
        const double value = (double)from[scalar_at(in, s)];
        for (int64_t i = 0; i < n_few; i++) {
            for (int64_t b = 0; b < 2; b++) {
                const int64_t at =
                    is_turned ? job->parts.to_scalars + ((n0 + i) * 2 + b) * a->z.n_scalar + s
                              : job->parts.to_pair + (s * 2 + b) * a->z.n_channel + n0 + i;
                sum[i][b] += value * T_NAME(item)(job, at);
            }
        }
    }
    const int64_t bias = job->parts.to_pair + a->x.n_scalar * 2 * a->z.n_channel + n0;
    for (int64_t i = 0; i < n_few; i++) {
        SCALAR *channel = to + channel_at(out, n0 + i);
        for (int b = 0; b < 2; b++) {
            if (pair == 0 && !is_turned && a->has_bias) {
                sum[i][b] += T_NAME(item)(job, bias + b * a->z.n_channel + i);
            }
            channel[job->component[pair][b]] = (SCALAR)sum[i][b];
        }
    }
}

static double T_NAME(map_scalar)(const maps_job *job, const SCALAR *from, int64_t n, bool is_turned)
{
    const tess_stage_clifford_maps *a = job->args;
    const tess_cl_maps_side *in = is_turned ? &a->z : &a->x;
    double sum = 0;
    for (int64_t k = 0; k < in->n_channel; k++) {
        const SCALAR *channel = from + channel_at(in, k);
        for (int b = 0; b < 2; b++) {
            const int64_t at = is_turned ? job->parts.to_pair + (n * 2 + b) * a->z.n_channel + k
                                         : job->parts.to_scalars + (k * 2 + b) * a->z.n_scalar + n;
            sum += (double)channel[job->component[0][b]] * T_NAME(item)(job, at);
        }
    }
    for (int64_t k = 0; k < in->n_scalar; k++) {
        const int64_t line = is_turned ? n : k;
        const int64_t column = is_turned ? k : n;
        sum += (double)from[scalar_at(in, k)] *
               T_NAME(item)(job, job->parts.scalars + line * a->z.n_scalar + column);
    }
    if (!is_turned && a->has_bias) {
        sum += T_NAME(item)(job, job->parts.scalars + a->x.n_scalar * a->z.n_scalar + n);
    }
    return sum;
}

static tess_status T_NAME(map_block)(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const maps_job *job = arg;
    const tess_stage_clifford_maps *a = job->args;
    const bool is_turned = a->pass == TESS_CL_MAPS_ROWS;
    const tess_cl_maps_side *in = is_turned ? &a->z : &a->x;
    const tess_cl_maps_side *out = is_turned ? &a->x : &a->z;
    const int64_t last = (block + 1) * BLOCK_ROWS < a->n_row ? (block + 1) * BLOCK_ROWS : a->n_row;
    for (int64_t r = block * BLOCK_ROWS; r < last; r++) {
        const SCALAR *from = (const SCALAR *)in->data + r * in->stride;
        SCALAR *to = (SCALAR *)out->data + r * out->stride;
        for (int pair = 0; pair < TESS_CL_MAPS_PAIRS; pair++) {
            for (int64_t n0 = 0; n0 < out->n_channel; n0 += FEW) {
                T_NAME(map_pair)(job, from, to, pair, n0, is_turned);
            }
        }
        for (int64_t n = 0; n < out->n_scalar; n++) {
            to[scalar_at(out, n)] = (SCALAR)T_NAME(map_scalar)(job, from, n, is_turned);
        }
    }
    return TESS_OK;
}

static void T_NAME(give_sum)(const maps_job *job, int64_t at, double sum)
{
    SCALAR *to = (SCALAR *)job->args->items + at;
    *to = (SCALAR)(job->args->adds ? (double)*to + sum : sum);
}

// The sum over rows of items of x from x_at on times items of z from z_at on; x_at < 0: of 1, or
// of nothing without a bias.
static double T_NAME(sum_of)(const maps_job *job, int64_t x_at, int64_t z_at)
{
    const tess_stage_clifford_maps *a = job->args;
    const SCALAR *x = (const SCALAR *)a->x.data + (x_at < 0 ? 0 : x_at);
    const SCALAR *z = (const SCALAR *)a->z.data + z_at;
    double sum = 0;
    if (x_at < 0 && !a->has_bias) {
        return 0;
    }
    for (int64_t r = 0; r < a->n_row; r++) {
        const double value = (double)z[r * a->z.stride];
        sum += x_at < 0 ? value : value * (double)x[r * a->x.stride];
    }
    return sum;
}

static void T_NAME(sum_channel)(const maps_job *job, int64_t c)
{
    const tess_stage_clifford_maps *a = job->args;
    const int64_t x = channel_at(&a->x, c);
    for (int pair = 0; pair < TESS_CL_MAPS_PAIRS; pair++) {
        const int8_t *component = job->component[pair];
        for (int64_t n = 0; n < a->z.n_channel; n++) {
            const int64_t z = channel_at(&a->z, n);
            const int64_t at = ((pair * a->x.n_channel + c) * a->z.n_channel + n) * 4;
            for (int i = 0; i < 4; i++) {
                T_NAME(give_sum)
                (job, at + i, T_NAME(sum_of)(job, x + component[i / 2], z + component[i % 2]));
            }
        }
    }
    for (int b = 0; b < 2; b++) {
        for (int64_t n = 0; n < a->z.n_scalar; n++) {
            T_NAME(give_sum)
            (job, job->parts.to_scalars + (c * 2 + b) * a->z.n_scalar + n,
             T_NAME(sum_of)(job, x + job->component[0][b], scalar_at(&a->z, n)));
        }
    }
}

// A channel of x, then its scalars, then the bias.
static tess_status T_NAME(sum_line)(void *arg, int64_t line, int32_t worker)
{
    (void)worker;
    const maps_job *job = arg;
    const tess_stage_clifford_maps *a = job->args;
    if (line < a->x.n_channel) {
        T_NAME(sum_channel)(job, line);
        return TESS_OK;
    }
    const int64_t s = line - a->x.n_channel;
    const int64_t x = s < a->x.n_scalar ? scalar_at(&a->x, s) : -1;
    for (int b = 0; b < 2; b++) {
        for (int64_t n = 0; n < a->z.n_channel; n++) {
            T_NAME(give_sum)
            (job, job->parts.to_pair + (s * 2 + b) * a->z.n_channel + n,
             T_NAME(sum_of)(job, x, channel_at(&a->z, n) + job->component[0][b]));
        }
    }
    for (int64_t n = 0; n < a->z.n_scalar; n++) {
        T_NAME(give_sum)
        (job, job->parts.scalars + s * a->z.n_scalar + n,
         T_NAME(sum_of)(job, x, scalar_at(&a->z, n)));
    }
    return TESS_OK;
}
