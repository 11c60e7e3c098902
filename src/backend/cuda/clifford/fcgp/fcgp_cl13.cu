// Rows of the fully connected product of Cl(1,3) on CUDA.

#define TESS_CL_NAME cl13
#define TESS_CL_PAIRS cl13_pairs
#define TESS_CL_UPPER CL13
#define TESS_CL_TERMS "clifford/cl13.def"
#define TESS_CL_LEFT "clifford/cl13_left.def"
#define TESS_CL_RIGHT "clifford/cl13_right.def"
// The algebra first, then its pairs.
#include "backend/cuda/clifford/common/terms.cuh"

#include "backend/cuda/clifford/fcgp/fcgp_terms.cuh"

#include "backend/cuda/clifford/fcgp/fcgp_contract.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_norms.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_pairs.cuh"

const clifford::fc_kernels clifford::fc_cl13 = {
    {CL13_METRIC},
    CL13_SYMBOLS,
    cl13_pairs::most_terms(),
    fc_form_pairs<cl13_pairs>,
    fc_contract_pairs<cl13_pairs>,
    fc_norm_rows<cl13>,
    fc_gradient_rows<cl13>,
};
