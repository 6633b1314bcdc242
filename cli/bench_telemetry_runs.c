/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The steps of `vyre bench telemetry`. The result of each kind of decode is compared with that of
 * the plain decoder once, before its clock starts.
 */
#include <string.h>

#include "bench_telemetry.h"
#include "telemetry_peers.h"

/* What a line decodes, into which room. */
struct wish {
    int rows, windows, many;
    uint32_t slots;
    int less_room; /* 1: room for as many windows as there are, and no more */
};

static struct wish wish_of(uint32_t line)
{
    struct wish wish = {1, 1, 0, TELEMETRY_SLOTS, 0};
    switch (line) {
    case TELEMETRY_LINE_STATES:
        wish.rows = wish.windows = 0;
        break;
    case TELEMETRY_LINE_ROWS:
        wish.windows = 0;
        break;
    case TELEMETRY_LINE_WINDOWS:
        wish.rows = 0;
        break;
    case TELEMETRY_LINE_WINDOWS_TWICE:
        wish.less_room = 1;
        break;
    case TELEMETRY_LINE_WINDOWS_MANY:
        wish.many = 1;
        break;
    case TELEMETRY_LINE_SMALL:
        wish.slots = TELEMETRY_SMALL;
        break;
    default:
        break;
    }
    return wish;
}

static void set_up(struct telemetry_state *state, const struct wish *wish,
                   vyre_snapshot_source *source, vyre_snapshot *snapshot)
{
    *source = (vyre_snapshot_source)VYRE_SNAPSHOT_SOURCE_INIT;
    *snapshot = (vyre_snapshot)VYRE_SNAPSHOT_INIT;
    source->control = state->control;
    source->control_bytes = sizeof state->control;
    source->ring = wish->many ? state->many : state->ring;
    source->ring_bytes = (size_t)wish->slots * VYRE_SLOT_BYTES;
    source->omit = wish->rows ? 0 : VYRE_SNAPSHOT_OMIT_SLOTS;
    source->window_opcodes = state->opcodes;
    source->window_opcode_count = wish->windows ? TELEMETRY_OPCODES : 0;
    source->scratch = state->scratch;
    source->scratch_bytes = state->scratch_bytes;
    snapshot->slots = state->rows;
    snapshot->slot_room = TELEMETRY_SLOTS;
    snapshot->windows = state->windows;
    snapshot->window_room =
        wish->less_room ? (uint32_t)state->plain->window_count : TELEMETRY_SLOTS;
}

/* What every decode of a line does: the snapshot and its counters. */
static int decode(const vyre_snapshot_source *source, vyre_snapshot *snapshot)
{
    vyre_counters counters;
    vyre_error err;
    if (vyre_snapshot_decode(source, snapshot, NULL, &err) != VYRE_OK ||
        vyre_snapshot_counters(snapshot, &counters, &err) != VYRE_OK)
        return cli_fail("cannot decode a ring", &err);
    return 0;
}

static double rate(uint64_t runs, uint64_t elapsed_ns)
{
    return (double)runs * TELEMETRY_SLOTS * VYRE_SLOT_BYTES / (double)elapsed_ns;
}

int bench_step_telemetry_decode(struct bench *bench, uint32_t line)
{
    struct telemetry_state *state = bench->state;
    struct wish wish = wish_of(line);
    vyre_snapshot_source source;
    vyre_snapshot snapshot;
    uint64_t runs = 0, now = 0;
    set_up(state, &wish, &source, &snapshot);
    int code = decode(&source, &snapshot); /* warms caches of the line before this one */
    if (code != 0) return code;
    if (!state->checked[line] && !telemetry_is_right(state, &snapshot, &source))
        return bench_wrong("a snapshot differs from that of the plain decoder");
    state->checked[line] = 1;
    uint64_t begin = bench_clock_ns();
    do {
        code = decode(&source, &snapshot);
        runs++;
        now = bench_clock_ns();
    } while (code == 0 && now - begin < bench->slice_ns);
    if (code != 0) return code;
    if (line == TELEMETRY_LINE_SMALL)
        bench_add(bench, line, (double)(now - begin) / (double)runs / 1e3);
    else
        bench_add(bench, line, rate(runs, now - begin));
    return 0;
}

/* The faster of two ways to read. */
int bench_step_telemetry_memory(struct bench *bench, uint32_t line)
{
    const struct telemetry_state *state = bench->state;
    const size_t bytes = (size_t)TELEMETRY_SLOTS * VYRE_SLOT_BYTES;
    double best = 0;
    uint64_t sums[2] = {0, 0};
    for (int way = 0; way < 2; way++) {
        uint64_t runs = 0, now = 0, begin = bench_clock_ns();
        do {
            sums[way] = way ? peer_memory_sum_ahead(state->ring, bytes)
                            : peer_memory_sum(state->ring, bytes);
            runs++;
            now = bench_clock_ns();
        } while (now - begin < bench->slice_ns / 2);
        if (rate(runs, now - begin) > best) best = rate(runs, now - begin);
    }
    if (sums[0] != sums[1]) return bench_wrong("two ways to add up a ring differ");
    bench_add(bench, line, best);
    return 0;
}

int bench_step_telemetry_plain(struct bench *bench, uint32_t line)
{
    const struct telemetry_state *state = bench->state;
    struct oracle_source source = {
        state->control, sizeof state->control,
        state->ring,    (size_t)TELEMETRY_SLOTS * VYRE_SLOT_BYTES,
        state->opcodes, line == TELEMETRY_LINE_PLAIN_WINDOWS ? TELEMETRY_OPCODES : 0};
    uint64_t runs = 0, now = 0, begin = bench_clock_ns();
    do {
        struct oracle_snapshot snapshot;
        int result = peer_snapshot_decode(&snapshot, &source);
        peer_snapshot_free(&snapshot);
        if (result != 0) return bench_wrong("the plain decoder refuses a ring");
        runs++;
        now = bench_clock_ns();
    } while (now - begin < bench->slice_ns);
    bench_add(bench, line, rate(runs, now - begin));
    return 0;
}

/* Each kind of decode twice; what the second time asks for. */
int bench_step_telemetry_allocations(struct bench *bench, uint32_t line)
{
    static const uint32_t kinds[] = {TELEMETRY_LINE_STATES,       TELEMETRY_LINE_ROWS,
                                     TELEMETRY_LINE_WINDOWS,      TELEMETRY_LINE_WINDOWS_ROWS,
                                     TELEMETRY_LINE_WINDOWS_MANY, TELEMETRY_LINE_WINDOWS_TWICE,
                                     TELEMETRY_LINE_SMALL};
    struct telemetry_state *state = bench->state;
    uint64_t calls = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct wish wish = wish_of(kinds[i]);
        vyre_snapshot_source source;
        vyre_snapshot snapshot;
        set_up(state, &wish, &source, &snapshot);
        int code = decode(&source, &snapshot);
        uint64_t before = bench_allocations();
        if (code == 0) code = decode(&source, &snapshot);
        calls += bench_allocations() - before;
        if (code != 0) return code;
    }
    bench_add(bench, line, (double)calls);
    return 0;
}
