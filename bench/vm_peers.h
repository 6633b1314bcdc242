/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What `vyre bench vm` measures programs against, on one thread: the same algorithms in plain C,
 * the scalar oracle, and OpenCL by PoCL. Called by `vyre bench vm` only.
 */
#ifndef VYRE_BENCH_VM_PEERS_H
#define VYRE_BENCH_VM_PEERS_H

#include <stddef.h>
#include <stdint.h>

#include "host.h"
#include "vm_programs.h"

/* Plain C (vm_peers.c).
 * ------------------------------------------------------------------------------------------- */

/* What a peer computes with; which arrays and scalars it has is the same as in its program. */
struct vm_arrays {
    const void *in[2];
    void *out;
    size_t count; /* elements: floats, words, pixels or bytes */
    uint32_t scalar[4];
};

typedef void (*vm_peer_fn)(const struct vm_arrays *arrays);

/* The source is compiled twice. vm_timed_* are as fast as the compiler makes them, with products
 * and sums contracted. vm_exact_* round after each operation as VIR0 does: what a program computes
 * must equal their results bit by bit. */
#define VM_PEERS(row) row(saxpy) row(mandelbrot) row(xorshift) row(polynomial) row(bytes)
#define VM_PEER_DECLARE(name)                                                                      \
    void vm_timed_##name(const struct vm_arrays *arrays);                                          \
    void vm_exact_##name(const struct vm_arrays *arrays);
VM_PEERS(VM_PEER_DECLARE)
#undef VM_PEER_DECLARE

/* The flags of the timed ones. */
const char *vm_peer_flags(void);

/* The oracle (vm_oracle.c, or vm_no_oracle.c in a build without tests).
 * ------------------------------------------------------------------------------------------- */

#define VM_ORACLE_MAX_BUFFERS 8u

struct vm_oracle;

/* NULL: it was not built, or this is no program; `why` says so. */
struct vm_oracle *vm_oracle_open(const void *bytes, size_t length, const char **why);
void vm_oracle_close(struct vm_oracle *oracle);

/* Runs so many workgroups on the buffers, in their order of declaration (NULL for workgroup
 * memory). 0, or -1 if the run failed. */
struct vm_oracle_run {
    uint32_t groups;
    unsigned char *buffer[VM_ORACLE_MAX_BUFFERS];
    uint64_t bytes[VM_ORACLE_MAX_BUFFERS];
};
int vm_oracle_run(struct vm_oracle *oracle, struct vm_oracle_run *run);

/* PoCL (pocl.c): a child process that holds the library, two devices and their kernels.
 * ------------------------------------------------------------------------------------------- */

enum vm_pocl_device {
    VM_POCL_PTHREAD, /* one worker thread beside the one that submits */
    VM_POCL_BASIC    /* kernels run on the thread that submits */
};

struct vm_pocl;

/* The rate of saxpy over VM_SAXPY_SMALL_COUNT floats, enqueued and finished one at a time. */
struct vm_pocl_rate {
    int32_t state; /* enum peer_state */
    uint32_t p50_ns;
    uint64_t launches;
    uint64_t elapsed_ns;
    char note[96];
};

/* To be called while the process has one thread; the library is opened with the first measurement.
 * NULL: no process to be had. */
struct vm_pocl *vm_pocl_open(const struct bench_cpus *cpus);
void vm_pocl_close(struct vm_pocl *pocl);
void vm_pocl_measure(struct vm_pocl *pocl, enum vm_pocl_device device, uint64_t duration_ns,
                     struct vm_pocl_rate *rate);

#endif
