/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Making a ring: what the kernel offers, what it refuses, and why.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/error.h"
#include "ingest/ring.h"

#define SQPOLL_IDLE_MS 50u
#define TRIES          50u

/* A phrase more; one for which there is no room is left out whole. */
VYRE_PRINTF(2, 3) static void say(struct vyre_ring_choice *choice, const char *format, ...)
{
    va_list args;
    size_t used = strlen(choice->text), room = sizeof choice->text - used;
    va_start(args, format);
    int length = vsnprintf(choice->text + used, room, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= room) choice->text[used] = '\0';
}

/* What kernel.io_uring_disabled says; -1: there is no such setting. */
static int disabled(void)
{
    int value = -1;
    FILE *file = fopen("/proc/sys/kernel/io_uring_disabled", "re");
    if (!file) return -1;
    if (fscanf(file, "%d", &value) != 1) value = -1;
    fclose(file);
    return value;
}

static uint64_t lockable_kib(void)
{
    struct rlimit limit = {0, 0};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : (uint64_t)limit.rlim_cur >> 10;
}

/* Why there is no ring: `call` failed. */
static vyre_status refuse(const char *call, int cause, struct vyre_ring_choice *choice,
                          vyre_error *err)
{
    int setting = disabled();
    uint64_t lockable = lockable_kib();
    vyre_fail_errno(err, cause, "io_uring cannot be used: %s", call);
    say(choice, "no io_uring: %s: errno %d", call, cause);
    if (cause == ENOSYS) {
        say(choice, ", this kernel has none");
        vyre_fail_fix(err, "use a kernel with io_uring (5.11 or newer), or read with pread");
    } else if (cause == EPERM && setting > 0) {
        say(choice, ", kernel.io_uring_disabled is %d", setting);
        vyre_fail_fix(err, "set kernel.io_uring_disabled, which is %d, to 0, or read with pread",
                      setting);
    } else if (cause == EPERM || cause == EACCES) {
        say(choice, ", a seccomp filter forbids it");
        vyre_fail_fix(err,
                      "allow %s in the seccomp filter of this process (containers forbid it "
                      "by default), or read with pread",
                      call);
    } else if (cause == EMFILE || cause == ENFILE) {
        say(choice, ", no descriptor is left (ulimit -n)");
        vyre_fail_fix(err, "raise the limit on open files (ulimit -n)");
    } else if (cause == ENOMEM && lockable != UINT64_MAX) {
        say(choice, ", RLIMIT_MEMLOCK is %llu KiB: raise it with ulimit -l",
            (unsigned long long)lockable);
        vyre_fail_fix(err, "raise the limit on locked memory (ulimit -l), which is %llu KiB",
                      (unsigned long long)lockable);
    }
    return VYRE_E_SYSTEM;
}

static int init_with(struct vyre_ring *ring, const struct vyre_ring_options *options,
                     unsigned flags)
{
    struct timespec moment = {0, 1000000};
    int result = -ENOMEM;
    /* A ring that was closed gives back its locked memory a moment later. */
    for (uint32_t tries = 0; result == -ENOMEM && tries < TRIES; tries++) {
        struct io_uring_params params;
        if (tries != 0) nanosleep(&moment, NULL);
        memset(&params, 0, sizeof params);
        params.flags = flags | IORING_SETUP_CLAMP;
        params.sq_thread_idle = SQPOLL_IDLE_MS;
        result =
            options->calls->ring_init(options->calls->ctx, options->entries, &ring->uring, &params);
        if (lockable_kib() == UINT64_MAX) break;
    }
    return result;
}

/* Tries sets of flags, best first. */
static int init(struct vyre_ring *ring, const struct vyre_ring_options *options)
{
    static const struct {
        unsigned flags;
        uint32_t feature;
    } ways[] = {{IORING_SETUP_SQPOLL, VYRE_RING_SQPOLL},
                {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, VYRE_RING_SINGLE_ISSUER},
                {IORING_SETUP_COOP_TASKRUN, 0},
                {0, 0}};
    int result = -EINVAL;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (ways[i].feature != 0 && (options->may & ways[i].feature) == 0) continue;
        result = init_with(ring, options, ways[i].flags);
        if (result == 0) {
            ring->open = 1;
            ring->features = ways[i].feature;
            break;
        }
        /* Another set of flags helps only where these were not understood or not allowed. */
        if (result != -EINVAL && !(result == -EPERM && ways[i].feature == VYRE_RING_SQPOLL)) break;
    }
    return result;
}

/* Whether the ring may be used, and not only made. 0, or -errno. */
static int enter(struct vyre_ring *ring)
{
    struct vyre_ring_event event;
    struct io_uring_sqe *sqe = vyre_ring_sqe(ring);
    if (!sqe) return 0;
    io_uring_prep_nop(sqe);
    vyre_ring_number(ring, sqe, VYRE_RING_OP_NOP, 0);
    int result = vyre_ring_submit(ring, 1);
    while (vyre_ring_next(ring, &event)) {}
    return result == -EPERM || result == -EACCES || result == -ENOSYS ? result : 0;
}

static void register_buffers(struct vyre_ring *ring, const struct vyre_ring_options *options,
                             struct vyre_ring_choice *choice)
{
    struct vyre_ring_entry entry = {.buffers = options->buffers, .count = options->buffer_count};
    uint64_t lockable = lockable_kib();
    size_t bytes = 0;
    if ((options->may & VYRE_RING_FIXED_BUFFERS) == 0 || options->buffer_count == 0) return;
    int result = options->calls->ring_register(options->calls->ctx, &ring->uring,
                                               VYRE_RING_TABLE_BUFFERS, &entry);
    if (result >= 0) {
        ring->features |= VYRE_RING_FIXED_BUFFERS;
        return;
    }
    for (uint32_t i = 0; i < options->buffer_count; i++)
        bytes += options->buffers[i].iov_len;
    if (result == -ENOMEM && lockable != UINT64_MAX)
        say(choice,
            "; buffers not fixed: %zu KiB and the ring exceed RLIMIT_MEMLOCK, %llu KiB (ulimit -l)",
            bytes >> 10, (unsigned long long)lockable);
    else
        say(choice, "; buffers not fixed: errno %d", -result);
}

static void register_rest(struct vyre_ring *ring, const struct vyre_ring_options *options,
                          struct vyre_ring_choice *choice)
{
    const struct vyre_stream_calls *calls = options->calls;
    struct vyre_ring_entry entry = {.count = options->files, .workers = {options->workers, 0}};
    int result;
    if (options->may & VYRE_RING_FIXED_FILES && options->files != 0) {
        result = calls->ring_register(calls->ctx, &ring->uring, VYRE_RING_TABLE_FILES, &entry);
        if (result >= 0) {
            ring->features |= VYRE_RING_FIXED_FILES;
            ring->files = options->files;
        } else {
            say(choice, "; files not fixed: errno %d", -result);
        }
    }
    if (options->may & VYRE_RING_REGISTERED_RING) {
        result = calls->ring_register(calls->ctx, &ring->uring, VYRE_RING_TABLE_RING, &entry);
        if (result >= 0)
            ring->features |= VYRE_RING_REGISTERED_RING;
        else
            say(choice, "; ring not registered: errno %d", -result);
    }
    /* Where it cannot be set the kernel's own limit holds: nothing to say. */
    if (options->workers != 0)
        calls->ring_register(calls->ctx, &ring->uring, VYRE_RING_TABLE_WORKERS, &entry);
}

/* What the ring has, and why not what nobody refused. */
static void tell(const struct vyre_ring *ring, struct vyre_ring_choice *choice)
{
    uint32_t has = ring->features;
    say(choice, "io_uring%s%s%s%s%s", has & VYRE_RING_SINGLE_ISSUER ? ", single issuer" : "",
        has & VYRE_RING_SQPOLL ? ", sqpoll" : "",
        has & VYRE_RING_REGISTERED_RING ? ", registered ring" : "",
        has & VYRE_RING_FIXED_BUFFERS ? ", fixed buffers" : "",
        has & VYRE_RING_FIXED_FILES ? ", fixed files" : "");
    if ((has & VYRE_RING_SQPOLL) == 0) say(choice, "; no sqpoll: a core, and no faster");
    say(choice, "; no iopoll: it also polls and writes");
}

static vyre_status check_must(const struct vyre_ring *ring, const struct vyre_ring_options *options,
                              const struct vyre_ring_choice *refused, vyre_error *err)
{
    static const char *const name[] = {"single issuer",   "sqpoll",        "iopoll",
                                       "registered ring", "fixed buffers", "fixed files"};
    uint32_t missing = options->must & ~ring->features;
    for (uint32_t i = 0; i < sizeof name / sizeof *name; i++) {
        if ((missing >> i & 1) == 0) continue;
        return vyre_fail_with(err, VYRE_E_SYSTEM,
                              "leave that feature out, or take away what "
                              "forbids it",
                              "io_uring without %s, which was demanded%.180s", name[i],
                              refused->text);
    }
    return VYRE_OK;
}

vyre_status vyre_ring_open(struct vyre_ring *ring, const struct vyre_ring_options *options,
                           struct vyre_ring_choice *choice, vyre_error *err)
{
    struct vyre_ring_choice refused = {""};
    memset(ring, 0, sizeof *ring);
    ring->calls = options->calls;
    choice->text[0] = '\0';
    if (options->must & VYRE_RING_IOPOLL)
        return vyre_fail_with(err, VYRE_E_UNSUPPORTED, "leave IOPOLL out",
                              "a ring with IOPOLL takes O_DIRECT reads alone; a stream's ring also "
                              "waits for messages, pipes and writes");
    if ((options->must & (VYRE_RING_SQPOLL | VYRE_RING_SINGLE_ISSUER)) ==
        (VYRE_RING_SQPOLL | VYRE_RING_SINGLE_ISSUER))
        return vyre_fail(err, VYRE_E_CONFLICT, "SQPOLL and SINGLE_ISSUER exclude each other");
    int result = init(ring, options);
    if (result != 0) return refuse("io_uring_setup", -result, choice, err);
    result = enter(ring);
    if (result != 0) {
        vyre_ring_close(ring);
        return refuse("io_uring_enter", -result, choice, err);
    }
    register_buffers(ring, options, &refused);
    register_rest(ring, options, &refused);
    tell(ring, choice);
    say(choice, "%s", refused.text);
    vyre_status status = check_must(ring, options, &refused, err);
    if (status) vyre_ring_close(ring);
    return status;
}
