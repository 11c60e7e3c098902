// Rows of the fully connected product of Cl(2,0) on CUDA.

#define TESS_CL_NAME cl20
#define TESS_CL_PAIRS cl20_pairs
#define TESS_CL_UPPER CL20
#define TESS_CL_TERMS "clifford/cl20.def"
#define TESS_CL_LEFT "clifford/cl20_left.def"
#define TESS_CL_RIGHT "clifford/cl20_right.def"
// The algebra first, then its pairs.
#include "backend/cuda/clifford/common/terms.cuh"

#include "backend/cuda/clifford/fcgp/fcgp_terms.cuh"

#include "backend/cuda/clifford/fcgp/fcgp_contract.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_norms.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_pairs.cuh"

const clifford::fc_kernels clifford::fc_cl20 = {
    {CL20_METRIC},
    CL20_SYMBOLS,
    cl20_pairs::most_terms(),
    fc_form_pairs<cl20_pairs>,
    fc_contract_pairs<cl20_pairs>,
    fc_norm_rows<cl20>,
    fc_gradient_rows<cl20>,
};
