/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the two halves of the printer share: the page they write on. A failure of the writer stays,
 * and later calls do nothing.
 */
#ifndef VYRE_IR_PRINT_H
#define VYRE_IR_PRINT_H

#include "ir/codec.h"

struct ir_page {
    const struct ir_program *program;
    ir_writer write;
    void *ctx;
    int failed;
    uint32_t indent;
    uint32_t depth;
    size_t held;
    char text[512]; /* not yet written */
};

/* print.c */
void vyre_ir_say(struct ir_page *page, const char *format, ...) VYRE_PRINTF(2, 3);
void vyre_ir_say_text(struct ir_page *page, const char *text, size_t length);
/* A name as it is where it reads as one, else in quotes with escapes. */
void vyre_ir_say_name(struct ir_page *page, uint32_t name);

/* print_expr.c */
void vyre_ir_say_type(struct ir_page *page, const struct ir_type *type);
void vyre_ir_say_expr(struct ir_page *page, const struct ir_expr *expr);

#endif
