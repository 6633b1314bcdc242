/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The programs of t_gpu_machine.c: results do not depend on the order of workgroups. Those whose
 * text is made are freed by the caller. Include it after support.h.
 */
#ifndef VYRE_TESTS_MACHINE_SOURCES_H
#define VYRE_TESTS_MACHINE_SOURCES_H

#include "source_text.h"

#define SOURCE_MOST_DEPTH 32u

/* `count` variables that all live through a loop, which has as many rounds as the lane says. */
static char *source_registers(uint32_t lanes, uint32_t count)
{
    struct source_text made = {0};
    source_add(&made, "@workgroup(%u)\nkernel many(in u32 x[], out u32 y[])\n{\n", lanes);
    source_add(&made, "    u32 v0 = x[i];\n");
    for (uint32_t k = 1; k < count; k++)
        source_add(&made, "    u32 v%u = v%u * %u + %u;\n", k, k - 1, 2 * k + 3, k);
    source_add(&made, "    for (u32 r = 0; r < 2 + (x[i] & 3); r++) {\n");
    for (uint32_t k = 0; k < count; k++)
        source_add(&made, "        v%u ^= v%u >> %u;\n", k, (k + count - 1) % count, 1 + k % 7);
    source_add(&made, "    }\n    u32 sum = 0;\n");
    for (uint32_t k = 0; k < count; k++)
        source_add(&made, "    sum = sum * 31 + v%u;\n", k);
    source_add(&made, "    y[i] = sum;\n}\n");
    return made.text;
}

/* One statement about any of `words` words and half as many floats, of every kind that there is a
 * way of its own for. */
static void source_mixed_statement(struct source_text *made, uint32_t words, uint64_t *state)
{
    const uint32_t d = random_below(state, words), a = random_below(state, words);
    const uint32_t b = random_below(state, words), c = random_below(state, words);
    const uint32_t e = d / 2, f = a / 2, g = b / 2, h = c / 2, k = random_below(state, 32);
    static const char *const operation[] = {"+", "-", "*", "^", "|", "&"};
    switch (random_below(state, 13)) {
    case 0:
        source_add(made, "v%u = v%u %s v%u;\n", d, a, operation[random_below(state, 6)], b);
        break;
    case 1:
        source_add(made, "v%u = v%u * v%u + v%u;\n", d, a, b, c);
        break;
    case 2:
        source_add(made, "v%u = select(v%u < v%u, v%u, v%u);\n", d, a, b, c, d);
        break;
    case 3:
        source_add(made, "v%u = v%u;\n", d, a);
        break;
    case 4:
        source_add(made, "v%u = v%u %s k;\n", d, d, operation[random_below(state, 6)]);
        break;
    case 5:
        source_add(made, "v%u = x[v%u %% len(x)];\n", d, a);
        break;
    case 6:
        source_add(made, "v%u = x[i] + v%u;\n", d, a);
        break;
    case 7:
        source_add(made, "y[i] = y[i] * 3 + v%u;\n", a);
        break;
    case 8:
        source_add(made, "f%u = f%u * f%u + f%u;\n", e, f, g, h);
        break;
    case 9:
        source_add(made, "f%u = max(f%u, f32(v%u & 255)) * 0.5;\n", e, f, b);
        break;
    case 10:
        source_add(made, "v%u = u32(f%u) + subgroup_add(v%u);\n", d, f, b);
        break;
    case 11:
        source_add(made, "v%u = popcount(v%u) << %u;\n", d, a, k);
        break;
    default:
        source_add(made, "f%u = sqrt(abs(f%u)) - f%u;\n", e, f, g);
        break;
    }
}

/* Statements of all kinds about so many registers that they do not all fit a room: by all lanes, by
 * some, and by fewer with each round of a loop. */
static char *source_mixed(uint32_t lanes, uint32_t words, uint64_t *state)
{
    struct source_text made = {0};
    source_add(&made, "@workgroup(%u)\nkernel mixed(in u32 x[], inout u32 y[], u32 k)\n{\n", lanes);
    for (uint32_t v = 0; v < words; v++) {
        source_add(&made, "    u32 v%u = x[(i * %u + %u) %% len(x)];\n", v, v + 1, 7 * v);
        if (v % 2 == 0) source_add(&made, "    f32 f%u = f32(v%u & 4095);\n", v / 2, v);
    }
    for (uint32_t part = 0; part < 3; part++) {
        static const char *const begin[] = {"{", "if ((x[i] & 5) != 0) {",
                                            "for (u32 r = 0; r < (x[i] & 3); r++) {"};
        source_add(&made, "    %s\n", begin[part]);
        for (uint32_t line = 0; line < 2 * words; line++) {
            source_add(&made, "        ");
            source_mixed_statement(&made, words, state);
        }
        source_add(&made, "    }\n");
    }
    source_add(&made, "    u32 sum = 0;\n");
    for (uint32_t v = 0; v < words; v++) {
        source_add(&made, "    sum = sum * 31 + v%u;\n", v);
        if (v % 2 == 0) source_add(&made, "    sum += u32(f%u);\n", v / 2);
    }
    source_add(&made, "    y[i] = sum;\n}\n");
    return made.text;
}

/* Loads and stores at the places that three expressions say, by the lanes of which a fourth holds;
 * in workgroup memory too. Lanes that meet at an element do so in their order. */
static char *source_places(uint32_t lanes, const char *type, const char *const expression[4])
{
    struct source_text made = {0};
    source_add(&made, "@workgroup(%u)\nkernel places(in %s x[], inout %s y[], u32 k)\n{\n", lanes,
               type, type);
    source_add(&made, "    workgroup %s near[%u];\n    u32 n = %u;\n    %s a = x[0];\n", type,
               lanes + 3, lanes, type);
    source_add(&made, "    if (%s) {\n", expression[3]);
    source_add(&made, "        near[%s] = x[%s];\n        a = y[%s] + near[%s];\n", expression[2],
               expression[0], expression[1], expression[0]);
    source_add(&made, "        y[%s] = a;\n    }\n    y[i] = a + x[n %% 3];\n}\n", expression[2]);
    return made.text;
}

/* Loads one right behind the other, at the places that two expressions say: of the same view and of
 * two, the second at what the first has found too, by all lanes and by those of which a third
 * holds. What they give is stored where a fourth says. */
static char *source_pairs(uint32_t lanes, const char *type, const char *const expression[4])
{
    struct source_text made = {0};
    source_add(&made, "@workgroup(%u)\n", lanes);
    source_add(&made, "kernel pairs(in %s x[], inout %s y[], inout u32 z[], u32 k)\n{\n", type,
               type);
    source_add(&made, "    u32 n = %u;\n    u32 p = %s;\n    u32 q = %s;\n", lanes, expression[0],
               expression[1]);
    source_add(&made, "    %s a = x[p];\n    %s b = y[q];\n", type, type);
    source_add(&made, "    if (%s) {\n        a = x[q];\n        b = x[p];\n", expression[2]);
    source_add(&made, "        q = z[q];\n        p = z[p];\n        q += z[p];\n    }\n");
    source_add(&made, "    %s c = y[p];\n    %s d = x[p];\n    z[%s] = q + p;\n", type, type,
               expression[3]);
    source_add(&made, "    y[%s] = a + b + c + d;\n}\n", expression[3]);
    return made.text;
}

/* Branches in branches, by the bits of what each lane has; some lanes leave from inside. */
static char *source_nested(uint32_t depth)
{
    struct source_text made = {0};
    source_add(&made, "@workgroup(96)\nkernel nested(in u32 x[], inout u32 y[])\n{\n"
                      "    const u32 v = x[i];\n    u32 sum = i;\n");
    for (uint32_t k = 0; k < depth; k++)
        source_add(&made, "if (%s(v >> %u & %u)) {\n    sum = sum * 3 + %u;\n",
                   k % 3 ? "0 != " : "0 == ", k % 32, k < 6 ? 1 : 0xFF, k);
    for (uint32_t k = depth; k-- > 0;) {
        if (k % 11 == 5) source_add(&made, "    if ((sum & 15) == 3) return;\n");
        source_add(&made, "} else {\n    sum ^= %u;\n}\nsum += %u;\n", 1u << k % 32, k);
    }
    source_add(&made, "    y[i] = sum;\n}\n");
    return made.text;
}

/* Lanes write `words` words in turns and read what others wrote. */
static char *source_workgroup_memory(uint32_t lanes, uint32_t words)
{
    struct source_text made = {0};
    source_add(&made, "@workgroup(%u)\nkernel turns(in u32 x[], out u32 y[])\n{\n", lanes);
    source_add(&made, "    workgroup u32 m[%u];\n    u32 sum = 0;\n", words);
    source_add(&made,
               "    for (u32 k = local_index; k < len(m); k += %u)\n"
               "        m[k] = k * 2654435761 + x[i];\n    barrier();\n",
               lanes);
    source_add(&made, "    for (u32 r = 0; r < 40; r++)\n"
                      "        sum = sum * 5 + m[(local_index * 7919 + r * 104729) %% len(m)];\n");
    source_add(&made, "    y[i] = sum + m[len(m) - 1];\n}\n");
    return made.text;
}

/* Texts.
 * ------------------------------------------------------------------------------------------- */

static const char source_grid[] = "@workgroup(2, 3, 2)\n"
                                  "kernel axes(inout u32 y[4096])\n"
                                  "{\n"
                                  "    const u32 at = global_id.x * 73 ^ global_id.y * 179 ^\n"
                                  "                   global_id.z * 283;\n"
                                  "    atomic_add(y[at % 4096], group_id.x + 3 * group_id.y +\n"
                                  "               7 * group_id.z + local_index);\n"
                                  "}\n";

static const char source_forever[] = "@workgroup(64)\n"
                                     "kernel forever(inout u32 y[1])\n"
                                     "{\n"
                                     "    u32 k = i;\n"
                                     "    while (k != 0xFFFFFFFF) k = k * 2 & 0xFFFF;\n"
                                     "    y[0] = k;\n"
                                     "}\n";

struct machine_source {
    const char *name;
    uint32_t flags, groups, elements, fault;
    const char *text;
};

static const struct machine_source machine_sources[] = {
    {"loops with bounds of their own", 0, 3, 300, 0,
     "@workgroup(100)\n"
     "kernel loops(in u32 x[], inout u32 y[])\n"
     "{\n"
     "    const u32 v = x[i];\n"
     "    u32 sum = 0;\n"
     "    for (u32 a = 0; a < (v & 7); a++) {\n"
     "        for (u32 b = a; b < (v >> 3 & 15); b++) {\n"
     "            if ((a ^ b) == (v >> 7 & 7)) break;\n"
     "            if (b & 1) continue;\n"
     "            u32 c = b;\n"
     "            while (c > 0) {\n"
     "                c = c * 3 / 4;\n"
     "                sum = sum * 7 + c;\n"
     "                if (sum % 97 == 13) return;\n"
     "            }\n"
     "        }\n"
     "        sum += 1000;\n"
     "    }\n"
     "    y[i] = sum;\n"
     "}\n"},
    {"barriers, some lanes gone", 0, 4, 4 * 256, 0,
     "@workgroup(256)\n"
     "kernel prefix(in u32 x[], out u32 y[])\n"
     "{\n"
     "    workgroup u32 a[256];\n"
     "    workgroup u32 b[256];\n"
     "    a[local_index] = x[i];\n"
     "    barrier();\n"
     "    for (u32 step = 1; step < 256; step *= 2) {\n"
     "        b[local_index] = a[local_index] +\n"
     "                         (local_index >= step ? a[local_index - step] : 0);\n"
     "        barrier();\n"
     "        a[local_index] = b[local_index];\n"
     "        barrier();\n"
     "    }\n"
     "    y[i] = a[local_index];\n"
     "}\n"},
    {"subgroups", 0, 3, 3 * 72, 0,
     "@workgroup(72)\n"
     "kernel crowd(in u32 x[], in f32 f[], out u32 y[], out f32 z[])\n"
     "{\n"
     "    const u32 v = x[i];\n"
     "    u32 sum = subgroup_add(v);\n"
     "    sum = sum * 3 + subgroup_shuffle(v, subgroup_lane() ^ 1);\n"
     "    sum = sum * 3 + subgroup_shuffle(v, v & 63);\n"
     "    sum = sum * 3 + subgroup_ballot((v & 1) == 0);\n"
     "    y[i] = sum;\n"
     "    z[i] = subgroup_add(f[i]);\n"
     "}\n"},
    {"atomics of every kind, with collisions", 0, 9, 9 * 256, 0,
     "@workgroup(256)\n"
     "kernel crash(in u32 x[], inout u32 y[64])\n"
     "{\n"
     "    const u32 v = x[i], at = v & 7;\n"
     "    atomic_add(y[at], v);\n"
     "    atomic_sub(y[8 + at], v >> 3);\n"
     "    atomic_and(y[16 + at], v | 0x0FF0);\n"
     "    atomic_or(y[24 + at], v & 0x1248);\n"
     "    atomic_xor(y[32 + at], v);\n"
     "    atomic_min(y[40 + at], v);\n"
     "    atomic_max(y[48 + at], v);\n"
     "    atomic_compare_exchange(y[56 + at], 0xFFFFFFFF, v);\n"
     "    atomic_add(y[64 + at], 1);\n" /* out of bounds */
     "}\n"},
    {"what atomics give back", 0, 1, 64, 0,
     "@workgroup(64)\n"
     "kernel tickets(inout u32 y[2], inout u32 z[64])\n"
     "{\n"
     "    if (local_index == 0) {\n"
     "        y[0] = 0;\n"
     "        y[1] = 7;\n"
     "    }\n"
     "    z[local_index] = 0;\n"
     "    barrier();\n"
     "    const u32 mine = atomic_add(y[0], 1);\n"
     "    atomic_add(z[mine], 1);\n" /* each number once */
     "    u32 seen = 7;\n"
     "    for (u32 r = 0; r < 1000; r++) {\n"
     "        const u32 got = atomic_compare_exchange(y[1], seen, seen + 1);\n"
     "        if (got == seen) break;\n"
     "        seen = got;\n"
     "    }\n"
     "}\n"},
    {"elements of 1 and 2 bytes, next to each other", 0, 3, 3 * 100, 0,
     "@workgroup(100)\n"
     "kernel small(in i8 a[], in u16 b[], inout u8 y[], inout i16 z[])\n"
     "{\n"
     "    y[i] = u32(a[i]) + b[i];\n"
     "    z[i] = i32(b[i]) - a[i];\n"
     "}\n"},
    {"floats and what is made of them", 0, 4, 4 * 128, 0,
     "@workgroup(128)\n"
     "kernel floats(in f32 x[], in f32 w[], out f32 y[], out i32 z[])\n"
     "{\n"
     "    const f32 a = x[i], b = w[i];\n"
     "    f32 s = a * b + a / b - sqrt(abs(a));\n"
     "    s += sin(a) * cos(b) + exp(min(b, 9.0)) + log(abs(a) + 1.0);\n"
     "    y[i] = fma(s, a, b);\n"
     "    z[i] = i32(s) + i32(floor(a));\n"
     "}\n"},
    {"the log", 0, 2, 32, 0,
     "@workgroup(16)\n"
     "kernel tell(in u32 x[], inout u32 y[])\n"
     "{\n"
     "    if (x[i] & 1) print(\"%u has %u\", i, x[i]);\n"
     "    y[i] = x[i];\n"
     "}\n"},
    {"a log that overflows", 0, 3, 3 * 64, 0,
     "kernel tell(in u32 x[], inout u32 y[])\n"
     "{\n"
     "    print(\"%u\", x[i]);\n"
     "    y[i] = x[i];\n"
     "}\n"},
    {"out of bounds, counted", 0, 5, 200, 0,
     "kernel beyond(in u32 x[], inout u32 y[])\n"
     "{\n"
     "    y[i * 3] = x[i + 17] + x[0xFFFFFFFF - i];\n"
     "    y[i * 3 + 1] += 1;\n"
     "}\n"},
    {"out of bounds, strict", VYRE_KERNEL_STRICT, 1, 50, VYRE_FAULT_OUT_OF_BOUNDS,
     "kernel beyond(in u32 x[], inout u32 y[])\n"
     "{\n"
     "    y[i / 2] = 1;\n"
     "    y[i] = x[i / 2];\n" /* lane 50 */
     "}\n"},
    {"out of bounds, strict, in many workgroups", VYRE_KERNEL_STRICT, 40, 1000,
     VYRE_FAULT_OUT_OF_BOUNDS,
     "kernel beyond(in u32 x[], inout u32 y[])\n"
     "{\n"
     "    y[i] = x[i];\n"
     "}\n"},
    {"a trap", 0, 1, 64, VYRE_FAULT_TRAP,
     "kernel claims(in u32 x[], inout u32 y[])\n"
     "{\n"
     "    y[i] = 1;\n"
     "    if (i & 1) assert(i != 37);\n"
     "    y[i] = 2;\n"
     "}\n"},
    {"a trap in the last of many workgroups", 0, 70, 70 * 64, VYRE_FAULT_TRAP,
     "kernel claims(in u32 x[], inout u32 y[])\n"
     "{\n"
     "    y[i] = x[i];\n"
     "    if (i & 1) assert(i != 69 * 64 + 5);\n"
     "}\n"},
    {"a division", 0, 1, 64, VYRE_FAULT_DIVISION,
     "kernel parts(in i32 x[], inout i32 y[])\n"
     "{\n"
     "    for (i32 k = 3; k >= 0; k--)\n"
     "        if (i < 50) y[i] += x[i] / k;\n"
     "}\n"},
    {"many workgroups of one lane", 0, 3000, 3000, 0,
     "@workgroup(1)\n"
     "kernel lone(in u32 x[], inout u32 y[])\n"
     "{\n"
     "    u32 v = x[i];\n"
     "    for (u32 k = 0; k < (i & 15); k++) v = v * 5 + 1;\n"
     "    y[i] = v;\n"
     "}\n"},
};

#endif
