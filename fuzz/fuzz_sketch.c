/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any order of calls on sketches; sketch_check.h has the invariants.
 */
#include "sketch_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_sketch(data, size);
    return 0;
}
