/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Binding sets: what may be bound to what, whose slots may use a set, and who lives as long as it:
 * a buffer that was freed stays while a set has it, a program is not unloaded before its sets are
 * freed, and no number of freed buffers keeps a set from being freed.
 */
#include "meter.h"

#include "kernels.h"

enum { SAXPY = 1000, OTHER = 1001 };

static vyre_description describe(vyre *rt)
{
    vyre_description description = {.size = sizeof description};
    vyre_error err;
    must(vyre_describe(rt, &description, &err), &err);
    return description;
}

static vyre_program *load_code(vyre *rt, struct code code, uint32_t opcode, uint32_t tenant)
{
    vyre_program_options options = VYRE_PROGRAM_OPTIONS_INIT;
    vyre_program *program = NULL;
    vyre_error err;
    options.opcode = opcode;
    options.tenant = tenant;
    must(vyre_program_load(rt, code.bytes, code.length, &options, &program, &err), &err);
    code_free(&code);
    return program;
}

static vyre_buffer *make_buffer(vyre *rt, size_t bytes, uint32_t tenant, uint32_t rights)
{
    vyre_buffer_options options = VYRE_BUFFER_OPTIONS_INIT;
    vyre_buffer *made = NULL;
    vyre_error err;
    options.tenant = tenant;
    options.rights = rights;
    must(vyre_buffer_create_with(rt, bytes, &options, &made, &err), &err);
    return made;
}

static vyre_bindings *bind(vyre_program *program, vyre_buffer *const *buffers, size_t count)
{
    vyre_bindings *set = NULL;
    vyre_error err;
    must(vyre_bindings_create(program, buffers, count, &set, &err), &err);
    return set;
}

static void refusals(vyre *rt)
{
    vyre_bindings *const untouched = (vyre_bindings *)(uintptr_t)0x5A5A;
    vyre_bindings *set = untouched;
    vyre_program *program = load_code(rt, code_saxpy(), SAXPY, VYRE_TENANT_ANY);
    vyre_buffer *x = make_buffer(rt, 400, 0, 3), *y = make_buffer(rt, 400, 0, 3);
    vyre_buffer *read_only = make_buffer(rt, 400, 0, VYRE_RIGHT_READ);
    vyre_buffer *write_only = make_buffer(rt, 400, 0, VYRE_RIGHT_WRITE);
    vyre_buffer *tiny = make_buffer(rt, 3, 0, 3), *foreign = make_buffer(rt, 400, 1, 3);
    vyre_error err;
    vyre_buffer *full[3] = {NULL, x, y};
    refused(vyre_bindings_create(NULL, full, 3, &set, &err), VYRE_E_NULL, &err, "no program");
    refused(vyre_bindings_create(program, NULL, 3, &set, &err), VYRE_E_NULL, &err, "no buffers");
    refused(vyre_bindings_create(program, full, 3, NULL, &err), VYRE_E_NULL, &err, "no place");
    refused(vyre_bindings_create(program, full, 2, &set, &err), VYRE_E_RANGE, &err, "too few");
    refused(vyre_bindings_create(program, full, 4, &set, &err), VYRE_E_RANGE, &err, "too many");
    const struct {
        vyre_buffer *buffers[3];
        vyre_status status;
        const char *what;
    } rows[] = {
        {{NULL, NULL, y}, VYRE_E_NULL, "one is missing"},
        {{tiny, x, y}, VYRE_E_TOO_SMALL, "a parameter of 3 bytes"},
        {{NULL, x, read_only}, VYRE_E_NOT_PERMITTED, "one that may not be written"},
        {{NULL, write_only, y}, VYRE_E_NOT_PERMITTED, "one that may not be read"},
        {{write_only, x, y}, VYRE_E_NOT_PERMITTED, "a parameter that may not be read"},
        {{NULL, x, foreign}, VYRE_E_NOT_PERMITTED, "of two tenants"},
        {{NULL, foreign, y}, VYRE_E_NOT_PERMITTED, "of two tenants"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        refused(vyre_bindings_create(program, rows[i].buffers, 3, &set, &err), rows[i].status, &err,
                "%s", rows[i].what);
    vyre *second = open_cpu(1);
    vyre_buffer *elsewhere = make_buffer(second, 400, 0, 3);
    refused(vyre_bindings_create(program, (vyre_buffer *[]){NULL, x, elsewhere}, 3, &set, &err),
            VYRE_E_NOT_PERMITTED, &err, "of two runtimes");
    vyre_close(second);
    ok(set == untouched, "nothing was stored");
    is_u64(vyre_bindings_handle(NULL), 0, "no set has handle 0");
    vyre_bindings_free(NULL);
    works(vyre_bindings_create(program, full, 3, &set, &err), &err, "the scalar stays open");
    ok(vyre_bindings_handle(set) != 0, "it has a handle");
    vyre_bindings_free(set);
    works(vyre_bindings_create(program, (vyre_buffer *[]){read_only, x, x}, 3, &set, &err), &err,
          "one buffer twice, the scalar bound");
    refused(vyre_program_unload(program, &err), VYRE_E_BUSY, &err, "a program that has a set");
    is_u64(describe(rt).programs, 1, "nothing was done");
    vyre_bindings_free(set);
    works(vyre_program_unload(program, &err), &err, "a program whose sets are freed");
    vyre_buffer *all[] = {x, y, read_only, write_only, tiny, foreign};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        vyre_buffer_free(all[i]);
    ok(settle_handles(rt, 0), "no handle is left");
}

static void other_shapes(vyre *rt)
{
    vyre_bindings *set = NULL;
    vyre_error err;
    vyre_buffer *word = make_buffer(rt, 64, 1, 3);
    vyre_program *alone = load_code(rt, code_alone(16), OTHER, VYRE_TENANT_ANY);
    refused(vyre_bindings_create(alone, &word, 1, &set, &err), VYRE_E_RANGE, &err,
            "a buffer for workgroup memory");
    works(vyre_bindings_create(alone, (vyre_buffer *[]){NULL}, 1, &set, &err), &err,
          "a set of nothing");
    vyre_bindings_free(set);
    must(vyre_program_unload(alone, &err), &err);

    vyre_program *owned = load_code(rt, code_fill(16, 0), OTHER, 2);
    refused(vyre_bindings_create(owned, &word, 1, &set, &err), VYRE_E_NOT_PERMITTED, &err,
            "a buffer of another tenant than the program");
    must(vyre_program_unload(owned, &err), &err);
    vyre_program *large = load_code(rt, code_fill(17, 0), OTHER, 1);
    refused(vyre_bindings_create(large, &word, 1, &set, &err), VYRE_E_TOO_SMALL, &err,
            "16 elements where 17 are declared");
    must(vyre_program_unload(large, &err), &err);

    vyre_buffer *twelve[13], *none[13] = {NULL};
    vyre_buffer *results = make_buffer(rt, 64, 1, 3);
    for (int i = 0; i < 12; i++)
        twelve[i] = word;
    twelve[12] = none[12] = results;
    vyre_program *many = load_code(rt, code_scalars(12), OTHER, VYRE_TENANT_ANY);
    refused(vyre_bindings_create(many, none, 13, &set, &err), VYRE_E_NULL, &err,
            "12 parameters that no slot can carry");
    works(vyre_bindings_create(many, twelve, 13, &set, &err), &err, "12 bound parameters");
    vyre_bindings_free(set);
    must(vyre_program_unload(many, &err), &err);
    vyre_buffer_free(word);
    vyre_buffer_free(results);
    ok(settle_handles(rt, 0), "no handle is left");
}

static uint32_t fault_of(vyre_queue *queue, uint32_t opcode, const uint32_t *args, size_t count)
{
    vyre_completion end = wait_for(queue, submit_op(queue, opcode, args, count));
    return end.outcome == VYRE_FAULTED ? end.fault : 0;
}

/* What the device refuses in slots that somebody wrote by hand. */
static void bad_slots(vyre *rt)
{
    vyre_program *saxpy = load_code(rt, code_saxpy(), SAXPY, VYRE_TENANT_ANY);
    vyre_program *other = load_code(rt, code_fill(16, 0), OTHER, VYRE_TENANT_ANY);
    vyre_buffer *x = make_buffer(rt, 64, 1, 3), *y = make_buffer(rt, 64, 1, 3);
    vyre_bindings *open = bind(saxpy, (vyre_buffer *[]){NULL, x, y}, 3);
    vyre_bindings *bound = bind(saxpy, (vyre_buffer *[]){x, x, y}, 3);
    vyre_bindings *others = bind(other, &x, 1);
    vyre_queue *queue = open_queue(rt, 16, 1), *stranger = open_queue(rt, 16, 2);
    vyre_error err;
    const uint32_t set = vyre_bindings_handle(open), set2 = vyre_bindings_handle(bound);
    const uint32_t foreign = vyre_bindings_handle(others), plain = vyre_buffer_handle(x);
    const struct {
        uint32_t args[6];
        uint32_t fault;
        const char *what;
    } rows[] = {
        {{1, 1, 1, 0, 1}, VYRE_FAULT_BAD_HANDLE, "no set where there are buffers"},
        {{1, 1, 1, plain, 1}, VYRE_FAULT_BAD_HANDLE, "a buffer is no set"},
        {{1, 1, 1, set ^ 0x10000, 1}, VYRE_FAULT_BAD_HANDLE, "a set of another generation"},
        {{1, 1, 1, 0xFFFF, 1}, VYRE_FAULT_BAD_HANDLE, "a set past the table"},
        {{1, 1, 1, foreign, 1}, VYRE_FAULT_BINDINGS, "a set of another program"},
        {{1, 1, 1, set, 0}, VYRE_FAULT_PARAMETERS, "no scalar where one is open"},
        {{1, 1, 1, set, 2}, VYRE_FAULT_PARAMETERS, "two scalars for one"},
        {{1, 1, 1, set, UINT32_MAX}, VYRE_FAULT_PARAMETERS, "any number of scalars"},
        {{1, 1, 1, set2, 2}, VYRE_FAULT_PARAMETERS, "two scalars where one is bound"},
        {{0x4000001, 1, 1, set, 1}, VYRE_FAULT_GRID, "more than 2^32 invocations on x"},
        {{UINT32_MAX, 0, 0, set, 1}, VYRE_FAULT_GRID, "the same in an empty grid"},
        {{0x4000000, UINT32_MAX, 0x40, set, 1}, VYRE_FAULT_GRID, "more than 2^63 workgroups"},
        {{1, UINT32_MAX, UINT32_MAX, set, 1}, VYRE_FAULT_GRID, "more than 2^63 workgroups"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        is_u64(fault_of(queue, SAXPY, rows[i].args, 6), rows[i].fault, "%s", rows[i].what);
    is_u64(fault_of(stranger, SAXPY, rows[5].args, 6), VYRE_FAULT_HANDLE_RIGHTS,
           "another tenant's set");
    vyre_bindings_free(open);
    is_u64(fault_of(queue, SAXPY, rows[5].args, 6), VYRE_FAULT_BAD_HANDLE, "a set that was freed");
    vyre_bindings_free(bound);
    vyre_bindings_free(others);
    works(vyre_program_unload(saxpy, &err), &err, "none of these slots holds the program");
    must(vyre_program_unload(other, &err), &err);
    vyre_buffer_free(x);
    vyre_buffer_free(y);
    ok(settle_handles(rt, 0), "nor a set or a buffer");
    vyre_queue_close(queue);
    vyre_queue_close(stranger);
}

/* More freed buffers than the device takes drops at a time, all kept by one set. */
static void kept_buffers(void)
{
    enum { BUFFERS = 60 };
    vyre_options options = cpu_options(1);
    options.inflight_slots = 16;
    vyre *rt = open_with(&options);
    vyre_program *program = load_code(rt, code_scalars(BUFFERS), OTHER, VYRE_TENANT_ANY);
    vyre_buffer *buffers[BUFFERS + 1];
    vyre_error err;
    for (int i = 0; i <= BUFFERS; i++)
        buffers[i] = make_buffer(rt, i < BUFFERS ? 4 : 4 * BUFFERS, 0, 3);
    vyre_bindings *set = bind(program, buffers, BUFFERS + 1);
    uint32_t before = describe(rt).handles;
    for (int i = 0; i <= BUFFERS; i++)
        vyre_buffer_free(buffers[i]);
    is_u64(describe(rt).handles, before, "freed buffers of a set stay");
    vyre_buffer *fresh = make_buffer(rt, 100, 0, 3);
    vyre_buffer_free(fresh);
    ok(settle_handles(rt, before), "others come and go meanwhile");
    refused(vyre_program_unload(program, &err), VYRE_E_BUSY, &err, "the set is still there");
    vyre_bindings_free(set);
    works(vyre_program_unload(program, &err), &err, "the set was freed");
    ok(settle_handles(rt, 0), "then all go");
    is_u64(describe(rt).buffer_bytes, 0, "with their memory");
    vyre_close(rt);
}

/* Sets that are closed over: after a stop, and by vyre_close. */
static void ends(void)
{
    struct meter meter = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    vyre_options options = cpu_options(2);
    vyre_error err;
    options.allocator = &hooks;
    for (int round = 0; round < 4; round++) {
        vyre *rt = open_with(&options);
        vyre_program *program = load_code(rt, code_fill(8, 0), OTHER, VYRE_TENANT_ANY);
        vyre_buffer *r = make_buffer(rt, 64, 0, 3);
        vyre_bindings *set = bind(program, &r, 1), *second = bind(program, &r, 1), *third = NULL;
        if (round & 1) vyre_buffer_free(r);
        if (round & 2) must(vyre_stop(rt, &err), &err);
        vyre_bindings_free(set);
        if (round & 2) {
            refused(vyre_bindings_create(program, &r, 1, &third, &err), VYRE_E_STOPPED, &err,
                    "a stopped runtime binds nothing");
            vyre_bindings_free(second);
            works(vyre_program_unload(program, &err), &err, "but unloads");
        }
        vyre_close(rt);
    }
    ok(meter_clean(&meter), "nothing is left");
}

static void limits(void)
{
    vyre_options options = cpu_options(1);
    vyre_bindings *set = NULL;
    vyre_error err;
    options.max_handles = 2;
    vyre *rt = open_with(&options);
    vyre_program *program = load_code(rt, code_fill(8, 0), OTHER, VYRE_TENANT_ANY);
    vyre_buffer *r = make_buffer(rt, 64, 0, 3);
    refused(vyre_bindings_create(program, &r, 1, &set, &err), VYRE_E_LIMIT, &err,
            "more sets than handles");
    ok(set == NULL, "nothing was stored");
    works(vyre_program_unload(program, &err), &err, "and nothing is counted");
    vyre_buffer_free(r);
    ok(settle_handles(rt, 0), "nor kept");
    vyre_close(rt);
}

/* Every allocation of binding fails once. */
static void allocations(void)
{
    struct meter meter = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    vyre_options options = cpu_options(1);
    uint32_t wrong = 0;
    uint64_t n = 0, failures;
    options.allocator = &hooks;
    vyre *rt = open_with(&options);
    vyre_program *program = load_code(rt, code_fill(8, 0), OTHER, VYRE_TENANT_ANY);
    vyre_buffer *r = make_buffer(rt, 64, 0, 3);
    do {
        vyre_bindings *set = NULL;
        uint64_t before = meter.failures;
        int64_t live = meter.live_bytes;
        atomic_store(&meter.fail_at, meter.calls + ++n);
        vyre_status status = vyre_bindings_create(program, &r, 1, &set, NULL);
        failures = meter.failures - before;
        atomic_store(&meter.fail_at, 0);
        if (failures) wrong += status != VYRE_E_NO_MEMORY || set || meter.live_bytes != live;
        if (!failures) wrong += status != VYRE_OK;
        vyre_bindings_free(set);
        wrong += !settle_handles(rt, 2);
    } while (failures != 0 && n < 100);
    ok(n > 2 && n < 100, "%llu places where memory can fail", (unsigned long long)(n - 1));
    is_u64(wrong, 0, "each gave a status, and nothing was lost");
    vyre_close(rt);
    ok(meter_clean(&meter), "nothing is left");
}

int main(void)
{
    vyre *rt = open_cpu(2);
    refusals(rt);
    other_shapes(rt);
    bad_slots(rt);
    vyre_close(rt);
    kept_buffers();
    ends();
    limits();
    allocations();
    return done();
}
