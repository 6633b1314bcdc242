/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Two small records: the 16-byte work item, and the slot by which a device asks for a resource that
 * is not there (LOAD_MISS, in the form that the Rust project gives it). A call that fails has
 * written nothing. Public.
 */
#include <string.h>

#include "wire/bytes.h"

enum { ITEM_OPCODE, ITEM_INPUT, ITEM_OUTPUT, ITEM_PARAM };
enum { MISS_RESOURCE = VYRE_SLOT_ARG0, MISS_PREFETCH = VYRE_SLOT_ARG0 + 1 };

vyre_status vyre_wire_item_encode(void *bytes, size_t length, const vyre_wire_item *item,
                                  vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(item, "item", err);
    if (status) return status;
    status = vyre_bytes_check_exact(bytes, length, VYRE_ITEM_BYTES, "a work item", err);
    if (status) return status;
    vyre_bytes_set_word(bytes, ITEM_OPCODE, item->opcode);
    vyre_bytes_set_word(bytes, ITEM_INPUT, item->input);
    vyre_bytes_set_word(bytes, ITEM_OUTPUT, item->output);
    vyre_bytes_set_word(bytes, ITEM_PARAM, item->param);
    return VYRE_OK;
}

vyre_status vyre_wire_item_decode(const void *bytes, size_t length, vyre_wire_item *item,
                                  vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(item, "item", err);
    if (status) return status;
    status = vyre_bytes_check_exact(bytes, length, VYRE_ITEM_BYTES, "a work item", err);
    if (status) return status;
    item->opcode = vyre_bytes_word(bytes, ITEM_OPCODE);
    item->input = vyre_bytes_word(bytes, ITEM_INPUT);
    item->output = vyre_bytes_word(bytes, ITEM_OUTPUT);
    item->param = vyre_bytes_word(bytes, ITEM_PARAM);
    return VYRE_OK;
}

vyre_status vyre_wire_load_miss_encode(void *bytes, size_t length, uint32_t resource, int prefetch,
                                       vyre_error *err)
{
    vyre_status status = vyre_bytes_check_exact(bytes, length, VYRE_SLOT_BYTES, "a slot", err);
    if (status) return status;
    memset((unsigned char *)bytes + 4, 0, VYRE_SLOT_BYTES - 4);
    vyre_bytes_set_word(bytes, VYRE_SLOT_OPCODE, VYRE_OP_LOAD_MISS);
    vyre_bytes_set_word(bytes, VYRE_SLOT_PRIORITY, VYRE_PRIORITY_CRITICAL);
    vyre_bytes_set_word(bytes, MISS_RESOURCE, resource);
    vyre_bytes_set_word(bytes, MISS_PREFETCH, prefetch != 0);
    vyre_bytes_set_word(bytes, VYRE_SLOT_STATUS, VYRE_SLOT_PUBLISHED);
    return VYRE_OK;
}

vyre_status vyre_wire_load_miss_decode(const void *bytes, size_t length, uint32_t *resource,
                                       int *prefetch, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(resource, "resource", err);
    if (status) return status;
    status = vyre_bytes_check_pointer(prefetch, "prefetch", err);
    if (status) return status;
    status = vyre_bytes_check_has(bytes, length, 0, MISS_PREFETCH + 1, err);
    if (status) return status;
    uint32_t opcode = vyre_bytes_word(bytes, VYRE_SLOT_OPCODE);
    if (opcode != VYRE_OP_LOAD_MISS)
        return vyre_fail_at(err, VYRE_E_WIRE_OTHER_OPCODE, VYRE_PLACE_WORD, VYRE_SLOT_OPCODE,
                            "the opcode is 0x%08X, LOAD_MISS is 0x%08X", opcode, VYRE_OP_LOAD_MISS);
    *resource = vyre_bytes_word(bytes, MISS_RESOURCE);
    *prefetch = vyre_bytes_word(bytes, MISS_PREFETCH) != 0;
    return VYRE_OK;
}
