/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any buffers as what comes back from a device; readback_check.h has the invariants.
 */
#include "readback_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_readback(data, size);
    return 0;
}
