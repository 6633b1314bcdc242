/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any bytes as a completion entry, through all of its calls; wire_check_completion.h
 * has the invariants.
 */
#include "wire_check_completion.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_completion(data, size);
    return 0;
}
