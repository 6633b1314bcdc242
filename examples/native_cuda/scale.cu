/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A native operation for a GPU: multiplies a part of a buffer of floats by a factor.
 *
 *     nvcc -rdc=true -ptx -arch=compute_75 -std=c++17 -o scale.ptx scale.cu
 */
#include <vyre/cuda.h>

enum { PAST_THE_END = 1, STOPPED = 2, NUMBERS_A_LOOK = 32 * 256 };

/* Whether to return early: all lanes get the same answer. */
static __device__ int must_stop(const vyre_cuda_call *call)
{
    int seen = vyre_cuda_cancelled(call);
    return call->lanes == 1 ? seen : __any_sync(0xFFFFFFFFu, seen);
}

/* Arguments: the buffer, the factor's bits, the first number, how many. Result 0: how many. */
extern "C" __device__ uint32_t scale(vyre_cuda_call *call)
{
    float *number = (float *)call->buffer[0];
    float factor = __uint_as_float(call->args[1]);
    uint64_t first = call->args[2], end = first + call->args[3];
    if (end > call->bytes[0] / sizeof number[0]) return PAST_THE_END;
    for (uint64_t from = first; from < end; from += NUMBERS_A_LOOK) {
        uint64_t to = from + NUMBERS_A_LOOK < end ? from + NUMBERS_A_LOOK : end;
        for (uint64_t i = from + vyre_cuda_lane(call); i < to; i += call->lanes)
            number[i] *= factor;
        if (must_stop(call)) return STOPPED;
    }
    if (vyre_cuda_lane(call) == 0) call->result[0] = call->args[3];
    return 0;
}
