/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any bytes as a control buffer, a ring and window opcodes, through all calls on
 * snapshots; snapshot_check.h has the invariants and the form of a case.
 */
#include "snapshot_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_snapshot(data, size);
    return 0;
}
