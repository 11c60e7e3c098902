// For now the reference, compiled for this instruction set.
#include "kernels/ref/xpcs_simulate_ref.c"
