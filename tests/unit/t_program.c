/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Loading and unloading programs: opcodes, limits, refusals, memory that runs out, and what slots
 * find under an opcode whose program is another tenant's or gone.
 */
#include "meter.h"

#include "kernels.h"

static vyre_description describe(vyre *rt)
{
    vyre_description description = {.size = sizeof description};
    vyre_error err;
    must(vyre_describe(rt, &description, &err), &err);
    return description;
}

static vyre_program *load_code(vyre *rt, const struct code *code, uint32_t opcode)
{
    vyre_program_options options = VYRE_PROGRAM_OPTIONS_INIT;
    vyre_program *program = NULL;
    vyre_error err;
    options.opcode = opcode;
    must(vyre_program_load(rt, code->bytes, code->length, &options, &program, &err), &err);
    return program;
}

static void refusals(vyre *rt, const struct code *code)
{
    vyre_program *const untouched = (vyre_program *)(uintptr_t)0x5A5A;
    vyre_program_options options = VYRE_PROGRAM_OPTIONS_INIT;
    vyre_program *program = untouched;
    vyre_kernel *kernel = NULL;
    vyre_error err;
    must(vyre_kernel_read(code->bytes, code->length, NULL, &kernel, &err), &err);
    refused(vyre_program_load(NULL, code->bytes, code->length, NULL, &program, &err), VYRE_E_NULL,
            &err, "no runtime");
    refused(vyre_program_load(rt, NULL, code->length, NULL, &program, &err), VYRE_E_NULL, &err,
            "no bytes");
    refused(vyre_program_load(rt, code->bytes, code->length, NULL, NULL, &err), VYRE_E_NULL, &err,
            "no place");
    refused(vyre_program_load(rt, code->bytes, 50, NULL, &program, &err), VYRE_E_IR_DIGEST, &err,
            "half a program");
    refused(vyre_program_load_kernel(NULL, kernel, NULL, &program, &err), VYRE_E_NULL, &err,
            "no runtime");
    refused(vyre_program_load_kernel(rt, NULL, NULL, &program, &err), VYRE_E_NULL, &err,
            "no kernel");
    refused(vyre_program_load_kernel(rt, kernel, NULL, NULL, &err), VYRE_E_NULL, &err, "no place");
    options.size = 4;
    refused(vyre_program_load_kernel(rt, kernel, &options, &program, &err), VYRE_E_SIZE, &err,
            "options of another size");
    options.size = sizeof options;
    options.flags = VYRE_KERNEL_STRICT;
    refused(vyre_program_load_kernel(rt, kernel, &options, &program, &err), VYRE_E_RESERVED, &err,
            "flags for a kernel that was read");
    options.flags = 0x100;
    refused(vyre_program_load(rt, code->bytes, code->length, &options, &program, &err),
            VYRE_E_RESERVED, &err, "an unknown flag");
    options.flags = 0;
    options.tenant = 32;
    refused(vyre_program_load_kernel(rt, kernel, &options, &program, &err), VYRE_E_RANGE, &err,
            "no such tenant");
    ok(program == untouched, "nothing was stored");
    is_u64(describe(rt).programs, 0, "nothing is loaded");
    works(vyre_program_unload(NULL, &err), &err, "unload nothing");
    is_u64(vyre_program_opcode(NULL), 0, "no program has opcode 0");
    ok(vyre_program_kernel(NULL) == NULL, "and no kernel");
    vyre_kernel_free(kernel);
}

static uint32_t nothing_run(vyre_call *call)
{
    (void)call;
    return 0;
}

static void opcodes(vyre *rt, const struct code *code)
{
    static const struct {
        uint32_t opcode;
        vyre_status status;
    } rows[] = {
        {1, VYRE_E_WIRE_OPCODE},
        {255, VYRE_E_WIRE_OPCODE},
        {256, VYRE_OK},
        {0xFFEF, VYRE_OK},
        {0xFFF0, VYRE_E_WIRE_OPCODE},
        {0xFFFF, VYRE_E_WIRE_OPCODE},
        {0x10000, VYRE_OK},
        {0x7FFFFFFF, VYRE_OK},
        {0x80000000u, VYRE_E_WIRE_OPCODE},
        {UINT32_MAX, VYRE_E_WIRE_OPCODE},
    };
    vyre_program_options options = VYRE_PROGRAM_OPTIONS_INIT;
    vyre_error err;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vyre_program *program = NULL, *second = NULL;
        options.opcode = rows[i].opcode;
        vyre_status status =
            vyre_program_load(rt, code->bytes, code->length, &options, &program, &err);
        is_u64((uint64_t)status, (uint64_t)rows[i].status, "opcode 0x%x", options.opcode);
        if (status != VYRE_OK) continue;
        is_u64(vyre_program_opcode(program), options.opcode, "is its opcode");
        refused(vyre_program_load(rt, code->bytes, code->length, &options, &second, &err),
                VYRE_E_EXISTS, &err, "is taken");
        vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
        vyre_operation *operation = NULL;
        how.opcode = options.opcode;
        how.run = nothing_run;
        if (!no_c_functions())
            refused(vyre_operation_register(rt, &how, &operation, &err), VYRE_E_EXISTS, &err,
                    "for operations too");
        ok(second == NULL && operation == NULL, "and nothing was stored");
        must(vyre_program_unload(program, &err), &err);
        works(vyre_program_load(rt, code->bytes, code->length, &options, &second, &err), &err,
              "is free again");
        must(vyre_program_unload(second, &err), &err);
    }
}

/* Opcodes that nobody chose: none twice, and none that is taken. */
static void chosen_opcodes(vyre *rt, const struct code *code)
{
    enum { COUNT = 20 };
    vyre_program *programs[COUNT], *listed[COUNT + 2] = {NULL};
    vyre_operation *operation =
        no_c_functions() ? NULL : register_op(rt, 0x10000004, nothing_run, NULL);
    vyre_program *taken = load_code(rt, code, 0x10000007);
    vyre_error err;
    uint32_t wrong = 0, last = 0;
    size_t count = 0;
    for (int i = 0; i < COUNT; i++) {
        programs[i] = load_code(rt, code, 0);
        uint32_t opcode = vyre_program_opcode(programs[i]);
        wrong += opcode < 0x10000000 || opcode <= last || opcode == 0x10000007;
        if (operation) wrong += opcode == 0x10000004;
        last = opcode;
    }
    is_u64(wrong, 0, "%u programs got an opcode each, the last 0x%x", COUNT, last);
    is_u64(describe(rt).programs, COUNT + 1, "all are counted");
    works(vyre_program_list(rt, listed, COUNT + 2, &count, &err), &err, "list");
    is_u64(count, COUNT + 1, "all are listed");
    ok(listed[0] == taken && memcmp(&listed[1], programs, sizeof programs) == 0 &&
           listed[COUNT + 1] == NULL,
       "in order of loading");
    memset(listed, 0, sizeof listed);
    works(vyre_program_list(rt, listed, 2, &count, &err), &err, "list two of them");
    ok(count == COUNT + 1 && listed[1] == programs[0] && listed[2] == NULL, "as many as fit");
    works(vyre_program_list(rt, NULL, 0, &count, &err), &err, "count them");
    refused(vyre_program_list(NULL, listed, 2, &count, &err), VYRE_E_NULL, &err, "no runtime");
    refused(vyre_program_list(rt, NULL, 2, &count, &err), VYRE_E_NULL, &err, "no place");
    refused(vyre_program_list(rt, listed, 2, NULL, &err), VYRE_E_NULL, &err, "no count");
    must(vyre_program_unload(programs[3], &err), &err);
    vyre_program *next = load_code(rt, code, 0);
    ok(vyre_program_opcode(next) > last, "an opcode that was given back rests");
    must(vyre_program_unload(next, &err), &err);
    for (int i = 0; i < COUNT; i++)
        if (i != 3) must(vyre_program_unload(programs[i], &err), &err);
    must(vyre_program_unload(taken, &err), &err);
    must(vyre_operation_unregister(operation, &err), &err);
    is_u64(describe(rt).programs, 0, "all are gone");
}

/* A program keeps its kernel, and a kernel serves several runtimes. */
static void kernels(const struct code *code)
{
    vyre *first = open_cpu(1), *second = open_cpu(1);
    vyre_program *a = NULL, *b = NULL;
    vyre_kernel *kernel = NULL;
    vyre_kernel_info info = {.size = sizeof info};
    vyre_error err;
    must(vyre_kernel_read(code->bytes, code->length, NULL, &kernel, &err), &err);
    works(vyre_program_load_kernel(first, kernel, NULL, &a, &err), &err, "a kernel, here");
    works(vyre_program_load_kernel(second, kernel, NULL, &b, &err), &err, "and there");
    ok(vyre_program_kernel(a) == kernel && vyre_program_kernel(b) == kernel, "is the same");
    vyre_kernel_free(kernel);
    vyre_close(first);
    works(vyre_kernel_query(vyre_program_kernel(b), &info, &err), &err, "stays while one has it");
    is_u64(info.buffers, 1, "as it was");
    vyre_close(second);
}

static void limits(void)
{
    vyre_options options = cpu_options(1);
    vyre_program *program = NULL, *more[3] = {NULL};
    vyre_error err;
    options.max_handles = 2;
    options.frame_bytes = 65536;
    vyre *rt = open_with(&options);
    struct code wide = code_alone(16384), small = code_alone(1024);
    refused(vyre_program_load(rt, wide.bytes, wide.length, NULL, &program, &err), VYRE_E_VM_LIMIT,
            &err, "more workgroup memory than a frame has");
    must(vyre_program_load(rt, small.bytes, small.length, NULL, &more[0], &err), &err);
    must(vyre_program_load(rt, small.bytes, small.length, NULL, &more[1], &err), &err);
    refused(vyre_program_load(rt, small.bytes, small.length, NULL, &program, &err), VYRE_E_LIMIT,
            &err, "more programs than handles");
    must(vyre_program_unload(more[0], &err), &err);
    works(vyre_program_load(rt, small.bytes, small.length, NULL, &more[0], &err), &err,
          "after an unload there is one");
    must(vyre_stop(rt, &err), &err);
    refused(vyre_program_load(rt, small.bytes, small.length, NULL, &program, &err), VYRE_E_STOPPED,
            &err, "a stopped runtime loads nothing");
    works(vyre_program_unload(more[0], &err), &err, "but unloads");
    ok(program == NULL, "nothing was stored");
    vyre_close(rt);

    options = cpu_options(1);
    options.frame_bytes = 1 << 20;
    rt = open_with(&options);
    works(vyre_program_load(rt, wide.bytes, wide.length, NULL, &program, &err), &err,
          "a larger frame takes it");
    if (!test_hosted()) /* they are the device host's memory */
        ok(describe(rt).memory_bytes > 65u << 20, "the frames are counted");
    vyre_close(rt);
    code_free(&wide);
    code_free(&small);
}

/* Slots under the opcode of a program that they may not run, or that is gone. */
static void strangers(vyre *rt, const struct code *code)
{
    vyre_program_options options = VYRE_PROGRAM_OPTIONS_INIT;
    vyre_queue *other = open_queue(rt, 16, 2);
    vyre_program *program = NULL;
    vyre_error err;
    options.opcode = 4000;
    options.tenant = 1;
    must(vyre_program_load(rt, code->bytes, code->length, &options, &program, &err), &err);
    vyre_completion end = wait_for(other, submit_op(other, 4000, NULL, 0));
    is_u64(end.fault, VYRE_FAULT_UNKNOWN_OPCODE, "another tenant's program is no program");
    must(vyre_program_unload(program, &err), &err);
    vyre_queue *own = open_queue(rt, 16, 1);
    end = wait_for(own, submit_op(own, 4000, NULL, 0));
    is_u64(end.fault, VYRE_FAULT_UNKNOWN_OPCODE, "and one that is gone neither");
    vyre_queue_close(own);
    vyre_queue_close(other);
}

static _Atomic uint32_t inside_status;
static vyre_program *inside_program;

static uint32_t inside_run(vyre_call *call)
{
    (void)call;
    atomic_store(&inside_status, (uint32_t)vyre_program_unload(inside_program, NULL));
    return 0;
}

static void inside(vyre *rt, const struct code *code)
{
    if (no_c_functions()) return;
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_operation *operation = register_op(rt, 100, inside_run, NULL);
    vyre_error err;
    inside_program = load_code(rt, code, 5000);
    wait_for(queue, submit_op(queue, 100, NULL, 0));
    is_u64(atomic_load(&inside_status), (uint32_t)VYRE_E_STATE, "no unload inside an operation");
    is_u64(describe(rt).programs, 1, "it is still there");
    must(vyre_program_unload(inside_program, &err), &err);
    must(vyre_operation_unregister(operation, &err), &err);
}

struct loader {
    vyre *rt;
    const struct code *code;
    uint32_t wrong;
};

static void *load_often(void *ctx)
{
    struct loader *loader = ctx;
    for (int i = 0; i < 50; i++) {
        vyre_program *program = NULL;
        loader->wrong += vyre_program_load(loader->rt, loader->code->bytes, loader->code->length,
                                           NULL, &program, NULL) != VYRE_OK;
        loader->wrong += vyre_program_unload(program, NULL) != VYRE_OK;
    }
    return NULL;
}

/* Frames are made once, whoever loads first. */
static void many_loaders(const struct code *code)
{
    vyre *rt = open_cpu(2);
    struct loader loaders[4];
    pthread_t threads[4];
    uint32_t wrong = 0;
    for (int i = 0; i < 4; i++) {
        loaders[i] = (struct loader){rt, code, 0};
        if (pthread_create(&threads[i], NULL, load_often, &loaders[i])) bail("no thread");
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        wrong += loaders[i].wrong;
    }
    is_u64(wrong, 0, "four threads load and unload");
    is_u64(describe(rt).programs, 0, "all are gone");
    vyre_close(rt);
}

/* Every allocation of loading fails once, and the load that follows works. */
static void allocations(const struct code *code)
{
    uint32_t wrong = 0;
    uint64_t n = 0, failures;
    do {
        struct meter meter = {0};
        vyre_allocator hooks = meter_allocator(&meter);
        vyre_options options = cpu_options(1);
        vyre_program *program = NULL;
        vyre_error err;
        options.allocator = &hooks;
        vyre *rt = open_with(&options);
        int64_t live = meter.live_bytes;
        atomic_store(&meter.fail_at, meter.calls + ++n);
        vyre_status status = vyre_program_load(rt, code->bytes, code->length, NULL, &program, &err);
        failures = meter.failures;
        if (failures) {
            wrong += status != VYRE_E_NO_MEMORY || program || meter.live_bytes != live;
            wrong += describe(rt).programs != 0 || describe(rt).handles != 0;
            wrong += vyre_program_load(rt, code->bytes, code->length, NULL, &program, &err) != 0;
        } else {
            wrong += status != VYRE_OK;
        }
        if (n % 2) wrong += vyre_program_unload(program, NULL) != VYRE_OK;
        vyre_close(rt);
        wrong += !meter_clean(&meter);
    } while (failures != 0 && n < 1000);
    ok(n > 5 && n < 1000, "%llu places where memory can fail", (unsigned long long)(n - 1));
    is_u64(wrong, 0, "each gave a status, and nothing was lost");
}

int main(void)
{
    struct code code = code_fill(32, 0);
    vyre *rt = open_cpu(2);
    refusals(rt, &code);
    opcodes(rt, &code);
    chosen_opcodes(rt, &code);
    strangers(rt, &code);
    inside(rt, &code);
    vyre_close(rt);
    kernels(&code);
    limits();
    many_loaders(&code);
    if (!test_hosted()) allocations(&code); /* a device host for each would take long */
    code_free(&code);
    return done();
}
