// Matrix products for one dtype; included by clifford_gemm_ref.c only.

static void T_NAME(product)(const SCALAR *a, size_t row_step, size_t depth_step, size_t n_row,
                            const SCALAR *b, size_t depth, size_t n_col, SCALAR *c, size_t c_stride,
                            int is_first)
{
    for (size_t row = 0; row < n_row; row++) {
        for (size_t j = 0; j < n_col; j++) {
            const SCALAR *panel = b + j / WIDTH * WIDTH * depth + j % WIDTH;
            SCALAR sum = 0;
            for (size_t i = 0; i < depth; i++) {
                sum = FMA(a[row * row_step + i * depth_step], panel[i * WIDTH], sum);
            }
            c[row * c_stride + j] = is_first ? sum : c[row * c_stride + j] + sum;
        }
    }
}

void TESS_KFN(T_NAME(clifford_gemm))(const SCALAR *restrict a, size_t n_row,
                                     const SCALAR *restrict b, size_t depth, size_t n_col,
                                     SCALAR *restrict c, size_t c_stride, int is_first)
{
    T_NAME(product)(a, TESS_CL_GEMM_ROW, 1, n_row, b, depth, n_col, c, c_stride, is_first);
}

void TESS_KFN(T_NAME(clifford_gemm_t))(const SCALAR *restrict a, size_t n_row,
                                       const SCALAR *restrict b, size_t depth, size_t n_col,
                                       SCALAR *restrict c, size_t c_stride, int is_first)
{
    T_NAME(product)(a, 1, TESS_CL_GEMM_ROW, n_row, b, depth, n_col, c, c_stride, is_first);
}

void TESS_KFN(T_NAME(clifford_gemm_pack))(const SCALAR *restrict x, size_t n_col, size_t depth,
                                          SCALAR *restrict b)
{
    for (size_t j = 0; j < (n_col + WIDTH - 1) / WIDTH * WIDTH; j++) {
        b[j / WIDTH * WIDTH * depth + j % WIDTH] = j < n_col ? x[j] : 0;
    }
}
