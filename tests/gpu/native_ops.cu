/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The native operations of t_gpu_native. Several of them are registered from this one image.
 */
#include "vyre/cuda.h"

/* Arguments: input, output, first word, count, factor. Writes input * factor + index; result 0 is
 * the sum of what was written, the others say what the function was told. */
extern "C" __device__ uint32_t mix(vyre_cuda_call *call)
{
    const uint32_t *in = (const uint32_t *)call->buffer[0];
    uint32_t *out = (uint32_t *)call->buffer[1];
    uint64_t first = call->args[2], end = first + call->args[3];
    uint32_t sum = 0;
    if (end > call->bytes[0] / 4 || end > call->bytes[1] / 4) return 3;
    for (uint64_t i = first + vyre_cuda_lane(call); i < end; i += call->lanes) {
        out[i] = in[i] * call->args[4] + (uint32_t)i;
        sum += out[i];
    }
    for (uint32_t step = 16; call->lanes == 32 && step != 0; step /= 2)
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, step);
    if (vyre_cuda_lane(call) != 0) return 0;
    call->result[0] = sum;
    call->result[1] = call->opcode;
    call->result[2] = call->tenant;
    call->result[3] = (uint32_t)call->ticket;
    call->result[4] = call->lanes;
    call->result[5] = call->buffer[2] != NULL || call->bytes[2] != 0;
    return 0;
}

/* Argument 0 is returned, argument 1 is the result. */
extern "C" __device__ uint32_t answer(vyre_cuda_call *call)
{
    if (vyre_cuda_lane(call) == 0) call->result[7] = call->args[1];
    return call->args[0];
}

/* Adds 1 for each lane that is here to a word of buffer 0; argument 1 is its index. */
extern "C" __device__ uint32_t count_lanes(vyre_cuda_call *call)
{
    uint32_t *word = (uint32_t *)call->buffer[0];
    if (call->args[1] >= call->bytes[0] / 4) return 3;
    atomicAdd(&word[call->args[1]], 1);
    return 0;
}

/* Says in word 0 of buffer 0 that it has begun, and stays until it is told to go. Then returns
 * argument 1. */
extern "C" __device__ uint32_t linger(vyre_cuda_call *call)
{
    volatile uint32_t *begun = (volatile uint32_t *)call->buffer[0];
    if (vyre_cuda_lane(call) == 0) *begun = 1;
    __threadfence_system();
    while (!vyre_cuda_cancelled(call))
        __nanosleep(1000);
    return call->args[1];
}
