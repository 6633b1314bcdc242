/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every function of device/math.h for all 2^32 inputs on a GPU, as one sum each (math_sum.h). The
 * CPU's sums are in math_sums.txt, where slow/t_math_all.c looks whether it still has them;
 * scripts/gpu-math compares the two.
 */
#include <cstdio>

#include "device/math.h"
#include "math_sum.h"

#define DEV_MATH_FUNCTION(name)                                                                    \
    static __global__ void sum_##name(unsigned long long *sum)                                     \
    {                                                                                              \
        unsigned long long mine = 0;                                                               \
        uint64_t step = (uint64_t)gridDim.x * blockDim.x;                                          \
        for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < 1ull << 32;         \
             i += step)                                                                            \
            mine += math_sum_of((uint32_t)i, dev_math_##name((uint32_t)i));                        \
        atomicAdd(sum, mine);                                                                      \
    }
#define DEV_MATH_TRIG(name) DEV_MATH_FUNCTION(name)
#include "device/math.def"

int main()
{
    unsigned long long *device, host;
    if (cudaMalloc(&device, sizeof *device) != cudaSuccess) return 77;
#define DEV_MATH_FUNCTION(name)                                                                    \
    cudaMemset(device, 0, sizeof *device);                                                         \
    sum_##name<<<1024, 256>>>(device);                                                             \
    if (cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;   \
    printf("%s %016llx\n", #name, host);
#define DEV_MATH_TRIG(name) DEV_MATH_FUNCTION(name)
#include "device/math.def"
    return 0;
}
