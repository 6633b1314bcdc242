/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The completion entry and the faults: the layout in literal bytes, each outcome both ways, and
 * entries that contradict themselves.
 */
#include "wire_test.h"

static _Alignas(8) unsigned char arena[64 + 4];

static const vyre_completion done_entry = {
    UINT64_C(0x1122334455667788),      VYRE_DONE, VYRE_FAULT_NONE, 8, 0x21, 0x22, 0x23, 0,
    {1, 2, 3, 4, 5, 6, 7, 0xFFFFFFFFu}};

static void layout(unsigned char *bytes)
{
    vyre_completion completion = done_entry, again;
    uint32_t lap = 0;
    works(vyre_wire_completion_encode(bytes, 64, &completion, 5, &err));
    ok(is_hex(bytes, 64,
              "88776655 44332211 03000000 08000000 21000000 22000000 23000000 05000000"
              "01000000 02000000 03000000 04000000 05000000 06000000 07000000 ffffffff"),
       "a done entry");
    works(vyre_wire_completion_decode(bytes, 64, &again, &lap, &err));
    ok(memcmp(&again, &completion, sizeof again) == 0 && lap == 5, "comes back");
    completion.flags = VYRE_COMPLETION_REPEATABLE;
    works(vyre_wire_completion_encode(bytes, 64, &completion, 0xFFFFFFFFu, &err));
    works(vyre_wire_completion_decode(bytes, 64, &again, &lap, &err));
    ok(again.flags == 0 && lap == 0xFFFFFFFFu, "the mark of the library is not in it");
}

static const uint32_t faults[] = {
#define VYRE_FAULT(name, value, text) value,
#include "vyre/fault.def"
#undef VYRE_FAULT
};

static void outcomes(unsigned char *bytes)
{
    vyre_completion completion = done_entry, again;
    uint32_t lap = 0;
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        if (faults[i] == VYRE_FAULT_NONE) continue;
        int cancelled = faults[i] == VYRE_FAULT_CANCELLED || faults[i] == VYRE_FAULT_STOPPED;
        note("fault %s", vyre_fault_name(faults[i]));
        completion.fault = (uint16_t)faults[i];
        completion.outcome = cancelled ? VYRE_CANCELLED : VYRE_FAULTED;
        works(vyre_wire_completion_encode(bytes, 64, &completion, 1, &err));
        is_u64(get_word(bytes, 2), 7u | faults[i] << 16, "its status word");
        works(vyre_wire_completion_decode(bytes, 64, &again, &lap, &err));
        ok(memcmp(&again, &completion, sizeof again) == 0, "comes back");
        watch(bytes, 64);
        completion.outcome = cancelled ? VYRE_FAULTED : VYRE_CANCELLED;
        refused_at(VYRE_E_WIRE_COMPLETION_FAULT, VYRE_PLACE_WORD, 2,
                   vyre_wire_completion_encode(bytes, 64, &completion, 1, &err));
        completion.outcome = VYRE_DONE;
        refused_at(VYRE_E_WIRE_COMPLETION_FAULT, VYRE_PLACE_WORD, 2,
                   vyre_wire_completion_encode(bytes, 64, &completion, 1, &err));
        watch_nothing();
    }
}

static void encode_refuses(unsigned char *bytes)
{
    static const uint16_t bad_outcomes[] = {0, VYRE_LOST, 5, 0xFFFF};
    vyre_completion completion = done_entry;
    watch(bytes, 64);
    refused(VYRE_E_NULL, vyre_wire_completion_encode(NULL, 64, &completion, 1, &err));
    refused(VYRE_E_NULL, vyre_wire_completion_encode(bytes, 64, NULL, 1, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 63,
               vyre_wire_completion_encode(bytes, 63, &completion, 1, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 64,
               vyre_wire_completion_encode(bytes, 65, &completion, 1, &err));
    refused_at(VYRE_E_WIRE_COMPLETION_LAP, VYRE_PLACE_WORD, 7,
               vyre_wire_completion_encode(bytes, 64, &completion, 0, &err));
    for (size_t i = 0; i < COUNT_OF(bad_outcomes); i++) {
        completion.outcome = bad_outcomes[i];
        refused(VYRE_E_WIRE_COMPLETION,
                vyre_wire_completion_encode(bytes, 64, &completion, 1, &err));
    }
    completion.outcome = VYRE_FAULTED;
    refused_at(VYRE_E_WIRE_COMPLETION_FAULT, VYRE_PLACE_WORD, 2,
               vyre_wire_completion_encode(bytes, 64, &completion, 1, &err));
    completion.fault = 0xFFFE;
    refused_at(VYRE_E_WIRE_COMPLETION_FAULT, VYRE_PLACE_WORD, 2,
               vyre_wire_completion_encode(bytes, 64, &completion, 1, &err));
    watch_nothing();
}

static void decode_refuses(unsigned char *bytes)
{
    static const uint32_t bad_statuses[] = {0, 1, 2, 4, 5, 6, 8, 0xFFFF, 0x0007FFFF};
    static const uint32_t bad_faults[] = {0x00010003, 0x00000007, 0xFFFE0007, 0xFFFF0007};
    vyre_completion completion;
    uint32_t lap = 99;
    memset(&completion, 0x5A, sizeof completion);
    works(vyre_wire_completion_encode(bytes, 64, &done_entry, 1, &err));
    watch(&completion, sizeof completion);
    watch(&lap, sizeof lap);
    refused(VYRE_E_NULL, vyre_wire_completion_decode(NULL, 64, &completion, &lap, &err));
    refused(VYRE_E_NULL, vyre_wire_completion_decode(bytes, 64, NULL, &lap, &err));
    refused(VYRE_E_NULL, vyre_wire_completion_decode(bytes, 64, &completion, NULL, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 0,
               vyre_wire_completion_decode(NULL, 0, &completion, &lap, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 63,
               vyre_wire_completion_decode(bytes, 63, &completion, &lap, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 64,
               vyre_wire_completion_decode(bytes, 68, &completion, &lap, &err));
    for (size_t i = 0; i < COUNT_OF(bad_statuses); i++) {
        put_word(bytes, 2, bad_statuses[i]);
        refused_at(VYRE_E_WIRE_COMPLETION, VYRE_PLACE_WORD, 2,
                   vyre_wire_completion_decode(bytes, 64, &completion, &lap, &err));
    }
    for (size_t i = 0; i < COUNT_OF(bad_faults); i++) {
        put_word(bytes, 2, bad_faults[i]);
        refused_at(VYRE_E_WIRE_COMPLETION_FAULT, VYRE_PLACE_WORD, 2,
                   vyre_wire_completion_decode(bytes, 64, &completion, &lap, &err));
    }
    put_word(bytes, 7, 0);
    refused_at(VYRE_E_WIRE_COMPLETION_LAP, VYRE_PLACE_WORD, 7,
               vyre_wire_completion_decode(bytes, 64, &completion, &lap, &err));
    watch_nothing();
}

static void fault_names(void)
{
#define VYRE_FAULT(name, value, text)                                                              \
    is_str(vyre_fault_name(value), #name, "name of fault %u", (unsigned)(value));                  \
    is_str(vyre_fault_text(value), text, "text of fault %u", (unsigned)(value));
#include "vyre/fault.def"
#undef VYRE_FAULT
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        for (size_t k = 0; k < i; k++)
            if (faults[i] == faults[k]) ok(0, "fault %u is there twice", faults[i]);
    is_str(vyre_fault_name(0xFFFE), "?", "name of a number that is no fault");
    is_str(vyre_fault_name(0xFFFFFFFFu), "?", "name of a number wider than a fault");
    ok(vyre_fault_text(0xFFFE) && vyre_fault_text(0xFFFE)[0], "it has a text all the same");
}

int main(void)
{
    fault_names();
    for (size_t skew = 0; skew < 2; skew++) {
        note("at an address %zu past a word", skew);
        layout(arena + skew);
        outcomes(arena + skew);
        encode_refuses(arena + skew);
        decode_refuses(arena + skew);
    }
    return done();
}
