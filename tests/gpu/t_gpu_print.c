/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Prints of programs: which records the log has afterwards, from any lanes of workgroups of any
 * size; that those of many workgroups at once, and of short programs, are whole and none is
 * forgotten; and that who prints without end is stopped by its deadline.
 *
 *   t_gpu_print [--slots RUNS] [--seed N]
 */
#include "gpu.h"
#include "source_text.h"

enum { RING = 64, MOST_LANES = 1024 };

static uint64_t state;

static uint32_t below(uint32_t limit)
{
    return random_below(&state, limit);
}

/* A runtime with a queue, and where its log was read up to. */
struct printer {
    vyre *rt;
    vyre_queue *queue;
    uint64_t cursor, lost;
    vyre_log_record record[RING];
    size_t count;
};

static void printer_open(struct printer *self, uint32_t step_budget)
{
    vyre_options options = gpu_options();
    options.step_budget = step_budget;
    memset(self, 0, sizeof *self);
    self->rt = gpu_open(&options);
    self->queue = gpu_queue(self->rt, 256, 0, 0);
}

static void printer_close(struct printer *self)
{
    vyre_queue_close(self->queue);
    vyre_close(self->rt);
}

/* Reads what is new. Returns how many records were written since, read or not. */
static uint64_t printer_read(struct printer *self)
{
    const uint64_t before = self->cursor;
    vyre_error err;
    must(vyre_tenant_log(self->rt, 0, &self->cursor, self->record, RING, &self->count, &self->lost,
                         &err),
         &err);
    return self->cursor - before;
}

static vyre_program *load(vyre *rt, char *source)
{
    vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
    vyre_program *program = NULL;
    vyre_kernel *kernel = NULL;
    vyre_error err;
    must(vyre_kernel_compile(source, strlen(source), &options, &kernel, &err), &err);
    must(vyre_program_load_kernel(rt, kernel, NULL, &program, &err), &err);
    vyre_kernel_free(kernel);
    free(source);
    return program;
}

static uint64_t start(struct printer *self, vyre_program *program, uint32_t groups,
                      const uint32_t *scalars, uint32_t scalar_count, uint64_t deadline_ns)
{
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    vyre_slot *slot = next_slot(self->queue);
    run.program = program;
    run.grid[0] = groups;
    run.scalars = scalars;
    run.scalar_count = scalar_count;
    must(vyre_prep_run(slot, &run, &err), &err);
    if (deadline_ns != 0) must(vyre_slot_deadline(self->queue, slot, deadline_ns, &err), &err);
    return submit(self->queue);
}

/* What lane i prints beside its number. */
static uint32_t told(uint32_t i, uint32_t seed)
{
    return i * 2654435761u + seed;
}

/* Whether lane i prints. */
static bool prints(uint32_t i, const uint32_t *scalar)
{
    return (i * scalar[1] + scalar[2]) % 97 < scalar[3];
}

static bool record_right(const vyre_log_record *record, uint32_t i, uint32_t seed)
{
    return record->a == i && record->b == told(i, seed);
}

/* One workgroup: the newest records are those of its last lanes, in order. */
static void check_lanes(struct printer *self, uint32_t lanes, uint64_t runs)
{
    struct source_text made = {0};
    uint32_t wrong = 0, most = 0;
    vyre_error err;
    source_add(
        &made,
        "@workgroup(%u)\nkernel some(u32 seed, u32 by, u32 from, u32 less)\n{\n"
        "    if ((i * by + from) %% 97 < less) print(\"%%u %%u\", i, i * 2654435761 + seed);\n"
        "}\n",
        lanes);
    vyre_program *program = load(self->rt, made.text);
    printer_read(self);
    for (uint64_t run = 0; run < runs; run++) {
        const uint32_t scalar[] = {(uint32_t)random_next(&state), below(1000), below(97),
                                   below(3) ? below(98) : below(3)};
        uint32_t lane[MOST_LANES], count = 0;
        for (uint32_t i = 0; i < lanes; i++)
            if (prints(i, scalar)) lane[count++] = i;
        vyre_completion end = wait_for(self->queue, start(self, program, 1, scalar, 4, 0));
        const uint64_t written = printer_read(self);
        const uint32_t kept = count < RING ? count : RING;
        bool right = end.outcome == VYRE_DONE && written == count && self->count == kept;
        for (uint32_t k = 0; right && k < kept; k++)
            right = record_right(&self->record[k], lane[count - kept + k], scalar[0]);
        wrong += !right;
        most = count > most ? count : most;
    }
    is_u64(wrong, 0, "%u lanes: %" PRIu64 " runs with up to %u records, in order", lanes, runs,
           most);
    must(vyre_program_unload(program, &err), &err);
}

/* Many workgroups at once, while somebody reads. */
static void check_crowd(struct printer *self, uint32_t groups, uint32_t rounds)
{
    const uint32_t scalar[] = {(uint32_t)random_next(&state), rounds};
    struct source_text made = {0};
    vyre_completion end;
    uint64_t written = 0, read = 0, wrong = 0;
    vyre_error err;
    source_add(&made,
               "@workgroup(96)\nkernel crowd(u32 seed, u32 rounds)\n{\n"
               "    for (u32 k = 0; k < rounds; k++)\n"
               "        if (i %% 3 != 0) print(\"%%u %%u\", i, i * 2654435761 + seed);\n}\n");
    vyre_program *program = load(self->rt, made.text);
    printer_read(self);
    const uint64_t ticket = start(self, program, groups, scalar, 2, 0);
    vyre_status status = VYRE_OK;
    for (int over = 0; !over;) {
        status = vyre_wait(self->queue, ticket, 100000, &end, &err);
        over = status != VYRE_E_TIMEOUT;
        do { /* what the last words are is read once all are there */
            written += printer_read(self);
            read += self->count;
            for (size_t k = 0; k < self->count; k++) {
                const vyre_log_record *record = &self->record[k];
                wrong += record->a >= groups * 96 || !record_right(record, record->a, scalar[0]);
            }
        } while (self->count != 0);
    }
    must(status, &err);
    ok(end.outcome == VYRE_DONE && written == (uint64_t)groups * 64 * rounds && read >= RING,
       "%u workgroups at once: %" PRIu64 " records, %" PRIu64 " of them read", groups, written,
       read);
    is_u64(wrong, 0, "and these are whole");
    must(vyre_program_unload(program, &err), &err);
}

static vyre_program *load_stretch(vyre *rt, uint32_t lanes, uint32_t lines)
{
    struct source_text made = {0};
    source_add(&made, "@workgroup(%u)\nkernel stretch(u32 seed)\n{\n    barrier();\n", lanes);
    for (uint32_t k = 0; k < lines; k++)
        source_add(&made, "    print(\"%%u %%u\", i, i * 2654435761 + seed);\n");
    source_add(&made, "}\n");
    return load(rt, made.text);
}

/* Short programs, single and many at once: a print does not end them, nor steps. */
static void check_short(struct printer *self, uint32_t lanes, uint32_t lines, uint32_t count)
{
    vyre_program *program = load_stretch(self->rt, lanes, lines);
    uint64_t first = 0;
    uint32_t wrong = 0;
    vyre_error err;
    printer_read(self);
    for (uint32_t k = 0; k < count; k++) {
        uint64_t ticket = start(self, program, 2, &k, 1, 0);
        if (k == 0) first = ticket;
    }
    for (uint32_t k = 0; k < count; k++) {
        vyre_completion end = wait_for(self->queue, first + k);
        wrong += end.outcome != VYRE_DONE || end.result[0] != 2;
    }
    is_u64(wrong, 0, "%u short programs at once of %u prints", count, lines);
    is_u64(printer_read(self), 2ull * lanes * lines * count, "and all their records");
    must(vyre_program_unload(program, &err), &err);
}

/* It may be late before it begins; then it has not printed, tells nothing, and gets a little more
 * time. */
static void is_late(struct printer *self, vyre_program *program, const uint32_t *scalar,
                    uint32_t scalars, const char *what)
{
    vyre_completion end;
    uint64_t printed = 0, deadline_ns = 300000;
    vyre_error err;
    printer_read(self);
    for (; printed == 0 && deadline_ns < 4000000000; deadline_ns += deadline_ns / 8) {
        end = wait_for(self->queue, start(self, program, 1, scalar, scalars, deadline_ns));
        printed = printer_read(self);
    }
    ok(printed != 0 && end.outcome == VYRE_FAULTED && end.fault == VYRE_FAULT_DEADLINE,
       "%s ends by its deadline: %" PRIu64 " records, outcome %u, fault %u", what, printed,
       end.outcome, end.fault);
    must(vyre_program_unload(program, &err), &err);
}

/* A turn is as long as can be, so only a print ends it; each of these would print for far longer
 * than it may. */
static void check_deadline(void)
{
    static struct printer self;
    static const uint32_t rounds[] = {1, 100000};
    struct source_text made = {0};
    printer_open(&self, 0x7FFFFFFF);
    source_add(&made, "@workgroup(1024)\nkernel loop(u32 seed, u32 rounds)\n{\n"
                      "    for (u32 k = 0; k < rounds; k++) print(\"%%u %%u\", i, seed);\n}\n");
    is_late(&self, load(self.rt, made.text), rounds, 2, "a loop that prints");
    if (gpu_is_cuda())
        is_late(&self, load_stretch(self.rt, 1024, 2000), rounds, 1, "code that prints, no loop");
    printer_close(&self);
}

int main(int argc, char **argv)
{
    static const uint32_t lanes[] = {1, 2, 31, 32, 33, 63, 64, 65, 100, 256, 1000, 1024};
    static struct printer self;
    struct gpu_args args = gpu_arguments(argc, argv, 100);
    state = args.seed;
    printer_open(&self, VYRE_DEFAULT);
    for (size_t k = 0; k < sizeof lanes / sizeof lanes[0]; k++)
        check_lanes(&self, lanes[k], args.slots);
    check_crowd(&self, 1, 50);
    check_crowd(&self, 500, getenv("VYRE_TEST_WORKERS") ? 3 : 20); /* threads are slow */
    check_short(&self, 32, 20, 1);
    check_short(&self, 32, 20, 60);
    check_short(&self, 128, 200, 20);
    printer_close(&self);
    printer_open(&self, 1);
    check_short(&self, 32, 20, 1);
    check_short(&self, 128, 100, 20);
    printer_close(&self);
    check_deadline();
    return done();
}
