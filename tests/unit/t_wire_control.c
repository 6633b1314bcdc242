/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The control buffer: sizes at their edges, the worked bytes, decode, the priority offsets and the
 * strict readers, at every alignment.
 */
#include "wire_test.h"

static _Alignas(8) unsigned char arena[656 + 4];

static void sizes(void)
{
    size_t bytes = 0;
    works(vyre_wire_control_size(0, &bytes, &err));
    is_u64(bytes, 640, "no observable word");
    works(vyre_wire_control_size(4, &bytes, &err));
    is_u64(bytes, 656, "four observable words");
    works(vyre_wire_control_size(1048577, &bytes, &err));
    is_u64(bytes, 640 + 4 * 1048577, "the encoder's cap is none of the size");
    works(vyre_wire_control_size(4294967135u, &bytes, &err));
    is_u64(bytes, 4 * UINT64_C(0xFFFFFFFF), "as many as the format counts");

    watch(&bytes, sizeof bytes);
    refused(VYRE_E_WIRE_OVERFLOW, vyre_wire_control_size(4294967136u, &bytes, &err));
    refused(VYRE_E_WIRE_OVERFLOW, vyre_wire_control_size(SIZE_MAX, &bytes, &err));
    refused(VYRE_E_NULL, vyre_wire_control_size(0, NULL, &err));
    is_u64(vyre_wire_control_size(SIZE_MAX, &bytes, NULL), VYRE_E_WIRE_OVERFLOW,
           "an error need not be asked for");
    watch_nothing();
}

static const char worked[] =
    "00000000 00000000 03000000 ffffffff ffffffff 00000000 00000000 00000000"
    "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000"
    "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000"
    "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000"
    "40420f00 40420f00";

static void encodes(unsigned char *bytes)
{
    vyre_wire_control control;
    memset(bytes, 0xAA, 656);
    works(vyre_wire_control_init(&control, 0, 2, 4, &err));
    works(vyre_wire_control_encode(bytes, 656, &control, &err));
    ok(is_hex(bytes, 656, worked), "two tenants, four observable words");

    works(vyre_wire_offsets_write(bytes, 656, 256, &err));
    ok(is_hex(bytes + 4 * 129, 24, "00000000 33000000 66000000 9a000000 cd000000 00010000"),
       "priority offsets of 256 slots");
    ok(is_hex(bytes, 4 * 129, worked) && is_hex(bytes + 4 * 135, 656 - 4 * 135, ""),
       "and no other word is changed");

    works(vyre_wire_control_init(&control, 7, 0xFFFFFFFFu, 0, &err));
    works(vyre_wire_control_encode(bytes, 640, &control, &err));
    is_u64(get_word(bytes, 0), 1, "shutdown is 1, whatever was not 0");
    is_u64(get_word(bytes, 31), 0xFFFFFFFFu, "the last mask");
    int quotas = 1;
    for (size_t word = 32; word < 64; word++)
        quotas &= is_hex(bytes + 4 * word, 4, "40420f00");
    ok(quotas, "all 32 quotas");
    is_u64(get_word(bytes, 64), 0, "nothing behind them");

    works(vyre_wire_control_init(&control, 0, 0, 0, &err));
    works(vyre_wire_control_encode(bytes, 640, &control, &err));
    ok(is_hex(bytes, 640, "00000000 00000000 03000000"), "no tenant");
}

static void tenants(unsigned char *bytes)
{
    static const uint32_t counts[] = {1, 28, 29, 30, 31, 32, 33};
    vyre_wire_control control;
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        uint32_t masks = 0, quotas = 0;
        if (vyre_wire_control_init(&control, 0, counts[i], 0, &err) ||
            vyre_wire_control_encode(bytes, 640, &control, &err))
            bail("%s", err.message);
        for (size_t word = 3; word < 32; word++)
            masks += get_word(bytes, word) == 0xFFFFFFFFu;
        for (size_t word = 32; word < 64; word++)
            quotas += get_word(bytes, word) == 1000000;
        ok(masks == (counts[i] < 29 ? counts[i] : 29) &&
               quotas == (counts[i] < 32 ? counts[i] : 32),
           "%u tenants: %u masks, %u quotas", counts[i], masks, quotas);
    }
}

static void encode_refuses(unsigned char *bytes)
{
    vyre_wire_control control;
    watch(bytes, 656);
    watch(&control, sizeof control);
    memset(&control, 0x5A, sizeof control);
    refused(VYRE_E_NULL, vyre_wire_control_init(NULL, 0, 0, 0, &err));
    refused(VYRE_E_WIRE_CAP, vyre_wire_control_init(&control, 0, 0, 1048577, &err));
    refused(VYRE_E_WIRE_CAP, vyre_wire_control_init(&control, 0, 0, SIZE_MAX, &err));
    works(vyre_wire_control_init(&control, 0, 0, 1048576, &err));
    is_u64(control.observable_words, 1048576, "the cap itself is allowed");

    works(vyre_wire_control_init(&control, 0, 2, 3, &err));
    refused(VYRE_E_NULL, vyre_wire_control_encode(NULL, 652, &control, &err));
    refused(VYRE_E_NULL, vyre_wire_control_encode(bytes, 652, NULL, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 651,
               vyre_wire_control_encode(bytes, 651, &control, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 0,
               vyre_wire_control_encode(NULL, 0, &control, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 652,
               vyre_wire_control_encode(bytes, 656, &control, &err));
    control.observable_words = 1048577;
    refused(VYRE_E_WIRE_CAP, vyre_wire_control_encode(bytes, 656, &control, &err));
    watch_nothing();
}

static void decodes(unsigned char *bytes)
{
    vyre_wire_control control, again;
    unsigned char copy[656];
    for (size_t word = 0; word < 164; word++)
        put_word(bytes, word, (uint32_t)(0x01000193u * (word + 1)));
    works(vyre_wire_control_decode(bytes, 656, &control, &err));
    is_u64(control.shutdown, get_word(bytes, 0), "shutdown");
    is_u64(control.done_count, get_word(bytes, 1), "done count");
    is_u64(control.tenant_base, get_word(bytes, 2), "tenant base");
    is_u64(control.tenant_masks[28], get_word(bytes, 31), "last mask");
    is_u64(control.tenant_quotas[0], get_word(bytes, 32), "first quota");
    is_u64(control.tenant_fairness[31], get_word(bytes, 95), "last fairness counter");
    is_u64(control.metrics[31], get_word(bytes, 127), "last metric");
    is_u64(control.epoch, get_word(bytes, 128), "epoch");
    is_u64(control.priority_offsets[5], get_word(bytes, 134), "end of the offsets");
    is_u64(control.starvation, get_word(bytes, 135), "starvation counter");
    is_u64(control.priority_fairness[4], get_word(bytes, 140), "last priority counter");
    is_u64(control.observable_words, 4, "observable words");

    works(vyre_wire_control_encode(copy, 656, &control, &err));
    ok(memcmp(copy, bytes, 4 * 141) == 0 && is_hex(copy + 4 * 141, 656 - 4 * 141, ""),
       "encode gives the header back, the rest as zeros");
    works(vyre_wire_control_decode(copy, 656, &again, &err));
    ok(memcmp(&again, &control, sizeof again) == 0, "and decode reads the same");
}

static void decode_refuses(unsigned char *bytes)
{
    vyre_wire_control control;
    memset(&control, 0x5A, sizeof control);
    watch(&control, sizeof control);
    refused(VYRE_E_NULL, vyre_wire_control_decode(NULL, 640, &control, &err));
    refused(VYRE_E_NULL, vyre_wire_control_decode(bytes, 640, NULL, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 640,
               vyre_wire_control_decode(bytes, 643, &control, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 0,
               vyre_wire_control_decode(bytes, 1, &control, &err));
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 159,
               vyre_wire_control_decode(bytes, 636, &control, &err));
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 0,
               vyre_wire_control_decode(NULL, 0, &control, &err));
    /* The length is judged before a byte is read. */
    refused(VYRE_E_WIRE_OVERFLOW,
            vyre_wire_control_decode(bytes, (size_t)4 * 0x100000000u, &control, &err));
    watch_nothing();
}

static void offsets(unsigned char *bytes)
{
    uint32_t got[6];
    static const uint32_t expected[][7] = {
        {256, 0, 51, 102, 154, 205, 256},
        {7, 0, 1, 2, 5, 6, 7},
        {3, 0, 0, 0, 3, 3, 3},
        {0, 0, 0, 0, 0, 0, 0},
        {0xFFFFFFFFu, 0, 0x33333333u, 0x66666666u, 0x99999999u, 0xCCCCCCCCu, 0xFFFFFFFFu}};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        works(vyre_wire_offsets_split(expected[i][0], got, &err));
        ok(memcmp(got, expected[i] + 1, sizeof got) == 0, "%u slots", expected[i][0]);
    }
    watch(bytes, 656);
    refused(VYRE_E_NULL, vyre_wire_offsets_split(1, NULL, &err));
    refused(VYRE_E_NULL, vyre_wire_offsets_write(NULL, 640, 1, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 640,
               vyre_wire_offsets_write(bytes, 641, 1, &err));
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 134,
               vyre_wire_offsets_write(bytes, 4 * 134, 1, &err));
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 129,
               vyre_wire_offsets_write(bytes, 4 * 100, 1, &err));
    watch_nothing();
    memset(bytes, 0xEE, 656);
    works(vyre_wire_offsets_write(bytes, 4 * 135, 1, &err));
    ok(is_hex(bytes + 4 * 128, 4 * 8,
              "eeeeeeee 00000000 00000000 00000000 01000000 01000000 01000000 eeeeeeee"),
       "all six words of it are written, and no more");
}

static void readers(unsigned char *bytes)
{
    uint32_t value = 0;
    memset(bytes, 0, 656);
    put_word(bytes, 1, 0x01020304);
    put_word(bytes, 128, 0xFEDCBA98u);
    put_word(bytes, 163, 77);
    works(vyre_wire_done_count_read(bytes, 656, &value, &err));
    is_u64(value, 0x01020304, "done count");
    works(vyre_wire_done_count_read(bytes, 8, &value, &err));
    works(vyre_wire_epoch_read(bytes, 4 * 129, &value, &err));
    is_u64(value, 0xFEDCBA98u, "epoch");
    works(vyre_wire_observable_read(bytes, 656, 3, &value, &err));
    is_u64(value, 77, "observable word 3");

    watch(&value, sizeof value);
    refused(VYRE_E_NULL, vyre_wire_done_count_read(NULL, 656, &value, &err));
    refused(VYRE_E_NULL, vyre_wire_done_count_read(bytes, 656, NULL, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 652,
               vyre_wire_done_count_read(bytes, 655, &value, &err));
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 1,
               vyre_wire_done_count_read(bytes, 4, &value, &err));
    refused(VYRE_E_NULL, vyre_wire_epoch_read(NULL, 656, &value, &err));
    refused(VYRE_E_NULL, vyre_wire_epoch_read(bytes, 656, NULL, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 512,
               vyre_wire_epoch_read(bytes, 514, &value, &err));
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 128,
               vyre_wire_epoch_read(bytes, 512, &value, &err));
    refused(VYRE_E_NULL, vyre_wire_observable_read(NULL, 656, 0, &value, &err));
    refused(VYRE_E_NULL, vyre_wire_observable_read(bytes, 656, 0, NULL, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 648,
               vyre_wire_observable_read(bytes, 650, 0, &value, &err));
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 164,
               vyre_wire_observable_read(bytes, 656, 4, &value, &err));
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 0xFFFFFFFFu,
               vyre_wire_observable_read(bytes, 656, 4294967135u, &value, &err));
    refused(VYRE_E_WIRE_OVERFLOW, vyre_wire_observable_read(bytes, 656, 4294967136u, &value, &err));
    refused(VYRE_E_WIRE_OVERFLOW, vyre_wire_observable_read(bytes, 3, SIZE_MAX, &value, &err));
    watch_nothing();
}

static void metrics(unsigned char *bytes)
{
    vyre_wire_metric list[32];
    size_t count = 99;
    memset(bytes, 0, 656);
    memset(list, 0x5A, sizeof list);
    put_word(bytes, 95, 5);
    put_word(bytes, 96, 3);
    put_word(bytes, 103, 0xFFFFFFFFu);
    put_word(bytes, 127, 1);
    put_word(bytes, 128, 9);
    works(vyre_wire_metrics_read(bytes, 512, list, &count, &err));
    is_u64(count, 3, "three counters are not 0");
    ok(list[0].opcode == 0 && list[0].count == 3 && list[1].opcode == 7 &&
           list[1].count == 0xFFFFFFFFu && list[2].opcode == 31 && list[2].count == 1,
       "ascending, with their counts");

    watch(list, sizeof list);
    watch(&count, sizeof count);
    refused(VYRE_E_NULL, vyre_wire_metrics_read(NULL, 512, list, &count, &err));
    refused(VYRE_E_NULL, vyre_wire_metrics_read(bytes, 512, NULL, &count, &err));
    refused(VYRE_E_NULL, vyre_wire_metrics_read(bytes, 512, list, NULL, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 508,
               vyre_wire_metrics_read(bytes, 511, list, &count, &err));
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 127,
               vyre_wire_metrics_read(bytes, 508, list, &count, &err));
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 96,
               vyre_wire_metrics_read(bytes, 8, list, &count, &err));
    watch_nothing();
}

int main(void)
{
    sizes();
    for (size_t skew = 0; skew < 4; skew++) {
        unsigned char *bytes = arena + skew;
        note("at an address %zu past a word", skew);
        encodes(bytes);
        tenants(bytes);
        encode_refuses(bytes);
        decodes(bytes);
        decode_refuses(bytes);
        offsets(bytes);
        readers(bytes);
        metrics(bytes);
    }
    return done();
}
