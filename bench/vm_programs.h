/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The programs that `vyre bench vm` runs: their sizes and constants, which make_programs.c writes
 * into them and the C peers compute with, and their bytes. Sizes on a GPU are in vm_gpu.h.
 */
#ifndef VYRE_BENCH_VM_PROGRAMS_H
#define VYRE_BENCH_VM_PROGRAMS_H

#include <stddef.h>

#define VM_LANES 256u /* of a workgroup, but for the byte count and the single lane */

#define VM_SAXPY_COUNT       (16u << 20) /* 64 MiB of floats */
#define VM_SAXPY_SMALL_COUNT 1024u       /* 4 KiB */

#define VM_MANDELBROT_WIDTH  512u
#define VM_MANDELBROT_COUNT  (VM_MANDELBROT_WIDTH * VM_MANDELBROT_WIDTH)
#define VM_MANDELBROT_ROUNDS 256u
#define VM_MANDELBROT_LEFT   -2.0f
#define VM_MANDELBROT_TOP    -1.25f
#define VM_MANDELBROT_SPAN   2.5f

#define VM_XORSHIFT_COUNT  262144u
#define VM_XORSHIFT_ROUNDS 256u

#define VM_POLYNOMIAL_COUNT (1u << 20)
#define VM_POLYNOMIAL_TERMS 16u
/* From the highest power down; none is 0 or 1, which could be left out of the sum. */
#define VM_POLYNOMIAL_COEFFICIENTS                                                                 \
    {                                                                                              \
        0.03125f, -0.0625f, 0.09375f, 0.125f, -0.15625f, 0.1875f, 0.21875f, -0.25f, 0.28125f,      \
            0.3125f, -0.34375f, 0.375f, 0.40625f, -0.4375f, 0.46875f, 0.53125f                     \
    }

/* Bytes: each lane counts the bytes of VM_BYTES_WORDS words in a table of its own. */
#define VM_BYTES_LANES 128u
#define VM_BYTES_BINS  256u
#define VM_BYTES_WORDS 256u
#define VM_BYTES_GROUP (VM_BYTES_LANES * VM_BYTES_WORDS * 4u) /* bytes that a workgroup counts */
#define VM_BYTES_COUNT (256u * VM_BYTES_GROUP)

#define VM_NODES_200    200u
#define VM_SOURCE_LINES 200
#define VM_LANE_ROUNDS  65536u

/* A program on the wire. */
struct vm_bytes {
    const unsigned char *bytes;
    size_t length;
};

/* What make_programs.c wrote at build time: kernels of kernels.vyre, and VIR0 built by hand, which
 * says what the language costs. */
#define VM_KERNELS(row)                                                                            \
    row(saxpy) row(saxpy_small) row(mandelbrot) row(xorshift) row(polynomial) row(bytes) row(lane)
#define VM_BY_HAND(row)                                                                            \
    row(hand_saxpy) row(hand_mandelbrot) row(hand_xorshift) row(hand_polynomial) row(hand_bytes)   \
        row(nodes_200)
/* Kernels of kernels_gpu.vyre, and those of make_sized.c, whose names end with the registers that a
 * lane of them needs. */
#define VM_GPU_KERNELS(row)                                                                        \
    row(saxpy_grid) row(saxpy_few) row(tiny) row(repeat) row(reduction) row(histogram)             \
        row(mandelbrot_grid) row(stencil)
#define VM_SIZED(row)                                                                              \
    row(saxpy_8) row(saxpy_16) row(saxpy_32) row(saxpy_64) row(alu_8) row(alu_16) row(alu_32)      \
        row(alu_64) row(warp_8) row(warp_16) row(warp_32) row(warp_64)
#define VM_PROGRAMS(row)         VM_KERNELS(row) VM_BY_HAND(row) VM_GPU_KERNELS(row) VM_SIZED(row)
#define VM_PROGRAM_DECLARE(name) extern const struct vm_bytes vm_program_##name;
VM_PROGRAMS(VM_PROGRAM_DECLARE)
#undef VM_PROGRAM_DECLARE

/* A source of VM_SOURCE_LINES lines. */
extern const struct vm_bytes vm_program_source_200;

#endif
