/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Sources of kernels that need a given number of registers a lane. Called by make_programs.c.
 */
#ifndef VYRE_BENCH_MAKE_SIZED_H
#define VYRE_BENCH_MAKE_SIZED_H

#include <stddef.h>

/* The source of the kernel with this name, one of VM_SIZED; the caller frees it. NULL: no memory,
 * or no such name, and a message on stderr. */
char *sized_source(const char *name, size_t *length);

#endif
