// Linked by TESSERA_PORTABLE in place of hypot(), by the linker's --wrap.
//
// Debian 12 has glibc 2.36, and all of ours that asks for more than 2.34 is hypot(), which
// since 2.35 has a second symbol that leaves errno alone. The first one computes the same and is in
// every glibc: with it wheels run on RHEL 9 and its likes. ./dev wheel fails when something newer
// creeps in.

#if defined(__x86_64__)
__asm__(".symver oldest_hypot, hypot@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver oldest_hypot, hypot@GLIBC_2.17");
#else
#error "which is the first version of hypot() on this architecture?"
#endif

double oldest_hypot(double x, double y);
double __wrap_hypot(double x, double y);

double __wrap_hypot(double x, double y)
{
    return oldest_hypot(x, y);
}
