// What translate.py makes of declarations of shared memory and of kernel<<<...>>>(...).
#ifndef EMULATED_LAUNCH_H
#define EMULATED_LAUNCH_H

#include "emulated/api.h"

#include <tuple>
#include <utility>

namespace emulated
{

// Whether CUDA would launch it; if not, the reason is the last error.
bool is_launchable(const void *kernel, const launch_shape &of);

struct launch_config {
    launch_shape of;
    launch_config(dim3 grid, dim3 block, size_t dynamic_bytes = 0, cudaStream_t = nullptr)
        : of{grid, block, dynamic_bytes}
    {
    }
};

// A kernel with its arguments: every thread has its own copies.
template <typename... P>
struct held_kernel {
    void (*kernel)(P...);
    std::tuple<P...> arguments;
    static void run(void *held)
    {
        const held_kernel *it = static_cast<const held_kernel *>(held);
        std::apply(it->kernel, it->arguments);
    }
};

template <typename... P, typename... A>
void launch(const char *name, const launch_config &config, void (*kernel)(P...), A &&...arguments)
{
    if (is_launchable(reinterpret_cast<const void *>(kernel), config.of)) {
        held_kernel<P...> held = {kernel, std::tuple<P...>(std::forward<A>(arguments)...)};
        run_grid(name, config.of, held_kernel<P...>::run, &held);
    }
}

// One for each declaration, as declared is a type of its own.
template <typename declared>
declared &block_shared()
{
    static const char key = 0;
    return *static_cast<declared *>(shared_memory(&key, sizeof(declared), alignof(declared)));
}

template <typename T>
T *dynamic_shared()
{
    return static_cast<T *>(dynamic_memory());
}

inline void launch_bounds(int threads, int = 1)
{
    check_bounds(threads);
}

} // namespace emulated

template <typename... P>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, void (*kernel)(P...))
{
    emulated::held_kernel<P...> held = {kernel, {}};
    attributes->sharedSizeBytes =
        emulated::first_shared_bytes(emulated::held_kernel<P...>::run, &held);
    return cudaSuccess;
}

#endif
