/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A file, read by slots: each asks for one part of it, which lands in a buffer that the device
 * sees, and waits without a worker while a thread of this process moves the bytes. Parts that lie
 * past the end of the file come back short. Usage: ask_file FILE
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <vyre/vyre.h>

enum { PARTS = 8, PART_BYTES = 4096 };

/* Asks for all parts at once; *first receives the ticket of the first one. */
static vyre_status ask(vyre_queue *queue, vyre_load load, uint64_t *first, vyre_error *err)
{
    for (uint32_t i = 0; i < PARTS; i++) {
        load.offset = (uint64_t)i * PART_BYTES; /* in the file */
        load.at = (uint64_t)i * PART_BYTES;     /* in the buffer */
        load.length = PART_BYTES;
        vyre_status status = vyre_prep_load(vyre_queue_slot(queue), &load, err);
        if (status) return status;
    }
    return vyre_queue_submit(queue, first, err);
}

int main(int argc, char **argv)
{
    vyre *rt = NULL;
    vyre_source *source;
    vyre_buffer *buffer;
    vyre_completion end;
    vyre_load load = VYRE_LOAD_INIT; /* a READ */
    vyre_pump_report report = VYRE_PUMP_REPORT_INIT;
    vyre_source_options options = VYRE_SOURCE_OPTIONS_INIT;
    vyre_error err;
    uint64_t first;

    if (argc != 2) {
        fprintf(stderr, "usage: ask_file FILE\n");
        return 2;
    }
    options.fd = open(argv[1], O_RDONLY | O_CLOEXEC);
    if (options.fd < 0) {
        perror(argv[1]);
        return 1;
    }
    if (vyre_open(&rt, NULL, &err)) goto fail;
    if (vyre_source_open(rt, &options, &source, &err)) goto fail; /* keeps a duplicate */
    if (vyre_buffer_create(rt, PARTS * PART_BYTES, VYRE_PINNED, &buffer, &err)) goto fail;
    load.source = vyre_source_handle(source);
    load.buffer = vyre_buffer_handle(buffer);
    if (ask(vyre_queue_default(rt), load, &first, &err)) goto fail;
    for (uint32_t i = 0; i < PARTS; i++) {
        if (vyre_wait(vyre_queue_default(rt), first + i, VYRE_FOREVER, &end, &err)) goto fail;
        if (end.outcome == VYRE_DONE)
            printf("part %" PRIu32 ": %" PRIu32 " bytes\n", i, end.result[0]);
        else
            printf("part %" PRIu32 ": %s %s\n", i, vyre_fault_name(end.fault),
                   strerror((int)end.result[2]));
    }
    if (vyre_pump_read(rt, &report, &err)) goto fail;
    printf("%" PRIu64 " requests, %" PRIu64 " bytes, %s\n", report.requests, report.bytes_read,
           report.choice);
    close(options.fd);
    vyre_close(rt); /* with its sources and buffers */
    return 0;

fail:
    fprintf(stderr, "%s\n  fix: %s\n", err.message, err.fix);
    close(options.fd);
    vyre_close(rt);
    return 1;
}
