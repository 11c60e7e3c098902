// Rows of the fully connected product of Cl(4,1) on CUDA.

#define TESS_CL_NAME cl41
#define TESS_CL_PAIRS cl41_pairs
#define TESS_CL_UPPER CL41
#define TESS_CL_TERMS "clifford/cl41.def"
#define TESS_CL_LEFT "clifford/cl41_left.def"
#define TESS_CL_RIGHT "clifford/cl41_right.def"
// The algebra first, then its pairs.
#include "backend/cuda/clifford/common/terms.cuh"

#include "backend/cuda/clifford/fcgp/fcgp_terms.cuh"

#include "backend/cuda/clifford/fcgp/fcgp_contract.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_norms.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_pairs.cuh"

const clifford::fc_kernels clifford::fc_cl41 = {
    {CL41_METRIC},
    CL41_SYMBOLS,
    cl41_pairs::most_terms(),
    fc_form_pairs<cl41_pairs>,
    fc_contract_pairs<cl41_pairs>,
    fc_norm_rows<cl41>,
    fc_gradient_rows<cl41>,
};
