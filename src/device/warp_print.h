/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * PRINT for a warp. A record in device memory costs several fences, and thousands of warps may
 * print into the same log: so the records of an instruction are written side by side, each by the
 * lane that has its words, under the log's lock once. Of more than the ring holds only the newest
 * are written; the others count as written over.
 *
 * Whoever prints may wait for all others that do. So an instruction that has printed ends the turn,
 * in any stretch of code, and it is seen in time that a slot has been cancelled or is too late.
 */
#ifndef VYRE_DEVICE_WARP_PRINT_H
#define VYRE_DEVICE_WARP_PRINT_H

#include "device/warp_core.h"

/* The records that an instruction puts into the log. */
struct dev_printed {
    struct dev_log *log;
    const uint32_t *mask;
    struct dev_source a, b;
    uint32_t text, place;
    uint64_t least; /* number of the first one that is written */
};

/* A record is written in three steps, with a fence between them: as in dev_log_append. */
enum dev_print_step { DEV_PRINT_TAKE, DEV_PRINT_WORDS, DEV_PRINT_STAMP };

/* One step for the records of a unit, whose numbers begin with `number`. Returns the next number.
 */
DEV_FN uint64_t dev_print_unit(const struct dev_printed *printed, uint32_t unit, uint64_t number,
                               enum dev_print_step step)
{
    const uint32_t active = printed->mask[unit];
    const uint64_t next = number + dev_popcount(active);
    if (next <= printed->least) return next;
    DEV_ROLES(l)
    {
        const uint64_t mine = number + dev_popcount(active & ((1u << l) - 1u));
        if ((active >> l & 1) && mine >= printed->least) {
            struct dev_log_record *record = &printed->log->record[mine % DEV_LOG_RECORDS];
            const uint32_t i = unit * DEV_WARP + l;
            if (step == DEV_PRINT_TAKE) {
                dev_store_relaxed(&record->stamp, 0);
            } else if (step == DEV_PRINT_STAMP) {
                dev_store_relaxed(&record->stamp, dev_log_stamp(mine));
            } else {
                dev_store_relaxed(&record->word[0], printed->text);
                dev_store_relaxed(&record->word[1], printed->a.word[i & printed->a.each]);
                dev_store_relaxed(&record->word[2], printed->b.word[i & printed->b.each]);
                dev_store_relaxed(&record->word[3], printed->place);
            }
        }
    }
    return next;
}

/* Returns the number behind the last record. */
DEV_FN uint64_t dev_print_all(const struct dev_printed *printed, uint32_t units, uint64_t number,
                              enum dev_print_step step)
{
    DEV_NO_UNROLL
    for (uint32_t u = 0; u < units; u++)
        number = dev_print_unit(printed, u, number, step);
    return number;
}

DEV_FN void dev_core_print(struct dev_core *core, const struct vm_insn *in)
{
    struct dev_printed printed;
    uint64_t count = 0;
    printed.log = core->frame->log;
    printed.mask = dev_core_mask(core, core->level);
    printed.a = dev_source(core, in->a);
    printed.b = dev_source(core, in->b);
    printed.text = in->imm;
    printed.place = core->frame->log_place;
    if (core->active == 0) return;
    dev_warp_sync();
    DEV_FIRST
    {
        dev_lock(&printed.log->lock);
        count = dev_load64_relaxed(&printed.log->count);
    }
    dev_warp_sync(); /* the lock is everybody's */
    count = dev_warp_first64(count);
    printed.least = count;
    if (core->active > DEV_LOG_RECORDS) printed.least += core->active - DEV_LOG_RECORDS;
    dev_print_all(&printed, core->units, count, DEV_PRINT_TAKE);
    /* R7 pairs with A7: who sees one of the new words then sees the stamp gone. */
    dev_fence_both(DEV_SYSTEM);
    dev_print_all(&printed, core->units, count, DEV_PRINT_WORDS);
    /* R8 pairs with A8: who sees the stamp sees all the words. */
    dev_fence_both(DEV_SYSTEM);
    count = dev_print_all(&printed, core->units, count, DEV_PRINT_STAMP);
    dev_warp_sync();
    DEV_FIRST
    {
        dev_store64_release(&printed.log->count, count, DEV_SYSTEM);
        dev_unlock(&printed.log->lock);
    }
    dev_warp_sync();
}

#endif
