/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any bytes as a continuation task, through all of its calls; wire_check_task.h has
 * the invariants.
 */
#include "wire_check_task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_task(data, size);
    return 0;
}
