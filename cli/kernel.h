/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What `verify`, `dis`, `exec` and `conform` share: a program that was read and checked, from a
 * VIR0 file or from a source, or the reasons why it was not accepted, and one run of it on a
 * runtime.
 */
#ifndef VYRE_CLI_KERNEL_H
#define VYRE_CLI_KERNEL_H

#include "cli.h"
#include "files.h"
#include "source.h"

/* Programs (kernel.c).
 * ------------------------------------------------------------------------------------------- */

/** A broken rule; all texts belong to the kernel that it stands in. */
struct kernel_finding {
    char *code, *path, *message, *rule, *fix;
};

/** A program: accepted (`kernel` is not NULL) or rejected (`err`, and findings if rules are broken
 * or the source has errors). Free it with kernel_free in both cases. */
struct kernel {
    vyre_kernel *kernel;
    struct source source; /**< of one that was compiled; else zero */
    vyre_kernel_info info;
    vyre_kernel_buffer_info *buffers; /**< info.buffers of them */
    vyre_error err;
    struct kernel_finding *findings;
    uint32_t finding_count;
    uint32_t finding_room; /**< how many were asked for */
    int finding_lost;      /**< there was no memory for one */
};

/** No program is longer; one byte more is enough to be told so. */
#define KERNEL_MOST_BYTES ((size_t)64 << 20)

/** What kernel_check checks a program for. */
struct kernel_wish {
    uint32_t flags;     /**< enum vyre_kernel_flag */
    uint32_t findings;  /**< at most so many */
    const char *kernel; /**< which one of a source; NULL: the only one */
};

/** Checks the bytes of the file `path`. CLI_EXIT_DONE: accepted. CLI_EXIT_NO: rejected, nothing was
 * said. Anything else: after a complaint. *kernel is to be freed in each case. */
int kernel_check(const char *path, const struct cli_bytes *bytes, struct kernel_wish wish,
                 struct kernel *kernel);

/** Reads a file and checks it, as kernel_check; a source is compiled. Warnings about a source are
 * kept and not said. */
int kernel_read(const char *path, struct kernel_wish wish, struct kernel *kernel);

/** The second half of kernel_read, for bytes that were read from `path` before and that the kernel
 * frees from now on. */
int kernel_take(const char *path, struct cli_bytes bytes, struct kernel_wish wish,
                struct kernel *kernel);

/** Whether the path may be a source, so that --kernel has a meaning: CLI_EXIT_DONE, or
 * CLI_EXIT_MISUSE after a complaint. */
int kernel_check_name(const char *path, const char *kernel);

void kernel_free(struct kernel *kernel);

/** The exit code for a rejected program: CLI_EXIT_NO, unless the library's own translation of it
 * was what the verifier refused. */
int kernel_no(const struct kernel *kernel);

/** Complains that the program was rejected, with place and fix; returns kernel_no. */
int kernel_complain(const char *path, const struct kernel *kernel);

/** What a rejection is called, where it lies ("" for nowhere), and what it says. */
struct kernel_reason {
    const char *code, *message, *fix;
    char at[256];
};
void kernel_reason(const struct kernel *kernel, struct kernel_reason *reason);

/** Whether the status says that the bytes are no VIR0 program; rules come after that. */
int kernel_is_decode_error(vyre_status status);

/* Runs (kernel_run.c).
 * ------------------------------------------------------------------------------------------- */

/** What one buffer of a run holds. */
struct kernel_bound {
    const void *bytes; /**< at first; NULL: zeros */
    size_t length;
    int by_slot;         /**< 1: a scalar parameter that comes with the slot */
    uint32_t scalar;     /**< its bits */
    vyre_buffer *buffer; /**< kernel_run makes it, kernel_run_free frees it */
};

/** One run. The caller sets the first five, the rest starts as zero. */
struct kernel_run {
    vyre *runtime;
    const struct kernel *kernel;
    struct kernel_bound *bound; /**< one for each buffer of the kernel */
    uint32_t grid[3];
    uint64_t timeout_ns; /**< VYRE_FOREVER: none */

    vyre_program *program;
    vyre_bindings *bindings;
    vyre_completion end; /**< valid after kernel_run returned VYRE_OK or VYRE_E_TIMEOUT */
    uint64_t ns;         /**< from the submit to the completion */
    int stuck;           /**< it timed out and could not be cancelled either */
    const char *doing;   /**< what failed, for cli_fail */
    vyre_error err;
};

/** Opens a runtime that can take any program's buffers, and programs whose workgroups need so many
 * bytes. Returns CLI_EXIT_DONE, or an exit code after a complaint. */
int kernel_open(const struct cli_args *args, uint64_t frame_bytes, vyre **runtime);

/** The most that a runtime gives a workgroup. */
#define KERNEL_MOST_FRAME_BYTES ((uint64_t)64 << 20)

/** The workgroups that VIR0's rule gives for these buffers. */
vyre_status kernel_grid(const struct kernel *kernel, const struct kernel_bound *bound,
                        uint32_t grid[3], vyre_error *err);

/** Loads, binds, submits and waits. VYRE_OK: it ended, somehow. VYRE_E_TIMEOUT: it was cancelled,
 * or lost with a device that would not do so.
 * Anything else: it was never submitted. Free the run in each case. */
vyre_status kernel_run(struct kernel_run *run);
void kernel_run_free(struct kernel_run *run);

/** Asks a device for something in a thread of its own. 1: it has answered. 0: it did not within
 * some seconds, as one that stands still, and the runtime has been stopped. */
int kernel_ask(vyre *runtime, void *(*ask)(void *), void *argument);

/** Bytes of the text of kernel_fault_place. */
#define KERNEL_PLACE_ROOM 600

/** How many bytes of buffer i are its result, and where they begin. */
size_t kernel_result(const struct kernel_run *run, uint32_t i, size_t *start);

/** Copies a result out; `bytes` has room for it. */
vyre_status kernel_fetch(struct kernel_run *run, uint32_t i, void *bytes);

/** Whether the fault happened inside the program, so that it has an instruction and a lane. */
int kernel_fault_has_place(const vyre_completion *end);

/** What a fault is, in one sentence; of an assertion in a source its text. */
void kernel_fault_message(const struct kernel_run *run, char message[400]);

/** Where a run faulted: "saxpy.vyre:3:5, instruction 7 (entry[0].body[2]), workgroup 3 (1,1,0),
 * lane 5", without the first where it was not compiled here. */
void kernel_fault_place(const struct kernel_run *run, char text[KERNEL_PLACE_ROOM]);

/** The number of the workgroup, and how many ran to their end. */
uint64_t kernel_fault_group(const struct kernel_run *run);
uint64_t kernel_groups_run(const struct kernel_run *run);

/** Shows what the program printed: on stderr, or as JSON Lines (exec_log.c). */
void kernel_show_log(vyre *runtime, const vyre_kernel *kernel, int json);

/** "done", "faulted", "cancelled", "lost". */
const char *kernel_outcome_name(const vyre_completion *end);

#endif
