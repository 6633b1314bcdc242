/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file compile.h
 * The kernel language: from the text of a `.vyre` file to a kernel or a program, with diagnostics
 * as data. docs/language.md describes the language.
 */
#ifndef VYRE_COMPILE_H
#define VYRE_COMPILE_H

#include <stddef.h>
#include <stdint.h>

#include "vyre/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/** No source is longer, in bytes. */
#define VYRE_SOURCE_MOST_BYTES ((size_t)4 << 20)

enum vyre_severity {
    VYRE_SEVERITY_ERROR = 1,  /**< nothing is made of the source */
    VYRE_SEVERITY_WARNING = 2 /**< it compiles, but hardly means what it says */
};

/** One thing that the compiler says about a source. The texts live as long as the call that reports
 * it. */
typedef struct vyre_diagnostic {
    uint32_t severity;   /**< enum vyre_severity */
    uint32_t line;       /**< from 1 */
    uint32_t column;     /**< from 1, in bytes */
    uint32_t reserved;   /**< 0 */
    size_t offset;       /**< first byte of the span in the source */
    size_t length;       /**< bytes of the span; 0 where something is missing */
    const char *code;    /**< such as "L021"; docs/language.md lists them all */
    const char *message; /**< what was found, and what was expected */
    const char *fix;     /**< one imperative line; "" where none is likely */
    const char *file;    /**< as in the options; "" where none was given */
} vyre_diagnostic;

/** How to compile. Start from VYRE_COMPILE_OPTIONS_INIT. */
typedef struct vyre_compile_options {
    uint32_t size;        /**< sizeof(vyre_compile_options) */
    uint32_t flags;       /**< enum vyre_kernel_flag */
    uint32_t diagnostics; /**< report at most so many; default 20 */
    uint32_t reserved;    /**< 0 */
    const char *file;     /**< the name that positions show; NULL: none */
    const char *kernel;   /**< which kernel of the source; NULL: the only one */
    void (*report)(void *ctx, const vyre_diagnostic *diagnostic); /**< may be NULL */
    void *report_ctx;
    const vyre_allocator *allocator; /**< NULL: malloc; not used by vyre_program_compile */
} vyre_compile_options;

#define VYRE_COMPILE_OPTIONS_INIT                                                                  \
    {                                                                                              \
        (uint32_t)sizeof(vyre_compile_options), 0u, 20u, 0u, 0, 0, 0, 0, 0                         \
    }

/**
 * Compiles one kernel of a source; free it with vyre_kernel_free. options NULL: all defaults. The
 * whole source is checked, whichever kernel is taken. Positions of the source stay with the kernel
 * (vyre_kernel_position). Statuses: E_NULL, E_SIZE, E_RESERVED, E_CONFLICT (half an allocator),
 * E_SOURCE (the source has errors: the first is in err, all are reported), E_NOT_FOUND (no kernel
 * has the wanted name, or there are several and none was named), E_LIMIT (too long), E_NO_MEMORY.
 * Any thread.
 */
VYRE_API vyre_status vyre_kernel_compile(const char *source, size_t length,
                                         const vyre_compile_options *options, vyre_kernel **kernel,
                                         vyre_error *err);

/**
 * Compiles one kernel of a source and publishes it under an opcode. compile and options may be
 * NULL. Statuses: those of vyre_kernel_compile and vyre_program_load_kernel.
 */
VYRE_API vyre_status vyre_program_compile(vyre *runtime, const char *source, size_t length,
                                          const vyre_compile_options *compile,
                                          const vyre_program_options *options,
                                          vyre_program **program, vyre_error *err);

/** Calls `each` with the name of every kernel of a source, in its order; the source need not be
 * free of errors. Statuses: E_NULL, E_LIMIT (too long), E_NO_MEMORY. */
VYRE_API vyre_status vyre_source_kernels(const char *source, size_t length,
                                         void (*each)(void *ctx, const char *name), void *ctx,
                                         vyre_error *err);

/**
 * Writes a source in the one layout of the language. Comments stay; meaning does not change.
 * Statuses: E_NULL, E_LIMIT, E_SOURCE (what cannot be read as the language is not laid out),
 * E_NO_MEMORY, E_SYSTEM (the writer ended it).
 */
VYRE_API vyre_status vyre_source_format(const char *source, size_t length, vyre_write_fn write,
                                        void *ctx, vyre_error *err);

enum vyre_diagnostic_style {
    VYRE_DIAGNOSTIC_COLOR = 1 /**< with terminal colours */
};

/**
 * Writes a diagnostic for people: place and message, the line, a mark under the span, the fix.
 * `source` is the text that it was reported about. style: enum vyre_diagnostic_style. Statuses:
 * E_NULL, E_RANGE (the span is not in the source, or an unknown style), E_SYSTEM (the writer ended
 * it).
 */
VYRE_API vyre_status vyre_diagnostic_write(const vyre_diagnostic *diagnostic, const char *source,
                                           size_t length, uint32_t style, vyre_write_fn write,
                                           void *ctx, vyre_error *err);

/** A place in the source of a kernel. */
typedef struct vyre_position {
    const char *file; /**< as given when it was compiled, or ""; lives as long as the kernel */
    uint32_t line;    /**< from 1; 0: not known, as for every kernel that was not compiled here */
    uint32_t column;  /**< from 1 */
} vyre_position;

/** The place in the source that instruction `pc` came from. Statuses: E_NULL, E_RANGE (pc). */
VYRE_API vyre_status vyre_kernel_position(const vyre_kernel *kernel, uint32_t pc,
                                          vyre_position *position, vyre_error *err);

/** The kernel's VIR0 bytes: *bytes lives as long as the kernel. Statuses: E_NULL. */
VYRE_API vyre_status vyre_kernel_bytes(const vyre_kernel *kernel, const void **bytes,
                                       size_t *length, vyre_error *err);

/**
 * What a print() of this kernel put into the debug log, as text: `number` is the format number of
 * the record, a and b its two values. At most `room` bytes, the zero included. Statuses: E_NULL,
 * E_NOT_FOUND (no print() of this kernel has this number), E_TOO_SMALL (room is 0).
 */
VYRE_API vyre_status vyre_kernel_print_text(const vyre_kernel *kernel, uint32_t number, uint32_t a,
                                            uint32_t b, char *text, size_t room, vyre_error *err);

#ifdef __cplusplus
}
#endif

#endif
