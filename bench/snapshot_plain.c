/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The plain decoder of snapshots as a peer. See telemetry_peers.h.
 */
#include "telemetry_peers.h"

int peer_snapshot_decode(struct oracle_snapshot *snapshot, const struct oracle_source *source)
{
    return oracle_decode(snapshot, source) == ORACLE_FINE ? 0 : -1;
}

void peer_snapshot_free(struct oracle_snapshot *snapshot)
{
    oracle_free(snapshot);
}
