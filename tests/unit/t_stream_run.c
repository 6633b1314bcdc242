/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Streams with programs: results of a fixed size, of the chunk's size, carried from chunk to chunk;
 * scalars, bound buffers, faults, ragged ends; ordered and not. Every result is held against one
 * that is computed here.
 */
#include "stream_rig.h"

static const char lines_source[] = "@workgroup(1)\n"
                                   "kernel lines(in u8 text[], out u32 count[3]) {\n"
                                   "    u32 found = 0;\n"
                                   "    for (u32 k = 0; k < len(text); k++)\n"
                                   "        found += u32(text[k] == 10);\n"
                                   "    count[1] = found;\n" /* the others start zeroed */
                                   "}\n";
static const char upper_source[] = "@workgroup(64) @guard(loud)\n"
                                   "kernel upper(in u8 text[], out u8 loud[]) {\n"
                                   "    const u32 byte = text[i];\n"
                                   "    loud[i] = select(byte - 97 < 26, byte - 32, byte);\n"
                                   "}\n";
static const char sum_source[] = "@workgroup(64)\n"
                                 "kernel sum(in u32 words[], inout u32 total[2]) {\n"
                                 "    if (i >= len(words)) return;\n"
                                 "    atomic_add(total[0], words[i]);\n"
                                 "    atomic_add(total[1], 1);\n"
                                 "}\n";
static const char shift_source[] =
    "@workgroup(64) @guard(wide)\n"
    "kernel shift(u32 a, u32 b, u32 c, u32 d, in u8 text[], out u32 wide[]) {\n"
    "    wide[i] = text[i] * a + b + c * d;\n"
    "}\n";
static const char trap_source[] = "@workgroup(1)\n"
                                  "kernel trap(in u8 text[], out u32 count[1]) {\n"
                                  "    for (u32 k = 0; k < len(text); k++)\n"
                                  "        assert(text[k] != 10);\n"
                                  "    count[0] = len(text);\n"
                                  "}\n";

/* What a result must be. */
struct judge {
    struct rig rig;
    bool (*right)(struct judge *judge, const vyre_chunk *chunk);
    uint32_t total, words; /* carried */
    uint32_t faults;
};

static vyre_program *compile(vyre *rt, const char *source)
{
    vyre_program *program = NULL;
    vyre_error err;
    must(vyre_program_compile(rt, source, strlen(source), NULL, NULL, &program, &err), &err);
    return program;
}

static uint32_t count_lines(const vyre_chunk *chunk)
{
    uint32_t lines = 0;
    for (uint32_t i = 0; i < chunk->length; i++)
        lines += ((const unsigned char *)chunk->bytes)[i] == '\n';
    return lines;
}

static bool lines_right(struct judge *judge, const vyre_chunk *chunk)
{
    const uint32_t *count = chunk->result;
    (void)judge;
    return chunk->result_bytes == 12 && count[0] == 0 && count[1] == count_lines(chunk) &&
           count[2] == 0;
}

static bool upper_right(struct judge *judge, const vyre_chunk *chunk)
{
    const unsigned char *loud = chunk->result, *text = chunk->bytes;
    (void)judge;
    if (chunk->result_bytes != chunk->length) return false;
    for (uint32_t i = 0; i < chunk->length; i++)
        if (loud[i] != (text[i] >= 'a' && text[i] <= 'z' ? text[i] - 32 : text[i])) return false;
    return true;
}

static bool sum_right(struct judge *judge, const vyre_chunk *chunk)
{
    const uint32_t *total = chunk->result;
    uint32_t words = chunk->length / 4;
    for (uint32_t i = 0; i < words; i++) {
        uint32_t word;
        memcpy(&word, (const unsigned char *)chunk->bytes + 4 * i, 4);
        judge->total += word;
    }
    judge->words += words;
    if (((chunk->flags & VYRE_CHUNK_RAGGED) != 0) != (chunk->length % 4 != 0)) return false;
    if (words == 0) return !total && chunk->completion.outcome == 0;
    return chunk->result_bytes == 8 && total[0] == judge->total && total[1] == judge->words;
}

static bool shift_right(struct judge *judge, const vyre_chunk *chunk)
{
    const uint32_t *wide = chunk->result;
    (void)judge;
    if (chunk->result_bytes != 4ull * chunk->length) return false;
    for (uint32_t i = 0; i < chunk->length; i++)
        if (wide[i] != ((const unsigned char *)chunk->bytes)[i] * 3u + 5u + 7u * 11u) return false;
    return true;
}

static bool trap_right(struct judge *judge, const vyre_chunk *chunk)
{
    bool bad = count_lines(chunk) != 0;
    judge->faults += bad;
    if (bad) return !chunk->result && chunk->completion.outcome == VYRE_FAULTED;
    return chunk->completion.outcome == VYRE_DONE &&
           *(const uint32_t *)chunk->result == chunk->length;
}

static void make_files(struct rig *rig)
{
    static const uint32_t lengths[] = {10, 0, 4096, 30000, 1, 70000, 64, 8191, 3, 20480};
    for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        rig_file(rig, lengths[i], i % 2 ? 60 : 20000);
}

static bool judge_all(struct judge *judge, vyre *rt, const vyre_stream_options *options)
{
    struct rig *rig = &judge->rig;
    vyre_stream *stream = NULL;
    vyre_chunk *chunk;
    vyre_error err;
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    uint64_t runs = 0;
    must(vyre_stream_open(rt, options, &stream, &err), &err);
    rig_add(rig, stream);
    for (;;) {
        chunk = NULL;
        must(vyre_stream_next(stream, PATIENCE_NS, &chunk, &err), &err);
        if (!chunk) break;
        rig_check(rig, options, chunk);
        if (chunk->length != 0 && !judge->right(judge, chunk)) rig_wrong(rig, chunk, "result");
        if (chunk->length == 0 && chunk->result) rig_wrong(rig, chunk, "a result of nothing");
        runs += chunk->length != 0;
        vyre_stream_release(stream, chunk);
    }
    must(vyre_stream_query(stream, &report, &err), &err);
    if (report.chunks != runs || report.faulted != judge->faults || !rig_report(rig, stream)) {
        note("%" PRIu64 " chunks, %" PRIu64 " faulted; %" PRIu64 " and %u", report.chunks,
             report.faulted, runs, judge->faults);
        rig->wrong++;
    }
    vyre_stream_close(stream);
    return rig_ended(rig);
}

/* A program over the same files with several sizes of chunks. */
static void judge_source(vyre *rt, const char *name, const char *source,
                         bool (*right)(struct judge *, const vyre_chunk *))
{
    static const uint32_t scalars[4] = {3, 5, 7, 11};
    vyre_program *program = compile(rt, source);
    vyre_error err;
    bool carried = right == sum_right;
    for (uint32_t round = 0; round < 8; round++) {
        struct judge judge = {.right = right};
        vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
        rig_open(&judge.rig, 77 + round);
        make_files(&judge.rig);
        options.program = program;
        options.chunk_bytes = round % 2 ? 4096 : 65536;
        options.depth = 2 + round;
        options.io = round % 4 == 3 ? VYRE_STREAM_IO_PREAD : VYRE_STREAM_IO_AUTO;
        if (round >= 4 && !carried) options.flags = VYRE_STREAM_UNORDERED;
        if (round == 6) options.flags |= VYRE_STREAM_MERGE;
        if (right == shift_right) {
            options.scalars = scalars;
            options.scalar_count = 4;
        }
        ok(judge_all(&judge, rt, &options), "%s, chunks of %u, depth %u, flags %u", name,
           options.chunk_bytes, options.depth, options.flags);
        rig_close(&judge.rig);
    }
    works(vyre_program_unload(program, &err), &err, "%s is not held any more", name);
}

/* The carried result in a buffer of the caller's. */
static void carry_in_given(vyre *rt)
{
    struct judge judge = {.right = sum_right, .total = 1000, .words = 7};
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    vyre_program *program = compile(rt, sum_source);
    vyre_buffer *buffers[2] = {NULL, NULL};
    uint32_t start[2] = {1000, 7}, end[2] = {0, 0};
    vyre_error err;
    rig_open(&judge.rig, 5);
    make_files(&judge.rig);
    must(vyre_buffer_create(rt, sizeof start, VYRE_DEVICE, &buffers[1], &err), &err);
    must(vyre_buffer_write(buffers[1], 0, start, sizeof start, &err), &err);
    options.program = program;
    options.chunk_bytes = 8192;
    options.buffers = buffers;
    options.buffer_count = 2;
    ok(judge_all(&judge, rt, &options), "carried in a buffer of the caller's");
    must(vyre_buffer_read(buffers[1], 0, end, sizeof end, &err), &err);
    ok(end[0] == judge.total && end[1] == judge.words, "the buffer holds the end of it");
    vyre_buffer_free(buffers[1]);
    must(vyre_program_unload(program, &err), &err);
    rig_close(&judge.rig);
}

static void refuse(vyre *rt, const char *source, vyre_status expected, uint32_t flags)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    vyre_stream *stream = NULL;
    vyre_error err;
    options.program = compile(rt, source);
    options.flags = flags;
    refused(vyre_stream_open(rt, &options, &stream, &err), expected, &err, "%.60s...", source);
    must(vyre_program_unload(options.program, &err), &err);
}

static void refuse_shapes(vyre *rt)
{
    refuse(rt, "kernel two(in u8 a[], in u8 b[], out u8 c[]) { c[i] = a[i] + b[i]; }",
           VYRE_E_UNSUPPORTED, 0);
    refuse(rt, "kernel none(out u8 c[]) { c[i] = 1; }", VYRE_E_UNSUPPORTED, 0);
    refuse(rt, "kernel outs(in u8 a[], out u8 b[], out u8 c[]) { b[i] = a[i]; c[i] = a[i]; }",
           VYRE_E_UNSUPPORTED, 0);
    refuse(rt, "kernel sized(in u8 a[64], out u8 b[64]) { b[i] = a[i]; }", VYRE_E_UNSUPPORTED, 0);
    refuse(rt, shift_source, VYRE_E_RANGE, 0);
    refuse(rt, sum_source, VYRE_E_CONFLICT, VYRE_STREAM_UNORDERED);
}

int main(void)
{
    vyre *rt = open_cpu(2);
    judge_source(rt, "lines", lines_source, lines_right);
    judge_source(rt, "upper", upper_source, upper_right);
    judge_source(rt, "shift", shift_source, shift_right);
    judge_source(rt, "sum", sum_source, sum_right);
    judge_source(rt, "trap", trap_source, trap_right);
    carry_in_given(rt);
    refuse_shapes(rt);
    vyre_close(rt);
    return done();
}
