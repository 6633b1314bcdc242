/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Many small jobs, each a saxpy over data of its own: as launches on one stream with one wait at
 * the end, and as one graph, made and uploaded once and launched many times, in three shapes: a
 * chain, eight chains side by side, and nodes without any dependency. The figures are medians of
 * whole passes over all jobs.
 */
#include "native.h"

#include <stdio.h>
#include <stdlib.h>

#define WARM_UP 2u
#define TINY    10000u

/* One pass over all jobs. */
struct pass {
    uint32_t jobs;
    uint32_t elements; /* of each */
    cuda_object ready; /* the graph, to be launched; NULL: launches */
};

static const char *run_pass(const struct native *native, const struct pass *pass)
{
    int result = 0;
    if (pass->ready != NULL) {
        result = cuda.cuGraphLaunch(pass->ready, native->peers->stream);
        if (result != 0) return cuda_failed("cuGraphLaunch", result);
        return native_wait(native);
    }
    for (uint32_t i = 0; i < pass->jobs && result == 0; i++)
        result = native_launch_saxpy(native, i * pass->elements, pass->elements);
    if (result != 0) return cuda_failed("cuLaunchKernel", result);
    return native_wait(native);
}

/* Runs passes; *ns receives the median time of one. */
static const char *time_passes(const struct native *native, const struct pass *pass,
                               uint64_t duration_ns, double *ns)
{
    uint32_t *samples = native->peers->samples;
    size_t count = 0;
    const char *why = native_set(native->result, 0xFFFFFFFFu, native->sizes.elements);
    for (uint32_t i = 0; i < WARM_UP && why == NULL; i++)
        why = run_pass(native, pass);
    vm_gpu_saxpy(&native->blocks, native->exact);
    /* All jobs, block by block; what is left of the last block is not looked at. */
    if (why == NULL) {
        uint32_t whole = pass->jobs * pass->elements;
        if (whole > native->blocks.count) whole -= whole % native->blocks.count;
        why = native_check_floats(native, whole);
    }
    uint64_t end = bench_clock_ns() + duration_ns;
    while (why == NULL && count < CUDA_PEERS_SAMPLES) {
        uint64_t begin = bench_clock_ns();
        why = run_pass(native, pass);
        uint64_t now = bench_clock_ns();
        samples[count++] = (uint32_t)(now - begin);
        if (now > end) break;
    }
    if (why == NULL) *ns = native_median(samples, count);
    return why;
}

/* Prints jobs a microsecond, and how long all took; returns the rate, 0 where there is none. */
static double print_jobs(const char *name, const struct pass *pass, double ns, const char *why)
{
    char all[64];
    if (why != NULL) {
        print_absent(name, why);
        return 0;
    }
    snprintf(all, sizeof all, "%s-ms", name);
    print_figure(name, pass->jobs * 1e3 / ns, "M/s");
    print_figure(all, ns / 1e6, "ms");
    return pass->jobs * 1e3 / ns;
}

/* Each node waits for the one `chains` before it; 0: for none. */
static const char *add_nodes(const struct native *native, cuda_object graph,
                             const struct pass *pass, uint32_t chains, cuda_object *nodes)
{
    for (uint32_t i = 0; i < pass->jobs; i++) {
        const cuda_object *needs = chains != 0 && i >= chains ? &nodes[i - chains] : NULL;
        int result =
            native_add_saxpy(native, graph, needs, &nodes[i], i * pass->elements, pass->elements);
        if (result != 0) return cuda_failed("cuGraphAddKernelNode", result);
    }
    return NULL;
}

static double measure_graph(const struct native *native, const char *name, uint32_t chains)
{
    struct pass pass = {native->sizes.jobs, GPU_SHARE, NULL};
    cuda_object graph = NULL;
    cuda_object *nodes = malloc(pass.jobs * sizeof nodes[0]);
    double ns = 0;
    const char *why = nodes == NULL ? "no memory for the nodes" : NULL;
    if (why == NULL) why = cuda_failed("cuGraphCreate", cuda.cuGraphCreate(&graph, 0));
    if (why == NULL) why = add_nodes(native, graph, &pass, chains, nodes);
    if (why == NULL)
        why = cuda_failed("cuGraphInstantiate",
                          cuda.cuGraphInstantiateWithFlags(&pass.ready, graph, 0));
    if (why == NULL)
        why = cuda_failed("cuGraphUpload", cuda.cuGraphUpload(pass.ready, native->peers->stream));
    if (why == NULL) why = time_passes(native, &pass, native->peers->duration_ns, &ns);
    double rate = print_jobs(name, &pass, ns, why);
    if (pass.ready != NULL) cuda.cuGraphExecDestroy(pass.ready);
    if (graph != NULL) cuda.cuGraphDestroy(graph);
    free(nodes);
    return rate;
}

static void measure_graphs_of_jobs(const struct native *native)
{
    static const struct {
        const char *name;
        uint32_t chains;
    } shapes[] = {
        {"native-jobs-chain", 1}, {"native-jobs-8-chains", 8}, {"native-jobs-parallel", 0}};
    double best = 0;
    if (!cuda_has_graphs()) {
        print_absent("native-jobs-graph", CUDA_NO_GRAPHS);
        return;
    }
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        double rate = measure_graph(native, shapes[i].name, shapes[i].chains);
        if (rate > best) best = rate;
    }
    if (best > 0) print_figure("native-jobs-graph", best, "M/s");
}

/* Launches of the least kernel, nanoseconds each. */
static void measure_tiny(const struct native *native)
{
    uint32_t *samples = native->peers->samples;
    uint64_t out = native->counters;
    void *params[] = {&out};
    size_t count = 0;
    const char *why = NULL;
    uint64_t end = bench_clock_ns() + native->peers->duration_ns;
    for (uint32_t pass = 0; why == NULL && count < CUDA_PEERS_SAMPLES; pass++) {
        int result = 0;
        uint64_t begin = bench_clock_ns();
        for (uint32_t i = 0; i < TINY && result == 0; i++)
            result = cuda.cuLaunchKernel(native->tiny, 1, 1, 1, GPU_WARP_LANES, 1, 1, 0,
                                         native->peers->stream, params, NULL);
        why = cuda_failed("cuLaunchKernel", result);
        if (why == NULL) why = native_wait(native);
        uint64_t now = bench_clock_ns();
        if (pass < WARM_UP) continue;
        samples[count++] = (uint32_t)(now - begin);
        if (now > end) break;
    }
    if (why != NULL)
        print_absent("native-launch", why);
    else
        print_figure("native-launch", native_median(samples, count) / TINY, "ns");
}

void measure_jobs(struct native *native)
{
    static const char *const names[] = GPU_SIZES_NAMES;
    struct pass pass = {native->sizes.jobs, GPU_SHARE, NULL};
    double ns = 0;
    const char *why = time_passes(native, &pass, native->peers->duration_ns, &ns);
    print_jobs("native-jobs-launches", &pass, ns, why);
    measure_graphs_of_jobs(native);
    measure_tiny(native);
    for (uint32_t i = 0; i < GPU_JOB_SIZES; i++) {
        char name[32];
        struct pass sized = {vm_gpu_jobs(&native->sizes, i), GPU_SIZE(i), NULL};
        if (sized.jobs == 0) break;
        snprintf(name, sizeof name, "native-job-%s", names[i]);
        why = time_passes(native, &sized, native->peers->duration_ns / 2, &ns);
        if (why != NULL)
            print_absent(name, why);
        else
            print_figure(name, ns / sized.jobs / 1e3, "us");
    }
}
