/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of `vyre snapshot` share: the moments that were read from files, and the ways to
 * show them.
 */
#ifndef VYRE_CLI_SNAPSHOT_H
#define VYRE_CLI_SNAPSHOT_H

#include "files.h"

#define SNAPSHOT_STATES 9u /* the last one: unknown */

/** The two files of one moment, and what they say. */
struct snapshot_moment {
    const char *control_path, *ring_path;
    struct cli_bytes control, ring;
    vyre_snapshot snapshot;
};

struct snapshot_job {
    const struct cli_args *args;
    uint32_t *opcodes; /**< of the windows */
    size_t opcode_count;
    struct snapshot_moment now, before; /**< before: only with --previous-control */
    vyre_counters counters;
    vyre_health health;
    int has_health;
};

/** A state's counter of an occupancy, 0 to 8 (snapshot_show.c). */
uint32_t snapshot_state_count(const vyre_occupancy *occupancy, uint32_t state);

/** The whole snapshot for people (snapshot_show.c). */
void snapshot_show(const struct snapshot_job *job);

/** What looks wrong, a line each; says so where nothing does (snapshot_wrong.c). */
void snapshot_show_wrong(const struct snapshot_job *job);

/** The record `snapshot` (snapshot_json.c). */
void snapshot_json(const struct snapshot_job *job);

/** The record `error`: what is wrong with a file (snapshot_json.c). */
void snapshot_json_error(const char *path, const vyre_error *err);

#endif
