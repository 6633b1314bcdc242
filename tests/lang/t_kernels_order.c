/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Example kernels that the host launches in steps, and one that checks itself: bitonic, bfs,
 * gather.
 */
#include "lang_test.h"

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void bitonic(vyre *rt, uint64_t *seed)
{
    static const uint32_t sizes[] = {1, 2, 3, 63, 64, 65, 100, 128, 1000, 1024, 5000};
    struct kernel kernel = open_kernel(rt, "bitonic", "bitonic_step");
    for (size_t s = 0; s < COUNT(sizes); s++) {
        uint32_t n = sizes[s], *keys = random_words(seed, n), *got = zeroes(n, 4), top = 1;
        for (uint32_t i = 0; i < n; i += 3)
            keys[i] = keys[i] % 10; /* many alike */
        while (top < n)
            top *= 2;
        vyre_buffer *buffer = buffer_of(rt, keys, n * 4);
        for (uint32_t k = 2; k <= top; k *= 2)
            for (uint32_t j = k / 2; j > 0; j /= 2)
                RUN(&kernel, groups(n, 64), 1, U32("j", j), U32("k", k), BUFFER("keys", buffer));
        fetch(buffer, got, n * 4);
        qsort(keys, n, 4, by_value);
        same(got, keys, n, 4, "%u keys in order", n);
        vyre_buffer_free(buffer);
        free(keys);
        free(got);
    }
    close_kernel(&kernel);
}

struct graph {
    uint32_t nodes, edge_count;
    uint32_t *first, *edges;
};

static struct graph random_graph(uint64_t *seed, uint32_t nodes, uint32_t most)
{
    struct graph graph = {.nodes = nodes};
    graph.first = zeroes(nodes + 1, 4);
    graph.edges = zeroes((size_t)nodes * most, 4);
    for (uint32_t node = 0; node < nodes; node++) {
        uint32_t count = node == 0 ? most : random_below(seed, most + 1);
        for (uint32_t k = 0; k < count; k++)
            graph.edges[graph.edge_count++] = random_below(seed, nodes);
        graph.first[node + 1] = graph.edge_count;
    }
    return graph;
}

static void search_plainly(const struct graph *graph, uint32_t *levels)
{
    uint32_t *queue = zeroes(graph->nodes, 4), head = 0, tail = 1;
    memset(levels, 0xFF, graph->nodes * sizeof *levels);
    levels[0] = 0;
    while (head < tail) {
        uint32_t node = queue[head++];
        for (uint32_t k = graph->first[node]; k < graph->first[node + 1]; k++) {
            uint32_t to = graph->edges[k];
            if (levels[to] != UINT32_MAX) continue;
            levels[to] = levels[node] + 1;
            queue[tail++] = to;
        }
    }
    free(queue);
}

/* From node 0 on; returns how many nodes were reached. */
static uint32_t search_by_levels(struct kernel *kernel, const struct graph *graph, uint32_t *levels)
{
    vyre *rt = kernel->rt;
    uint32_t n = graph->nodes, active = 1, reached = 1;
    memset(levels, 0xFF, n * sizeof *levels);
    levels[0] = 0;
    vyre_buffer *front[2] = {buffer_of(rt, NULL, n * 4), buffer_of(rt, NULL, n * 4)};
    vyre_buffer *first = buffer_of(rt, graph->first, (n + 1) * 4),
                *edges = buffer_of(rt, graph->edges, graph->edge_count * 4 + 4),
                *seen = buffer_of(rt, levels, n * 4), *count = buffer_of(rt, NULL, 4);
    for (uint32_t level = 1; active > 0 && level <= n; level++) {
        uint32_t none = 0;
        put(count, &none, 4);
        RUN(kernel, groups(active, 64), 1, U32("level", level), U32("active", active),
            BUFFER("first", first), BUFFER("edges", edges),
            BUFFER("frontier", front[1 - level % 2]), BUFFER("levels", seen),
            BUFFER("count", count), BUFFER("next", front[level % 2]));
        fetch(count, &active, 4);
        reached += active;
    }
    fetch(seen, levels, n * 4);
    vyre_buffer *all[] = {front[0], front[1], first, edges, seen, count};
    for (size_t i = 0; i < COUNT(all); i++)
        vyre_buffer_free(all[i]);
    return reached;
}

static void bfs(vyre *rt, uint64_t *seed)
{
    static const uint32_t shapes[][2] = {{1, 1}, {2, 2}, {65, 2}, {1000, 2}, {3000, 5}};
    struct kernel kernel = open_kernel(rt, "bfs", "bfs_step");
    kernel.unordered = true;
    for (size_t s = 0; s < COUNT(shapes); s++) {
        struct graph graph = random_graph(seed, shapes[s][0], shapes[s][1]);
        graph.edges = realloc(graph.edges, ((size_t)graph.edge_count + 1) * 4);
        if (!graph.edges) bail("out of memory");
        graph.edges[graph.edge_count] = 0; /* a buffer has at least one element */
        uint32_t *got = zeroes(graph.nodes, 4), *expected = zeroes(graph.nodes, 4), count = 0;
        search_plainly(&graph, expected);
        for (uint32_t i = 0; i < graph.nodes; i++)
            count += expected[i] != UINT32_MAX;
        uint32_t reached = search_by_levels(&kernel, &graph, got);
        is_u64(reached, count, "of %u nodes and %u edges each is reached once", graph.nodes,
               graph.edge_count);
        same(got, expected, graph.nodes, 4, "and has its level");
        free(graph.first);
        free(graph.edges);
        free(got);
        free(expected);
    }
    close_kernel(&kernel);
}

/* The bad index is printed, and the launch ends with a trap at its lane. */
static void gather_bad(struct kernel *kernel, vyre_buffer *index, vyre_buffer *x, vyre_buffer *y)
{
    vyre *rt = kernel->rt;
    const uint32_t bad = 70, asked = 37; /* the first that there is not */
    vyre_log_record records[64];
    uint64_t cursor = 0, lost = 0;
    size_t count = 0;
    char text[100] = "";
    vyre_error err;
    must(vyre_buffer_write(index, bad * 4, &asked, 4, &err), &err);
    vyre_completion end =
        launch(kernel, 2, 1, GIVEN(BUFFER("index", index), BUFFER("x", x), BUFFER("y", y)));
    ok(end.outcome == VYRE_FAULTED && end.fault == VYRE_FAULT_TRAP,
       "an index past the end faults with %s", vyre_fault_name(end.fault));
    is_u64(end.result[2], 1, "in workgroup 1");
    is_u64(end.result[5], bad - 64, "in its lane");
    must(vyre_tenant_log(rt, VYRE_TENANT_DEFAULT, &cursor, records, 64, &count, &lost, &err), &err);
    if (!is_u64(count, 1, "one record is in the debug log")) return;
    works(vyre_kernel_print_text(vyre_program_kernel(kernel->program), records[0].format,
                                 records[0].a, records[0].b, text, sizeof text, &err),
          &err, "it has a text");
    is_str(text, "element 70 asks for 37", "the text");
    vyre_position position = {0};
    works(vyre_kernel_position(vyre_program_kernel(kernel->program), end.pc, &position, &err), &err,
          "the fault has a place");
    ok(position.line == 16, "it is line 16 (%u)", position.line);
}

static void gather(vyre *rt, uint64_t *seed)
{
    enum { N = 100, ROOM = 37 };
    struct kernel kernel = open_kernel(rt, "gather", "gather");
    uint32_t *index = random_words(seed, N);
    float *x = random_floats(seed, ROOM), expected[N], got[N];
    for (uint32_t i = 0; i < N; i++)
        expected[i] = x[index[i] %= ROOM];
    vyre_buffer *bi = buffer_of(rt, index, sizeof got), *bx = buffer_of(rt, x, ROOM * 4),
                *by = buffer_of(rt, NULL, sizeof got);
    RUN(&kernel, 2, 1, BUFFER("index", bi), BUFFER("x", bx), BUFFER("y", by));
    fetch(by, got, sizeof got);
    same(got, expected, N, 4, "gather %u elements", N);
    gather_bad(&kernel, bi, bx, by);
    vyre_buffer_free(bi);
    vyre_buffer_free(bx);
    vyre_buffer_free(by);
    free(index);
    free(x);
    close_kernel(&kernel);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    vyre *rt = open_cpu(2);
    bitonic(rt, &seed);
    bfs(rt, &seed);
    gather(rt, &seed);
    vyre_close(rt);
    return done();
}
