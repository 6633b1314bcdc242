/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any constants and any request through the launch policy; policy_check.h has the
 * invariants.
 */
#include "policy_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_policy(data, size);
    return 0;
}
