/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Chapters of `vyre demo` that run C functions of this program on worker threads: a checksum over
 * a buffer, and the order in which priorities are served.
 */
#include "demo.h"

#include <stdlib.h>

enum { OP_CRC = 0x1001, OP_GATE = 0x1002, OP_NOTE = 0x1003 };

static uint32_t crc32(const unsigned char *bytes, size_t len)
{
    uint32_t crc = 0xFFFFFFFFu;

    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1u ? 0xEDB88320u : 0u);
    }
    return ~crc;
}

/* Arguments: handle, offset, length. Results: the checksum. */
static uint32_t crc_run(vyre_call *call)
{
    void *memory = NULL;
    size_t bytes = 0;

    if (vyre_call_buffer(call, 0, &memory, &bytes, NULL) != VYRE_OK) return 1;
    if (call->args[1] > bytes || call->args[2] > bytes - call->args[1]) return 2;
    call->result[0] = crc32((const unsigned char *)memory + call->args[1], call->args[2]);
    return 0;
}

enum { BLOCKS = 64, BLOCK = 16384 };

static int checksums(struct tour *tour, vyre_buffer *buffer, const unsigned char *bytes)
{
    uint64_t ticket = 0;
    uint32_t right = 0, first = 0;

    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint32_t args[3] = {vyre_buffer_handle(buffer), i * BLOCK, BLOCK};
        TOUR_PREP(tour, tour->queue, vyre_prep_op, OP_CRC, args, 3);
    }
    TOUR_STEP(tour_submit(tour, tour->queue, &ticket));
    for (uint32_t i = 0; i < BLOCKS; i++) {
        vyre_completion end;
        TOUR_STEP(tour_wait(tour, tour->queue, ticket + i, &end));
        if (end.outcome == VYRE_DONE && end.result[0] == crc32(bytes + (size_t)i * BLOCK, BLOCK))
            right++;
        if (i == 0) first = end.result[0];
    }
    tour_check(tour, "CRC-32", right == BLOCKS,
               "%u of %d blocks of 16 KiB as computed here, the first 0x%08X", right, BLOCKS,
               first);
    return CLI_EXIT_DONE;
}

int tour_native(struct tour *tour)
{
    vyre_operation_options options = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation = NULL;
    vyre_buffer *buffer = NULL;
    vyre_completion end;
    char text[48];

    options.opcode = OP_CRC;
    options.read_handles = 1;
    options.run = crc_run;
    TOUR_TRY(tour, vyre_operation_register(tour->runtime, &options, &operation, &tour->err),
             "cannot register an operation");
    TOUR_TRY(tour,
             vyre_buffer_create(tour->runtime, BLOCKS * BLOCK, VYRE_DEVICE, &buffer, &tour->err),
             "cannot make a buffer");
    tour_fact(tour, "registered", "a C function of this program under opcode 0x%X", OP_CRC);
    unsigned char *bytes = malloc(BLOCKS * BLOCK);
    if (bytes == NULL) {
        cli_complain("no memory for 1 MiB of test bytes", NULL, NULL);
        return CLI_EXIT_ENVIRONMENT;
    }
    uint32_t random = 1;
    for (size_t i = 0; i < BLOCKS * BLOCK; i++) {
        random = random * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(random >> 24);
    }
    int code = CLI_EXIT_DONE;
    if (vyre_buffer_write(buffer, 0, bytes, BLOCKS * BLOCK, &tour->err) != VYRE_OK)
        code = cli_fail("cannot write to a buffer", &tour->err);
    if (code == CLI_EXIT_DONE) code = checksums(tour, buffer, bytes);
    free(bytes);
    TOUR_STEP(code);

    vyre_buffer_free(buffer);
    TOUR_TRY(tour, vyre_operation_unregister(operation, &tour->err),
             "cannot unregister an operation");
    TOUR_PREP(tour, tour->queue, vyre_prep_op, OP_CRC, NULL, 0);
    TOUR_STEP(tour_send(tour, tour->queue, 0, &end));
    tour_check(tour, "unregistered", end.fault == VYRE_FAULT_UNKNOWN_OPCODE,
               "the next slot with that opcode: %s", tour_end_text(&end, text));
    return CLI_EXIT_DONE;
}

/* The order in which slots were run. */
struct order {
    atomic_uint count;
    uint32_t priority[64];
};

static uint32_t note_run(vyre_call *call)
{
    struct order *order = call->ctx;

    order->priority[atomic_fetch_add(&order->count, 1) % 64] = call->args[0];
    return 0;
}

enum { EACH = 4, NOTES = EACH * VYRE_PRIORITIES };

/* Submits EACH slots of every priority, the least urgent first. */
static int submit_notes(struct tour *tour, vyre_queue *queue, uint64_t *ticket)
{
    for (uint32_t i = 0; i < NOTES; i++) {
        uint32_t priority = VYRE_PRIORITIES - 1 - i / EACH;
        vyre_slot *slot = vyre_queue_slot(queue);
        TOUR_TRY(tour, vyre_prep_op(slot, OP_NOTE, &priority, 1, &tour->err),
                 "cannot prepare a slot");
        TOUR_TRY(tour, vyre_slot_priority(slot, priority, &tour->err), "cannot set a priority");
    }
    return tour_submit(tour, queue, ticket);
}

int tour_priorities(struct tour *tour)
{
    static struct order order;
    vyre_operation_options options = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation = NULL;
    vyre_queue *queue = NULL;
    uint64_t gate = 0, notes = 0;
    char shown[NOTES + VYRE_PRIORITIES];
    int sorted = 1, at = 0;

    TOUR_STEP(tour_open_second(tour, 1, &queue));
    TOUR_STEP(tour_gate_register(tour, tour->second, OP_GATE));
    options.opcode = OP_NOTE;
    options.run = note_run;
    options.ctx = &order;
    TOUR_TRY(tour, vyre_operation_register(tour->second, &options, &operation, &tour->err),
             "cannot register an operation");
    tour_fact(tour, "set-up", "a second runtime; its one worker is kept busy meanwhile");
    TOUR_STEP(tour_gate_enter(tour, queue, OP_GATE, &gate));
    TOUR_STEP(submit_notes(tour, queue, &notes));
    atomic_store(&tour->gate.open, 1);
    TOUR_STEP(tour_wait_done(tour, queue, gate, 1));
    TOUR_STEP(tour_wait_done(tour, queue, notes, NOTES));
    for (uint32_t i = 0; i < NOTES; i++) {
        if (i > 0 && order.priority[i] < order.priority[i - 1]) sorted = 0;
        if (i > 0 && i % EACH == 0) shown[at++] = ' ';
        shown[at++] = (char)('0' + order.priority[i] % 10);
    }
    shown[at] = '\0';
    tour_fact(tour, "submitted", "4444 3333 2222 1111 0000 (0 CRITICAL to 4 IDLE)");
    tour_check(tour, "ran", sorted && atomic_load(&order.count) == NOTES, "%s", shown);
    tour_close_second(tour);
    return CLI_EXIT_DONE;
}
