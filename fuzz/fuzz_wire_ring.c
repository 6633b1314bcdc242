/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any bytes as a ring, through all of its calls; wire_check_ring.h has the
 * invariants.
 */
#include "wire_check_ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_ring(data, size);
    return 0;
}
