/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The records of `vyre verify --json`, and the words that they share with the lines for people.
 */
#include "verify.h"

const struct verify_word verify_facts[] = {
    {VYRE_FACT_PURE, "pure"},          {VYRE_FACT_STRICT, "strict"},
    {VYRE_FACT_BARRIER, "barriers"},   {VYRE_FACT_ATOMIC, "atomics"},
    {VYRE_FACT_SUBGROUP, "subgroups"},
};
const size_t verify_fact_count = sizeof verify_facts / sizeof verify_facts[0];

const struct verify_word verify_uses[] = {
    {VYRE_KERNEL_BUFFER_READ, "read"},           {VYRE_KERNEL_BUFFER_WRITTEN, "written"},
    {VYRE_KERNEL_BUFFER_OUTPUT, "output"},       {VYRE_KERNEL_BUFFER_RETURNED, "returned"},
    {VYRE_KERNEL_BUFFER_WORKGROUP, "workgroup"}, {VYRE_KERNEL_BUFFER_SCALAR, "scalar"},
};
const size_t verify_use_count = sizeof verify_uses / sizeof verify_uses[0];

void verify_fingerprint(const vyre_kernel_info *info, char text[65])
{
    for (int i = 0; i < 32; i++)
        snprintf(text + 2 * i, 3, "%02x", info->fingerprint[i]);
}

static void json_subject(const struct verify_subject *subject)
{
    cli_json_text("file", subject->path);
    if (subject->kernel != NULL) cli_json_text("kernel", subject->kernel);
}

void verify_json_accepted(const struct verify_subject *subject, const struct kernel *kernel,
                          int explain)
{
    const vyre_kernel_info *info = &kernel->info;
    char text[160], fingerprint[65];

    cli_json_begin("file");
    json_subject(subject);
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
    for (size_t i = 0; i < verify_fact_count; i++)
        cli_json_flag(verify_facts[i].word, (info->facts & verify_facts[i].bit) != 0);
    verify_fingerprint(info, fingerprint);
    cli_json_text("fingerprint", fingerprint);
    cli_json_end();
    for (uint32_t i = 0; explain && i < info->buffers; i++) {
        const vyre_kernel_buffer_info *buffer = &kernel->buffers[i];
        cli_json_begin("buffer");
        json_subject(subject);
        cli_json_text("name", buffer->name);
        cli_json_text("element", buffer->type);
        cli_json_count("binding", buffer->binding);
        cli_json_count("elements", buffer->count);
        cli_json_count("stride", buffer->stride);
        cli_json_count("bytes", buffer->bytes);
        for (size_t j = 0; j < verify_use_count; j++)
            cli_json_flag(verify_uses[j].word, (buffer->flags & verify_uses[j].bit) != 0);
        cli_json_count("range_start", buffer->range_start);
        cli_json_count("range_end", buffer->range_end);
        cli_json_end();
    }
}

void verify_json_rejected(const struct verify_subject *subject, const struct kernel *kernel)
{
    struct kernel_reason reason;

    kernel_reason(kernel, &reason);
    cli_json_begin("file");
    json_subject(subject);
    cli_json_flag("accepted", 0);
    cli_json_text("status", vyre_status_name(kernel->err.status));
    cli_json_text("code", reason.code);
    cli_json_text("at", reason.at[0] != '\0' ? reason.at : NULL);
    cli_json_text("message", reason.message);
    cli_json_text("fix", reason.fix);
    cli_json_end();
    /* What a source breaks is told as diagnostics. */
    for (uint32_t i = 0; kernel->source.path == NULL && i < kernel->finding_count; i++) {
        const struct kernel_finding *finding = &kernel->findings[i];
        cli_json_begin("finding");
        json_subject(subject);
        cli_json_text("code", finding->code);
        cli_json_text("at", finding->path);
        cli_json_text("message", finding->message);
        cli_json_text("rule", finding->rule);
        cli_json_text("fix", finding->fix);
        cli_json_end();
    }
}
