/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * In place of vm_oracle.c where the tests, and with them the oracle, are not built.
 */
#include "vm_peers.h"

struct vm_oracle *vm_oracle_open(const void *bytes, size_t length, const char **why)
{
    (void)bytes, (void)length;
    *why = "the oracle was not built; configure with -DVYRE_TESTS=ON";
    return NULL;
}

void vm_oracle_close(struct vm_oracle *oracle)
{
    (void)oracle;
}

int vm_oracle_run(struct vm_oracle *oracle, struct vm_oracle_run *run)
{
    (void)oracle, (void)run;
    return -1;
}
