/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of `vyre-peers` share: the driver, the device, and how a figure is printed.
 *
 * vyre-peers measures what a GPU runtime is compared with: launches, graphs, and a ping-pong with
 * the least kernel there is. It is a program of its own, because a resident kernel and its peers
 * must never share the GPU, and because `vyre` itself never opens libcuda. It prints JSON Lines
 * for `vyre bench dispatch` and `vyre bench vm`, and can be run by hand.
 */
#ifndef VYRE_CUDA_PEERS_H
#define VYRE_CUDA_PEERS_H

#include <stddef.h>
#include <stdint.h>

#include "host.h"

/* Of cuda.h, what is used here. */
typedef struct cuda_object *cuda_object; /* context, module, function, stream, graph, node */
#define CUDA_STREAM_NON_BLOCKING 1u
#define CUDA_REGISTER_DEVICEMAP  2u
#define CUDA_CAPTURE_RELAXED     2
#define CUDA_PROCESSORS          16
#define CUDA_COMPUTE_MAJOR       75
#define CUDA_COMPUTE_MINOR       76
#define CUDA_SERIALIZATION       6u /* the launch attribute of a programmatic dependent launch */

struct cuda_kernel_node {
    cuda_object function;
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    void **params;
    void **extra;
    cuda_object kernel;
    cuda_object context;
};

struct cuda_attribute {
    unsigned id;
    unsigned pad;
    union {
        char room[64];
        int allowed;
    } value;
};

struct cuda_launch {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    cuda_object stream;
    struct cuda_attribute *attributes;
    unsigned attribute_count;
};

struct cuda_calls {
#define CUDA_CALL(name, args)     int(*name) args;
#define CUDA_CALL_NEW(name, args) int(*name) args;
#include "cuda_calls.def"
};
extern struct cuda_calls cuda;

/* The device that is measured. */
struct cuda_peers {
    int device;
    int major, minor;
    char name[128];
    char uuid[48]; /* "GPU-..." */
    int driver;    /* such as 13000 */
    cuda_object stream;
    cuda_object empty;            /* a kernel that does nothing */
    cuda_object ping_pong;        /* see kernels.h */
    cuda_object ping_pong_strict; /* with acquire and release */
    cuda_object dependent;        /* NULL: the device has no programmatic dependent launch */
    uint64_t duration_ns;         /* of one measurement */
    uint32_t *samples;            /* CUDA_PEERS_SAMPLES of them */
};
#define CUDA_PEERS_SAMPLES 200000u

/* driver.c: opens libcuda and finds the device that `which` names, by index or UUID; NULL: the
 * first. No context is made. NULL, or why it did not work; it lives until the next call. */
const char *cuda_find(struct cuda_peers *peers, const char *which);

/* Makes a context, a stream and the kernels. NULL, or why it did not work. */
const char *cuda_begin(struct cuda_peers *peers);

/* What a failed call returned, as a text: NULL where it did not fail. It lives until the next. */
const char *cuda_failed(const char *call, int result);

/* kernels.c: the kernels as PTX; `dependent` needs compute capability 9.0. */
extern const char cuda_kernels_ptx[];
extern const char cuda_dependent_ptx[];

/* main.c: prints a figure, or why there is none. */
void print_figure(const char *name, double value, const char *unit);
void print_absent(const char *name, const char *note);

/* Sorts the samples (nanoseconds) and prints p50, p99 and the least, in microseconds. */
void print_percentiles(const char *name, uint32_t *samples, size_t count);

/* The measurements. A failure is printed as absent. */
void measure_ping_pong(struct cuda_peers *peers);
void measure_launches(struct cuda_peers *peers);
void measure_graphs(struct cuda_peers *peers);

/* native.c: the problems of `vyre bench vm` as native kernels, none with more elements than so. */
void measure_native(struct cuda_peers *peers, uint64_t elements);

/* cufile.c: how fast cuFile reads a file into the device's memory. */
void measure_cufile(struct cuda_peers *peers, const char *path);

/* Whether the driver has graphs, and what to say where it has not. */
int cuda_has_graphs(void);
#define CUDA_NO_GRAPHS "this driver has no graphs, or not their calls of CUDA 12"

/* power.c: the mean power of the device over this time, by NVML; prints it. Needs cuda_find. */
void measure_power(const struct cuda_peers *peers, uint64_t duration_ns);

#endif
