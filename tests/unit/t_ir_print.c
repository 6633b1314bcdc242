/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Programs as text: the worked example, every statement and expression, floats that are exact,
 * names that need escapes, and a writer that gives up.
 */
#include "ir_bytes.h"

#include <locale.h>

struct text {
    char bytes[8192];
    size_t length;
    int calls, most; /* after `most` calls it gives up */
};

static int append(void *ctx, const char *bytes, size_t length)
{
    struct text *text = ctx;
    if (text->calls++ == text->most) return 1;
    if (length > sizeof text->bytes - 1 - text->length) return 1;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
    return 0;
}

static vyre_status print(const struct parts *parts, struct text *text, vyre_error *err)
{
    struct image image = image_of(parts);
    struct ir_program *program = NULL;
    must(decode(&image, &program, err), err);
    vyre_status status = vyre_ir_print(program, append, text, err);
    vyre_ir_program_free(program);
    image_free(&image);
    return status;
}

static void whole(void)
{
    struct text text = {.most = -1};
    struct parts parts = example;
    vyre_error err;
    works(print(&parts, &text, &err), &err, "the worked example prints");
    is_str(text.bytes,
           "program workgroup(64, 1, 1)\n"
           "buffer in: u32[4] binding(0) readonly read_only\n"
           "buffer out: u32[4] binding(1) global read_write output live_out\n"
           "region vyre.program.root {\n"
           "    out[invocation_id.x] = (in[invocation_id.x] + 1u);\n"
           "}\n",
           "it reads so");
    text = (struct text){.most = -1};
    parts.meta = "'VYRE-META' 01 03000000 'a.b' 01000000 02000000 03000000 01 02 03000000 'a b' "
                 "07000000 00000000 00 00 01 00 00 00 00000000 01" META_OUT;
    parts.tail = "02 00 05 02 1f 00 06 00 1b 02 20 03 08 07 01 09 10000000 02" REGION_OUT "01 01";
    works(print(&parts, &text, &err), &err, "a program with every attribute prints");
    const char *expected =
        "program a.b workgroup(1, 2, 3) non_composable\n"
        "buffer \"a b\": quantized<i4; scale per_group(32), zero per_group(8)>[] binding(7) push "
        "uniform range(0, 0) coalesce(9) align(16) random\n";
    text.bytes[strlen(expected)] = '\0';
    is_str(text.bytes, expected, "it reads so");
}

/* A statement in the root region, and its line. */
static const struct {
    const char *node, *line;
} rows[] = {
    {"00 01000000 'x' 00 ffffffff", "let x = 4294967295u;"},
    {"01 01000000 'x' 01 ffffffff", "x = -1;"},
    {"01 01000000 'x' 01 00000080", "x = -2147483648;"},
    {"01 01000000 'x' 02 00", "x = false;"},
    {"01 01000000 'x' 03 01000000 'y'", "x = y;"},
    {"01 01000000 'x' 05 01000000 'y'", "x = buf_len(y);"},
    {"01 01000000 'x' 06 02", "x = invocation_id.z;"},
    {"01 01000000 'x' 07 01", "x = workgroup_id.y;"},
    {"01 01000000 'x' 08 03", "x = local_id[3];"},
    {"01 01000000 'x' 09 14 15 14", "x = min(subgroup_size(), subgroup_local_id());"},
    {"01 01000000 'x' 09 80 01000080 15 14",
     "x = binary<0x80000001>(subgroup_size(), subgroup_local_id());"},
    {"01 01000000 'x' 09 12 15 14", "x = (subgroup_size() || subgroup_local_id());"},
    {"01 01000000 'x' 0a 01 15", "x = -(subgroup_size());"},
    {"01 01000000 'x' 0a 02 15", "x = ~(subgroup_size());"},
    {"01 01000000 'x' 0a 03 15", "x = !(subgroup_size());"},
    {"01 01000000 'x' 0a 04 15", "x = popcount(subgroup_size());"},
    {"01 01000000 'x' 0a 80 ffffffff 15", "x = unary<0xffffffff>(subgroup_size());"},
    {"01 01000000 'x' 0b 01000000 'f' 02000000 02 01 02 00", "x = call f(true, false);"},
    {"01 01000000 'x' 0c 02 01 02 00 02 01", "x = select(true, false, true);"},
    {"01 01000000 'x' 10 02 01 02 00 02 01", "x = fma(true, false, true);"},
    {"01 01000000 'x' 11 02 01", "x = subgroup_add(true);"},
    {"01 01000000 'x' 12 02 01 02 00", "x = subgroup_shuffle(true, false);"},
    {"01 01000000 'x' 13 02 01", "x = subgroup_ballot(true);"},
    {"01 01000000 'x' 0d 0b 02 01", "x = cast<f32>(true);"},
    {"01 01000000 'x' 0d 08 05000000 02 01", "x = cast<array<5>>(true);"},
    {"01 01000000 'x' 0d 80 05000080 02 01", "x = cast<opaque<0x80000005>>(true);"},
    {"01 01000000 'x' 0d 1e 01000000 08000000 02 01", "x = cast<device_mesh[8]>(true);"},
    {"01 01000000 'x' 0d 14 18 15 01 02000000 08000000 09000000 01000000 02000000 04 02 01",
     "x = cast<vec<4 x sparse_bsr<1 x 2 of tensor_shaped<[8, 9] of u32>>>>(true);"},
    {"01 01000000 'x' 0d 14 1f 0e 00 00000000 00 00000000 02 02 01",
     "x = cast<vec<2 x quantized<u8; scale per_tensor(0), zero none(0)>>>(true);"},
    {"01 01000000 'x' 0e 01 00 01000000 'b' 02 01 00 02 00",
     "x = atomic_add(b[true], false, relaxed);"},
    {"01 01000000 'x' 0e 08 04 01000000 'b' 15 01 02 01 02 00",
     "x = atomic_compare_exchange(b[subgroup_size()], expected true, false, seq_cst);"},
    {"01 01000000 'x' 0e 80 01000080 04 01000000 'b' 15 00 02 00",
     "x = atomic<0x80000001>(b[subgroup_size()], false, seq_cst);"},
    {"05", "return;"},
    {"07 05", "barrier(grid_sync);"},
    {"08 01000000 'b' ffffffffffffffff", "indirect_dispatch(b, offset 18446744073709551615);"},
    {"09 01000000 'a' 01000000 'b' 00 01000000 00 02000000 01000000 't'",
     "async_load(b <- a, offset 1u, size 2u, tag t);"},
    {"0c 01000000 'a' 01000000 'b' 00 01000000 00 02000000 01000000 't'",
     "async_store(b <- a, offset 1u, size 2u, tag t);"},
    {"0a 01000000 't'", "async_wait(tag t);"},
    {"0d 00 01000000 01000000 't'", "trap(1u, tag t);"},
    {"0e 01000000 't'", "resume(tag t);"},
    {"0f 01000000 'b' 06 07000000", "all_reduce(b, xor, group 7);"},
    {"10 01000000 'a' 01000000 'b' 00000000", "all_gather(b <- a, group 0);"},
    {"11 01000000 'a' 01000000 'b' 01 00000000", "reduce_scatter(b <- a, sum, group 0);"},
    {"12 01000000 'b' 01000000 02000000", "broadcast(b, root 1, group 2);"},
    {"06 00000000", "block {\n    }"},
    {"03 02 01 01000000 05 00000000", "if (true) {\n        return;\n    }"},
    {"03 02 01 00000000 01000000 05", "if (true) {\n    } else {\n        return;\n    }"},
    {"04 01000000 'i' 00 00000000 00 09000000 00000000", "loop i = 0u .. 9u {\n    }"},
    {"0b 01000000 'g' 01 01000000 's' 00000000", "region g from s {\n    }"},
    {"01 00000000 02 01", "\"\" = true;"},
    {"01 01000000 '1' 02 01", "\"1\" = true;"},
    {"01 04000000 'a' 0a '\"\\' 02 01", "\"a\\u{a}\\\"\\\\\" = true;"},
    {"01 09000000 c3a9 e282ac f09f9880 02 01", "\"\\u{e9}\\u{20ac}\\u{1f600}\" = true;"},
    {"01 02000000 'a' 00 02 01", "\"a\\u{0}\" = true;"},
    {"01 03000000 e280ae 02 01", "\"\\u{202e}\" = true;"},
    {"01 01000000 'x' 0f 0000803f", "x = 1.0f;"},
    {"01 01000000 'x' 0f cdcccc3d", "x = 0.1f;"},
    {"01 01000000 'x' 0f 00000080", "x = -0.0f;"},
    {"01 01000000 'x' 0f ffff7f7f", "x = 3.4028235e+38f;"},
    {"01 01000000 'x' 0f 01000000", "x = 1e-45f;"},
    {"01 01000000 'x' 0f 00000a4f", "x = 2.3152558e+09f;"},
    {"01 01000000 'x' 0f 0000807f", "x = f32_bits(0x7f800000);"},
    {"01 01000000 'x' 0f 0100c0ff", "x = f32_bits(0xffc00001);"},
};

static void lines(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text text = {.most = -1};
        struct parts parts = example;
        char node[512], line[512];
        vyre_error err;
        snprintf(node, sizeof node, ROOT "01000000 %s", rows[i].node);
        snprintf(line, sizeof line, "region vyre.program.root {\n    %s\n}\n", rows[i].line);
        parts.node = node;
        works(print(&parts, &text, &err), &err, "%s prints", rows[i].node);
        char *at = strstr(text.bytes, "region vyre.program.root");
        is_str(at ? at : text.bytes, line, "as %s", rows[i].line);
    }
}

/* Any float reads back as itself, whatever the locale writes for a decimal point. */
static void floats(uint64_t seed)
{
    const char *locales[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8"};
    uint64_t state = seed | 1;
    uint32_t wrong = 0, tried = 0;
    for (int i = 0; i < 3; i++) {
        if (!setlocale(LC_NUMERIC, locales[i])) continue;
        for (int n = 0; n < 300; n++) {
            struct text text = {.most = -1};
            struct parts parts = example;
            char node[256];
            vyre_error err;
            state = state * 6364136223846793005u + 1442695040888963407u;
            uint32_t bits = (uint32_t)(state >> 32), got;
            snprintf(node, sizeof node, ROOT "01000000 01 01000000 'x' 0f %02x%02x%02x%02x",
                     bits & 0xff, bits >> 8 & 0xff, bits >> 16 & 0xff, bits >> 24);
            parts.node = node;
            must(print(&parts, &text, &err), &err);
            char *at = strstr(text.bytes, "x = ");
            if (!at || (bits & 0x7F800000u) == 0x7F800000u) continue;
            setlocale(LC_NUMERIC, "C");
            float value = strtof(at + 4, &at);
            setlocale(LC_NUMERIC, locales[i]);
            memcpy(&got, &value, sizeof got);
            wrong += got != bits || strcmp(at, "f;\n}\n") != 0;
            tried++;
        }
        setlocale(LC_NUMERIC, "C");
    }
    ok(tried > 100, "%u floats", tried);
    is_u64(wrong, 0, "all read back as themselves");
}

static void giving_up(void)
{
    struct text text = {.most = 0};
    vyre_error err;
    refused(print(&example, &text, &err), VYRE_E_SYSTEM, &err, "a writer that takes nothing");
    is_u64(text.calls, 1, "it is not asked again");
    char node[4096] = ROOT "c8000000";
    for (int i = 0; i < 200; i++)
        strcat(node, "07 05 ");
    struct parts parts = example;
    parts.node = node;
    text = (struct text){.most = 2};
    refused(print(&parts, &text, &err), VYRE_E_SYSTEM, &err, "a writer that stops on the way");
    is_u64(text.calls, 3, "nor then");
}

int main(int argc, char **argv)
{
    vyre_error err;
    uint64_t seed = tap_seed(argc, argv);
    must(vyre_memory_init(&memory, NULL, &err), &err);
    whole();
    lines();
    floats(seed);
    giving_up();
    is_u64(vyre_memory_live(&memory), 0, "nothing is left");
    return done();
}
