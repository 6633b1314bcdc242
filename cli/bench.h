/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What all benchmarks share: the table of a benchmark (its lines, what measures them, what they are
 * compared with), the run, the figures, the report, and the runtimes that are measured. Each
 * benchmark has its table as a .def file. Peers are in bench/.
 *
 * A run makes several rounds; in each round every step is measured once for a short time, so that
 * what disturbs the machine disturbs all of them alike.
 */
#ifndef VYRE_CLI_BENCH_H
#define VYRE_CLI_BENCH_H

#include "cli.h"
#include "host.h"

#define BENCH_MAX_ROUNDS 15u
#define BENCH_MAX_LINES  96u
#define BENCH_MAX_QUEUES 64u
#define BENCH_NONE       0xFFFFFFFFu /* in place of a line */

/* How long a queue may make no progress before a slot counts as lost. */
#define BENCH_LOST_NS 10000000000ull

/* One value a round. */
struct bench_series {
    double value[BENCH_MAX_ROUNDS];
    uint32_t count;
    char note[128]; /* why there is none, or what is special about them; "" for nothing */
};

struct bench {
    const struct cli_args *args;
    const struct bench_table *table;
    struct bench_cpus cpus;
    uint32_t backend; /* enum vyre_backend */
    uint32_t workers;
    uint32_t rounds;
    uint64_t slice_ns; /* for one step in one round */
    uint64_t whole_ns; /* for one step in all rounds */
    double clock_cost_ns;
    char choice[160]; /* which backend, and why */
    uint32_t *samples;
    size_t sample_capacity;
    void *state; /* the benchmark's own */
    struct bench_series series[BENCH_MAX_LINES];
};

/* Tables (the .def files).
 * ------------------------------------------------------------------------------------------- */

enum bench_sense {
    RATIO_LEAST,
    RATIO_MOST,
    RATIO_SHOWN,
    VALUE_BELOW, /* these three are about the line's own value */
    VALUE_LEAST,
    VALUE_MOST
};
enum bench_better { HIGHER, LOWER };
enum bench_when { EACH, ONCE }; /* in each round, or in the first */

struct bench_line_row {
    const char *name;
    const char *unit;
    enum bench_better better;
    uint32_t step; /* the line whose step measures it */
};

struct bench_bound_row {
    uint32_t line;
    uint32_t peer; /* BENCH_NONE: the value itself is held against the bound */
    enum bench_sense sense;
    double bound;
};

/* Measures its lines once; returns 0 or an exit code. */
typedef int (*bench_step_fn)(struct bench *bench, uint32_t line);

struct bench_step_row {
    uint32_t line;
    bench_step_fn run;
    enum bench_when when;
};

struct bench_table {
    const char *command; /* "bench dispatch" */
    const struct bench_line_row *lines;
    const struct bench_bound_row *bounds;
    const struct bench_step_row *steps;
    uint32_t line_count; /* at most BENCH_MAX_LINES */
    uint32_t bound_count;
    uint32_t step_count;
    int peer_width;    /* of the column with the names of peers */
    int name_width;    /* of the column with the names of lines */
    uint32_t rounds;   /* at most BENCH_MAX_ROUNDS */
    int pins_if_asked; /* threads stay where the scheduler puts them unless --pin is given */
    int no_device;     /* neither workers nor another backend */
    const char *not_measured;
    /* The benchmark's own part of the work; each may be NULL. */
    int (*begin)(struct bench *bench); /* 0 or an exit code */
    void (*end)(struct bench *bench);  /* also after a begin that failed */
    void (*print_head)(const struct bench *bench);
    void (*print_apart)(const struct bench *bench); /* lines that the table leaves out */
    int (*is_apart)(uint32_t line);
    void (*json_run)(const struct bench *bench); /* more members of the record `run` */
};

/* Chooses the lines that were asked for and the peers they are compared with, measures all of them
 * in turn, and reports (bench_run.c). `bench` comes with backend and table set, all else zero.
 * Returns an exit code. */
int bench_run(struct bench *bench, const struct cli_args *args);

/* Reports that something came out wrong; returns the exit code for it. */
int bench_wrong(const char *what);

/* Why a line has no figures, or what is special about them. */
void bench_note(struct bench *bench, uint32_t line, const char *text);

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

/* Writes down which backend the session has. 0 or an exit code. */
int bench_session_choice(struct bench *bench, const struct bench_session *session);

/* Submits the slot that was got from the queue and prepared, and waits for its end, at most
 * `lost_ns`; *completion receives it. 0 or an exit code. */
int bench_submit_and_wait(vyre_queue *queue, uint64_t lost_ns, vyre_completion *completion);

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

/* A time as a sample. */
uint32_t bench_sample(uint64_t ns);

const char *bench_line_name(const struct bench *bench, uint32_t line);
const char *bench_line_unit(const struct bench *bench, uint32_t line);

/* Whether a comparison of the table has a target. */
int bench_has_targets(const struct bench *bench);

/* Of all rounds; NAN where there are none. */
struct bench_summary {
    double median, best, worst;
};
struct bench_summary bench_summarise(const struct bench *bench, uint32_t line);

/* Moves *bound on to the next comparison of this line, itself included; 0: there is none. */
int bench_next_bound(const struct bench *bench, uint32_t line, uint32_t *bound);

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

/* Everything that was measured: a table, or JSON Lines (bench_report.c). */
void bench_report(const struct bench *bench);

/* Writes a value with three digits that matter and no exponent; "-" for none. Returns the text. */
const char *bench_figure(double value, char text[32]);

#endif
