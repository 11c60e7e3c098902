// What the processor and the operating system let us execute.
#ifndef TESS_KERNELS_CPU_ISA_H
#define TESS_KERNELS_CPU_ISA_H

// 1 if code built for that ISA ("avx2", "avx512", "neon", "sve") runs here; 0 for unknown names.
int tess_cpu_runs(const char *isa);

#endif
