/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of `vyre bench dispatch` share: the lines of bench_lines.def, the run they belong
 * to, and the sessions in which vyre itself is measured. Peers are in bench/.
 *
 * A run makes several rounds; in each round every step is measured once for a short time, so that
 * what disturbs the machine disturbs all of them alike.
 */
#ifndef VYRE_CLI_BENCH_H
#define VYRE_CLI_BENCH_H

#include "cli.h"
#include "peers.h"

#define BENCH_MAX_ROUNDS 15u
#define BENCH_MAX_QUEUES 64u
#define BENCH_IN_FLIGHT  4096u
#define BENCH_BATCH      32u

/* How long a queue may make no progress before a slot counts as lost. */
#define BENCH_LOST_NS 10000000000ull

enum bench_line {
#define BENCH_LINE(id, name, unit, better, step) BENCH_##id,
#include "bench_lines.def"
    BENCH_LINES,
    BENCH_NONE = BENCH_LINES
};

/* One value a round. */
struct bench_series {
    double value[BENCH_MAX_ROUNDS];
    uint32_t count;
    char note[96]; /* why there is none, or what is special about them; "" for nothing */
};

struct bench {
    const struct cli_args *args;
    struct bench_cpus cpus;
    uint32_t workers;
    uint32_t rounds;
    uint64_t slice_ns; /* for one step in one round */
    uint64_t whole_ns; /* for one step in all rounds */
    double clock_cost_ns;
    char choice[160]; /* which backend, and why */
    uint32_t *samples;
    size_t sample_capacity;
    struct bench_series series[BENCH_LINES];
};

/* Reports that something came out wrong; returns the exit code for it. */
int bench_wrong(const char *what);

/* Sessions (bench_session.c): a runtime for one measurement.
 * ------------------------------------------------------------------------------------------- */

struct bench_setup {
    uint32_t queues;
    uint32_t slots; /* of each queue */
    uint32_t flags; /* enum vyre_queue_flag */
    uint32_t wait_mode;
    uint64_t idle_spin_ns; /* VYRE_DEFAULT64: as the library has it */
};

struct bench_session {
    vyre *runtime;
    uint32_t queues;
    vyre_queue *queue[BENCH_MAX_QUEUES];
};

/* Opens a runtime whose only worker is on the consumer's CPU, and leaves the calling thread on the
 * producer's. Several workers may run on every CPU. Returns 0 or an exit code. */
int bench_session_open(struct bench *bench, const struct bench_setup *setup,
                       struct bench_session *session);
void bench_session_close(struct bench_session *session);

/* Sends one NOP through a queue and waits for its end; *took_ns, unless NULL, receives the time
 * from before the first store to after the load that saw the completion. 0 or an exit code. */
int bench_round_trip(vyre_queue *queue, uint64_t *took_ns);

/* Figures (bench_stats.c).
 * ------------------------------------------------------------------------------------------- */

/* Adds this round's value. */
void bench_add(struct bench *bench, uint32_t line, double value);

/* Which lines receive percentiles, in units of `unit_ns`; BENCH_NONE leaves one out. */
struct bench_percentiles {
    uint32_t p50, p90, p99, p999, max;
    double unit_ns;
};

/* Sorts the samples and adds their percentiles as this round's values. */
void bench_add_percentiles(struct bench *bench, const struct bench_percentiles *to,
                           uint32_t *samples, size_t count);

const char *bench_line_name(uint32_t line);
const char *bench_line_unit(uint32_t line);

/* Of all rounds; NAN where there are none. */
struct bench_summary {
    double median, best, worst;
};
struct bench_summary bench_summarise(const struct bench *bench, uint32_t line);

/* Moves *bound on to the next comparison of this line, itself included; 0: there is none. */
int bench_next_bound(uint32_t line, uint32_t *bound);

/* The line it compares with, or BENCH_NONE. */
uint32_t bench_bound_peer(uint32_t bound);

/* One comparison. */
struct bench_verdict {
    const char *peer; /* NULL: none */
    double ratio;     /* NAN: none */
    const char *sign; /* ">=", "<=", "<" or NULL: no target */
    double bound;
    int judged; /* there is a target, and both sides were measured */
    int met;
};
struct bench_verdict bench_judge(const struct bench *bench, uint32_t bound);

/* Steps: each measures its lines once. They return 0 or an exit code.
 * ------------------------------------------------------------------------------------------- */

int bench_step_peer(struct bench *bench, uint32_t line);   /* bench_peers.c */
int bench_step_flood(struct bench *bench, uint32_t line);  /* bench_flood.c */
int bench_step_queues(struct bench *bench, uint32_t line); /* bench_flood.c */
int bench_step_ping_pong(struct bench *bench, uint32_t line);
int bench_step_round_trip(struct bench *bench, uint32_t line);
int bench_step_wake(struct bench *bench, uint32_t line);
int bench_step_wait(struct bench *bench, uint32_t line);
int bench_step_idle(struct bench *bench, uint32_t line);
int bench_step_memory(struct bench *bench, uint32_t line);

/* Everything that was measured: a table, or JSON Lines (bench_report.c). */
void bench_report(const struct bench *bench);

#endif
