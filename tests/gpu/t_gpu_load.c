/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Programs that come and go while others run: one thread keeps a queue full of runs of programs
 * that stay, two load programs, run them a few times, at times leave runs behind, and unload them.
 * Everything that is loaded gives its own results, everything submitted ends, and the device is
 * never started again for it.
 */
#include "gpu.h"
#include "kernels.h"

enum { RUNNERS = 1, LOADERS = 2, STAYING = 3, DEPTH = 32, FILL = 320 };

struct crew {
    vyre *rt;
    _Atomic uint32_t stop;
    _Atomic uint64_t ran, loaded;
    _Atomic uint32_t wrong;
};

struct loader {
    struct crew *crew;
    uint64_t state, programs;
};

static void complain(struct crew *crew, const char *what, const vyre_completion *end)
{
    if (atomic_fetch_add(&crew->wrong, 1) < 5)
        note("%s: outcome %u, fault %u, pc %u", what, end->outcome, end->fault, end->pc);
}

/* One program is built at a time (ir_build.h). */
static vyre_program *load_fill(vyre *rt, uint32_t k)
{
    static pthread_mutex_t building = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&building);
    struct code code = code_fill(FILL, k);
    pthread_mutex_unlock(&building);
    vyre_program *program = NULL;
    vyre_error err;
    must(vyre_program_load(rt, code.bytes, code.length, NULL, &program, &err), &err);
    code_free(&code);
    return program;
}

/* r[i] = i + k, in 32 lanes a workgroup. */
static bool filled(vyre_buffer *buffer, uint32_t k)
{
    uint32_t words[FILL];
    vyre_error err;
    must(vyre_buffer_read(buffer, 0, words, sizeof words, &err), &err);
    for (uint32_t i = 0; i < FILL; i++)
        if (words[i] != i + k) return false;
    return true;
}

static uint64_t put_run(vyre_queue *queue, vyre_program *program, vyre_bindings *bindings)
{
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    run.program = program;
    run.bindings = bindings;
    run.grid[0] = FILL / 32;
    must(vyre_prep_run(next_slot(queue), &run, &err), &err);
    return submit(queue);
}

/* Keeps a queue full with runs of programs that stay. */
static void *runner(void *argument)
{
    struct crew *crew = argument;
    vyre_queue *queue = gpu_queue(crew->rt, DEPTH, 0, 0);
    vyre_program *programs[STAYING];
    vyre_bindings *bindings[STAYING] = {NULL};
    vyre_buffer *buffers[STAYING] = {NULL};
    vyre_error err;
    for (uint32_t i = 0; i < STAYING; i++) {
        programs[i] = load_fill(crew->rt, 1000 * i);
        must(vyre_buffer_create(crew->rt, FILL * 4, VYRE_DEVICE, &buffers[i], &err), &err);
        must(vyre_bindings_create(programs[i], &buffers[i], 1, &bindings[i], &err), &err);
    }
    do { /* once at least: the others may be through before it begins */
        uint64_t first = 0;
        for (uint32_t i = 0; i < DEPTH; i++) {
            uint64_t ticket = put_run(queue, programs[i % STAYING], bindings[i % STAYING]);
            if (i == 0) first = ticket;
        }
        for (uint32_t i = 0; i < DEPTH; i++) {
            vyre_completion end = wait_for(queue, first + i);
            if (end.outcome != VYRE_DONE || end.result[0] != FILL / 32)
                complain(crew, "a run of a program that stays", &end);
        }
        atomic_fetch_add(&crew->ran, DEPTH);
    } while (!atomic_load(&crew->stop));
    for (uint32_t i = 0; i < STAYING; i++) {
        if (!filled(buffers[i], 1000 * i)) atomic_fetch_add(&crew->wrong, 1);
        vyre_bindings_free(bindings[i]);
        vyre_buffer_free(buffers[i]);
        must(vyre_program_unload(programs[i], &err), &err);
    }
    vyre_queue_close(queue);
    return NULL;
}

/* One program's life. */
static void live(struct loader *self, vyre_queue *queue)
{
    struct crew *crew = self->crew;
    uint32_t k = (uint32_t)random_next(&self->state), runs = 1 + random_below(&self->state, 4);
    bool early = random_below(&self->state, 3) == 0;
    vyre_program *program = load_fill(crew->rt, k);
    vyre_bindings *bindings = NULL;
    vyre_buffer *buffer = NULL;
    vyre_error err;
    uint64_t ticket = 0;
    must(vyre_buffer_create(crew->rt, FILL * 4, VYRE_DEVICE, &buffer, &err), &err);
    must(vyre_bindings_create(program, &buffer, 1, &bindings, &err), &err);
    for (uint32_t i = 0; i < runs; i++)
        ticket = put_run(queue, program, bindings);
    /* What was submitted before still runs. */
    if (early) vyre_bindings_free(bindings);
    if (early) must(vyre_program_unload(program, &err), &err);
    for (uint32_t i = 0; i < runs; i++) {
        vyre_completion end = wait_for(queue, ticket - i);
        if (end.outcome != VYRE_DONE) complain(crew, "a run of a program that goes", &end);
    }
    if (!filled(buffer, k)) atomic_fetch_add(&crew->wrong, 1);
    if (!early) vyre_bindings_free(bindings);
    if (!early) must(vyre_program_unload(program, &err), &err);
    vyre_buffer_free(buffer);
    atomic_fetch_add(&crew->loaded, 1);
}

static void *loader(void *argument)
{
    struct loader *self = argument;
    vyre_queue *queue = gpu_queue(self->crew->rt, 16, 0, 0);
    for (uint64_t i = 0; i < self->programs; i++)
        live(self, queue);
    vyre_queue_close(queue);
    return NULL;
}

int main(int argc, char **argv)
{
    struct gpu_args args = gpu_arguments(argc, argv, gpu_is_cuda() ? 4000 : 400);
    vyre_options options = gpu_options();
    struct crew crew = {.rt = gpu_open(&options)};
    struct loader loaders[LOADERS];
    pthread_t threads[RUNNERS + LOADERS];
    vyre_description description = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    for (uint32_t i = 0; i < RUNNERS; i++)
        if (pthread_create(&threads[i], NULL, runner, &crew) != 0) bail("no thread");
    for (uint32_t i = 0; i < LOADERS; i++) {
        loaders[i] = (struct loader){&crew, args.seed + i, args.slots / LOADERS};
        if (pthread_create(&threads[RUNNERS + i], NULL, loader, &loaders[i]) != 0)
            bail("no thread");
    }
    for (uint32_t i = 0; i < LOADERS; i++)
        pthread_join(threads[RUNNERS + i], NULL);
    atomic_store(&crew.stop, 1);
    for (uint32_t i = 0; i < RUNNERS; i++)
        pthread_join(threads[i], NULL);
    must(vyre_describe(crew.rt, &description, &err), &err);
    note("%" PRIu64 " programs came and went beside %" PRIu64 " runs of others", crew.loaded,
         crew.ran);
    is_u64(crew.wrong, 0, "all ended as they should, with their own results");
    ok(crew.ran > 0 && crew.loaded == args.slots / LOADERS * LOADERS, "both went on all the while");
    is_u64(description.restarts, 0, "the device was never started again");
    is_u64(description.programs, 0, "no program is left");
    vyre_close(crew.rt);
    return done();
}
