/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Slots that ask for input and output: reads, writes, ends of sources, prefetches, fences, streams,
 * both kinds of buffers; and every way in which a request is refused, which ends that slot alone.
 */
#include "pump_test.h"

static void reads(void)
{
    struct pump_rig rig;
    rig_open(&rig);
    static const enum vyre_buffer_kind kinds[] = {VYRE_PINNED, VYRE_DEVICE};
    for (uint32_t k = 0; k < 2; k++) {
        vyre_buffer *buffer = make_buffer(rig.rt, FILE_BYTES, kinds[k]);
        bool straight = kinds[k] == VYRE_PINNED || !test_hosted();
        vyre_load load = load_of(rig.source, buffer, 4096, 4096);
        vyre_completion end = run_load(rig.queue, &load);
        ok(end.outcome == VYRE_DONE && moved(&end) == 4096 && end.result[2] == 0, "a page is read");
        is_u64(end.result[3], straight ? VYRE_LOAD_STRAIGHT : VYRE_LOAD_BOUNCED, "in its way");
        is_u64(differs(buffer, 0, 4096, 4096), 0, "its bytes are there");
        load = load_of(rig.source, buffer, 12345, 777);
        load.at = 54321;
        end = run_load(rig.queue, &load);
        ok(end.outcome == VYRE_DONE && moved(&end) == 777, "an odd part to an odd place");
        is_u64(differs(buffer, 54321, 12345, 777), 0, "its bytes are there");
        load = load_of(rig.source, buffer, 0, FILE_BYTES);
        end = run_load(rig.queue, &load);
        ok(end.outcome == VYRE_DONE && moved(&end) == FILE_BYTES, "all of it");
        is_u64(differs(buffer, 0, 0, FILE_BYTES), 0, "its bytes are there");
        load = load_of(rig.source, buffer, 0, 0);
        end = run_load(rig.queue, &load);
        ok(end.outcome == VYRE_DONE && moved(&end) == 0, "nothing of it");
        vyre_buffer_free(buffer);
    }
    vyre_pump_report report = report_of(rig.rt);
    is_u64(report.reads, report.straight_requests + report.bounce_requests, "each was counted");
    is_u64(report.bytes_read, 2 * (4096 + 777 + FILE_BYTES), "and so were the bytes");
    is_u64(report.straight_bytes + report.bounce_bytes, report.bytes_read, "by their ways");
    ok(test_hosted() ? report.bounce_bytes == report.bytes_read / 2 : report.bounce_bytes == 0,
       "through chunks only where the buffer is not seen");
    is_u64(report.failed + report.forbidden + report.cancelled + report.lost_events, 0,
           "nothing went wrong");
    is_u64(report.sources, 1, "there is one source");
    ok(report.choice[0] != '\0' && report.engine != VYRE_IO_ENGINE_AUTO, "it says: %s",
       report.choice);
    rig_close(&rig);
}

static void end_of_file(void)
{
    struct pump_rig rig;
    rig_open(&rig);
    static const enum vyre_buffer_kind kinds[] = {VYRE_PINNED, VYRE_DEVICE};
    for (uint32_t k = 0; k < 2; k++) {
        vyre_buffer *buffer = make_buffer(rig.rt, FILE_BYTES, kinds[k]);
        vyre_load load = load_of(rig.source, buffer, FILE_BYTES - 1000, 5000);
        vyre_completion end = run_load(rig.queue, &load);
        ok(end.outcome == VYRE_DONE && moved(&end) == 1000, "the source ends after 1000 bytes");
        is_u64(differs(buffer, 0, FILE_BYTES - 1000, 1000), 0, "which are there");
        load.offset = FILE_BYTES;
        end = run_load(rig.queue, &load);
        ok(end.outcome == VYRE_DONE && moved(&end) == 0, "behind its end there is nothing");
        load.offset = FILE_BYTES / 2;
        load.length = FILE_BYTES;
        end = run_load(rig.queue, &load);
        ok(end.outcome == VYRE_DONE && moved(&end) == FILE_BYTES / 2, "half of a long one");
        is_u64(differs(buffer, 0, FILE_BYTES / 2, FILE_BYTES / 2), 0, "which is there");
    }
    rig_close(&rig);
}

static void writes(void)
{
    struct pump_rig rig;
    rig_open(&rig);
    static const enum vyre_buffer_kind kinds[] = {VYRE_PINNED, VYRE_DEVICE};
    for (uint32_t k = 0; k < 2; k++) {
        vyre_buffer *buffer = make_buffer(rig.rt, 300000, kinds[k]);
        unsigned char *bytes = malloc(300000);
        vyre_error err;
        for (uint32_t i = 0; i < 300000; i++)
            bytes[i] = (unsigned char)(i * 7 + k);
        must(vyre_buffer_write(buffer, 0, bytes, 300000, &err), &err);
        vyre_load load = load_of(rig.source, buffer, 100001, 299990);
        load.op = VYRE_IO_WRITE;
        load.at = 7;
        vyre_completion end = run_load(rig.queue, &load);
        ok(end.outcome == VYRE_DONE && moved(&end) == 299990, "bytes are written");
        unsigned char *back = malloc(299990);
        ok(pread(rig.fd, back, 299990, 100001) == 299990 && memcmp(back, bytes + 7, 299990) == 0,
           "the file has them");
        free(back);
        free(bytes);
    }
    is_u64(report_of(rig.rt).bytes_written, 2 * 299990, "they are counted");
    rig_close(&rig);
}

/* Requests that are forbidden fault their own slot; the one after each is done. */
static void refusals(void)
{
    struct pump_rig rig;
    rig_open(&rig);
    vyre_error err;
    vyre_queue *other = open_queue(rig.rt, 16, 1);
    vyre_buffer *buffer = make_buffer(rig.rt, 8192, VYRE_PINNED);
    vyre_buffer_options options = VYRE_BUFFER_OPTIONS_INIT;
    vyre_buffer *theirs = NULL, *sealed = NULL;
    options.kind = VYRE_PINNED;
    options.tenant = 1;
    must(vyre_buffer_create_with(rig.rt, 8192, &options, &theirs, &err), &err);
    options.tenant = 0;
    options.rights = VYRE_RIGHT_READ;
    must(vyre_buffer_create_with(rig.rt, 8192, &options, &sealed, &err), &err);
    vyre_source *readable = open_source(rig.rt, rig.fd, VYRE_RIGHT_READ, 0);
    vyre_source *writable = open_source(rig.rt, rig.fd, VYRE_RIGHT_WRITE, 0);
    vyre_source *anybody = open_source(rig.rt, rig.fd, VYRE_RIGHT_READ, VYRE_TENANT_ANY);
    vyre_source_options part = VYRE_SOURCE_OPTIONS_INIT;
    vyre_source *window = NULL, *closed = open_source(rig.rt, rig.fd, VYRE_RIGHT_READ, 0);
    part.fd = rig.fd;
    part.offset = 1000;
    part.length = 2000;
    must(vyre_source_open(rig.rt, &part, &window, &err), &err);
    uint32_t gone = vyre_source_handle(closed);
    vyre_source_close(closed);

    vyre_load load = load_of(rig.source, buffer, 0, 4096), good = load;
    struct {
        const char *what;
        vyre_load load;
        uint32_t fault;
        int error;
    } row[16];
    uint32_t rows = 0;
#define ROW(text, code, number, ...)                                                               \
    do {                                                                                           \
        load = good;                                                                               \
        __VA_ARGS__;                                                                               \
        row[rows].what = (text);                                                                   \
        row[rows].load = load;                                                                     \
        row[rows].fault = (code);                                                                  \
        row[rows++].error = (number);                                                              \
    } while (0)
    ROW("a source that is none", VYRE_FAULT_IO, EBADF, load.source = 0);
    ROW("a source past the table", VYRE_FAULT_IO, EBADF, load.source = 0x1FFFF);
    ROW("a source that is closed", VYRE_FAULT_IO, EBADF, load.source = gone);
    ROW("reading what may only be written", VYRE_FAULT_IO, EACCES,
        load.source = vyre_source_handle(writable));
    ROW("writing what may only be read", VYRE_FAULT_IO, EACCES,
        (load.source = vyre_source_handle(readable), load.op = VYRE_IO_WRITE));
    ROW("past the window", VYRE_FAULT_IO, ERANGE,
        (load.source = vyre_source_handle(window), load.offset = 1, load.length = 2000));
    ROW("behind the window", VYRE_FAULT_IO, ERANGE,
        (load.source = vyre_source_handle(window), load.offset = 2001, load.length = 0));
    ROW("an offset that no file has", VYRE_FAULT_IO, EOVERFLOW, load.offset = UINT64_MAX);
    ROW("a buffer that is none", VYRE_FAULT_BAD_HANDLE, 0, load.buffer = 0);
    ROW("a buffer of another tenant", VYRE_FAULT_HANDLE_RIGHTS, 0,
        load.buffer = vyre_buffer_handle(theirs));
    ROW("a buffer that may not be written", VYRE_FAULT_HANDLE_RIGHTS, 0,
        load.buffer = vyre_buffer_handle(sealed));
    ROW("past the buffer", VYRE_FAULT_BUFFER_BOUNDS, 0, load.at = 4097);
    ROW("far past the buffer", VYRE_FAULT_BUFFER_BOUNDS, 0, load.at = UINT64_MAX);
#undef ROW
    for (uint32_t i = 0; i < rows; i++) {
        vyre_completion end = run_load(rig.queue, &row[i].load);
        ok(faulted_with(&end, row[i].fault, row[i].error) && moved(&end) == 0, "%s", row[i].what);
        end = run_load(rig.queue, &good);
        ok(end.outcome == VYRE_DONE && moved(&end) == 4096, "the next one is done");
    }
    load = good;
    load.buffer = vyre_buffer_handle(theirs);
    vyre_completion end = run_load(other, &load);
    ok(faulted_with(&end, VYRE_FAULT_IO, EACCES), "a source of another tenant");
    load.source = vyre_source_handle(anybody);
    end = run_load(other, &load);
    ok(end.outcome == VYRE_DONE, "a source of everybody");
    load = load_of(window, buffer, 500, 1500);
    end = run_load(rig.queue, &load);
    ok(end.outcome == VYRE_DONE && moved(&end) == 1500 && differs(buffer, 0, 1500, 1500) == 0,
       "inside its window a source begins at its first byte");
    load = load_of(rig.source, sealed, 0, 100);
    load.op = VYRE_IO_WRITE;
    end = run_load(rig.queue, &load);
    ok(end.outcome == VYRE_DONE, "a buffer that may only be read can be written from");
    static const uint32_t ops[][2] = {{4, 0}, {0, 2}, {2, 1}, {3, 1}, {UINT32_MAX, 0}};
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t args[12] = {good.source, ops[i][1], 0, 0, 16, good.buffer, 0, 0, ops[i][0]};
        end = wait_for(rig.queue, submit_op(rig.queue, VYRE_OP_LOAD_MISS, args, 12));
        ok(faulted_with(&end, VYRE_FAULT_IO_FORM, 0), "operation %u, prefetch %u", ops[i][0],
           ops[i][1]);
    }
    ok(report_of(rig.rt).forbidden == 9, "those that came to the pump are counted");
    rig_close(&rig);
}

static void without_a_source(void)
{
    vyre_options options = pump_options(1);
    vyre *rt = open_with(&options);
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_error err;
    uint32_t args[2] = {1, 0};
    vyre_completion end = wait_for(queue, submit_op(queue, VYRE_OP_LOAD_MISS, args, 2));
    is_u64(end.fault, VYRE_FAULT_UNKNOWN_OPCODE, "before the first source the opcode is unknown");
    vyre_pump_report report = report_of(rt);
    ok(report.engine == VYRE_IO_ENGINE_AUTO && report.entries == 256, "and there is no pump");
    vyre_close(rt);
    options.io_entries = 0;
    rt = open_with(&options);
    vyre_source_options source = VYRE_SOURCE_OPTIONS_INIT;
    vyre_source *none = NULL;
    source.fd = 0;
    refused(vyre_source_open(rt, &source, &none, &err), VYRE_E_UNSUPPORTED, &err, "io_entries 0");
    vyre_close(rt);
    static const uint32_t wrong[] = {3, 100, 8192};
    for (uint32_t i = 0; i < 3; i++) {
        options.io_entries = wrong[i];
        refused(vyre_open(&rt, &options, &err), VYRE_E_RANGE, &err, "io_entries %u", wrong[i]);
    }
    options.io_entries = 16;
    options.io_engine = 3;
    refused(vyre_open(&rt, &options, &err), VYRE_E_RANGE, &err, "io_engine 3");
}

static void options_of_sources(void)
{
    struct pump_rig rig;
    rig_open(&rig);
    vyre_error err;
    vyre_source *source = NULL;
    int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), pair[2];
    int path = open("/dev/zero", O_PATH | O_CLOEXEC),
        readonly = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    if (pipe(pair) != 0) bail("no pipe");
    struct {
        vyre_status status;
        int fd;
        uint32_t rights, tenant, flags, reserved;
        uint64_t offset, length;
    } row[] = {
        {VYRE_E_RANGE, -1, 1, 0, 0, 0, 0, 0},
        {VYRE_E_RANGE, directory, 1, 0, 0, 0, 0, 0},
        {VYRE_E_RANGE, rig.fd, 0, 0, 0, 0, 0, 0},
        {VYRE_E_RANGE, rig.fd, 4, 0, 0, 0, 0, 0},
        {VYRE_E_RANGE, rig.fd, 1, 32, 0, 0, 0, 0},
        {VYRE_E_RANGE, rig.fd, 1, 0, 0, 0, UINT64_MAX, 0},
        {VYRE_E_RANGE, rig.fd, 1, 0, 0, 0, 1, INT64_MAX},
        {VYRE_E_RANGE, pair[0], 1, 0, 0, 0, 1, 0},
        {VYRE_E_RANGE, pair[0], 1, 0, 0, 0, 0, 1},
        {VYRE_E_RESERVED, rig.fd, 1, 0, 2, 0, 0, 0},
        {VYRE_E_RESERVED, rig.fd, 1, 0, 0, 1, 0, 0},
        {VYRE_E_CONFLICT, readonly, 2, 0, 0, 0, 0, 0},
        {VYRE_E_CONFLICT, pair[1], 1, 0, 0, 0, 0, 0},
        {VYRE_E_CONFLICT, pair[0], 2, 0, 0, 0, 0, 0},
        {VYRE_E_CONFLICT, path, 1, 0, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        vyre_source_options options = VYRE_SOURCE_OPTIONS_INIT;
        options.fd = row[i].fd;
        options.rights = row[i].rights;
        options.tenant = row[i].tenant;
        options.flags = row[i].flags;
        options.reserved = row[i].reserved;
        options.offset = row[i].offset;
        options.length = row[i].length;
        refused(vyre_source_open(rig.rt, &options, &source, &err), row[i].status, &err, "row %zu",
                i);
    }
    vyre_source_options options = VYRE_SOURCE_OPTIONS_INIT;
    options.size = 8;
    refused(vyre_source_open(rig.rt, &options, &source, &err), VYRE_E_SIZE, &err, "a small size");
    refused(vyre_source_open(NULL, &options, &source, &err), VYRE_E_NULL, &err, "no runtime");
    refused(vyre_source_open(rig.rt, NULL, &source, &err), VYRE_E_NULL, &err, "no options");
    refused(vyre_source_open(rig.rt, &options, NULL, &err), VYRE_E_NULL, &err, "no source");
    ok(source == NULL, "nothing was made");
    is_u64(vyre_source_handle(NULL), 0, "the handle of nothing");
    vyre_source_close(NULL);
    vyre_slot slot;
    vyre_load load = VYRE_LOAD_INIT;
    load.op = 4;
    refused(vyre_prep_load(&slot, &load, &err), VYRE_E_RANGE, &err, "op 4");
    load.op = 0;
    refused(vyre_prep_load(&slot, &load, &err), VYRE_E_RANGE, &err, "op 0");
    load.op = VYRE_IO_WRITE;
    load.prefetch = 1;
    refused(vyre_prep_load(&slot, &load, &err), VYRE_E_RANGE, &err, "a prefetch that writes");
    load.op = VYRE_IO_READ;
    load.prefetch = 2;
    refused(vyre_prep_load(&slot, &load, &err), VYRE_E_RANGE, &err, "prefetch 2");
    load.size = 4;
    refused(vyre_prep_load(&slot, &load, &err), VYRE_E_SIZE, &err, "a small load");
    refused(vyre_prep_load(&slot, NULL, &err), VYRE_E_NULL, &err, "no load");
    vyre_load whole = VYRE_LOAD_INIT;
    refused(vyre_prep_load(NULL, &whole, &err), VYRE_E_NULL, &err, "no slot");
    vyre_pump_report report = VYRE_PUMP_REPORT_INIT;
    refused(vyre_pump_read(NULL, &report, &err), VYRE_E_NULL, &err, "a report of nothing");
    refused(vyre_pump_read(rig.rt, NULL, &err), VYRE_E_NULL, &err, "a report nowhere");
    report.size = 8;
    refused(vyre_pump_read(rig.rt, &report, &err), VYRE_E_SIZE, &err, "a small report");
    close(directory);
    close(path);
    close(readonly);
    close(pair[0]);
    close(pair[1]);
    rig_close(&rig);
}

/* 1024 sources, and the handles of old ones. */
static void many_sources(void)
{
    struct pump_rig rig;
    rig_open(&rig);
    static vyre_source *sources[1024];
    vyre_error err;
    vyre_buffer *buffer = make_buffer(rig.rt, 16, VYRE_PINNED);
    uint32_t wrong = 0;
    for (uint32_t i = 1; i < 1024; i++)
        sources[i] = open_source(rig.rt, rig.fd, VYRE_RIGHT_READ, 0);
    vyre_source_options options = VYRE_SOURCE_OPTIONS_INIT;
    options.fd = rig.fd;
    refused(vyre_source_open(rig.rt, &options, &sources[0], &err), VYRE_E_LIMIT, &err, "one more");
    for (uint32_t i = 1; i < 1024; i++) {
        vyre_load load = load_of(sources[i], buffer, i, 16);
        vyre_completion end = run_load(rig.queue, &load);
        wrong += end.outcome != VYRE_DONE || differs(buffer, 0, i, 16) != 0;
    }
    is_u64(wrong, 0, "each of them can be read");
    for (uint32_t i = 1; i < 1024; i++) {
        uint32_t old = vyre_source_handle(sources[i]);
        vyre_source_close(sources[i]);
        sources[i] = open_source(rig.rt, rig.fd, VYRE_RIGHT_READ, 0);
        wrong += vyre_source_handle(sources[i]) == old;
        vyre_load load = load_of(sources[i], buffer, i, 16);
        wrong += run_load(rig.queue, &load).outcome != VYRE_DONE;
        load.source = old;
        vyre_completion end = run_load(rig.queue, &load);
        wrong += !faulted_with(&end, VYRE_FAULT_IO, EBADF);
    }
    is_u64(wrong, 0, "a place has another handle when it is used again");
    is_u64(report_of(rig.rt).sources, 1024, "all are counted");
    rig_close(&rig);
}

static void prefetches(void)
{
    struct pump_rig rig;
    rig_open(&rig);
    vyre_load load = VYRE_LOAD_INIT;
    load.source = vyre_source_handle(rig.source);
    load.prefetch = 1;
    load.length = 65536;
    vyre_completion end = run_load(rig.queue, &load);
    ok(end.outcome == VYRE_DONE && moved(&end) == 0 && end.result[3] == 0, "it has no bytes");
    uint32_t args[2] = {load.source, 1};
    end = wait_for(rig.queue, submit_op(rig.queue, VYRE_OP_LOAD_MISS, args, 2));
    ok(end.outcome == VYRE_DONE, "the two arguments of old are a prefetch of all");
    load.source = 0;
    end = run_load(rig.queue, &load);
    ok(end.outcome == VYRE_DONE, "it does not wait to hear that there is no source");
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        load.source = vyre_source_handle(rig.source);
        load.offset = i * 256u;
        load.length = 256;
        wrong += run_load(rig.queue, &load).outcome != VYRE_DONE;
    }
    is_u64(wrong, 0, "more of them than there are entries");
    vyre_buffer *buffer = make_buffer(rig.rt, 4096, VYRE_PINNED);
    load = load_of(rig.source, buffer, 0, 4096);
    end = run_load(rig.queue, &load);
    ok(end.outcome == VYRE_DONE && differs(buffer, 0, 0, 4096) == 0, "reads go on");
    vyre_pump_report report = report_of(rig.rt);
    is_u64(report.prefetches, 2003, "all are counted");
    is_u64(report.forbidden, 1, "and the one that was refused");
    rig_close(&rig);
}

int main(void)
{
    without_a_source();
    options_of_sources();
    reads();
    end_of_file();
    writes();
    refusals();
    many_sources();
    prefetches();
    return done();
}
