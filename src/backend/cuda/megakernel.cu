/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The resident kernel: one worker a block, from the one device source.
 */
#include "device/worker.h"

extern "C" __global__ void vyre_megakernel(struct dev_runtime *device)
{
    if (threadIdx.x == 0) dev_worker(device, blockIdx.x);
}
