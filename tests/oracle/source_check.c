/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Three ways to run one source, compared: its tree, the oracle on the VIR0 that the compiler makes
 * of its text, and a machine on the same VIR0. The oracle lets no `if` around a barrier go another
 * way the next time and gives up after many steps; what it cannot run is compared without it.
 */
#include "oracle/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/lang.h"

/* Copies of the buffers by the order of VIR0's declarations. */
struct copies {
    uint32_t count;
    unsigned char **bytes;
    uint64_t *lengths;
};

struct compiled {
    struct vyre_memory memory;
    struct lang_output *output;
    struct ir_program *tree;
    char code[8], message[256];
};

static const struct source_function *kernel_of(const struct source *source)
{
    return &source->functions[source->function_count - 1];
}

static void *must(void *memory)
{
    if (!memory) abort();
    return memory;
}

static void told(void *ctx, const vyre_diagnostic *diagnostic)
{
    struct compiled *compiled = ctx;
    if (diagnostic->severity != VYRE_SEVERITY_ERROR || compiled->code[0]) return;
    snprintf(compiled->code, sizeof compiled->code, "%s", diagnostic->code);
    snprintf(compiled->message, sizeof compiled->message, "%s at %u:%u: %s", diagnostic->code,
             diagnostic->line, diagnostic->column, diagnostic->message);
}

static vyre_status compile(struct compiled *compiled, const char *text)
{
    struct lang_request request = {.text = text,
                                   .length = strlen(text),
                                   .most = 20,
                                   .subgroups = 1,
                                   .report = told,
                                   .ctx = compiled};
    vyre_error err = {0};
    if (vyre_memory_init(&compiled->memory, NULL, NULL)) abort();
    vyre_status status = vyre_lang_compile(&compiled->memory, &request, &compiled->output, &err);
    if (!status)
        status = vyre_ir_decode(&compiled->memory, compiled->output->bytes,
                                compiled->output->length, &compiled->tree, &err);
    if (status && !compiled->message[0])
        snprintf(compiled->message, sizeof compiled->message, "%.200s", err.message);
    return status;
}

static void compiled_free(struct compiled *compiled)
{
    vyre_ir_program_free(compiled->tree);
    vyre_lang_free(compiled->output);
    if (vyre_memory_live(&compiled->memory)) abort();
}

/* What VIR0 declares under a name: a buffer of the kernel, or one of its scalars. */
static const void *initial(const struct source_function *kernel, const char *name, uint64_t *length)
{
    for (uint32_t i = 0; i < kernel->buffer_count; i++) {
        const struct source_buffer *buffer = &kernel->buffers[i];
        if (strcmp(buffer->name, name) != 0) continue;
        *length = (uint64_t)buffer->count * source_element_bytes(buffer->element);
        return buffer->bytes;
    }
    for (uint32_t i = 0; i < kernel->value_count; i++) {
        if (strcmp(kernel->vars[i], name) != 0) continue;
        *length = 4;
        return &kernel->scalars[i];
    }
    return NULL;
}

static const char *name_at(const struct ir_program *tree, uint32_t i)
{
    return tree->names[tree->buffers[i].name].text;
}

static bool copies_make(struct copies *copies, const struct source *source,
                        const struct ir_program *tree)
{
    copies->count = tree->buffer_count;
    copies->bytes = must(calloc(copies->count + 1, sizeof *copies->bytes));
    copies->lengths = must(calloc(copies->count + 1, sizeof *copies->lengths));
    for (uint32_t i = 0; i < copies->count; i++) {
        if (tree->buffers[i].access == IR_ACCESS_WORKGROUP) continue;
        const void *bytes = initial(kernel_of(source), name_at(tree, i), &copies->lengths[i]);
        if (!bytes) return false;
        /* Exactly as long as it says, so that a sanitizer sees what lies behind. */
        copies->bytes[i] = must(malloc(copies->lengths[i]));
        memcpy(copies->bytes[i], bytes, copies->lengths[i]);
    }
    return true;
}

static void copies_free(struct copies *copies)
{
    for (uint32_t i = 0; copies->bytes && i < copies->count; i++)
        free(copies->bytes[i]);
    free(copies->bytes);
    free(copies->lengths);
}

/* The tree over copies of its own, by the numbers of the kernel's buffers. */
static void run_tree(const struct source *source, enum source_mistake mistake,
                     unsigned char *bytes[SOURCE_MOST_BUFFERS], struct source_result *result)
{
    const struct source_function *kernel = kernel_of(source);
    for (uint32_t i = 0; i < kernel->buffer_count; i++) {
        const struct source_buffer *buffer = &kernel->buffers[i];
        size_t length = (size_t)buffer->count * source_element_bytes(buffer->element);
        bytes[i] = must(malloc(length));
        memcpy(bytes[i], buffer->bytes, length);
    }
    source_run(source, bytes, mistake, result);
}

struct outcome {
    const char *who;
    struct copies copies;
    struct differential_result result;
};

static bool same_bytes(const struct source *source, unsigned char *const *expected,
                       const struct outcome *got, const struct ir_program *tree, char *why,
                       size_t room)
{
    const struct source_function *kernel = kernel_of(source);
    for (uint32_t i = 0; i < got->copies.count; i++) {
        const struct source_buffer *buffer = NULL;
        for (uint32_t k = 0; k < kernel->buffer_count; k++)
            if (strcmp(kernel->buffers[k].name, name_at(tree, i)) == 0)
                buffer = &kernel->buffers[k];
        if (!buffer || !got->copies.bytes[i]) continue;
        const unsigned char *a = expected[buffer->number], *b = got->copies.bytes[i];
        uint32_t bytes = source_element_bytes(buffer->element);
        for (uint32_t at = 0; at < buffer->count; at++) {
            uint32_t x = 0, y = 0;
            memcpy(&x, a + (size_t)at * bytes, bytes);
            memcpy(&y, b + (size_t)at * bytes, bytes);
            if (x == y) continue;
            snprintf(why, room, "%s[%u]: the source means 0x%x, %s has 0x%x", buffer->name, at, x,
                     got->who, y);
            return false;
        }
    }
    return true;
}

static bool same(const struct source *source, const struct source_result *expected,
                 unsigned char *const *bytes, const struct outcome *got,
                 const struct ir_program *tree, char *why, size_t room)
{
    if (expected->fault != (got->result.error != 0)) {
        snprintf(why, room, "the source %s, %s %s (%.100s)",
                 expected->fault ? "fails" : "does not fail", got->who,
                 got->result.error ? "fails" : "does not", got->result.what);
        return false;
    }
    if (expected->fault) return true;
    if (expected->out_of_bounds != got->result.out_of_bounds) {
        snprintf(why, room, "out of bounds: %llu in the source, %llu by %s",
                 (unsigned long long)expected->out_of_bounds,
                 (unsigned long long)got->result.out_of_bounds, got->who);
        return false;
    }
    return same_bytes(source, bytes, got, tree, why, room);
}

/* One of the two that run VIR0, against the tree. */
static enum source_verdict against(const struct source *source, struct compiled *compiled,
                                   struct source_checker *checker, bool oracle,
                                   const struct source_result *expected,
                                   unsigned char *const *bytes, char *why, size_t room)
{
    struct outcome got = {.who = oracle ? "the oracle" : "the machine"};
    enum source_verdict verdict = SOURCE_DIFFER;
    struct differential_case run = {.program = compiled->tree,
                                    .vir0 = compiled->output->bytes,
                                    .vir0_length = compiled->output->length,
                                    .grid = source->grid,
                                    .buffer_count = compiled->tree->buffer_count};
    if (!copies_make(&got.copies, source, compiled->tree)) {
        snprintf(why, room, "VIR0 has a buffer that the source does not have");
        copies_free(&got.copies);
        return SOURCE_DIFFER;
    }
    run.buffers = got.copies.bytes;
    run.bytes = got.copies.lengths;
    int cannot = oracle ? differential_oracle(NULL, &run, &got.result)
                        : checker->machine(checker->ctx, &run, &got.result);
    int error = got.result.error;
    if (oracle && (cannot || error == ORACLE_STEPS || error == ORACLE_BARRIER))
        verdict = SOURCE_TOO_LARGE;
    else if (cannot && strstr(got.result.what, "lanes of a workgroup may part"))
        /* The lowering looks only so often whether a variable is the same in all lanes. */
        verdict = SOURCE_TOO_LARGE;
    else if (cannot)
        snprintf(why, room, "the machine cannot run it: %.150s", got.result.what);
    else if (same(source, expected, bytes, &got, compiled->tree, why, room))
        verdict = SOURCE_AGREE;
    copies_free(&got.copies);
    return verdict;
}

static enum source_verdict compare(const struct source *source, struct compiled *compiled,
                                   struct source_checker *checker, char *why, size_t room)
{
    unsigned char *bytes[SOURCE_MOST_BUFFERS] = {NULL};
    struct source_result expected;
    enum source_verdict verdict = SOURCE_TOO_LARGE;
    run_tree(source, checker->mistake, bytes, &expected);
    if (expected.endless) {
        snprintf(why, room, "it takes more than %llu steps", (unsigned long long)expected.steps);
        if (checker->mistake) verdict = SOURCE_DIFFER;
    } else {
        verdict = against(source, compiled, checker, true, &expected, bytes, why, room);
        checker->against_oracle += verdict == SOURCE_AGREE;
        if (verdict != SOURCE_DIFFER)
            verdict = against(source, compiled, checker, false, &expected, bytes, why, room);
    }
    for (uint32_t i = 0; i < SOURCE_MOST_BUFFERS; i++)
        free(bytes[i]);
    return verdict;
}

enum source_verdict source_check(const struct source *source, struct source_checker *checker,
                                 char *why, size_t room)
{
    struct compiled compiled = {.output = NULL};
    char *text = source_text(source);
    enum source_verdict verdict;
    if (compile(&compiled, text)) {
        bool large = strcmp(compiled.code, "L006") == 0;
        snprintf(why, room, "it does not compile: %.200s", compiled.message);
        verdict = large ? SOURCE_TOO_LARGE : SOURCE_DIFFER;
    } else {
        verdict = compare(source, &compiled, checker, why, room);
    }
    compiled_free(&compiled);
    free(text);
    return verdict;
}
