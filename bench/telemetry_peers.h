/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What `vyre bench telemetry` measures decoding against: reading the same memory and doing nothing
 * with it, and the plain decoder that the tests use as oracle.
 */
#ifndef VYRE_BENCH_TELEMETRY_PEERS_H
#define VYRE_BENCH_TELEMETRY_PEERS_H

#include <stddef.h>
#include <stdint.h>

#include "../tests/snapshot_oracle.h"

/* Adds up all words of a block whose length is a multiple of 64, at a multiple of 8; once as it
 * stands, once with lines fetched ahead. */
uint64_t peer_memory_sum(const void *block, size_t bytes);
uint64_t peer_memory_sum_ahead(const void *block, size_t bytes);

/* The plain decoder, compiled apart from what it is compared with. 0, or -1 if it refuses the bytes
 * or finds no memory. Free what it gives. */
int peer_snapshot_decode(struct oracle_snapshot *snapshot, const struct oracle_source *source);
void peer_snapshot_free(struct oracle_snapshot *snapshot);

#endif
