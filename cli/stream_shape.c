/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What fits `vyre stream`: options that go together, and programs of the one shape that a stream
 * can run, with one buffer for the chunk and one for the result. What does not fit is refused with
 * what would.
 */
#include <string.h>

#include "exec.h"
#include "parse.h"
#include "stream.h"

/* The least size that --chunk takes and that is not below this, as one would type it. */
static const char *chunk_above(uint64_t bytes, char text[32])
{
    uint64_t pages = (bytes + 4095) / 4096;

    if (pages % 256 == 0)
        snprintf(text, 32, "%lluM", (unsigned long long)(pages / 256));
    else
        snprintf(text, 32, "%lluK", (unsigned long long)(4 * pages));
    return text;
}

/* All chunks lie in one mapping, whose length is a number of 32 bits. */
static int check_memory(const struct cli_args *args)
{
    const uint64_t most = UINT32_MAX / args->chunk;
    char chunk[32];

    if (args->depth <= most) return CLI_EXIT_DONE;
    cli_format_bytes((double)args->chunk, chunk, sizeof chunk);
    return cli_misuse("--depth %u chunks of %s are not less than 4 GiB; use --depth %llu or a "
                      "smaller --chunk",
                      (unsigned)args->depth, chunk, (unsigned long long)most);
}

static int check_sizes(const struct cli_args *args)
{
    char size[32], chunk[32], above[32];

    if (args->chunk % 4096 != 0)
        return cli_misuse("--chunk takes a multiple of 4096, not %llu; use --chunk %s",
                          (unsigned long long)args->chunk, chunk_above(args->chunk, above));
    if (args->record > args->chunk)
        return cli_misuse("--record is %s, and a chunk has only %s; use --chunk %s or more",
                          cli_format_exact(args->record, size, sizeof size),
                          cli_format_exact(args->chunk, chunk, sizeof chunk),
                          chunk_above(args->record, above));
    if (args->overlap > args->chunk / 2)
        return cli_misuse(
            "--overlap is %s, and half a chunk, %s, is the most; use --chunk %s or more",
            cli_format_exact(args->overlap, size, sizeof size),
            cli_format_exact(args->chunk / 2, chunk, sizeof chunk),
            chunk_above(2 * args->overlap, above));
    return check_memory(args);
}

int stream_check_options(const struct cli_args *args)
{
    size_t dashes = 0;

    if (args->lines && args->record > 0)
        return cli_misuse("--lines and --record both say where chunks are cut; give one of them");
    if (args->output != NULL && args->as != CLI_FORM_AUTO && args->as != CLI_FORM_RAW)
        return cli_misuse("-o writes bytes and --as prints text; leave one of them out, and use "
                          "`> FILE` for text in a file");
    if (args->json && args->output != NULL && strcmp(args->output, "-") == 0)
        return cli_misuse("--json and -o - would both write to standard output");
    if (args->json && args->as == CLI_FORM_RAW && args->output == NULL)
        return cli_misuse("--json and --as raw would both write to standard output; add -o FILE");
    if (args->quiet && args->verbose)
        return cli_misuse("--quiet and --verbose contradict each other; give one of them");
    for (size_t i = 0; i < args->operands.count; i++)
        dashes += strcmp(args->operands.item[i], "-") == 0;
    if (dashes > 1) return cli_misuse("standard input can be read only once; give `-` to one file");
    return check_sizes(args);
}

/* Buffers.
 * ------------------------------------------------------------------------------------------- */

static int is_bound(const vyre_kernel_buffer_info *buffer)
{
    return (buffer->flags & (VYRE_KERNEL_BUFFER_WORKGROUP | VYRE_KERNEL_BUFFER_SCALAR)) == 0;
}

/* `out` and `inout` buffers are results, also where the program never stores into them. */
static int is_result(const vyre_kernel_buffer_info *buffer)
{
    const uint32_t result =
        VYRE_KERNEL_BUFFER_WRITTEN | VYRE_KERNEL_BUFFER_OUTPUT | VYRE_KERNEL_BUFFER_RETURNED;

    return (buffer->flags & result) != 0;
}

/* A program of another shape was read and is one; it is only not for this command. */
static int refuse(const struct stream_job *job, const char *what, const char *fix)
{
    char message[480];

    snprintf(message, sizeof message, "`%.200s` is no program for a stream: %.200s",
             source_shown_name(job->program_path), what);
    cli_complain(message, NULL, fix);
    return CLI_EXIT_NO;
}

static int refuse_two(const struct stream_job *job, const vyre_kernel_buffer_info *first,
                      const vyre_kernel_buffer_info *second)
{
    char what[200];
    int results = is_result(first);

    snprintf(what, sizeof what, "`%.60s` and `%.60s` are both %s", first->name, second->name,
             results ? "`out` or `inout`, and a stream has one result"
                     : "only read, and a stream has one chunk");
    return refuse(job, what,
                  results ? "join them into one buffer, or make the one for the chunk `in`"
                          : "pass single values as scalar parameters, with --set");
}

static int find_buffers(struct stream_job *job)
{
    for (uint32_t i = 0; i < job->kernel.info.buffers; i++) {
        const vyre_kernel_buffer_info *buffer = &job->kernel.buffers[i];
        if (!is_bound(buffer)) continue;
        const vyre_kernel_buffer_info **place = is_result(buffer) ? &job->result : &job->input;
        if (*place != NULL) return refuse_two(job, *place, buffer);
        *place = buffer;
    }
    if (job->input == NULL)
        return refuse(job, "it has no buffer that it only reads, for the chunk",
                      "declare one, such as `in u8 bytes[]`");
    if (job->result == NULL)
        return refuse(job, "it has no buffer that it writes, for the result",
                      "declare one, such as `out u32 result[1]`, or `inout` to carry it from chunk "
                      "to chunk");
    return CLI_EXIT_DONE;
}

static int find_kind(struct stream_job *job)
{
    char what[200];

    if (job->input->count != 0) {
        snprintf(what, sizeof what, "`%.60s` receives the chunk and wants %u elements",
                 job->input->name, (unsigned)job->input->count);
        return refuse(job, what, "declare it without a size: a chunk may be short");
    }
    if ((job->result->flags & VYRE_KERNEL_BUFFER_OUTPUT) != 0) {
        job->kind = job->result->count != 0 ? STREAM_EACH : STREAM_LONG;
        return CLI_EXIT_DONE;
    }
    job->kind = STREAM_CARRIED;
    if (job->result->count != 0) return CLI_EXIT_DONE;
    snprintf(what, sizeof what, "`%.60s` is carried from chunk to chunk and has no size",
             job->result->name);
    return refuse(job, what, "give it one, such as `[16]`, or make it `out`");
}

/* Parameters.
 * ------------------------------------------------------------------------------------------- */

/* What --set says for a parameter; NULL: nothing. The last one counts, but there is to be one. */
static const char *value_of(const struct cli_args *args, const char *name, int *twice)
{
    const char *value = NULL;
    size_t len = strlen(name);

    for (size_t i = 0; i < args->set.count; i++) {
        if (strncmp(args->set.item[i], name, len) != 0 || args->set.item[i][len] != '=') continue;
        *twice |= value != NULL;
        value = args->set.item[i] + len + 1;
    }
    return value;
}

/* Every --set must be about a parameter. */
static int check_names(const struct stream_job *job)
{
    const struct cli_list *set = &job->args->set;

    for (size_t i = 0; i < set->count; i++) {
        struct cli_guess guess = {NULL, 0};
        size_t len = strcspn(set->item[i], "=");
        char typed[100];
        int known = 0;

        snprintf(typed, sizeof typed, "%.*s", (int)len, set->item[i]);
        if (len == 0 || set->item[i][len] == '\0' || set->item[i][len + 1] == '\0')
            return cli_misuse("--set takes NAME=VALUE, not `%s`", set->item[i]);
        for (uint32_t b = 0; b < job->kernel.info.buffers; b++) {
            if ((job->kernel.buffers[b].flags & VYRE_KERNEL_BUFFER_SCALAR) == 0) continue;
            known |= strcmp(job->kernel.buffers[b].name, typed) == 0;
            cli_guess_offer(&guess, typed, job->kernel.buffers[b].name);
        }
        if (!known && guess.name != NULL)
            return cli_misuse("--set: there is no parameter `%s`; did you mean `%s`?", typed,
                              guess.name);
        if (!known)
            return cli_misuse("--set: the program has no scalar parameter `%s`; see `vyre verify "
                              "--explain`",
                              typed);
    }
    return CLI_EXIT_DONE;
}

static int find_scalars(struct stream_job *job)
{
    int code = check_names(job);

    for (uint32_t i = 0; i < job->kernel.info.buffers && code == CLI_EXIT_DONE; i++) {
        const vyre_kernel_buffer_info *buffer = &job->kernel.buffers[i];
        int twice = 0;
        if ((buffer->flags & VYRE_KERNEL_BUFFER_SCALAR) == 0) continue;
        const char *value = value_of(job->args, buffer->name, &twice);
        if (value == NULL)
            return cli_misuse("the parameter `%s` (%s) has no value; add --set %s=VALUE",
                              buffer->name, buffer->type, buffer->name);
        if (twice) return cli_misuse("--set names `%s` twice", buffer->name);
        if (job->scalar_count == VYRE_RUN_MAX_SCALARS)
            return refuse(job, "it has more scalar parameters than go with a slot",
                          "join some of them");
        code = exec_parse_value(buffer, value, &job->scalars[job->scalar_count++]);
    }
    return code;
}

/* A chunk of whole records must also be one of whole elements, or bytes in the middle of a file
 * would get lost. */
static int check_record(const struct stream_job *job)
{
    const uint64_t record = job->args->record;
    const uint32_t stride = job->input->stride;

    if (stride == 0 || record % stride == 0) return CLI_EXIT_DONE;
    return cli_misuse("--record is %llu byte%s, and an element of `%s` (%s) has %u; use a "
                      "multiple of %u",
                      (unsigned long long)record, cli_plural(record), job->input->name,
                      job->input->type, (unsigned)stride, (unsigned)stride);
}

/* How results are shown, which the program decides where --as does not. */
static int find_form(struct stream_job *job)
{
    const struct cli_args *args = job->args;
    int wide = args->as == CLI_FORM_U64 || args->as == CLI_FORM_I64;

    job->form = args->as;
    if (args->as == CLI_FORM_AUTO)
        job->form =
            args->output != NULL || job->kind == STREAM_LONG ? CLI_FORM_RAW : CLI_FORM_VALUES;
    if (wide && job->kind != STREAM_LONG && job->result->bytes % 8 != 0)
        return cli_misuse("--as %s takes pairs of words, and `%s` has %llu byte%s; use --as values",
                          args->as == CLI_FORM_U64 ? "u64" : "i64", job->result->name,
                          (unsigned long long)job->result->bytes, cli_plural(job->result->bytes));
    if (args->json && job->form == CLI_FORM_RAW && args->output == NULL)
        return cli_misuse("--json: `%s` is as long as the chunk and written as bytes; add -o FILE, "
                          "or --as values",
                          job->result->name);
    if (args->unordered && job->kind == STREAM_CARRIED)
        return cli_misuse("--unordered: `%s` is carried from chunk to chunk in the order of "
                          "reading; leave it out",
                          job->result->name);
    if (args->unordered && job->form == CLI_FORM_RAW)
        return cli_misuse("--unordered: bytes are written in the order of reading; leave it out");
    if (args->merge && job->kind == STREAM_LONG)
        return cli_misuse("--merge: `%s` would hold the zeros between the files; leave it out",
                          job->result->name);
    return CLI_EXIT_DONE;
}

int stream_find_shape(struct stream_job *job)
{
    int code = find_buffers(job);

    if (code == CLI_EXIT_DONE) code = find_kind(job);
    if (code == CLI_EXIT_DONE) code = check_record(job);
    if (code == CLI_EXIT_DONE) code = find_scalars(job);
    if (code == CLI_EXIT_DONE) code = find_form(job);
    return code;
}
