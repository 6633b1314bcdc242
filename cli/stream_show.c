/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The results of `vyre stream` on stdout: a line for each chunk, the end of a carried one, raw
 * bytes, or JSON Lines. What the stream writes by itself is not shown here again.
 */
#include <string.h>
#include <unistd.h>

#include "stream.h"

enum { ON_ONE_LINE = 16, WIDTH = 80, MOST_COLUMNS = 16 };

static void put_values(const struct stream_job *job, const void *values, uint64_t bytes)
{
    const unsigned char *at = values;
    uint32_t each = stream_value_bytes(job);
    char text[48];

    for (uint64_t i = 0; i + each <= bytes; i += each)
        printf("%s%s", i == 0 ? "" : " ", stream_value_text(job, at + i, text));
    putchar('\n');
}

/* Many values: rows with the index of their first one, as wide as a terminal is at least. */
static void put_rows(const struct stream_job *job, const void *values, uint64_t bytes)
{
    const unsigned char *at = values;
    uint32_t each = stream_value_bytes(job), columns = MOST_COLUMNS;
    uint64_t count = bytes / each;
    char text[48];
    int widest = 1;
    int label = snprintf(text, sizeof text, "%llu", (unsigned long long)(count - 1));

    for (uint64_t i = 0; i < count; i++) {
        int len = (int)strlen(stream_value_text(job, at + i * each, text));
        if (len > widest) widest = len;
    }
    while (columns > 1 && label + 1 + (int)columns * (widest + 1) > WIDTH)
        columns /= 2;
    for (uint64_t i = 0; i < count; i++) {
        if (i % columns == 0) printf("%*llu:", label, (unsigned long long)i);
        printf(" %*s", widest, stream_value_text(job, at + i * each, text));
        if (i % columns == columns - 1 || i == count - 1) putchar('\n');
    }
}

/* Where a chunk comes from. */
static void put_place(const vyre_chunk *chunk)
{
    stream_put_name(stdout, chunk->path);
    if (chunk->piece_count > 1) printf(" and %u more", (unsigned)chunk->piece_count - 1);
    printf("\t%llu\t%u", (unsigned long long)chunk->offset, (unsigned)chunk->length);
}

static void show_line(const struct stream_job *job, const vyre_chunk *chunk)
{
    /* The end of a pipe is found after its last bytes. */
    if (chunk->length == 0 && chunk->offset > 0) return;
    cli_progress(NULL);
    put_place(chunk);
    if (chunk->result == NULL || chunk->result_bytes == 0) {
        fputs("\t-\n", stdout);
    } else if (chunk->result_bytes / stream_value_bytes(job) <= ON_ONE_LINE) {
        putchar('\t');
        put_values(job, chunk->result, chunk->result_bytes);
    } else {
        putchar('\n');
        put_rows(job, chunk->result, chunk->result_bytes);
    }
}

static void json_flags(const vyre_chunk *chunk)
{
    cli_json_flag("first", (chunk->flags & VYRE_CHUNK_FIRST) != 0);
    cli_json_flag("last", (chunk->flags & VYRE_CHUNK_LAST) != 0);
    cli_json_flag("cut", (chunk->flags & VYRE_CHUNK_CUT) != 0);
    cli_json_flag("ragged", (chunk->flags & VYRE_CHUNK_RAGGED) != 0);
    if ((chunk->flags & VYRE_CHUNK_SHRANK) != 0) cli_json_flag("shrank", 1);
    if ((chunk->flags & VYRE_CHUNK_GREW) != 0) cli_json_flag("grew", 1);
}

static void json_pieces(const vyre_chunk *chunk)
{
    fputs(",\"pieces\":[", stdout);
    for (uint32_t i = 0; i < chunk->piece_count; i++) {
        const vyre_piece *piece = &chunk->pieces[i];
        printf("%s{\"file\":%llu", i == 0 ? "" : ",", (unsigned long long)piece->file);
        stream_json_name(piece->path);
        cli_json_count("at", piece->at);
        cli_json_count("length", piece->length);
        putchar('}');
    }
    putchar(']');
}

static void json_outcome(const vyre_completion *end)
{
    if (end->outcome == 0) {
        cli_json_null("outcome");
        return;
    }
    cli_json_text("outcome", kernel_outcome_name(end));
    if (end->outcome == VYRE_FAULTED) {
        cli_json_text("fault", vyre_fault_name(end->fault));
        cli_json_count("pc", end->pc);
    }
    cli_json_count("steps", end->steps);
    if (end->out_of_bounds > 0) cli_json_count("out_of_bounds", end->out_of_bounds);
}

static void json_chunk(const struct stream_job *job, const vyre_chunk *chunk)
{
    cli_json_begin("chunk");
    cli_json_count("number", chunk->number);
    cli_json_count("file", chunk->file);
    stream_json_name(chunk->path);
    cli_json_count("offset", chunk->offset);
    cli_json_count("length", chunk->length);
    if (chunk->overlap > 0) cli_json_count("overlap", chunk->overlap);
    json_flags(chunk);
    if (chunk->piece_count > 1) json_pieces(chunk);
    json_outcome(&chunk->completion);
    if (chunk->result == NULL)
        cli_json_null("values");
    else if (job->form == CLI_FORM_RAW)
        cli_json_count("result_bytes", chunk->result_bytes);
    else
        stream_value_json(job, chunk->result, chunk->result_bytes);
    cli_json_end();
}

/* Bytes on a terminal may do anything to it. */
static int show_bytes(const void *bytes, uint64_t length, int asked)
{
    if (!asked && isatty(STDOUT_FILENO) && memchr(bytes, 0, (size_t)length) != NULL) {
        cli_complain("the result is not text, and standard output is a terminal", NULL,
                     "add -o FILE, or -o - to see it all the same, or --as values");
        return CLI_EXIT_IO;
    }
    cli_progress(NULL);
    fwrite(bytes, 1, (size_t)length, stdout);
    return CLI_EXIT_DONE;
}

/* Values of --as may be wider than an element: the last bytes of a result are then none. */
static void count_unshown(struct stream_job *job, const vyre_chunk *chunk)
{
    if (job->form == CLI_FORM_RAW || job->kind == STREAM_CARRIED || chunk->result == NULL) return;
    job->count.unshown += chunk->result_bytes % stream_value_bytes(job);
}

int stream_show(struct stream_job *job, const vyre_chunk *chunk)
{
    count_unshown(job, chunk);
    if (job->args->json) {
        json_chunk(job, chunk);
        return CLI_EXIT_DONE;
    }
    if (job->kind == STREAM_CARRIED) {
        if (job->args->verbose && job->form != CLI_FORM_RAW) show_line(job, chunk);
        return CLI_EXIT_DONE;
    }
    if (job->form != CLI_FORM_RAW) {
        show_line(job, chunk);
        return CLI_EXIT_DONE;
    }
    if (job->by_ring || chunk->result == NULL) return CLI_EXIT_DONE;
    return show_bytes(chunk->result, chunk->result_bytes, job->args->output != NULL);
}

int stream_show_carried(struct stream_job *job)
{
    uint64_t bytes = job->carried_bytes;

    if (job->kind != STREAM_CARRIED) return CLI_EXIT_DONE;
    if (job->args->json) {
        cli_json_begin("result");
        cli_json_text("name", job->result->name);
        cli_json_text("element", job->result->type);
        if (job->form == CLI_FORM_RAW)
            cli_json_count("result_bytes", bytes);
        else
            stream_value_json(job, job->carried, bytes);
        cli_json_end();
        return CLI_EXIT_DONE;
    }
    if (job->form == CLI_FORM_RAW) {
        if (job->args->output != NULL && job->output != STDOUT_FILENO) return CLI_EXIT_DONE;
        return show_bytes(job->carried, bytes, job->args->output != NULL);
    }
    cli_progress(NULL);
    if (bytes / stream_value_bytes(job) <= ON_ONE_LINE)
        put_values(job, job->carried, bytes);
    else
        put_rows(job, job->carried, bytes);
    return CLI_EXIT_DONE;
}
