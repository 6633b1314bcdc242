/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What CUDA graphs of empty kernels cost, made once and launched many times: one node; a thousand
 * in a chain; the same chain by programmatic dependent launch, where a node may begin before the
 * one before it has ended; and a thousand that depend on nothing.
 */
#include "cuda_peers.h"

#define NODES   1000u
#define WARM_UP 5u

enum shape { CHAIN, PARALLEL };

static const char *add_nodes(const struct cuda_peers *peers, cuda_object graph, uint32_t nodes,
                             enum shape shape)
{
    struct cuda_kernel_node node = {peers->empty, {1, 1, 1}, {1, 1, 1}, 0, NULL, NULL, NULL, NULL};
    cuda_object last = NULL;
    for (uint32_t i = 0; i < nodes; i++) {
        cuda_object added = NULL;
        size_t needs = shape == CHAIN && i > 0 ? 1 : 0;
        int result =
            cuda.cuGraphAddKernelNode_v2(&added, graph, needs ? &last : NULL, needs, &node);
        if (result != 0) return cuda_failed("cuGraphAddKernelNode", result);
        last = added;
    }
    return NULL;
}

/* The chain as a stream records it, each launch allowed to begin early. */
static const char *record_dependent(const struct cuda_peers *peers, cuda_object *graph)
{
    struct cuda_attribute early = {CUDA_SERIALIZATION, 0, {{0}}};
    struct cuda_launch launch = {{1, 1, 1}, {1, 1, 1}, 0, peers->stream, &early, 1};
    const char *why = cuda_failed(
        "cuStreamBeginCapture", cuda.cuStreamBeginCapture_v2(peers->stream, CUDA_CAPTURE_RELAXED));
    if (why != NULL) return why;
    early.value.allowed = 1;
    int result = 0;
    for (uint32_t i = 0; i < NODES && result == 0; i++)
        result = cuda.cuLaunchKernelEx(&launch, peers->dependent, NULL, NULL);
    int ended = cuda.cuStreamEndCapture(peers->stream, graph);
    if (result != 0) return cuda_failed("cuLaunchKernelEx in a capture", result);
    return cuda_failed("cuStreamEndCapture", ended);
}

static const char *launch_and_wait(const struct cuda_peers *peers, cuda_object ready)
{
    int result = cuda.cuGraphLaunch(ready, peers->stream);
    if (result != 0) return cuda_failed("cuGraphLaunch", result);
    return cuda_failed("cuStreamSynchronize", cuda.cuStreamSynchronize(peers->stream));
}

/* Launches the graph again and again; samples are whole launches, in nanoseconds. */
static const char *sample(struct cuda_peers *peers, cuda_object graph, size_t *count)
{
    cuda_object ready = NULL;
    const char *why =
        cuda_failed("cuGraphInstantiate", cuda.cuGraphInstantiateWithFlags(&ready, graph, 0));
    if (why != NULL) return why;
    why = cuda_failed("cuGraphUpload", cuda.cuGraphUpload(ready, peers->stream));
    for (uint32_t i = 0; i < WARM_UP && why == NULL; i++)
        why = launch_and_wait(peers, ready);
    uint64_t end = bench_clock_ns() + peers->duration_ns;
    while (why == NULL && *count < CUDA_PEERS_SAMPLES) {
        uint64_t begin = bench_clock_ns();
        why = launch_and_wait(peers, ready);
        uint64_t now = bench_clock_ns();
        peers->samples[(*count)++] = (uint32_t)(now - begin);
        if (now > end) break;
    }
    cuda.cuGraphExecDestroy(ready);
    return why;
}

static void one_node(struct cuda_peers *peers)
{
    cuda_object graph = NULL;
    size_t count = 0;
    const char *why = cuda_failed("cuGraphCreate", cuda.cuGraphCreate(&graph, 0));
    if (why == NULL) why = add_nodes(peers, graph, 1, CHAIN);
    if (why == NULL) why = sample(peers, graph, &count);
    if (graph != NULL) cuda.cuGraphDestroy(graph);
    if (why != NULL)
        print_absent("graph-1", why);
    else
        print_percentiles("graph-1", peers->samples, count);
}

/* Measures a graph of NODES and prints nodes a second, from all launches together. */
static void many_nodes(struct cuda_peers *peers, cuda_object graph, const char *name,
                       const char *why)
{
    size_t count = 0;
    double total = 0;
    if (why == NULL) why = sample(peers, graph, &count);
    if (graph != NULL) cuda.cuGraphDestroy(graph);
    if (why != NULL) {
        print_absent(name, why);
        return;
    }
    for (size_t i = 0; i < count; i++)
        total += peers->samples[i];
    print_figure(name, (double)count * NODES * 1e3 / total, "M/s");
}

static void dependent_chain(struct cuda_peers *peers)
{
    cuda_object graph = NULL;
    const char *why = NULL;
    if (peers->dependent == NULL)
        why = "programmatic dependent launch needs compute capability 9.0";
    else if (cuda.cuLaunchKernelEx == NULL || cuda.cuStreamBeginCapture_v2 == NULL ||
             cuda.cuStreamEndCapture == NULL)
        why = "this driver has no programmatic dependent launch";
    else
        why = record_dependent(peers, &graph);
    many_nodes(peers, graph, "graph-1000-dependent", why);
}

int cuda_has_graphs(void)
{
    return cuda.cuGraphCreate != NULL && cuda.cuGraphAddKernelNode_v2 != NULL &&
           cuda.cuGraphInstantiateWithFlags != NULL && cuda.cuGraphUpload != NULL &&
           cuda.cuGraphLaunch != NULL && cuda.cuGraphExecDestroy != NULL &&
           cuda.cuGraphDestroy != NULL;
}

void measure_graphs(struct cuda_peers *peers)
{
    static const char *const names[2] = {"graph-1000-chain", "graph-1000-parallel"};
    if (!cuda_has_graphs()) {
        print_absent("graph-1", CUDA_NO_GRAPHS);
        return;
    }
    one_node(peers);
    for (int i = 0; i < 2; i++) {
        cuda_object graph = NULL;
        const char *why = cuda_failed("cuGraphCreate", cuda.cuGraphCreate(&graph, 0));
        if (why == NULL) why = add_nodes(peers, graph, NODES, i == 0 ? CHAIN : PARALLEL);
        many_nodes(peers, graph, names[i], why);
    }
    dependent_chain(peers);
}
