/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any bytes as a I/O queue, through all of its calls; wire_check_ioqueue.h has the
 * invariants.
 */
#include "wire_check_ioqueue.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_io(data, size);
    return 0;
}
