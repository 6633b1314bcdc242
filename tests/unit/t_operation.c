/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Native operations: what they are given and give back, which opcodes they may have, whose slots
 * may run them, and what registering refuses.
 */
#include "support.h"

enum { ECHO = 100, CODE = 101, OWN = 102 };

/* Sums all arguments and tells what it was given. */
static uint32_t echo_run(vyre_call *call)
{
    uint32_t zero = 1, sum = 0;
    for (uint32_t i = 0; i < 8; i++)
        zero = zero && call->result[i] == 0;
    for (uint32_t i = 0; i < 12; i++)
        sum += call->args[i] * (i + 1);
    call->result[0] = sum;
    call->result[1] = call->opcode;
    call->result[2] = call->tenant;
    call->result[3] = (uint32_t)call->ticket;
    call->result[4] = (uint32_t)(call->ticket >> 32);
    call->result[5] = *(const uint32_t *)call->ctx;
    call->result[6] = zero;
    call->result[7] = (uint32_t)vyre_call_cancelled(call);
    return 0;
}

static uint32_t code_run(vyre_call *call)
{
    call->result[3] = 33;
    return call->args[0];
}

static void what_it_gets(vyre *rt)
{
    uint32_t secret = 0x5EC7E7;
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation = NULL;
    vyre_queue *queue = NULL;
    vyre_error err;
    how.opcode = ECHO;
    how.run = echo_run;
    how.ctx = &secret;
    how.steps = 17;
    works(vyre_operation_register(rt, &how, &operation, &err), &err, "register");
    options.tenant = 2;
    options.first_ticket = 0x700000003ull;
    must(vyre_queue_open(rt, &options, &queue, &err), &err);
    uint32_t args[12], sum = 0;
    for (uint32_t i = 0; i < 12; i++) {
        args[i] = 1u << (2 * i);
        sum += args[i] * (i + 1);
    }
    vyre_completion end = wait_for(queue, submit_op(queue, ECHO, args, 12));
    ok(end.outcome == VYRE_DONE && end.opcode == ECHO && end.pc == 0, "done");
    is_u64(end.result[0], sum, "all twelve arguments");
    ok(end.result[1] == ECHO && end.result[2] == 2, "opcode and tenant");
    ok(end.result[3] == 3 && end.result[4] == 7, "ticket");
    is_u64(end.result[5], secret, "ctx");
    is_u64(end.result[6], 1, "result words begin as 0");
    is_u64(end.result[7], 0, "nobody wants its end");
    is_u64(end.steps, 17, "it costs what was registered");
    works(vyre_operation_unregister(operation, &err), &err, "unregister");
    end = wait_for(queue, submit_op(queue, ECHO, args, 12));
    is_u64(end.fault, VYRE_FAULT_UNKNOWN_OPCODE, "then there is nothing under its opcode");
    vyre_queue_close(queue);
}

static void failures(vyre *rt)
{
    vyre_queue *queue = vyre_queue_default(rt);
    static const uint32_t codes[] = {1, 15, 0x80000000u, UINT32_MAX};
    vyre_operation *operation = register_op(rt, CODE, code_run, NULL);
    vyre_error err;
    for (size_t i = 0; i < 4; i++) {
        vyre_completion end = wait_for(queue, submit_op(queue, CODE, &codes[i], 1));
        ok(end.outcome == VYRE_FAULTED && end.fault == VYRE_FAULT_OPERATION && end.pc == codes[i],
           "failure code 0x%x is in pc", codes[i]);
        is_u64(end.result[3], 33, "results of a failure come too");
    }
    must(vyre_operation_unregister(operation, &err), &err);
}

static void opcodes(vyre *rt)
{
    static const struct {
        uint32_t opcode;
        vyre_status status;
    } rows[] = {
        {0, VYRE_E_WIRE_OPCODE},
        {7, VYRE_E_WIRE_OPCODE},
        {8, VYRE_OK},
        {255, VYRE_OK},
        {256, VYRE_OK},
        {0xFFEF, VYRE_OK},
        {0xFFF0, VYRE_E_WIRE_OPCODE},
        {0xFFFD, VYRE_E_WIRE_OPCODE},
        {0xFFFF, VYRE_E_WIRE_OPCODE},
        {0x10000, VYRE_OK},
        {0x7FFFFFFF, VYRE_OK},
        {0x80000000u, VYRE_E_WIRE_OPCODE},
        {0x80000001u, VYRE_E_WIRE_OPCODE},
        {UINT32_MAX, VYRE_E_WIRE_OPCODE},
    };
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_error err;
    how.run = code_run;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vyre_operation *operation = NULL, *second = NULL;
        how.opcode = rows[i].opcode;
        vyre_status status = vyre_operation_register(rt, &how, &operation, &err);
        is_u64(status, rows[i].status, "opcode 0x%x", how.opcode);
        if (status != VYRE_OK) continue;
        ok(wait_for(queue, submit_op(queue, how.opcode, NULL, 0)).outcome == VYRE_DONE, "runs");
        refused(vyre_operation_register(rt, &how, &second, &err), VYRE_E_EXISTS, &err, "is taken");
        ok(second == NULL, "and nothing was stored");
        must(vyre_operation_unregister(operation, &err), &err);
        works(vyre_operation_register(rt, &how, &second, &err), &err, "is free again");
        must(vyre_operation_unregister(second, &err), &err);
    }
    works(vyre_operation_unregister(NULL, &err), &err, "unregister nothing");
}

static void refusals(vyre *rt)
{
    struct {
        vyre_operation_options options;
        unsigned char tail[16];
    } longer = {VYRE_OPERATION_OPTIONS_INIT, {0}};
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation = NULL;
    vyre_error err;
    how.opcode = ECHO;
    how.run = echo_run;
    refused(vyre_operation_register(NULL, &how, &operation, &err), VYRE_E_NULL, &err, "no runtime");
    refused(vyre_operation_register(rt, NULL, &operation, &err), VYRE_E_NULL, &err, "no options");
    refused(vyre_operation_register(rt, &how, NULL, &err), VYRE_E_NULL, &err, "no place");
    how.run = NULL;
    refused(vyre_operation_register(rt, &how, &operation, &err), VYRE_E_NULL, &err, "no function");
    how.run = echo_run;
    how.size = sizeof how - 1;
    refused(vyre_operation_register(rt, &how, &operation, &err), VYRE_E_SIZE, &err, "too short");
    how.size = sizeof how;
    how.tenant = 32;
    refused(vyre_operation_register(rt, &how, &operation, &err), VYRE_E_RANGE, &err, "no tenant");
    how.tenant = VYRE_TENANT_ANY;
    how.read_handles = 1u << 12;
    refused(vyre_operation_register(rt, &how, &operation, &err), VYRE_E_RANGE, &err, "13th read");
    how.read_handles = 0;
    how.write_handles = 1u << 31;
    refused(vyre_operation_register(rt, &how, &operation, &err), VYRE_E_RANGE, &err, "32nd write");
    longer.options = how;
    longer.options.write_handles = 1u << 11;
    longer.options.size = sizeof longer;
    longer.tail[0] = 1;
    refused(vyre_operation_register(rt, &longer.options, &operation, &err), VYRE_E_RESERVED, &err,
            "longer, and it asks for something");
    ok(operation == NULL, "nothing was stored");
    longer.tail[0] = 0;
    works(vyre_operation_register(rt, &longer.options, &operation, &err), &err, "longer");
    must(vyre_operation_unregister(operation, &err), &err);
}

static void tenants(vyre *rt)
{
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation = NULL;
    vyre_error err;
    how.opcode = OWN;
    how.run = code_run;
    how.tenant = 1;
    must(vyre_operation_register(rt, &how, &operation, &err), &err);
    for (uint32_t tenant = 0; tenant < 3; tenant++) {
        vyre_queue *queue = open_queue(rt, 4, tenant);
        vyre_packed_op packed = {OWN, 0, NULL};
        must(vyre_prep_packed(next_slot(queue), &packed, 1, &err), &err);
        uint32_t inner = wait_for(queue, submit(queue)).fault;
        uint32_t fault = wait_for(queue, submit_op(queue, OWN, NULL, 0)).fault;
        uint32_t expected = tenant == 1 ? VYRE_FAULT_NONE : VYRE_FAULT_UNKNOWN_OPCODE;
        ok(fault == expected && inner == expected, "tenant 1's operation, run by tenant %u",
           tenant);
        vyre_queue_close(queue);
    }
    must(vyre_operation_unregister(operation, &err), &err);
}

static uint32_t which_run(vyre_call *call)
{
    call->result[0] = (uint32_t)(uintptr_t)call->ctx;
    return 0;
}

/* Many at once, taken away in another order than they came: each opcode finds its own. */
static void many(vyre *rt, uint64_t state)
{
    enum { COUNT = 400 };
    static vyre_operation *operations[COUNT];
    static uint32_t codes[COUNT];
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_error err;
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < COUNT; i++)
        codes[i] = i % 4 == 0 ? 8 + i / 4 : 0x20000 + i * (i % 3 ? 1024 : 4096);
    for (int step = 0; step < 3000; step++) {
        uint32_t i = random_below(&state, COUNT);
        if (operations[i] && random_below(&state, 3) == 0) {
            must(vyre_operation_unregister(operations[i], &err), &err);
            operations[i] = NULL;
        } else if (!operations[i]) {
            operations[i] = register_op(rt, codes[i], which_run, (void *)(uintptr_t)(i + 1));
        }
        i = random_below(&state, COUNT);
        vyre_completion end = wait_for(queue, submit_op(queue, codes[i], NULL, 0));
        wrong += operations[i] ? end.outcome != VYRE_DONE || end.result[0] != i + 1
                               : end.fault != VYRE_FAULT_UNKNOWN_OPCODE;
    }
    is_u64(wrong, 0, "3000 steps of registering, running and taking away");
    for (uint32_t i = 0; i < COUNT; i++)
        must(vyre_operation_unregister(operations[i], &err), &err);
}

static void limit(void)
{
    vyre_options options = cpu_options(1);
    options.max_handles = 3;
    vyre *rt = open_with(&options);
    vyre_operation *operations[3], *fourth = NULL;
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_error err;
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 3; i++)
            operations[i] = register_op(rt, 50 + i, code_run, NULL);
        how.opcode = 90;
        how.run = code_run;
        refused(vyre_operation_register(rt, &how, &fourth, &err), VYRE_E_LIMIT, &err, "a fourth");
        for (uint32_t i = 0; i < 3; i++)
            must(vyre_operation_unregister(operations[i], &err), &err);
    }
    vyre_close(rt);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    vyre *rt = open_cpu(2);
    what_it_gets(rt);
    failures(rt);
    opcodes(rt);
    refusals(rt);
    tenants(rt);
    many(rt, seed);
    limit();
    vyre_close(rt);
    return done();
}
