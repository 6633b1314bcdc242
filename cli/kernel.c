/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Reads a VIR0 file, or compiles a source, and keeps what the library says about it: the kernel
 * with its facts and buffers, or the reasons of its rejection. Used by `verify`, `dis`, `exec` and
 * `conform`.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#include "parse.h"

static char *copy(const char *text)
{
    return strdup(text == NULL ? "" : text);
}

static void free_finding(struct kernel_finding *finding)
{
    free(finding->code);
    free(finding->path);
    free(finding->message);
    free(finding->rule);
    free(finding->fix);
}

/* The texts go when the call that reports them returns. */
static void keep_finding(void *ctx, const vyre_finding *from)
{
    struct kernel *kernel = ctx;
    struct kernel_finding *to = &kernel->findings[kernel->finding_count];

    if (kernel->finding_count == kernel->finding_room) return;
    to->code = copy(from->code);
    to->path = copy(from->path);
    to->message = copy(from->message);
    to->rule = copy(from->rule);
    to->fix = copy(from->fix);
    if (to->code == NULL || to->path == NULL || to->message == NULL || to->rule == NULL ||
        to->fix == NULL) {
        free_finding(to);
        kernel->finding_lost = 1;
        return;
    }
    kernel->finding_count++;
}

static int no_memory(void)
{
    cli_complain("there is no memory left", NULL, NULL);
    return CLI_EXIT_ENVIRONMENT;
}

static int failed(const char *path, const vyre_error *err)
{
    char doing[128];

    snprintf(doing, sizeof doing, "cannot check `%.80s`", path);
    return cli_fail(doing, err);
}

static int query(const char *path, struct kernel *kernel)
{
    kernel->info.size = sizeof kernel->info;
    if (vyre_kernel_query(kernel->kernel, &kernel->info, &kernel->err) != VYRE_OK)
        return failed(path, &kernel->err);
    /* One more, so that there is something to allocate. */
    kernel->buffers = calloc((size_t)kernel->info.buffers + 1, sizeof *kernel->buffers);
    if (kernel->buffers == NULL) return no_memory();
    for (uint32_t i = 0; i < kernel->info.buffers; i++) {
        kernel->buffers[i].size = sizeof kernel->buffers[i];
        if (vyre_kernel_buffer(kernel->kernel, i, &kernel->buffers[i], &kernel->err) != VYRE_OK)
            return failed(path, &kernel->err);
    }
    return CLI_EXIT_DONE;
}

int kernel_is_decode_error(vyre_status status)
{
    return status <= VYRE_E_IR_SIZE && status >= VYRE_E_IR_FORM;
}

static int is_rejection(vyre_status status)
{
    return kernel_is_decode_error(status) || status == VYRE_E_IR_INVALID ||
           status == VYRE_E_VM_UNSUPPORTED || status == VYRE_E_VM_LIMIT ||
           status == VYRE_E_VM_INVALID;
}

static int make_room(struct kernel_wish wish, struct kernel *kernel)
{
    memset(kernel, 0, sizeof *kernel);
    kernel->finding_room = wish.findings;
    kernel->findings = calloc((size_t)wish.findings + 1, sizeof *kernel->findings);
    return kernel->findings == NULL ? no_memory() : CLI_EXIT_DONE;
}

int kernel_check(const char *path, const struct cli_bytes *bytes, struct kernel_wish wish,
                 struct kernel *kernel)
{
    vyre_kernel_options options = VYRE_KERNEL_OPTIONS_INIT;

    if (make_room(wish, kernel) != CLI_EXIT_DONE) return CLI_EXIT_ENVIRONMENT;
    options.flags = wish.flags;
    options.findings = wish.findings;
    options.report = keep_finding;
    options.report_ctx = kernel;
    vyre_status status =
        vyre_kernel_read(bytes->data, bytes->length, &options, &kernel->kernel, &kernel->err);
    if (kernel->finding_lost) return no_memory();
    if (is_rejection(status)) return CLI_EXIT_NO;
    if (status != VYRE_OK) return failed(path, &kernel->err);
    return query(path, kernel);
}

/* The errors of a source are the findings of the kernel that it does not make. */
static void keep_errors(struct kernel *kernel)
{
    char place[32];

    kernel->err.status = VYRE_E_SOURCE;
    for (uint32_t i = 0; i < kernel->source.count; i++) {
        const vyre_diagnostic *note = &kernel->source.notes[i];
        vyre_finding finding = {note->code, note->message, place, "", note->fix};
        if (note->severity != VYRE_SEVERITY_ERROR) continue;
        snprintf(place, sizeof place, "%u:%u", (unsigned)note->line, (unsigned)note->column);
        keep_finding(kernel, &finding);
    }
}

static int compile(const char *path, struct cli_bytes bytes, struct kernel_wish wish,
                   struct kernel *kernel)
{
    struct source_wish want = {wish.kernel, wish.flags};

    if (make_room(wish, kernel) != CLI_EXIT_DONE) {
        free(bytes.data);
        return CLI_EXIT_ENVIRONMENT;
    }
    kernel->source.path = path;
    kernel->source.bytes = bytes;
    int code = source_compile(&kernel->source, want, &kernel->kernel);
    if (code == CLI_EXIT_NO) keep_errors(kernel);
    if (kernel->finding_lost) return no_memory();
    return code == CLI_EXIT_DONE ? query(path, kernel) : code;
}

static int no_such_option(void)
{
    return cli_misuse("--kernel: a VIR0 file holds one kernel, without a name; leave it out");
}

int kernel_check_name(const char *path, const char *kernel)
{
    if (kernel == NULL || source_named(path) || strcmp(path, "-") == 0) return CLI_EXIT_DONE;
    return no_such_option();
}

int kernel_take(const char *path, struct cli_bytes bytes, struct kernel_wish wish,
                struct kernel *kernel)
{
    if (source_is(path, &bytes)) return compile(path, bytes, wish, kernel);
    memset(kernel, 0, sizeof *kernel);
    int code = wish.kernel != NULL ? no_such_option() : kernel_check(path, &bytes, wish, kernel);
    free(bytes.data);
    return code;
}

int kernel_read(const char *path, struct kernel_wish wish, struct kernel *kernel)
{
    struct cli_bytes bytes = {NULL, 0};

    memset(kernel, 0, sizeof *kernel);
    int code = kernel_check_name(path, wish.kernel);
    if (code == CLI_EXIT_DONE) code = cli_file_read(path, KERNEL_MOST_BYTES, NULL, &bytes);
    return code == CLI_EXIT_DONE ? kernel_take(path, bytes, wish, kernel) : code;
}

void kernel_free(struct kernel *kernel)
{
    for (uint32_t i = 0; i < kernel->finding_count; i++)
        free_finding(&kernel->findings[i]);
    free(kernel->findings);
    free(kernel->buffers);
    vyre_kernel_free(kernel->kernel);
    source_free(&kernel->source);
    memset(kernel, 0, sizeof *kernel);
}

void kernel_reason(const struct kernel *kernel, struct kernel_reason *reason)
{
    if (kernel->finding_count > 0) {
        const struct kernel_finding *first = &kernel->findings[0];
        reason->code = first->code;
        reason->message = first->message;
        reason->fix = first->fix;
        snprintf(reason->at, sizeof reason->at, "%s", first->path);
        return;
    }
    reason->code = vyre_status_name(kernel->err.status);
    reason->message = kernel->err.message;
    reason->fix = kernel->err.fix;
    cli_place_text(&kernel->err, reason->at);
}

int kernel_no(const struct kernel *kernel)
{
    return kernel->err.status == VYRE_E_VM_INVALID ? CLI_EXIT_BUG : CLI_EXIT_NO;
}

int kernel_complain(const char *path, const struct kernel *kernel)
{
    struct kernel_reason reason;
    char message[600];

    if (kernel->source.count > 0) {
        source_show(&kernel->source);
        return CLI_EXIT_NO;
    }
    kernel_reason(kernel, &reason);
    snprintf(message, sizeof message, "`%.200s` is rejected: %s: %.300s", path, reason.code,
             reason.message);
    cli_complain(message, reason.at, reason.fix);
    return kernel_no(kernel);
}
