/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A CUDA driver for tests: the table of driver.h over memory and threads of this process. Host
 * memory stands for the device's, and a launch of the resident kernel runs the device source as C,
 * one thread a warp; a thread stands for its stream. It counts what is alive, notices calls that
 * would never return beside a running kernel, and can fail at the n-th call.
 *
 * One test program has one of it; the tests set `fake` between runtimes, never beside one.
 */
#ifndef VYRE_BACKEND_CUDA_FAKE_DRIVER_H
#define VYRE_BACKEND_CUDA_FAKE_DRIVER_H

#include "backend/cuda/driver.h"
#include "device/resident.h"

#define FAKE_DEVICES 4u

struct fake_device {
    const char *name;
    unsigned char uuid[16];
    size_t memory;
    int multiprocessors;
    int major, minor;
    int mode; /* enum vyre_cu_compute_mode */
    int watchdog;
    int shared;   /* bytes of shared memory, of a block and of a multiprocessor */
    int lacks;    /* an attribute that is 0, or 0 */
    int no_waits; /* its streams cannot wait for a word */
};

/* Runs one warp of a launch. */
typedef void (*fake_kernel_fn)(struct dev_runtime *device, const struct dev_launch *launch,
                               uint32_t warp);

struct fake {
    /* set by the test */
    int version;
    uint32_t devices;
    struct fake_device device[FAKE_DEVICES];
    int init_result;       /* of cuInit */
    int retain_result;     /* of cuDevicePrimaryCtxRetain */
    int blocks_each;       /* of the kernel that a multiprocessor takes */
    fake_kernel_fn kernel; /* NULL: dev_resident */
    uint32_t slow_ends;    /* kernels whose end takes a second and a half, yet */
    int kernel_result;     /* what a kernel ends with; if not 0 every later call does too */
    const char *link_log;  /* not NULL: linking fails with these lines */
    uint32_t fail_at;      /* the n-th call fails, counted from 1; 0: none */
    int fail_with;

    /* set by the driver; atomic where threads meet */
    uint32_t calls;
    uint32_t failed;  /* the call that was to fail came */
    uint32_t hung;    /* calls beside a running kernel that would never have returned */
    uint32_t running; /* a kernel runs, or will when its stream has waited */
    uint32_t armed;   /* of that: its stream waits */
    uint32_t launches;
    uint32_t alive; /* contexts, streams, events, links, modules, ranges, handles, registrations */
    size_t used;    /* bytes of device memory */
    int sticky;
    char table[4096]; /* the generated PTX of the last link */
    uint32_t inputs;  /* of the last link */
};

extern struct fake fake;

/* Everything as it is at first: one device that can do all. */
void fake_reset(void);

/* The table. */
extern const struct vyre_cuda_driver fake_driver;

/* Memory that is shared is a memfd with this name and the number of its GPU. */
#define FAKE_SHARED_NAME "fake-gpu-"

/* The fake GPU's timer is so much behind the monotonic clock. */
#define FAKE_CLOCK_BEHIND_NS 123456789u

#endif
