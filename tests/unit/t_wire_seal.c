/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Opcode classes at every edge, and the seal: its keys, its value for known slots, which words it
 * covers, and that torn and stale reads of random slots do not pass.
 */
#include "wire_test.h"

#include "wire/opcode.h"
#include "wire/seal.h"
#include "wire/sealing.h"

static void opcodes(void)
{
    static const struct {
        uint32_t opcode;
        int system, builtin, publishable;
    } table[] = {
        {0, 1, 1, 1},           {7, 1, 1, 1},           {8, 0, 0, 1},
        {0xFFEF, 0, 0, 1},      {0xFFF0, 1, 0, 0},      {0xFFFC, 1, 0, 0},
        {0xFFFD, 1, 0, 1},      {0xFFFE, 1, 1, 1},      {0xFFFF, 1, 0, 0},
        {0x10000, 0, 0, 1},     {0x7FFFFFFF, 0, 0, 1},  {0x80000000u, 1, 0, 0},
        {0x80000001u, 1, 1, 1}, {0x80000002u, 1, 0, 0}, {0xFFFFFFFEu, 1, 0, 0},
        {0xFFFFFFFFu, 1, 1, 1},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        uint32_t opcode = table[i].opcode;
        ok(vyre_wire_opcode_system(opcode) == table[i].system &&
               vyre_wire_opcode_builtin(opcode) == table[i].builtin &&
               vyre_wire_opcode_user(opcode) == !table[i].system &&
               vyre_wire_opcode_publishable(opcode) == table[i].publishable,
           "classes of opcode 0x%08X", opcode);
    }
    uint32_t publishable = 0, builtin = 0, system = 0;
    for (uint32_t opcode = 0; opcode < 0x20000; opcode++) {
        publishable += vyre_opcode_is_publishable(opcode);
        builtin += vyre_opcode_is_builtin(opcode);
        system += vyre_opcode_is_system(opcode);
    }
    is_u64(publishable, 0x20000 - 14, "14 low opcodes cannot be published");
    is_u64(builtin, 9, "low built-in opcodes");
    is_u64(system, 8 + 16, "low opcodes of the system");
}

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static const uint64_t keys[17] = {
    VYRE_SEAL_KEY_0,  VYRE_SEAL_KEY_1,  VYRE_SEAL_KEY_2,  VYRE_SEAL_KEY_3,  VYRE_SEAL_KEY_4,
    VYRE_SEAL_KEY_5,  VYRE_SEAL_KEY_6,  VYRE_SEAL_KEY_7,  VYRE_SEAL_KEY_8,  VYRE_SEAL_KEY_9,
    VYRE_SEAL_KEY_10, VYRE_SEAL_KEY_11, VYRE_SEAL_KEY_12, VYRE_SEAL_KEY_13, VYRE_SEAL_KEY_14,
    VYRE_SEAL_KEY_15, VYRE_SEAL_KEY_SUM};

/* The definition, word by word. */
static uint32_t expected_seal(const uint32_t *words, uint32_t lap)
{
    uint64_t sum = keys[16];
    for (int i = 0; i < 16; i++)
        sum += keys[i] * (i == 2 ? lap : words[i]);
    return (uint32_t)(sum >> 32) ? (uint32_t)(sum >> 32) : 1;
}

static void known_seals(void)
{
    uint64_t state = 0;
    int same = 1;
    for (size_t i = 0; i < 17; i++)
        same &= keys[i] == (splitmix(&state) | 1);
    ok(same, "the keys are the generator's, made odd");

    uint32_t slot[16] = {0};
    is_u64(vyre_seal(slot, 0), 0x7D29825C, "zeros on lap 0: the start of the sum");
    is_u64(vyre_seal(slot, 1), 0x83EDDF74, "zeros on lap 1");
    for (uint32_t i = 0; i < 16; i++)
        slot[i] = i;
    uint32_t seal = vyre_seal(slot, 7);
    is_u64(seal, expected_seal(slot, 7), "counting words on lap 7");
    slot[2] = 0xFFFFFFFFu;
    is_u64(vyre_seal(slot, 7), seal, "word 2 is not covered: it carries the seal");

    /* Zeros on this lap sum up to less than 2^32. */
    memset(slot, 0, sizeof slot);
    is_u64((VYRE_SEAL_KEY_SUM + VYRE_SEAL_KEY_2 * 2343216680u) >> 32, 0, "a sum without high bits");
    is_u64(vyre_seal(slot, 2343216680u), 1, "its seal is 1, not 0");
}

static void every_bit_counts(uint64_t *state)
{
    uint32_t slot[16];
    for (int i = 0; i < 16; i++)
        slot[i] = (uint32_t)splitmix(state);
    uint32_t lap = (uint32_t)splitmix(state), seal = vyre_seal(slot, lap), changed = 0;
    for (int word = 0; word < 16; word++)
        for (int bit = 0; bit < 32; bit++) {
            uint32_t other[16];
            memcpy(other, slot, sizeof other);
            other[word] ^= 1u << bit;
            if (word == 2)
                changed += vyre_seal(slot, lap ^ 1u << bit) != seal;
            else
                changed += vyre_seal(other, lap) != seal;
        }
    is_u64(changed, 512, "every bit of the words and of the lap changes the seal");
}

/* A slot read in two parts from two laps, and a whole slot of the lap before. */
static void torn_reads(uint64_t *state)
{
    uint32_t passed = 0, reads = 0;
    for (int round = 0; round < 20000; round++) {
        uint32_t old[16], new[16], seen[16];
        uint32_t lap = (uint32_t)splitmix(state);
        for (int i = 0; i < 16; i++) {
            old[i] = (uint32_t)splitmix(state) & 0xFF;
            new[i] = (uint32_t)splitmix(state) & 0xFF;
        }
        old[2] = vyre_seal(old, lap - 1);
        new[2] = vyre_seal(new, lap);
        if (vyre_seal(new, lap) != new[2]) ok(0, "a whole slot passes");
        passed += vyre_seal(old, lap) == old[2];
        uint32_t mask = (uint32_t)splitmix(state) & 0xFFFF;
        int differs = 0;
        for (int i = 0; i < 16; i++) {
            seen[i] = mask >> i & 1 ? old[i] : new[i];
            differs |= seen[i] != new[i];
        }
        passed += differs && vyre_seal(seen, lap) == seen[2];
        reads += 2;
    }
    /* 40,000 reads at a chance of 2^-32 each: one passing is a bug, not bad luck. */
    is_u64(passed, 0, "no torn or stale read of %u passes", reads);
}

/* Fills a slot as vyre_prep does. */
static void fill(vyre_slot *slot, uint64_t *state, uint32_t *args)
{
    uint32_t count = (uint32_t)splitmix(state) % (VYRE_SLOT_ARGS + 1);
    uint32_t opcode = (uint32_t)splitmix(state) % 6;
    for (uint32_t i = 0; i < VYRE_SLOT_ARGS; i++)
        args[i] = i < count ? (uint32_t)splitmix(state) : 0;
    slot->word[VYRE_SLOT_TENANT] = vyre_sealing_fill(slot, opcode, args, count);
    slot->word[VYRE_SLOT_STATUS] = VYRE_SLOT_PUBLISHED;
    slot->word[VYRE_SLOT_OPCODE] = opcode;
    slot->word[VYRE_SLOT_PRIORITY] = VYRE_PRIORITY_NORMAL;
    memcpy(&slot->word[VYRE_SLOT_ARG0], args, VYRE_SLOT_ARGS * sizeof *args);
}

/* In steps: the same seals as at once, whoever filled the slot and however often, and none before
 * the last step. */
static void in_steps(uint64_t *state)
{
    static vyre_slot slots[64];
    uint32_t different = 0, early = 0, missed = 0, steps[4] = {0};
    for (uint32_t round = 0; round < 4000; round++) {
        uint64_t first = splitmix(state);
        uint32_t args[VYRE_SLOT_ARGS], hot = 1, only = (uint32_t)splitmix(state) % 8;
        struct vyre_sealing sealing = {slots, 6, first, first + splitmix(state) % 65};
        for (uint64_t t = sealing.first; t != sealing.end; t++) {
            vyre_slot *slot = &slots[t % 64];
            uint32_t lap = (uint32_t)(t >> 6) + 1;
            uint32_t how = only < 4 ? only : (uint32_t)splitmix(state) % 4;
            steps[how]++;
            vyre_sealing_put(slot, vyre_sealing_blank(lap, 1));
            for (uint32_t i = VYRE_SLOT_ARG0; i < VYRE_SLOT_WORDS; i++)
                slot->word[i] = (uint32_t)splitmix(state); /* of the lap before */
            if (how >= 1) fill(slot, state, args);
            if (how == 2) fill(slot, state, args);
            if (how == 3) {
                slot->word[1 + 2 * (splitmix(state) % 2)] = (uint32_t)splitmix(state);
                slot->word[VYRE_SLOT_TENANT] = 0;
            }
            hot &= slot->word[VYRE_SLOT_OPCODE] <= VYRE_OP_COMPARE_SWAP &&
                   slot->word[VYRE_SLOT_PRIORITY] <= VYRE_PRIORITY_NORMAL;
            early += slot->word[VYRE_SLOT_TENANT] == vyre_seal(slot->word, lap);
        }
        missed += !vyre_sealing_finish(&sealing) && !hot;
        for (uint64_t t = sealing.first; t != sealing.end; t++) {
            const uint32_t *word = slots[t % 64].word;
            different += word[VYRE_SLOT_TENANT] != vyre_seal(word, (uint32_t)(t >> 6) + 1);
        }
    }
    ok(steps[0] && steps[1] && steps[2] && steps[3], "blank, filled, filled twice and by hand");
    is_u64(different, 0, "seals made in steps are those made at once");
    is_u64(early, 0, "and no slot has its own before the last step");
    is_u64(missed, 0, "what is not a hot operation is told");
}

int main(int argc, char **argv)
{
    uint64_t state = tap_seed(argc, argv);
    opcodes();
    known_seals();
    for (int i = 0; i < 8; i++)
        every_bit_counts(&state);
    torn_reads(&state);
    in_steps(&state);
    return done();
}
