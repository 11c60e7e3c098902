// Rows of the fully connected product of Cl(3,0) on CUDA.

#define TESS_CL_NAME cl30
#define TESS_CL_PAIRS cl30_pairs
#define TESS_CL_UPPER CL30
#define TESS_CL_TERMS "clifford/cl30.def"
#define TESS_CL_LEFT "clifford/cl30_left.def"
#define TESS_CL_RIGHT "clifford/cl30_right.def"
// The algebra first, then its pairs.
#include "backend/cuda/clifford/common/terms.cuh"

#include "backend/cuda/clifford/fcgp/fcgp_terms.cuh"

#include "backend/cuda/clifford/fcgp/fcgp_contract.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_norms.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_pairs.cuh"

const clifford::fc_kernels clifford::fc_cl30 = {
    {CL30_METRIC},
    CL30_SYMBOLS,
    cl30_pairs::most_terms(),
    fc_form_pairs<cl30_pairs>,
    fc_contract_pairs<cl30_pairs>,
    fc_norm_rows<cl30>,
    fc_gradient_rows<cl30>,
};
