/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Kills a device host at random moments under load: `stress_restart [--kills N] [--seed N]
 * [--workers N]`. Every ticket must come to exactly one end.
 */
#include "restart_load.h"

static uint64_t argument(int argc, char **argv, const char *name, uint64_t standard)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0) return strtoull(argv[i + 1], NULL, 0);
    return standard;
}

int main(int argc, char **argv)
{
    uint64_t kills = argument(argc, argv, "--kills", 100);
    uint64_t seed = argument(argc, argv, "--seed", load_clock());
    uint64_t workers = argument(argc, argv, "--workers", 2);
    load_kill((uint32_t)kills, seed, (uint32_t)workers);
    return done();
}
