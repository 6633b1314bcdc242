/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre snapshot`: decodes a control buffer and a ring from files, and shows them. Nothing is shown
 * unless all files are what they should be. Called by main.c.
 */
#include "snapshot.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

static int no_memory(void)
{
    cli_complain("there is no memory left", NULL, NULL);
    return CLI_EXIT_ENVIRONMENT;
}

/* The command line.
 * ------------------------------------------------------------------------------------------- */

/* Reads one opcode and moves *text behind it. Returns 0, or -1 if there is none. */
static int parse_opcode(const char **text, uint32_t *opcode)
{
    const char *at = *text;
    uint64_t value = 0;
    unsigned base = 10, digits = 0;

    if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
        base = 16;
        at += 2;
    }
    for (; base == 16 ? isxdigit((unsigned char)*at) : isdigit((unsigned char)*at); at++) {
        unsigned digit = isdigit((unsigned char)*at)
                             ? (unsigned)(*at - '0')
                             : (unsigned)(tolower((unsigned char)*at) - 'a') + 10;
        value = value * base + digit;
        if (value > UINT32_MAX) return -1;
        digits++;
    }
    if (digits == 0) return -1;
    *text = at;
    *opcode = (uint32_t)value;
    return 0;
}

static int parse_windows(struct snapshot_job *job)
{
    const char *text = job->args->windows;
    size_t most = 1;

    if (text == NULL) return CLI_EXIT_DONE;
    for (const char *at = text; *at != '\0'; at++)
        most += *at == ',';
    job->opcodes = calloc(most, sizeof *job->opcodes);
    if (job->opcodes == NULL) return no_memory();
    for (const char *at = text;; at++) {
        if (parse_opcode(&at, &job->opcodes[job->opcode_count++]) != 0 ||
            (*at != ',' && *at != '\0'))
            return cli_misuse("--windows takes opcodes from 0 to 4294967295 with commas between "
                              "them, not `%.200s`",
                              text);
        if (*at == '\0') return CLI_EXIT_DONE;
    }
}

static int check_paths(const struct cli_args *args)
{
    const char *const paths[] = {args->control, args->ring, args->previous_control,
                                 args->previous_ring};
    int standard = 0;

    if (args->control == NULL || args->ring == NULL)
        return cli_misuse(
            "`snapshot` needs --control FILE and --ring FILE; see `vyre snapshot -h`");
    if ((args->previous_control == NULL) != (args->previous_ring == NULL))
        return cli_misuse("--previous-control and --previous-ring go together; %s is missing",
                          args->previous_ring == NULL ? "--previous-ring" : "--previous-control");
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        standard += paths[i] != NULL && strcmp(paths[i], "-") == 0;
    if (standard > 1) return cli_misuse("standard input can be only one of the files");
    return CLI_EXIT_DONE;
}

/* The files.
 * ------------------------------------------------------------------------------------------- */

static const char *shown(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static int read_moment(struct snapshot_moment *moment, const char *control, const char *ring)
{
    const size_t most = (size_t)VYRE_RING_MAX_SLOTS * VYRE_SLOT_BYTES;

    moment->control_path = control;
    moment->ring_path = ring;
    moment->snapshot = (vyre_snapshot)VYRE_SNAPSHOT_INIT;
    int code = cli_file_read(control, most, NULL, &moment->control);
    return code == CLI_EXIT_DONE ? cli_file_read(ring, most, NULL, &moment->ring) : code;
}

/* A file that is not what it should be. */
static int refuse(const struct cli_args *args, const char *path, const char *what,
                  const vyre_error *err)
{
    char message[sizeof err->message + 400], at[48];

    if (args->json) snapshot_json_error(shown(path), err);
    snprintf(message, sizeof message, "`%.300s` %s: %s", shown(path), what, err->message);
    cli_complain(message, cli_place_text(err, at), err->fix);
    return CLI_EXIT_NO;
}

/* Gives the snapshot storage for what `needs` says; the scratch is the caller's to free. */
static int make_storage(vyre_snapshot_source *source, vyre_snapshot *snapshot,
                        const vyre_snapshot_needs *needs)
{
    snapshot->slots = malloc(needs->slots * sizeof *snapshot->slots + 1);
    snapshot->windows = malloc(needs->windows * sizeof *snapshot->windows + 1);
    source->scratch = malloc(needs->scratch_bytes + 1);
    if (snapshot->slots == NULL || snapshot->windows == NULL || source->scratch == NULL)
        return no_memory();
    snapshot->slot_room = needs->slots;
    snapshot->window_room = needs->windows;
    source->scratch_bytes = needs->scratch_bytes;
    return CLI_EXIT_DONE;
}

/* Decodes one moment; of the earlier one only the counters are wanted. */
static int decode_moment(const struct snapshot_job *job, struct snapshot_moment *moment)
{
    vyre_snapshot_source source = VYRE_SNAPSHOT_SOURCE_INIT;
    vyre_snapshot_control control;
    vyre_snapshot_needs needs;
    vyre_error err;

    if (vyre_snapshot_control_decode(moment->control.data, moment->control.length, &control,
                                     &err) != VYRE_OK)
        return refuse(job->args, moment->control_path, "is no control buffer", &err);
    source.control = moment->control.data;
    source.control_bytes = moment->control.length;
    source.ring = moment->ring.data;
    source.ring_bytes = moment->ring.length;
    if (moment == &job->now) {
        source.window_opcodes = job->opcodes;
        source.window_opcode_count = job->opcode_count;
    } else {
        source.omit = VYRE_SNAPSHOT_OMIT_SLOTS;
    }
    if (vyre_snapshot_measure(&source, &needs, &err) != VYRE_OK)
        return refuse(job->args, moment->ring_path, "is no ring", &err);
    int code = make_storage(&source, &moment->snapshot, &needs);
    if (code == CLI_EXIT_DONE &&
        vyre_snapshot_decode(&source, &moment->snapshot, NULL, &err) != VYRE_OK)
        code = cli_fail("cannot decode a snapshot", &err);
    free(source.scratch);
    return code;
}

static int compare_moments(struct snapshot_job *job)
{
    vyre_error err;

    if (vyre_snapshot_counters(&job->now.snapshot, &job->counters, &err) != VYRE_OK)
        return cli_fail("cannot count a snapshot", &err);
    job->has_health = job->args->previous_control != NULL;
    if (!job->has_health ||
        vyre_health_since(&job->now.snapshot, &job->before.snapshot, &job->health, &err) == VYRE_OK)
        return CLI_EXIT_DONE;
    if (err.status == VYRE_E_SNAPSHOT_EPOCH)
        snprintf(err.fix, sizeof err.fix, "%s",
                 "exchange --control and --ring with --previous-control and --previous-ring, or "
                 "take two of one start of the device");
    return refuse(job->args, job->now.control_path, "is of an earlier moment than the previous one",
                  &err);
}

static int run(struct snapshot_job *job)
{
    const struct cli_args *args = job->args;
    int two = args->previous_control != NULL;

    int code = parse_windows(job);
    if (code == CLI_EXIT_DONE) code = check_paths(args);
    if (code != CLI_EXIT_DONE) return code;
    if (args->json) cli_json_header("snapshot");
    code = read_moment(&job->now, args->control, args->ring);
    if (code == CLI_EXIT_DONE && two)
        code = read_moment(&job->before, args->previous_control, args->previous_ring);
    if (code == CLI_EXIT_DONE) code = decode_moment(job, &job->now);
    if (code == CLI_EXIT_DONE && two) code = decode_moment(job, &job->before);
    if (code == CLI_EXIT_DONE) code = compare_moments(job);
    if (code != CLI_EXIT_DONE) return code;
    if (args->json)
        snapshot_json(job);
    else
        snapshot_show(job);
    return CLI_EXIT_DONE;
}

static void free_moment(struct snapshot_moment *moment)
{
    free(moment->control.data);
    free(moment->ring.data);
    free(moment->snapshot.slots);
    free(moment->snapshot.windows);
}

int vyre_cli_snapshot(const struct cli_args *args)
{
    struct snapshot_job job;

    memset(&job, 0, sizeof job);
    job.args = args;
    int code = run(&job);
    free_moment(&job.now);
    free_moment(&job.before);
    free(job.opcodes);
    return code;
}
