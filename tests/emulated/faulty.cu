// Kernels that are wrong, each in its own way, and one that is right: what the emulation says of
// them. faulty NAME runs one; without a name, its own children run all.

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

constexpr int threads = 64;

__global__ void right(int *out)
{
    __shared__ int sums[threads / 32];
    extern __shared__ int values[];
    values[threadIdx.x] = int(threadIdx.x);
    __syncthreads();
    int sum = values[threads - 1 - threadIdx.x];
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = sum;
    }
    const bool is_all = __syncthreads_count(threadIdx.x < 40) == 40 && __syncthreads_or(0) == 0 &&
                        __syncthreads_and(1) == 1;
    if (threadIdx.x == 0) {
        *out = is_all ? sums[0] + sums[1] : -1;
    }
}

__global__ void left_barrier(int *)
{
    if (threadIdx.x < 10) {
        return;
    }
    __syncthreads();
}

__global__ void two_barriers(int *)
{
    if (threadIdx.x < 32) {
        __syncthreads();
    } else {
        __syncthreads();
    }
}

__global__ void missing_lane(int *out)
{
    if (threadIdx.x != 5) {
        *out = __shfl_sync(0xffffffffu, 1, 0);
    }
}

__global__ void two_masks(int *out)
{
    *out = __shfl_sync(threadIdx.x < 16 ? 0xffffffffu : 0xffff0000u, 1, 31);
}

__global__ void barrier_in_a_warp(int *out)
{
    if (threadIdx.x == 3) {
        __syncthreads();
    }
    *out = int(__ballot_sync(0xffffffffu, 1));
}

__global__ void __launch_bounds__(32) too_many(int *)
{
}

#ifdef __SANITIZE_ADDRESS__
__global__ void beside_array(int *out)
{
    out[threadIdx.x] = 1;
}

__global__ void beside_shared(int *out)
{
    __shared__ int few[8];
    few[threadIdx.x] = 1;
    *out = few[0];
}

__global__ void not_aligned(int *out)
{
    __shared__ float four[8];
    *out = int(reinterpret_cast<float4 *>(four + 1)->x);
}
#endif

struct fault_case {
    const char *name;
    void (*kernel)(int *);
    const char *says; // nullptr: nothing is wrong
};

const fault_case cases[] = {
    {"right", right, nullptr},
    {"left_barrier", left_barrier, "deadlock|threads of the block have ended without it"},
    {"two_barriers", two_barriers, "of its group in __syncthreads"},
    {"missing_lane", missing_lane, "waits for it in __shfl_sync|have ended"},
    {"two_masks", two_masks, "mask|waits for it in __shfl_sync"},
    {"barrier_in_a_warp", barrier_in_a_warp, "deadlock"},
    {"too_many", too_many, "compiled for 32"},
#ifdef __SANITIZE_ADDRESS__
    {"beside_array", beside_array, "AddressSanitizer"},
    {"beside_shared", beside_shared, "out of bounds|AddressSanitizer"},
    {"not_aligned", not_aligned, "misaligned"},
#endif
};

int run(const fault_case &one)
{
    int *there = nullptr;
    int sum = 0;
    if (cudaMalloc(&there, sizeof(int)) != cudaSuccess) {
        return 2;
    }
    one.kernel<<<2, threads, threads * sizeof(int)>>>(there);
    if (cudaGetLastError() != cudaSuccess ||
        cudaMemcpy(&sum, there, sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess) {
        return 2;
    }
    (void)cudaFree(there);
    return one.says != nullptr || sum == threads * (threads - 1) / 2 ? 0 : 1;
}

// Whether the text has one of the words between bars, and names the kernel's source.
bool has(const char *text, const char *words)
{
    char each[200];
    (void)snprintf(each, sizeof each, "%s", words);
    for (char *word = strtok(each, "|"); word != nullptr; word = strtok(nullptr, "|")) {
        if (strstr(text, word) != nullptr) {
            return strstr(text, "faulty.cu") != nullptr &&
                   (strstr(text, "block (0, 0, 0)") != nullptr || strstr(text, "runtime error"));
        }
    }
    return false;
}

bool is_as_told(const char *program, const fault_case &one)
{
    char command[500];
    char text[4000] = "";
    (void)snprintf(command, sizeof command, "ulimit -c 0; exec '%s' %s 2>&1", program, one.name);
    FILE *from = popen(command, "r");
    if (from == nullptr) {
        return false;
    }
    text[fread(text, 1, sizeof text - 1, from)] = '\0';
    const int status = pclose(from);
    const bool is_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    const bool is_told = one.says == nullptr ? is_well : !is_well && has(text, one.says);
    printf("%-6s %s\n", is_told ? "ok" : "FAILED", one.name);
    if (!is_told) {
        printf("%s", text);
    }
    return is_told;
}

} // namespace

int main(int argc, char **argv)
{
    bool is_well = true;
    for (const fault_case &one : cases) {
        if (argc > 1 && strcmp(argv[1], one.name) == 0) {
            return run(one);
        }
        is_well &= argc > 1 || is_as_told(argv[0], one);
    }
    return argc > 1 || !is_well ? 1 : 0;
}
