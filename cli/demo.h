/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the chapters of `vyre demo` share. A chapter sends slots through the public API, says what
 * came back, and checks it against what it computed itself. It returns an exit code: anything but
 * CLI_EXIT_DONE ends the tour at once. A check that fails does not; the tour goes on and its exit
 * code is CLI_EXIT_NO in the end.
 *
 * Whatever a chapter opens belongs to the runtime and goes with it, so a chapter may return early.
 */
#ifndef VYRE_CLI_DEMO_H
#define VYRE_CLI_DEMO_H

#include <stdatomic.h>

#include "cli.h"
#include "guard.h"

/** A call that is not back after this time is taken for lost. */
#define TOUR_TIMEOUT_NS 20000000000ull

#define TOUR_QUEUE_SLOTS 4096u
#define TOUR_NUMBERS     4u

/** How many slots ended in which way. */
struct tour_count {
    uint64_t done, faulted, cancelled;
    uint32_t checks, failed;
    double seconds;
};

/** A native operation that keeps a worker busy until it is told to go on; see demo_native.c. */
struct tour_gate {
    atomic_uint entered; /**< how many runs of it have begun */
    atomic_uint open;    /**< 1: runs return */
};

struct tour {
    const struct cli_args *args;
    struct cli_guard guard; /**< of the files of the chapter on streams */
    vyre *runtime;
    vyre *second; /**< the runtime that a chapter opened for itself, or NULL */
    vyre_queue *queue;
    vyre_error err;
    struct tour_gate gate;
    int native;              /**< the backend can run native operations */
    const char *chapter;     /**< name of the one that runs */
    struct tour_count now;   /**< its counts */
    struct tour_count first; /**< of all chapters, on the first runtime only */
    struct {
        const char *key;
        double value;
    } number[TOUR_NUMBERS]; /**< for the JSON record of the next line */
    uint32_t numbers;
    char *text; /**< mapped; what is searched */
    size_t text_bytes;
    vyre_buffer *text_buffer;
    const char *pattern;
};

/* Lines (demo_print.c).
 * ------------------------------------------------------------------------------------------- */

void tour_title(struct tour *tour, const char *title);

/** Attaches a number to the JSON record of the next line. */
void tour_number(struct tour *tour, const char *key, double value);

/** A line that tells something. */
__attribute__((format(printf, 3, 4))) void tour_fact(struct tour *tour, const char *name,
                                                     const char *format, ...);

/** A line that tells something that was checked. */
__attribute__((format(printf, 4, 5))) void tour_check(struct tour *tour, const char *name,
                                                      int passed, const char *format, ...);

/** A line with the median and the 99th percentile of these times; sorts them (demo_rate.c). */
void tour_times(struct tour *tour, const char *name, uint32_t *times, uint32_t count);

/** One row of the summary; NULL prints its heading. */
void tour_summary_row(struct tour *tour, const char *name, const struct tour_count *count);

/* Calls (demo_call.c). Each returns CLI_EXIT_DONE, or the exit code after a complaint.
 * ------------------------------------------------------------------------------------------- */

/** Returns the call's exit code if it failed. */
#define TOUR_TRY(tour, call, doing)                                                                \
    do {                                                                                           \
        if ((call) != VYRE_OK) return cli_fail(doing, &(tour)->err);                               \
    } while (0)

/** Returns from the chapter if this step of it failed. */
#define TOUR_STEP(step)                                                                            \
    do {                                                                                           \
        int code_ = (step);                                                                        \
        if (code_ != CLI_EXIT_DONE) return code_;                                                  \
    } while (0)

/** Prepares the next slot: TOUR_PREP(tour, queue, vyre_prep_store_u32, word, value). A full queue
 * shows as a null slot. */
#define TOUR_PREP0(tour, queue, prep)                                                              \
    TOUR_TRY(tour, prep(vyre_queue_slot(queue), &(tour)->err), "cannot prepare a slot")
#define TOUR_PREP(tour, queue, prep, ...)                                                          \
    TOUR_TRY(tour, prep(vyre_queue_slot(queue), __VA_ARGS__, &(tour)->err), "cannot prepare a slot")

/** Submits what was prepared on the queue and waits for the slot that is `nth` among it. */
int tour_send(struct tour *tour, vyre_queue *queue, uint32_t nth, vyre_completion *completion);

/** Publishes what was prepared. */
int tour_submit(struct tour *tour, vyre_queue *queue, uint64_t *ticket);

/** Waits for one slot and counts its end. */
int tour_wait(struct tour *tour, vyre_queue *queue, uint64_t ticket, vyre_completion *completion);

/** Waits for `count` slots from the ticket on; all must end as done. */
int tour_wait_done(struct tour *tour, vyre_queue *queue, uint64_t ticket, uint32_t count);

/** Counts an end. */
void tour_count_end(struct tour *tour, const vyre_completion *completion);

/** Opens the chapter's own runtime on the same backend, with this many workers; no level ages. */
int tour_open_second(struct tour *tour, uint32_t workers, vyre_queue **queue);
void tour_close_second(struct tour *tour);

/** Registers the gate under an opcode. */
int tour_gate_register(struct tour *tour, vyre *runtime, uint32_t opcode);
/** Shuts the gate, submits one run of it, and waits until a worker is inside. */
int tour_gate_enter(struct tour *tour, vyre_queue *queue, uint32_t opcode, uint64_t *ticket);

/** How a slot ended, in words: "done", "faulted with BAD_HANDLE", "cancelled", "lost". */
const char *tour_end_text(const vyre_completion *completion, char text[48]);

/** Nanoseconds on the monotonic clock. */
uint64_t tour_now_ns(void);
void tour_sleep_ns(uint64_t ns);

/* Chapters, in the order of the tour.
 * ------------------------------------------------------------------------------------------- */

int tour_runtime(struct tour *tour);    /**< demo.c */
int tour_empty(struct tour *tour);      /**< demo_rate.c: rate, round trip, wake-up */
int tour_builtins(struct tour *tour);   /**< demo_builtins.c */
int tour_search(struct tour *tour);     /**< demo_search.c */
int tour_native(struct tour *tour);     /**< demo_native.c */
int tour_priorities(struct tour *tour); /**< demo_native.c */
int tour_fence(struct tour *tour);      /**< demo_builtins.c: fence and debug log */
int tour_faults(struct tour *tour);     /**< demo_ends.c */
int tour_endings(struct tour *tour);    /**< demo_ends.c: cancelled, deadline */
int tour_tenants(struct tour *tour);    /**< demo_tenants.c */
int tour_counters(struct tour *tour);   /**< demo_tenants.c */
int tour_streams(struct tour *tour);    /**< demo_stream.c */

/** Opens the text that will be searched: the file that was named, or a generated one. */
int tour_text_load(struct tour *tour);

/** Checks --file and --pattern before anything is started. */
int tour_text_check(struct tour *tour);

#endif
