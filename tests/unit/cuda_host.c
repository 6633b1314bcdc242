/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What makes a vyre-host one with the fake CUDA driver: linked with host_main.c, it sets the
 * driver's table before main begins. With VYRE_FAKE_DEATH in the environment its kernels end with
 * an illegal address instead of parking; with VYRE_FAKE_NO_WAITS its streams cannot wait for a
 * word; with VYRE_FAKE_LACKS its GPU has not the attribute of that number; with VYRE_FAKE_SHARED
 * its blocks have so many KiB of shared memory.
 */
#include <stdlib.h>

#include "backend/cuda/fake/fake_driver.h"

__attribute__((constructor)) static void use_fake(void)
{
    fake_reset();
    if (getenv("VYRE_FAKE_DEATH")) fake.kernel_result = VYRE_CU_ILLEGAL_ADDRESS;
    if (getenv("VYRE_FAKE_SLOW")) fake.slow_ends = 1;
    if (getenv("VYRE_FAKE_NO_WAITS")) fake.device[0].no_waits = 1;
    const char *lacks = getenv("VYRE_FAKE_LACKS");
    if (lacks) fake.device[0].lacks = atoi(lacks);
    const char *shared = getenv("VYRE_FAKE_SHARED");
    if (shared) fake.device[0].shared = atoi(shared) << 10;
    vyre_cuda_driver_override = &fake_driver;
}
