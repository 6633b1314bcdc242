/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * An operating system that refuses: no more descriptors, no more threads. The call says so with the
 * errno, leaves nothing behind, and works again when the system does.
 */
#include "meter.h"

#include <errno.h>
#include <sys/resource.h>

/* Lowers a soft limit; returns what it was. */
static rlim_t set_limit(int resource, rlim_t value)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0) bail("getrlimit");
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = value;
    if (setrlimit(resource, &limit) != 0) bail("setrlimit");
    return before;
}

static bool says_errno(const vyre_error *err, int number)
{
    return err->domain == VYRE_DOMAIN_ERRNO && err->code == number;
}

static void no_descriptors(void)
{
    struct meter meter = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    vyre_options options = cpu_options(1);
    vyre_queue *queue = NULL;
    vyre *rt = NULL;
    vyre_error err;
    int fd = -7;
    uint32_t descriptors = count_descriptors();

    rlim_t before = set_limit(RLIMIT_NOFILE, 3);
    refused(vyre_open(&rt, &options, &err), VYRE_E_SYSTEM, &err, "no memfd, no runtime");
    options.allocator = &hooks;
    works(vyre_open(&rt, &options, &err), &err, "the embedder's own mappings need none");
    queue = vyre_queue_default(rt);
    refused(vyre_queue_event_fd(queue, &fd, &err), VYRE_E_SYSTEM, &err, "no eventfd");
    ok(says_errno(&err, EMFILE) && fd == -7, "EMFILE, and nothing stored: %s", err.message);
    int64_t live = meter.live_bytes;
    set_limit(RLIMIT_NOFILE, before);
    works(vyre_queue_event_fd(queue, &fd, &err), &err, "later there is one");
    ok(meter.live_bytes > live, "and its watcher");
    is_u64(wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0)).outcome, VYRE_DONE,
           "all goes on");
    vyre_close(rt);
    ok(meter_clean(&meter), "no memory is left");
    is_u64(count_descriptors(), descriptors, "no descriptor is left");
}

/* What the process's address space holds now, in bytes. */
static rlim_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1) bail("cannot read statm");
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Stacks that do not fit the address space: some workers start, and must end again. */
static void no_threads(void)
{
    struct meter meter = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    vyre_options options = cpu_options(100);
    vyre *rt = NULL;
    vyre_error err;
    options.allocator = &hooks;
    uint32_t threads = count_threads();
    rlim_t before = set_limit(RLIMIT_AS, address_space() + 100 * 1024 * 1024);
    vyre_status status = vyre_open(&rt, &options, &err);
    set_limit(RLIMIT_AS, before);
    refused(status, VYRE_E_SYSTEM, &err, "no room for 100 stacks");
    ok(says_errno(&err, EAGAIN) && rt == NULL, "EAGAIN, and nothing stored: %s", err.message);
    is_u64(settle_threads(threads), threads, "no worker is left");
    ok(meter_clean(&meter), "no memory is left");
    works(vyre_open(&rt, &options, &err), &err, "later there is room");
    is_u64(settle_threads(threads + 100), threads + 100, "for a hundred workers");
    vyre_close(rt);
    ok(meter_clean(&meter), "no memory is left");
    is_u64(settle_threads(threads), threads, "and no worker");
}

int main(void)
{
    no_descriptors();
    if (UNDER_ASAN || UNDER_TSAN)
        skip("the sanitizers need the whole address space");
    else
        no_threads();
    return done();
}
