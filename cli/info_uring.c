/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The io_uring part of `vyre info`. A ring is set up, a request goes through it, and each feature
 * that vyre uses is tried on a ring of its own. Where the kernel refuses, the reason is looked for
 * in the places that can refuse: the kernel's age, kernel.io_uring_disabled, a seccomp filter, the
 * limit on locked memory. Called by info.c.
 */
#include "info.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>

enum { SECCOMP_FILTERED = 2, PROBE_BYTES = 16 << 20 };

static void explain(struct info_fact *fact, const char *reason, const char *fix)
{
    fact->state = INFO_NO;
    snprintf(fact->reason, sizeof fact->reason, "%s", reason);
    snprintf(fact->fix, sizeof fact->fix, "%s", fix);
}

/* kernel.io_uring_disabled: 0, 1 or 2; -1 where the kernel does not have it. */
static int uring_disabled(void)
{
    int value = -1;
    FILE *file = fopen("/proc/sys/kernel/io_uring_disabled", "re");

    if (file == NULL) return -1;
    if (fscanf(file, "%d", &value) != 1) value = -1;
    fclose(file);
    return value;
}

static int seccomp_filtered(void)
{
    uint64_t mode = 0;

    return info_process_status("Seccomp:", 10, &mode) == 0 && mode == SECCOMP_FILTERED;
}

static void kernel_release(char release[80])
{
    struct utsname system;

    snprintf(release, 80, "%.70s", uname(&system) == 0 ? system.release : "?");
}

static void explain_filter(struct info_fact *fact, const char *name)
{
    explain(fact, "",
            "start it with a seccomp profile that allows io_uring_setup, io_uring_enter "
            "and io_uring_register (Docker: --security-opt seccomp=PROFILE)");
    snprintf(fact->reason, sizeof fact->reason,
             "a seccomp filter on this process refuses io_uring_setup (%s), as containers often do",
             name);
}

static void explain_permission(struct info_fact *fact)
{
    int disabled = uring_disabled();

    if (disabled == 2)
        explain(fact, "it is switched off for everybody: kernel.io_uring_disabled is 2",
                "run `sudo sysctl kernel.io_uring_disabled=0`");
    else if (disabled == 1)
        explain(fact, "only kernel.io_uring_group may use it: kernel.io_uring_disabled is 1",
                "run `sudo sysctl kernel.io_uring_disabled=0`, or join the group that "
                "`sysctl kernel.io_uring_group` names");
    else if (seccomp_filtered())
        explain_filter(fact, "EPERM");
    else
        explain(fact,
                "the kernel refuses it (EPERM), and neither kernel.io_uring_disabled nor a seccomp "
                "filter is the cause",
                "look for a denial in the kernel's log: `sudo dmesg | grep -i -e denied -e avc`");
}

/* Why no ring could be made at all. */
static void explain_setup(struct info_fact *fact, int error)
{
    char release[80];

    kernel_release(release);
    switch (error) {
    case EPERM:
    case EACCES:
        explain_permission(fact);
        break;
    case ENOSYS:
        /* A kernel that has the switch has io_uring, so somebody else must be answering. */
        if (uring_disabled() >= 0 && seccomp_filtered()) {
            explain_filter(fact, "ENOSYS");
            break;
        }
        explain(fact, "", "use a kernel from 5.1 on that was built with CONFIG_IO_URING");
        snprintf(fact->reason, sizeof fact->reason, "kernel %s does not have it (ENOSYS)", release);
        break;
    case ENOMEM:
        explain(fact, "there is no memory for the ring, or RLIMIT_MEMLOCK is too low (ENOMEM)",
                "raise the limit: `ulimit -l unlimited`, or LimitMEMLOCK=infinity in a unit");
        break;
    case EMFILE:
    case ENFILE:
        explain(fact, "no file descriptor is free for the ring", "raise the limit: `ulimit -n`");
        break;
    default:
        explain(fact, "", "look for the cause in the kernel's log: `sudo dmesg`");
        snprintf(fact->reason, sizeof fact->reason, "io_uring_setup fails: %s", strerror(error));
        break;
    }
}

/* One request through the ring; 0 or a positive errno. */
static int pass_nop(struct io_uring *ring)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    struct io_uring_cqe *cqe = NULL;

    if (sqe == NULL) return EAGAIN;
    io_uring_prep_nop(sqe);
    sqe->user_data = 7;
    int code = io_uring_submit_and_wait(ring, 1);
    if (code < 0) return -code;
    code = io_uring_wait_cqe(ring, &cqe);
    if (code < 0) return -code;
    int good = cqe->user_data == 7 && cqe->res == 0;
    io_uring_cqe_seen(ring, cqe);
    return good ? 0 : EIO;
}

/* Rings as such; returns whether they work. */
static int probe_rings(void)
{
    struct info_fact fact = {.type = "io_uring", .name = "rings"};
    struct io_uring ring;
    int code = io_uring_queue_init(8, &ring, 0);

    if (code < 0) {
        explain_setup(&fact, -code);
    } else {
        code = -pass_nop(&ring);
        io_uring_queue_exit(&ring);
        if (code == 0) {
            fact.state = INFO_YES;
            snprintf(fact.value, sizeof fact.value, "a request went through");
        } else {
            explain_setup(&fact, -code);
        }
    }
    info_emit(&fact);
    return fact.state == INFO_YES;
}

/* A set-up flag: a ring with it is made and used. */
static void probe_flags(const char *name, unsigned flags, const char *since)
{
    struct info_fact fact = {.type = "io_uring", .name = name, .state = INFO_YES};
    struct io_uring ring;
    char release[80];
    int code = io_uring_queue_init(8, &ring, flags);

    if (code == 0) {
        code = -pass_nop(&ring);
        io_uring_queue_exit(&ring);
    }
    if (code < 0) {
        kernel_release(release);
        explain(&fact, "", "");
        snprintf(fact.reason, sizeof fact.reason, "kernel %s answers: %s", release,
                 strerror(-code));
        snprintf(fact.fix, sizeof fact.fix,
                 "use a kernel from %s on; without it vyre's input "
                 "takes a slower way",
                 since);
    }
    info_emit(&fact);
}

static void probe_registered_ring(void)
{
    struct info_fact fact = {.type = "io_uring", .name = "registered ring", .state = INFO_YES};
    struct io_uring ring;
    char release[80];
    int code = io_uring_queue_init(8, &ring, 0);

    if (code == 0) {
        code = io_uring_register_ring_fd(&ring);
        if (code == 1) code = -pass_nop(&ring);
        io_uring_queue_exit(&ring);
    }
    if (code < 0) {
        kernel_release(release);
        explain(&fact, "", "use a kernel from 5.18 on; without it each call costs a little more");
        snprintf(fact.reason, sizeof fact.reason, "kernel %s answers: %s", release,
                 strerror(-code));
    }
    info_emit(&fact);
}

/* Why buffers could not be registered. A process may raise its own limit up to the hard one; more
 * than that is for whoever starts it. */
static void explain_buffers(struct info_fact *fact, int error, const char *size)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (error != ENOMEM || limit.rlim_cur >= PROBE_BYTES) {
        explain(fact, "", "free memory, or look for the cause in the kernel's log: `sudo dmesg`");
        snprintf(fact->reason, sizeof fact->reason, "%s could not be registered: %s", size,
                 strerror(error));
        return;
    }
    if (limit.rlim_max == RLIM_INFINITY)
        explain(fact, "", "run `ulimit -l unlimited` before it");
    else
        explain(fact, "",
                "raise the hard limit: a `memlock` line in /etc/security/limits.conf, or "
                "LimitMEMLOCK=infinity in a systemd unit");
    snprintf(fact->reason, sizeof fact->reason, "%s do not fit: RLIMIT_MEMLOCK is %llu bytes", size,
             (unsigned long long)limit.rlim_cur);
}

/* Registered buffers are locked memory: the limit shows only when one tries. */
static void probe_registered_buffers(void)
{
    struct info_fact fact = {.type = "io_uring", .name = "registered buffers", .state = INFO_YES};
    struct io_uring ring;
    char size[32];
    void *memory =
        mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct iovec buffer = {memory, PROBE_BYTES};
    int code = memory == MAP_FAILED ? -ENOMEM : io_uring_queue_init(8, &ring, 0);

    if (code == 0) {
        code = io_uring_register_buffers(&ring, &buffer, 1);
        io_uring_queue_exit(&ring);
    }
    if (memory != MAP_FAILED) munmap(memory, PROBE_BYTES);
    cli_format_bytes(PROBE_BYTES, size, sizeof size);
    if (code == 0)
        snprintf(fact.value, sizeof fact.value, "%s were registered", size);
    else
        explain_buffers(&fact, -code, size);
    info_emit(&fact);
}

void info_uring(void)
{
    if (!probe_rings()) return;
    probe_flags("single issuer", IORING_SETUP_SINGLE_ISSUER, "6.0");
    probe_flags("deferred task run", IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
                "6.1");
    probe_registered_ring();
    probe_registered_buffers();
}
