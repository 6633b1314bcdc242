/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Files, streamed through a kernel: how often each letter occurs in them. Chunks are read ahead by
 * io_uring while the device runs over others; each has a result of its own, and a file that cannot
 * be read does not keep the others from being read. Usage: stream_file FILE...
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <vyre/stream.h>
#include <vyre/vyre.h>

/* One workgroup a chunk; lane 0 counts a, lane 1 b, and so on. */
static const char source[] = "@workgroup(26)\n"
                             "kernel letters(in u8 text[], out u32 counts[26])\n"
                             "{\n"
                             "    u32 found = 0;\n"
                             "    for (u32 k = 0; k < len(text); k++)\n"
                             "        found += u32((text[k] | 32) == local_index + 97);\n"
                             "    counts[local_index] = found;\n"
                             "}\n";

/* What is wrong with the file of a chunk; NULL: nothing. */
static const char *trouble(const vyre_chunk *chunk)
{
    if ((chunk->flags & VYRE_CHUNK_SKIPPED) != 0) return "not a file";
    if (chunk->status == VYRE_OK) return NULL;
    return chunk->error != 0 ? strerror(chunk->error) : vyre_status_text(chunk->status);
}

static void take(const vyre_chunk *chunk, uint64_t counts[26], int *failed)
{
    const uint32_t *result = chunk->result;
    const char *wrong = trouble(chunk);

    if (wrong != NULL) {
        fprintf(stderr, "%s: %s\n", chunk->path, wrong);
        *failed = 1;
    }
    for (int i = 0; result != NULL && i < 26; i++)
        counts[i] += result[i];
}

int main(int argc, char **argv)
{
    vyre *rt = NULL;
    vyre_stream *stream = NULL;
    vyre_program *program;
    vyre_chunk *chunk;
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    vyre_error err;
    uint64_t counts[26] = {0};
    int failed = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: stream_file FILE...\n");
        return 2;
    }
    if (vyre_open(&rt, NULL, &err)) goto fail;
    if (vyre_program_compile(rt, source, sizeof source - 1, NULL, NULL, &program, &err)) goto fail;
    options.program = program; /* text is bound to the chunk, counts to the result */
    if (vyre_stream_open(rt, &options, &stream, &err)) goto fail;
    for (int i = 1; i < argc; i++)
        if (vyre_stream_add_path(stream, argv[i], &err)) goto fail;
    if (vyre_stream_end(stream, &err)) goto fail;
    for (;;) {
        if (vyre_stream_next(stream, VYRE_FOREVER, &chunk, &err)) goto fail;
        if (chunk == NULL) break; /* all have been handed out */
        take(chunk, counts, &failed);
        vyre_stream_release(stream, chunk);
    }
    for (int i = 0; i < 26; i++)
        printf("%c %" PRIu64 "\n", 'a' + i, counts[i]);
    if (vyre_stream_query(stream, &report, &err)) goto fail;
    printf("%" PRIu64 " bytes, files read: %" PRIu64 ", by %s\n", report.bytes, report.files_read,
           report.choice);
    vyre_stream_close(stream);
    vyre_close(rt);
    return failed;

fail:
    fprintf(stderr, "%s\n  fix: %s\n", err.message, err.fix);
    vyre_stream_close(stream);
    vyre_close(rt);
    return 1;
}
