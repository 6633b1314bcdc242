/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a tenant sees: observable words, debug log, and the wire format's images. All by loads from
 * the device's memory, word by word, or from a copy of it where this process cannot see it; nothing
 * is locked and nothing is written.
 */
#include <string.h>

#include "device/debuglog.h"
#include "runtime/internal.h"
#include "wire/bytes.h"

vyre_status vyre_tenant_check(const vyre *runtime, uint32_t tenant, vyre_error *err)
{
    uint32_t count = runtime->options.max_tenants;
    if (tenant < count) return VYRE_OK;
    vyre_fail(err, VYRE_E_RANGE, "tenant is %u; this runtime has tenants 0 to %u", tenant,
              count - 1);
    vyre_fail_fix(err, "use a tenant from 0 to %u, or open the runtime with a higher max_tenants",
                  count - 1);
    return VYRE_E_RANGE;
}

static vyre_status check_tenant(const vyre *runtime, uint32_t tenant, vyre_error *err)
{
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    return vyre_tenant_check(runtime, tenant, err);
}

size_t vyre_view_bytes(const vyre *runtime, uint32_t view)
{
    switch (view) {
    case VYRE_VIEW_CONTROL:
        return VYRE_CONTROL_WORDS * sizeof(uint32_t);
    case VYRE_VIEW_OBSERVABLES:
        return runtime->options.observable_words * sizeof(uint32_t);
    case VYRE_VIEW_LOG:
        return sizeof(struct dev_log);
    case VYRE_VIEW_INFLIGHT:
        return runtime->options.inflight_slots * sizeof(struct dev_inflight);
    default:
        return sizeof(uint32_t);
    }
}

/* Words of the device: where they lie, or a copy of them. */
struct sight {
    const void *words;
    void *room; /* of a copy */
    size_t bytes;
};

static vyre_status look(vyre *runtime, uint32_t view, uint32_t tenant, struct sight *sight,
                        vyre_error *err)
{
    *sight = (struct sight){NULL, NULL, vyre_view_bytes(runtime, view)};
    vyre_status status = VYRE_OK;
    if (!vyre_port_direct(runtime))
        status = vyre_memory_alloc(&runtime->memory, 1, sight->bytes, "a copy of device words",
                                   &sight->room, err);
    if (!status)
        status = runtime->port->view(runtime, view, tenant, sight->room, &sight->words, err);
    if (status) vyre_memory_free(&runtime->memory, sight->room, sight->bytes);
    return status;
}

static void look_away(vyre *runtime, struct sight *sight)
{
    vyre_memory_free(&runtime->memory, sight->room, sight->bytes);
}

vyre_status vyre_tenant_observables(vyre *runtime, uint32_t tenant, uint32_t first, uint32_t count,
                                    uint32_t *words, vyre_error *err)
{
    vyre_status status = check_tenant(runtime, tenant, err);
    if (status) return status;
    if (!words && count != 0) return vyre_fail(err, VYRE_E_NULL, "words is null");
    uint32_t size = runtime->options.observable_words;
    if (first > size || count > size - first) {
        vyre_fail_at(err, VYRE_E_RANGE, VYRE_PLACE_WORD, first,
                     "%u words from %u on, but a tenant has %u observable words", count, first,
                     size);
        vyre_fail_fix(err, "read fewer words, or open the runtime with more observable_words");
        return VYRE_E_RANGE;
    }
    struct sight sight;
    status = look(runtime, VYRE_VIEW_OBSERVABLES, tenant, &sight, err);
    if (status) return status;
    const uint32_t *from = (const uint32_t *)sight.words + first;
    for (uint32_t i = 0; i < count; i++)
        words[i] = dev_load_acquire(&from[i], DEV_SYSTEM);
    look_away(runtime, &sight);
    return VYRE_OK;
}

/* Reads records from the cursor on; what was overwritten is counted. */
static vyre_status read_log(const struct dev_log *log, uint64_t *cursor, vyre_log_record *records,
                            size_t max, size_t *count, uint64_t *lost, vyre_error *err)
{
    uint64_t written = __atomic_load_n(&log->count, __ATOMIC_ACQUIRE);
    if (*cursor > written)
        return vyre_fail_with(err, VYRE_E_RANGE,
                              "start with cursor 0, and pass on what the last call left in it",
                              "the cursor is %llu, but only %llu records were written",
                              (unsigned long long)*cursor, (unsigned long long)written);
    uint64_t at = *cursor, skipped = 0;
    size_t n = 0;
    while (at < written && n < max) {
        uint32_t word[4];
        if (!dev_log_read(log, at, word)) {
            /* Overwritten: go on with the oldest that can still be there. */
            written = __atomic_load_n(&log->count, __ATOMIC_ACQUIRE);
            uint64_t oldest = written > DEV_LOG_RECORDS ? written - DEV_LOG_RECORDS : 0;
            uint64_t to = oldest > at ? oldest : at + 1;
            skipped += to - at;
            at = to;
            continue;
        }
        records[n++] = (vyre_log_record){word[0], word[1], word[2], word[3]};
        at++;
    }
    *cursor = at;
    *count = n;
    if (lost) *lost = skipped;
    return VYRE_OK;
}

vyre_status vyre_tenant_log(vyre *runtime, uint32_t tenant, uint64_t *cursor,
                            vyre_log_record *records, size_t max, size_t *count, uint64_t *lost,
                            vyre_error *err)
{
    struct sight sight;
    vyre_status status = check_tenant(runtime, tenant, err);
    if (status) return status;
    if (!cursor || !count) return vyre_fail(err, VYRE_E_NULL, "cursor or count is null");
    if (!records && max != 0) return vyre_fail(err, VYRE_E_NULL, "records is null");
    status = look(runtime, VYRE_VIEW_LOG, tenant, &sight, err);
    if (status) return status;
    status = read_log(sight.words, cursor, records, max, count, lost, err);
    look_away(runtime, &sight);
    return status;
}

/* Whether the storage is large enough for an image of `want` bytes; says how large it must be. */
static vyre_status check_storage(const void *bytes, size_t size, size_t want, size_t *needed,
                                 vyre_error *err)
{
    if (needed) *needed = want;
    if (size < want)
        return vyre_fail(err, VYRE_E_TOO_SMALL, "the image has %zu bytes, the storage %zu", want,
                         size);
    if (!bytes) return vyre_fail(err, VYRE_E_NULL, "bytes is null");
    return VYRE_OK;
}

static vyre_status copy_words(vyre *runtime, uint32_t view, uint32_t tenant, void *bytes,
                              vyre_error *err)
{
    struct sight sight;
    vyre_status status = look(runtime, view, tenant, &sight, err);
    if (status) return status;
    const uint32_t *from = sight.words;
    for (size_t i = 0; i < sight.bytes / 4; i++)
        vyre_bytes_set_word(bytes, i, dev_load_acquire(&from[i], DEV_SYSTEM));
    look_away(runtime, &sight);
    return VYRE_OK;
}

vyre_status vyre_image_control(vyre *runtime, uint32_t tenant, void *bytes, size_t size,
                               size_t *needed, vyre_error *err)
{
    vyre_status status = check_tenant(runtime, tenant, err);
    if (status) return status;
    size_t want = ((size_t)VYRE_CONTROL_WORDS + runtime->options.observable_words) * 4;
    status = check_storage(bytes, size, want, needed, err);
    if (status) return status;
    status = copy_words(runtime, VYRE_VIEW_CONTROL, tenant, bytes, err);
    if (status) return status;
    return copy_words(runtime, VYRE_VIEW_OBSERVABLES, tenant,
                      (unsigned char *)bytes + 4 * (size_t)VYRE_CONTROL_WORDS, err);
}

/* Copies an entry of the in-flight table if it is a slot of the tenant. One that is being filled
 * meanwhile, perhaps for another tenant, is none. */
static int read_entry(const struct dev_inflight *entry, uint32_t tenant, uint32_t *word)
{
    uint32_t version = dev_load_acquire(&entry->version, DEV_SYSTEM); /* A13 pairs with R13 */
    for (uint32_t w = 0; w < VYRE_SLOT_WORDS; w++)
        word[w] = dev_load_acquire(&entry->slot[w], DEV_SYSTEM);  /* A12 pairs with R12 */
    uint32_t queue = dev_load_acquire(&entry->queue, DEV_SYSTEM); /* A12 */
    if (version % 2 != 0 || dev_load_relaxed(&entry->version) != version) return 0;
    /* System operations wait there too; they are nobody's. */
    return word[VYRE_SLOT_STATUS] != VYRE_SLOT_EMPTY && queue != 0 &&
           word[VYRE_SLOT_TENANT] == tenant;
}

vyre_status vyre_image_ring(vyre *runtime, uint32_t tenant, void *bytes, size_t size,
                            size_t *needed, vyre_error *err)
{
    vyre_status status = check_tenant(runtime, tenant, err);
    if (status) return status;
    struct sight sight;
    size_t want = (size_t)runtime->options.inflight_slots * VYRE_SLOT_BYTES;
    status = check_storage(bytes, size, want, needed, err);
    if (!status) status = look(runtime, VYRE_VIEW_INFLIGHT, tenant, &sight, err);
    if (status) return status;
    const struct dev_inflight *entries = sight.words;
    memset(bytes, 0, want);
    for (uint32_t i = 0; i < runtime->options.inflight_slots; i++) {
        uint32_t word[VYRE_SLOT_WORDS];
        if (!read_entry(&entries[i], tenant, word)) continue;
        for (uint32_t w = 0; w < VYRE_SLOT_WORDS; w++)
            vyre_bytes_set_word(bytes, (size_t)i * VYRE_SLOT_WORDS + w, word[w]);
    }
    look_away(runtime, &sight);
    return VYRE_OK;
}

vyre_status vyre_image_debug_log(vyre *runtime, uint32_t tenant, void *bytes, size_t size,
                                 size_t *needed, vyre_error *err)
{
    vyre_status status = check_tenant(runtime, tenant, err);
    if (status) return status;
    size_t want = (1 + 4 * (size_t)DEV_LOG_RECORDS) * 4;
    status = check_storage(bytes, size, want, needed, err);
    if (status) return status;
    struct sight sight;
    status = look(runtime, VYRE_VIEW_LOG, tenant, &sight, err);
    if (status) return status;
    const struct dev_log *log = sight.words;
    uint64_t written = __atomic_load_n(&log->count, __ATOMIC_ACQUIRE);
    uint64_t cursor = written > DEV_LOG_RECORDS ? written - DEV_LOG_RECORDS : 0;
    vyre_log_record records[DEV_LOG_RECORDS];
    size_t count = 0;
    status = read_log(log, &cursor, records, DEV_LOG_RECORDS, &count, NULL, err);
    look_away(runtime, &sight);
    if (status) return status;
    memset(bytes, 0, want);
    vyre_bytes_set_word(bytes, 0, (uint32_t)(4 * count));
    for (size_t i = 0; i < count; i++) {
        vyre_bytes_set_word(bytes, 1 + 4 * i, records[i].format);
        vyre_bytes_set_word(bytes, 2 + 4 * i, records[i].a);
        vyre_bytes_set_word(bytes, 3 + 4 * i, records[i].b);
        vyre_bytes_set_word(bytes, 4 + 4 * i, records[i].slot);
    }
    return VYRE_OK;
}
