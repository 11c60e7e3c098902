// Included before every source by TESSERA_PORTABLE.
//
// Debian 12 has glibc 2.36, but all of ours that asks for more than 2.34 is hypot(), which has a
// second symbol since 2.35 that leaves errno alone. The first one computes the same and is in every
// glibc, so that wheels run on RHEL 9 and its likes. ./dev wheel fails when something newer creeps
// in.
#ifndef TESS_PORTABLE_GLIBC_H
#define TESS_PORTABLE_GLIBC_H

#if defined(__x86_64__)
__asm__(".symver hypot, hypot@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver hypot, hypot@GLIBC_2.17");
#endif

#endif
