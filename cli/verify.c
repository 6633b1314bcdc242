/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre verify`: checks programs. Each file, and each kernel of a source that has several, gets one
 * line on stdout, or one JSON record, that says accepted or rejected; --explain adds what there is
 * to know about it. A file that cannot be read is a complaint, and the others are still checked.
 */
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "verify.h"

static void put_count(const char *before, uint32_t count, const char *noun)
{
    printf("%s%u %s%s", before, count, noun, cli_plural(count));
}

static void print_head(const struct verify_subject *subject, const char *verdict,
                       enum cli_tone tone)
{
    cli_put_clean(stdout, subject->path);
    if (subject->kernel != NULL) printf(": %s", subject->kernel);
    printf(": %s%s%s", cli_tone(stdout, tone), verdict, cli_tone(stdout, CLI_TONE_OFF));
}

static void print_accepted(const struct verify_subject *subject, const vyre_kernel_info *info)
{
    print_head(subject, "accepted", CLI_TONE_GOOD);
    printf(": workgroup %ux%ux%u", info->workgroup[0], info->workgroup[1], info->workgroup[2]);
    put_count(", ", info->buffers, "buffer");
    put_count(", ", info->instructions, "instruction");
    put_count(", ", info->registers, "register");
    for (size_t i = 0; i < verify_fact_count; i++)
        if ((info->facts & verify_facts[i].bit) != 0) printf(", %s", verify_facts[i].word);
    putchar('\n');
}

static void use_text(const vyre_kernel_buffer_info *buffer, char text[160])
{
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < verify_use_count; i++)
        if ((buffer->flags & verify_uses[i].bit) != 0)
            len += (size_t)snprintf(text + len, 160 - len, "%s%s", len > 0 ? ", " : "",
                                    verify_uses[i].word);
    if (buffer->range_end > 0)
        snprintf(text + len, 160 - len, " bytes %llu..%llu",
                 (unsigned long long)buffer->range_start, (unsigned long long)buffer->range_end);
}

static int widest_name(const struct kernel *kernel)
{
    size_t width = strlen("buffer");

    for (uint32_t i = 0; i < kernel->info.buffers; i++) {
        size_t len = strlen(kernel->buffers[i].name);
        if (len > width && len <= 32) width = len;
    }
    return (int)width;
}

static void print_explained(const struct kernel *kernel)
{
    char text[160], fingerprint[65], size[32];
    int width = widest_name(kernel);

    if (kernel->info.buffers > 0)
        printf("  %-*s  binding  element   elements      bytes  use\n", width, "buffer");
    for (uint32_t i = 0; i < kernel->info.buffers; i++) {
        const vyre_kernel_buffer_info *buffer = &kernel->buffers[i];
        char count[16] = "open";
        if (buffer->count > 0) snprintf(count, sizeof count, "%u", buffer->count);
        use_text(buffer, text);
        fputs("  ", stdout);
        cli_put_clean(stdout, buffer->name);
        printf("%*s  %7u  %-8s  %8s %10llu  %s\n",
               width - (int)strlen(buffer->name) < 0 ? 0 : width - (int)strlen(buffer->name), "",
               buffer->binding, buffer->type, count, (unsigned long long)buffer->bytes, text);
    }
    printf("  %u byte%s of workgroup memory; a workgroup runs in %s\n",
           kernel->info.workgroup_bytes, cli_plural(kernel->info.workgroup_bytes),
           cli_format_bytes((double)kernel->info.frame_bytes, size, sizeof size));
    verify_fingerprint(&kernel->info, fingerprint);
    printf("  fingerprint %s\n", fingerprint);
}

static void put_line(const char *label, const char *text)
{
    if (text[0] == '\0') return;
    printf("  %s%s%s ", cli_tone(stdout, CLI_TONE_QUIET), label, cli_tone(stdout, CLI_TONE_OFF));
    cli_put_clean(stdout, text);
    putchar('\n');
}

static void print_reason(const char *code, const char *at, const char *message)
{
    printf("%s%s%s: ", code, at[0] != '\0' ? " at " : "", at);
    cli_put_clean(stdout, message);
    putchar('\n');
}

static void print_warnings(const struct verify_subject *subject, const struct source *source)
{
    char at[32];

    for (uint32_t i = 0; i < source->count; i++) {
        const vyre_diagnostic *note = &source->notes[i];
        if (note->severity != VYRE_SEVERITY_WARNING) continue;
        print_head(subject, "warning", CLI_TONE_WARN);
        fputs(": ", stdout);
        snprintf(at, sizeof at, "%u:%u", (unsigned)note->line, (unsigned)note->column);
        print_reason(note->code, at, note->message);
        put_line("fix: ", note->fix);
    }
}

static void print_rejected(const struct verify_subject *subject, const struct kernel *kernel,
                           int explain)
{
    struct kernel_reason reason;

    kernel_reason(kernel, &reason);
    print_head(subject, "rejected", CLI_TONE_BAD);
    fputs(": ", stdout);
    print_reason(reason.code, reason.at, reason.message);
    if (!explain) return;
    if (kernel->finding_count > 0) put_line("rule:", kernel->findings[0].rule);
    put_line("fix: ", reason.fix);
    for (uint32_t i = 1; i < kernel->finding_count; i++) {
        const struct kernel_finding *finding = &kernel->findings[i];
        print_head(subject, "also", CLI_TONE_BAD);
        fputs(": ", stdout);
        print_reason(finding->code, finding->path, finding->message);
        put_line("rule:", finding->rule);
        put_line("fix: ", finding->fix);
    }
    if (kernel->finding_count == VERIFY_MOST_FINDINGS) {
        cli_put_clean(stdout, subject->path);
        printf(": only the first %d findings are shown\n", (int)VERIFY_MOST_FINDINGS);
    }
}

static void report(const struct cli_args *args, const struct verify_subject *subject,
                   const struct kernel *kernel)
{
    if (kernel->kernel != NULL && args->json)
        verify_json_accepted(subject, kernel, args->explain);
    else if (kernel->kernel != NULL)
        print_accepted(subject, &kernel->info);
    else if (args->json)
        verify_json_rejected(subject, kernel);
    else
        print_rejected(subject, kernel, args->explain);
    if (kernel->kernel != NULL && args->explain && !args->json) print_explained(kernel);
    if (subject->told) return;
    if (args->json)
        source_json(&kernel->source);
    else if (args->explain)
        print_warnings(subject, &kernel->source);
}

/* Checks one program; the bytes are used up. */
static int verify_one(const struct cli_args *args, const struct verify_subject *subject,
                      struct cli_bytes bytes, const char *wanted)
{
    struct kernel_wish wish = {args->no_subgroups ? VYRE_KERNEL_NO_SUBGROUPS : 0,
                               args->explain ? VERIFY_MOST_FINDINGS : 1, wanted};
    struct verify_subject whole = {subject->path, NULL, 0};
    struct kernel kernel;

    int code = kernel_take(subject->path, bytes, wish, &kernel);
    if (code == CLI_EXIT_DONE) report(args, subject, &kernel);
    if (code == CLI_EXIT_NO) report(args, &whole, &kernel); /* the source, whichever kernel */
    if (code == CLI_EXIT_NO) code = kernel_no(&kernel);
    kernel_free(&kernel);
    return code;
}

/* Each kernel of a source gets a copy of it. What is wrong with the source is told once. */
static int verify_kernels(const struct cli_args *args, const char *path, struct cli_bytes bytes,
                          const struct cli_list *names)
{
    int worst = CLI_EXIT_DONE;

    for (size_t i = 0; i < names->count && worst == CLI_EXIT_DONE; i++) {
        struct verify_subject subject = {path, names->item[i], i > 0};
        struct cli_bytes copy = {malloc(bytes.length + 1), bytes.length};
        if (copy.data == NULL) {
            cli_complain("there is no memory left", NULL, NULL);
            return CLI_EXIT_ENVIRONMENT;
        }
        memcpy(copy.data, bytes.data, bytes.length);
        worst = verify_one(args, &subject, copy, names->item[i]);
    }
    return worst;
}

static int verify_file(const struct cli_args *args, const char *path)
{
    struct source source = {.path = path};
    struct verify_subject subject = {path, args->kernel, 0};
    struct cli_list names = {NULL, 0};

    int code = kernel_check_name(path, args->kernel);
    if (code == CLI_EXIT_DONE) code = cli_file_read(path, KERNEL_MOST_BYTES, NULL, &source.bytes);
    if (code != CLI_EXIT_DONE) return code;
    if (args->kernel == NULL && source_is(path, &source.bytes))
        code = source_kernels(&source, &names);
    if (code == CLI_EXIT_DONE && names.count > 1) {
        code = verify_kernels(args, path, source.bytes, &names);
    } else if (code == CLI_EXIT_DONE) {
        code = verify_one(args, &subject, source.bytes, args->kernel);
        source.bytes.data = NULL;
    }
    source_names_free(&names);
    source_free(&source);
    return code;
}

int vyre_cli_verify(const struct cli_args *args)
{
    int worst = CLI_EXIT_DONE;
    size_t dashes = 0;

    for (size_t i = 0; i < args->operands.count; i++)
        dashes += strcmp(args->operands.item[i], "-") == 0;
    if (dashes > 1) return cli_misuse("standard input can be read only once; give `-` once");
    if (args->json) cli_json_header("verify");
    for (size_t i = 0; i < args->operands.count; i++) {
        int code = verify_file(args, args->operands.item[i]);
        worst = code > worst ? code : worst;
        if (cli_flush() != 0) return CLI_EXIT_IO;
    }
    return worst;
}
