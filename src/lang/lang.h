/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The compiler of the kernel language, as the rooms above see it: source in, VIR0 bytes with a side
 * table of source positions out. The stages and their data are in ast.h.
 */
#ifndef VYRE_LANG_LANG_H
#define VYRE_LANG_LANG_H

#include "base/memory.h"
#include "vyre/compile.h"

/* A piece of source. */
struct lang_span {
    uint32_t at;
    uint32_t length;
};

/* What a print() shows: its text, and which of its values are what. */
struct lang_print {
    uint32_t number; /* in the record of the debug log */
    const char *text;
};

/* One compiled kernel. All of it lies in one piece of memory, but for the bytes. */
struct lang_output {
    struct vyre_memory *memory;
    void *bytes; /* VIR0 */
    size_t length;
    size_t room; /* of this structure and its tables */
    const char *file;
    struct lang_span kernel;       /* the kernel's name */
    const struct lang_span *spans; /* by id of the tree that the bytes decode to */
    uint32_t span_count;
    const uint32_t *lines; /* offsets of the lines' first bytes */
    uint32_t line_count;
    const struct lang_print *prints;
    uint32_t print_count;
};

struct lang_request {
    const char *text;
    size_t length;
    const char *file;   /* NULL: none */
    const char *kernel; /* NULL: the only one */
    uint32_t most;      /* diagnostics */
    uint32_t subgroups; /* whether subgroup operations are allowed */
    void (*report)(void *ctx, const vyre_diagnostic *diagnostic);
    void *ctx;
};

/* Statuses: E_SOURCE, E_NOT_FOUND, E_LIMIT (too long), E_NO_MEMORY. */
vyre_status vyre_lang_compile(struct vyre_memory *memory, const struct lang_request *request,
                              struct lang_output **out, vyre_error *err);
void vyre_lang_free(struct lang_output *output); /* NULL is allowed */

/* The position of an item of the tree; line 0 where it has none. */
void vyre_lang_position(const struct lang_output *output, uint32_t id, vyre_position *position);

/* Reports what a room above found wrong with an item of the tree, as L059. */
vyre_status vyre_lang_refuse(const struct lang_request *request, const struct lang_output *output,
                             uint32_t id, const vyre_error *why, vyre_error *err);

/* Who hears of what is wrong. The texts are gone when it returns. */
struct lang_listener {
    void (*complain)(void *ctx, uint32_t diagnostic, struct lang_span span, const char *message,
                     const char *fix);
    void *ctx;
};

/* Reads a source without asking what it means, and tells the first error of grammar, if there is
 * one. Statuses: E_LIMIT (too long), E_NO_MEMORY. */
vyre_status vyre_lang_syntax(struct vyre_memory *memory, const char *text, size_t length,
                             struct lang_listener listener, vyre_error *err);

/* format.c: vyre_source_format, and the same without a look at the grammar, for tests. */
vyre_status vyre_lang_format(struct vyre_memory *memory, const char *text, size_t length,
                             vyre_write_fn write, void *ctx, vyre_error *err);
vyre_status vyre_lang_layout(struct vyre_memory *memory, const char *text, size_t length,
                             vyre_write_fn write, void *ctx, vyre_error *err);
/* Names of the kernels, as vyre_source_kernels. */
vyre_status vyre_lang_kernels(struct vyre_memory *memory, const char *text, size_t length,
                              void (*each)(void *ctx, const char *name), void *ctx,
                              vyre_error *err);

#endif
