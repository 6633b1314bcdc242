/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the fuzz targets over the kernel language share: compiling with every diagnostic looked at,
 * and checks of what comes out. Each aborts where something does not hold.
 */
#ifndef VYRE_FUZZ_LANG_CHECK_H
#define VYRE_FUZZ_LANG_CHECK_H

#include <stdbool.h>

#include "ir/program.h"
#include "lang/token.h"
#include "vm/vm.h"
#include "wire_checks.h"

#define LANG_CHECK_KERNELS 4u
#define LANG_CHECK_NAME    64u

struct lang_checked {
    const char *text;
    size_t length;
    uint32_t errors, warnings;
};

/* What a diagnostic becomes for people: whole lines. */
static inline int lang_check_line(void *ctx, const char *text, size_t length)
{
    char *last = ctx;
    if (length) *last = text[length - 1];
    return 0;
}

static inline void lang_check_place(const vyre_diagnostic *told, const struct lang_checked *checked)
{
    size_t start = told->offset;
    uint32_t line = 1;
    REQUIRE(told->offset <= checked->length);
    REQUIRE(told->length <= checked->length - told->offset);
    while (start > 0 && checked->text[start - 1] != '\n')
        start--;
    for (size_t i = 0; i < start; i++)
        line += checked->text[i] == '\n';
    REQUIRE(told->line == line && told->column == told->offset - start + 1);
}

static inline void lang_check_told(void *ctx, const vyre_diagnostic *told)
{
    struct lang_checked *checked = ctx;
    char last = '\0';
    lang_check_place(told, checked);
    REQUIRE(told->severity == VYRE_SEVERITY_ERROR || told->severity == VYRE_SEVERITY_WARNING);
    REQUIRE(told->code[0] == 'L' && strlen(told->code) == 4);
    REQUIRE(told->message[0] != '\0' && told->fix && told->file && told->reserved == 0);
    for (uint32_t style = 0; style <= VYRE_DIAGNOSTIC_COLOR; style++)
        REQUIRE(vyre_diagnostic_write(told, checked->text, checked->length, style, lang_check_line,
                                      &last, NULL) == VYRE_OK);
    REQUIRE(last == '\n');
    if (told->severity == VYRE_SEVERITY_ERROR) checked->errors++;
    if (told->severity == VYRE_SEVERITY_WARNING) checked->warnings++;
}

/* Compiles; NULL where it does not, and then the source has errors or there is no such kernel. */
static inline struct lang_output *lang_check_compile(struct vyre_memory *memory, const char *text,
                                                     size_t length, const char *kernel)
{
    struct lang_checked checked = {text, length, 0, 0};
    struct lang_request request = {.text = text,
                                   .length = length,
                                   .file = "f.vyre",
                                   .kernel = kernel,
                                   .most = 20,
                                   .subgroups = 1,
                                   .report = lang_check_told,
                                   .ctx = &checked};
    struct lang_output *output = NULL;
    vyre_error err = {0};
    vyre_status status = vyre_lang_compile(memory, &request, &output, &err);
    REQUIRE((status == VYRE_OK) == (output != NULL));
    REQUIRE(err.status == status && (status == VYRE_OK) == (err.message[0] == '\0'));
    REQUIRE(checked.errors + checked.warnings <= request.most);
    if (status == VYRE_OK || status == VYRE_E_NOT_FOUND)
        REQUIRE(checked.errors == 0);
    else
        REQUIRE(status == VYRE_E_SOURCE && checked.errors > 0);
    return output;
}

/* What compiled is VIR0 by its own rules, and all of it comes from some place of the source. */
static inline struct ir_program *lang_check_tree(struct vyre_memory *memory,
                                                 const struct lang_output *output, size_t length)
{
    struct ir_validate_options rules = {.subgroups = 1, .most = 1};
    struct ir_program *tree = NULL;
    vyre_error err = {0};
    vyre_status status = vyre_ir_decode(memory, output->bytes, output->length, &tree, &err);
    if (!status) status = vyre_ir_validate(tree, &rules, &err);
    if (status) fprintf(stderr, "%s\n", err.message);
    REQUIRE(status == VYRE_OK);
    for (uint32_t i = 0; i < output->span_count; i++) {
        vyre_position position = {0};
        REQUIRE(output->spans[i].at <= length);
        REQUIRE(output->spans[i].length <= length - output->spans[i].at);
        vyre_lang_position(output, i, &position);
        REQUIRE(position.line <= output->line_count);
        REQUIRE((position.line == 0) == (position.column == 0));
    }
    return tree;
}

/* Names of the kernels; those that are longer than the room are left out. */
struct lang_names {
    char names[LANG_CHECK_KERNELS][LANG_CHECK_NAME];
    uint32_t count;
};

static inline void lang_check_name(void *ctx, const char *name)
{
    struct lang_names *names = ctx;
    REQUIRE(name[0] != '\0');
    if (names->count == LANG_CHECK_KERNELS || strlen(name) >= LANG_CHECK_NAME) return;
    memcpy(names->names[names->count++], name, strlen(name) + 1);
}

#endif
