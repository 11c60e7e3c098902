// Rows of the fully connected product of Cl(3,0,1) on CUDA.

#define TESS_CL_NAME cl301
#define TESS_CL_PAIRS cl301_pairs
#define TESS_CL_UPPER CL301
#define TESS_CL_TERMS "clifford/cl301.def"
#define TESS_CL_LEFT "clifford/cl301_left.def"
#define TESS_CL_RIGHT "clifford/cl301_right.def"
// The algebra first, then its pairs.
#include "backend/cuda/clifford/common/terms.cuh"

#include "backend/cuda/clifford/fcgp/fcgp_terms.cuh"

#include "backend/cuda/clifford/fcgp/fcgp_contract.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_norms.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_pairs.cuh"

const clifford::fc_kernels clifford::fc_cl301 = {
    {CL301_METRIC},
    CL301_SYMBOLS,
    cl301_pairs::most_terms(),
    fc_form_pairs<cl301_pairs>,
    fc_contract_pairs<cl301_pairs>,
    fc_norm_rows<cl301>,
    fc_gradient_rows<cl301>,
};
