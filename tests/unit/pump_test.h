/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the tests of the pump share: a runtime with a file whose bytes are known, sources, buffers,
 * and slots that ask for input and output. They run with the device in this process, in a device
 * host (VYRE_TEST_PLACE=host), and with a GPU's kernel on threads (VYRE_TEST_BACKEND=cuda); with
 * VYRE_TEST_ENGINE=pread the pump has threads in place of io_uring.
 */
#ifndef VYRE_TESTS_PUMP_TEST_H
#define VYRE_TESTS_PUMP_TEST_H

#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/internal.h"

#define FILE_BYTES (1u << 20)

struct pump_rig {
    vyre *rt;
    vyre_queue *queue;
    int fd; /* of a file with FILE_BYTES bytes, byte i is file_byte(i) */
    vyre_source *source;
};

TAP_UNUSED static unsigned char file_byte(uint64_t i)
{
    uint64_t mixed = (i + 1) * 0x9E3779B97F4A7C15u;
    return (unsigned char)(mixed >> 40) % 200; /* the others are for marks */
}

TAP_UNUSED static int test_engine(void)
{
    const char *engine = getenv("VYRE_TEST_ENGINE");
    return engine && strcmp(engine, "pread") == 0 ? VYRE_IO_ENGINE_PREAD : VYRE_IO_ENGINE_AUTO;
}

TAP_UNUSED static int make_file(size_t bytes)
{
    int fd = memfd_create("source", MFD_CLOEXEC);
    unsigned char *memory = malloc(bytes);
    if (fd < 0 || !memory) bail("no file");
    for (size_t i = 0; i < bytes; i++)
        memory[i] = file_byte(i);
    if (write(fd, memory, bytes) != (ssize_t)bytes) bail("the file was not written");
    free(memory);
    return fd;
}

TAP_UNUSED static vyre_options pump_options(uint32_t workers)
{
    vyre_options options = cpu_options(workers);
    options.io_engine = (uint32_t)test_engine();
    return options;
}

TAP_UNUSED static vyre_source *open_source(vyre *rt, int fd, uint32_t rights, uint32_t tenant)
{
    vyre_source_options options = VYRE_SOURCE_OPTIONS_INIT;
    vyre_source *source = NULL;
    vyre_error err;
    options.fd = fd;
    options.rights = rights;
    options.tenant = tenant;
    must(vyre_source_open(rt, &options, &source, &err), &err);
    return source;
}

TAP_UNUSED static void rig_open_with(struct pump_rig *rig, const vyre_options *options)
{
    rig->rt = open_with(options);
    rig->queue = vyre_queue_default(rig->rt);
    rig->fd = make_file(FILE_BYTES);
    rig->source = open_source(rig->rt, rig->fd, VYRE_RIGHT_READ | VYRE_RIGHT_WRITE, 0);
}

TAP_UNUSED static void rig_open(struct pump_rig *rig)
{
    vyre_options options = pump_options(2);
    rig_open_with(rig, &options);
}

TAP_UNUSED static void rig_close(struct pump_rig *rig)
{
    vyre_close(rig->rt);
    close(rig->fd);
}

TAP_UNUSED static vyre_buffer *make_buffer(vyre *rt, size_t bytes, enum vyre_buffer_kind kind)
{
    vyre_buffer *buffer = NULL;
    vyre_error err;
    must(vyre_buffer_create(rt, bytes, kind, &buffer, &err), &err);
    return buffer;
}

/* A READ of the whole, to be changed. */
TAP_UNUSED static vyre_load load_of(const vyre_source *source, const vyre_buffer *buffer,
                                    uint64_t offset, uint32_t length)
{
    vyre_load load = VYRE_LOAD_INIT;
    load.source = vyre_source_handle(source);
    load.buffer = vyre_buffer_handle(buffer);
    load.offset = offset;
    load.length = length;
    return load;
}

TAP_UNUSED static uint64_t submit_load(vyre_queue *queue, const vyre_load *load)
{
    vyre_error err;
    must(vyre_prep_load(next_slot(queue), load, &err), &err);
    return submit(queue);
}

TAP_UNUSED static vyre_completion run_load(vyre_queue *queue, const vyre_load *load)
{
    return wait_for(queue, submit_load(queue, load));
}

TAP_UNUSED static uint64_t moved(const vyre_completion *end)
{
    return (uint64_t)end->result[1] << 32 | end->result[0];
}

/* How many bytes of a buffer are not those of the file from `offset` on. */
TAP_UNUSED static size_t differs(vyre_buffer *buffer, size_t at, uint64_t offset, size_t length)
{
    unsigned char *bytes = malloc(length ? length : 1);
    size_t wrong = 0;
    vyre_error err;
    must(vyre_buffer_read(buffer, at, bytes, length, &err), &err);
    for (size_t i = 0; i < length; i++)
        wrong += bytes[i] != file_byte(offset + i);
    free(bytes);
    return wrong;
}

TAP_UNUSED static vyre_pump_report report_of(vyre *rt)
{
    vyre_pump_report report = VYRE_PUMP_REPORT_INIT;
    vyre_error err;
    must(vyre_pump_read(rt, &report, &err), &err);
    return report;
}

TAP_UNUSED static bool faulted_with(const vyre_completion *end, uint32_t fault, int error)
{
    return end->outcome == VYRE_FAULTED && end->fault == fault && (int)end->result[2] == error;
}

/* Waits until the pump has so many requests under way. */
TAP_UNUSED static bool underway(vyre *rt, uint32_t count)
{
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        if (report_of(rt).underway == count) return true;
        breathe();
    }
    return false;
}

/* How many slots of a tenant are in a state, as the image of the ring shows it. */
TAP_UNUSED static uint32_t in_state(vyre *rt, uint32_t tenant, uint32_t state)
{
    size_t needed = 0;
    uint32_t count = 0;
    vyre_error err;
    vyre_image_ring(rt, tenant, NULL, 0, &needed, &err);
    uint32_t *words = malloc(needed);
    must(vyre_image_ring(rt, tenant, words, needed, NULL, &err), &err);
    for (size_t i = 0; i < needed / VYRE_SLOT_BYTES; i++)
        count += words[i * VYRE_SLOT_WORDS + VYRE_SLOT_STATUS] == state;
    free(words);
    return count;
}

TAP_UNUSED static bool reaches_state(vyre *rt, uint32_t state, uint32_t count)
{
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        if (in_state(rt, 0, state) == count) return true;
        breathe();
    }
    return false;
}

#endif
