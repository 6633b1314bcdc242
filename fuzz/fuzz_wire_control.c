/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any bytes as a control buffer, through all of its calls; wire_check_control.h has
 * the invariants.
 */
#include "wire_check_control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_control(data, size);
    return 0;
}
