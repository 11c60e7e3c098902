// For now the reference, compiled for this instruction set.
#include "kernels/ref/xpcs_pass_ref.c"
