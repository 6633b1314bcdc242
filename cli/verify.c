/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre verify`: checks VIR0 programs. Each file gets one line on stdout, or one JSON record, that
 * says accepted or rejected; --explain adds what there is to know about it. A file that cannot be
 * read is a complaint, and the others are still checked.
 */
#include <string.h>

#include "kernel.h"

enum { MOST_FINDINGS = 100 };

static const struct {
    uint32_t fact;
    const char *word; /* on the line */
    const char *key;  /* in JSON */
} facts[] = {
    {VYRE_FACT_PURE, "pure", "pure"},
    {VYRE_FACT_STRICT, "strict", "strict"},
    {VYRE_FACT_BARRIER, "barriers", "barriers"},
    {VYRE_FACT_ATOMIC, "atomics", "atomics"},
    {VYRE_FACT_SUBGROUP, "subgroups", "subgroups"},
};

static const struct {
    uint32_t flag;
    const char *word;
} uses[] = {
    {VYRE_KERNEL_BUFFER_READ, "read"},           {VYRE_KERNEL_BUFFER_WRITTEN, "written"},
    {VYRE_KERNEL_BUFFER_OUTPUT, "output"},       {VYRE_KERNEL_BUFFER_RETURNED, "returned"},
    {VYRE_KERNEL_BUFFER_WORKGROUP, "workgroup"}, {VYRE_KERNEL_BUFFER_SCALAR, "scalar"},
};

enum { FACTS = sizeof facts / sizeof facts[0], USES = sizeof uses / sizeof uses[0] };

static void hex_fingerprint(const vyre_kernel_info *info, char text[65])
{
    for (int i = 0; i < 32; i++)
        snprintf(text + 2 * i, 3, "%02x", info->fingerprint[i]);
}

static void put_count(const char *before, uint32_t count, const char *noun)
{
    printf("%s%u %s%s", before, count, noun, count == 1 ? "" : "s");
}

static void print_head(const char *path, const char *verdict, enum cli_tone tone)
{
    cli_put_clean(stdout, path);
    printf(": %s%s%s", cli_tone(stdout, tone), verdict, cli_tone(stdout, CLI_TONE_OFF));
}

static void print_accepted(const char *path, const vyre_kernel_info *info)
{
    print_head(path, "accepted", CLI_TONE_GOOD);
    printf(": workgroup %ux%ux%u", info->workgroup[0], info->workgroup[1], info->workgroup[2]);
    put_count(", ", info->buffers, "buffer");
    put_count(", ", info->instructions, "instruction");
    put_count(", ", info->registers, "register");
    for (int i = 0; i < FACTS; i++)
        if ((info->facts & facts[i].fact) != 0) printf(", %s", facts[i].word);
    putchar('\n');
}

static void use_text(const vyre_kernel_buffer_info *buffer, char text[160])
{
    size_t len = 0;

    text[0] = '\0';
    for (int i = 0; i < USES; i++)
        if ((buffer->flags & uses[i].flag) != 0)
            len +=
                (size_t)snprintf(text + len, 160 - len, "%s%s", len > 0 ? ", " : "", uses[i].word);
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
    printf("  %u bytes of workgroup memory; a workgroup runs in %s\n", kernel->info.workgroup_bytes,
           cli_format_bytes((double)kernel->info.frame_bytes, size, sizeof size));
    hex_fingerprint(&kernel->info, fingerprint);
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

static void print_rejected(const char *path, const struct kernel *kernel, int explain)
{
    struct kernel_reason reason;

    kernel_reason(kernel, &reason);
    print_head(path, "rejected", CLI_TONE_BAD);
    fputs(": ", stdout);
    print_reason(reason.code, reason.at, reason.message);
    if (!explain) return;
    if (kernel->finding_count > 0) put_line("rule:", kernel->findings[0].rule);
    put_line("fix: ", reason.fix);
    for (uint32_t i = 1; i < kernel->finding_count; i++) {
        const struct kernel_finding *finding = &kernel->findings[i];
        print_head(path, "also", CLI_TONE_BAD);
        fputs(": ", stdout);
        print_reason(finding->code, finding->path, finding->message);
        put_line("rule:", finding->rule);
        put_line("fix: ", finding->fix);
    }
    if (kernel->finding_count == MOST_FINDINGS) {
        cli_put_clean(stdout, path);
        printf(": only the first %d findings are shown\n", (int)MOST_FINDINGS);
    }
}

static void json_accepted(const char *path, const struct kernel *kernel, int explain)
{
    const vyre_kernel_info *info = &kernel->info;
    char text[160], fingerprint[65];

    cli_json_begin("file");
    cli_json_text("file", path);
    cli_json_flag("accepted", 1);
    snprintf(text, sizeof text, "%u,%u,%u", info->workgroup[0], info->workgroup[1],
             info->workgroup[2]);
    cli_json_text("workgroup", text);
    cli_json_count("buffers", info->buffers);
    cli_json_count("scalars", info->scalars);
    cli_json_count("instructions", info->instructions);
    cli_json_count("registers", info->registers);
    cli_json_count("workgroup_bytes", info->workgroup_bytes);
    cli_json_count("frame_bytes", info->frame_bytes);
    for (int i = 0; i < FACTS; i++)
        cli_json_flag(facts[i].key, (info->facts & facts[i].fact) != 0);
    hex_fingerprint(info, fingerprint);
    cli_json_text("fingerprint", fingerprint);
    cli_json_end();
    for (uint32_t i = 0; explain && i < info->buffers; i++) {
        const vyre_kernel_buffer_info *buffer = &kernel->buffers[i];
        cli_json_begin("buffer");
        cli_json_text("file", path);
        cli_json_text("name", buffer->name);
        cli_json_text("element", buffer->type);
        cli_json_count("binding", buffer->binding);
        cli_json_count("elements", buffer->count);
        cli_json_count("stride", buffer->stride);
        cli_json_count("bytes", buffer->bytes);
        for (int j = 0; j < USES; j++)
            cli_json_flag(uses[j].word, (buffer->flags & uses[j].flag) != 0);
        cli_json_count("range_start", buffer->range_start);
        cli_json_count("range_end", buffer->range_end);
        cli_json_end();
    }
}

static void json_rejected(const char *path, const struct kernel *kernel)
{
    struct kernel_reason reason;

    kernel_reason(kernel, &reason);
    cli_json_begin("file");
    cli_json_text("file", path);
    cli_json_flag("accepted", 0);
    cli_json_text("status", vyre_status_name(kernel->err.status));
    cli_json_text("code", reason.code);
    cli_json_text("at", reason.at[0] != '\0' ? reason.at : NULL);
    cli_json_text("message", reason.message);
    cli_json_text("fix", reason.fix);
    cli_json_end();
    for (uint32_t i = 0; i < kernel->finding_count; i++) {
        const struct kernel_finding *finding = &kernel->findings[i];
        cli_json_begin("finding");
        cli_json_text("file", path);
        cli_json_text("code", finding->code);
        cli_json_text("at", finding->path);
        cli_json_text("message", finding->message);
        cli_json_text("rule", finding->rule);
        cli_json_text("fix", finding->fix);
        cli_json_end();
    }
}

static int verify_file(const struct cli_args *args, const char *path)
{
    struct kernel_wish wish = {args->no_subgroups ? VYRE_KERNEL_NO_SUBGROUPS : 0,
                               args->explain ? MOST_FINDINGS : 1};
    struct kernel kernel;

    int code = kernel_read(path, wish, &kernel);
    if (code == CLI_EXIT_DONE && args->json)
        json_accepted(path, &kernel, args->explain);
    else if (code == CLI_EXIT_DONE)
        print_accepted(path, &kernel.info);
    else if (code == CLI_EXIT_NO && args->json)
        json_rejected(path, &kernel);
    else if (code == CLI_EXIT_NO)
        print_rejected(path, &kernel, args->explain);
    if (code == CLI_EXIT_DONE && args->explain && !args->json) print_explained(&kernel);
    if (code == CLI_EXIT_NO) code = kernel_no(&kernel);
    kernel_free(&kernel);
    return code;
}

int vyre_cli_verify(const struct cli_args *args)
{
    int worst = CLI_EXIT_DONE;

    if (args->json) cli_json_header("verify");
    for (size_t i = 0; i < args->operands.count; i++) {
        int code = verify_file(args, args->operands.item[i]);
        worst = code > worst ? code : worst;
        if (cli_flush() != 0) return CLI_EXIT_IO;
    }
    return worst;
}
