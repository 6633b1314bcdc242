/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any bytes as a replay log, through all of its calls; wire_check_replay.h has the
 * invariants.
 */
#include "wire_check_replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_replay(data, size);
    return 0;
}
