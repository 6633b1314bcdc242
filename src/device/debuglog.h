/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A tenant's debug log: a ring of the newest 64 records.
 *
 * Writers take turns by the lock; readers, on the host, take none. A record's stamp says which
 * record it is and is 0 while the words change, so a reader that finds the expected stamp before
 * and after the words has a whole record.
 */
#ifndef VYRE_DEVICE_DEBUGLOG_H
#define VYRE_DEVICE_DEBUGLOG_H

#include "device/layout.h"

/* The stamp of a record that is whole: never 0, and different for any two records within 2^31. */
DEV_FN uint32_t dev_log_stamp(uint64_t number)
{
    return (uint32_t)number << 1 | 1u;
}

/* Appends a record of four words. Any worker. */
DEV_NO_INLINE void dev_log_append(struct dev_log *log, const uint32_t *word)
{
    dev_lock(&log->lock);
    uint64_t number = dev_load64_relaxed(&log->count);
    struct dev_log_record *record = &log->record[number % DEV_LOG_RECORDS];
    dev_store_relaxed(&record->stamp, 0);
    /* R7 pairs with A7: who sees one of the new words then sees the stamp gone. */
    for (uint32_t i = 0; i < 4; i++)
        dev_store_release(&record->word[i], word[i], DEV_SYSTEM);
    /* R8 pairs with A8: who sees the stamp sees all the words. */
    dev_store_release(&record->stamp, dev_log_stamp(number), DEV_SYSTEM);
    dev_store64_release(&log->count, number + 1, DEV_SYSTEM);
    dev_unlock(&log->lock);
}

/* Reads the record with this number; 0 where it was overwritten or is being written. Any thread. */
DEV_FN int dev_log_read(const struct dev_log *log, uint64_t number, uint32_t *word)
{
    const struct dev_log_record *record = &log->record[number % DEV_LOG_RECORDS];
    uint32_t stamp = dev_load_acquire(&record->stamp, DEV_SYSTEM); /* A8 */
    for (uint32_t i = 0; i < 4; i++)
        word[i] = dev_load_acquire(&record->word[i], DEV_SYSTEM); /* A7 */
    return stamp == dev_log_stamp(number) && dev_load_relaxed(&record->stamp) == stamp;
}

#endif
