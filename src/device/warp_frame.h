/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Frames of a resident kernel's warps. A warp runs a whole workgroup, of which 32 neighbours are a
 * unit: lane l of the warp has lane l of each unit (warp_core.h), or lanes 4l to 4l + 3 of every
 * four units (warp_near.h). What the warp touches all the time lies in its room, which is shared
 * memory on a GPU: the header, views, scalars, masks (a bit a lane), code, registers and workgroup
 * memory, each as long as there is room. Parts that find none lie in the warp's frame in device
 * memory, where a workgroup is also kept while it waits to go on; of registers those that find
 * none, the last ones, which are needed least (lower_order.c).
 */
#ifndef VYRE_DEVICE_WARP_FRAME_H
#define VYRE_DEVICE_WARP_FRAME_H

#include "device/frame_start.h"
#include "device/warp.h"
#include "device/warp_decode.h"
#include "vyre/program.h"

enum dev_part {
    DEV_PART_HEADER = 0,
    DEV_PART_SCALARS = 1,
    DEV_PART_MASKS = 2,
    DEV_PART_VIEWS = 3,
    DEV_PART_CODE = 4,
    DEV_PART_REGISTERS = 5,
    DEV_PART_SHARED = 6,
    DEV_PARTS = 7
};

/* Where the parts lie: bytes from the start of the frame in device memory, and of the room. */
struct dev_warp_layout {
    uint64_t far_at[DEV_PARTS + 1];
    uint64_t bytes[DEV_PARTS];   /* in the room, of what lies there */
    uint32_t near_at[DEV_PARTS]; /* DEV_NONE: not there */
    uint32_t near_registers;     /* that lie in the room */
    uint32_t far_registers;      /* that do not */
    uint32_t lasting;            /* bytes of the room that outlive a workgroup, the first ones */
    uint32_t used;               /* of the room */
};

DEV_FN uint32_t dev_units(uint32_t lanes)
{
    return (lanes + DEV_WARP - 1) / DEV_WARP;
}

/* Bytes of a register; what the header says may be anything. */
DEV_FN uint64_t dev_row_bytes(const struct vm_header *program)
{
    return (uint64_t)dev_units(program->lanes) * DEV_WARP * sizeof(uint32_t);
}

/* Registers that there is a place for. */
DEV_FN uint32_t dev_row_count(const struct vm_header *program)
{
    return program->register_count != 0 ? program->register_count : 1u;
}

DEV_FN uint64_t dev_part_bytes(const struct vm_header *program, uint32_t part)
{
    uint64_t units = dev_units(program->lanes);
    switch (part) {
    case DEV_PART_HEADER:
        return sizeof(struct dev_frame);
    case DEV_PART_SCALARS:
        return (program->scalar_count + 4u) * DEV_SCALAR_WORDS * sizeof(uint32_t);
    case DEV_PART_MASKS:
        return (program->level_count + 1u) * units * sizeof(uint32_t);
    case DEV_PART_VIEWS:
        return (uint64_t)program->buffer_count * sizeof(struct dev_view);
    case DEV_PART_REGISTERS:
        return dev_row_count(program) * dev_row_bytes(program);
    case DEV_PART_CODE:
        return (DEV_OPS_BEFORE + program->code_count + DEV_OPS_BEHIND) * sizeof(struct dev_op);
    default:
        return program->shared_bytes;
    }
}

/* Whether the room has what the loop of decoded code needs; then it has registers too, at least
 * one. */
DEV_FN int dev_layout_quick(const struct dev_warp_layout *at)
{
    return at->near_at[DEV_PART_CODE] != DEV_NONE;
}

/* Decoded code is of use only beside all parts before it and at least a register. Those that find
 * no place for it cost less than code that is read where it was loaded. */
DEV_FN int dev_code_fits(const struct vm_header *program, const struct dev_warp_layout *at,
                         uint64_t bytes, uint64_t rest)
{
    const uint64_t registers = dev_part_bytes(program, DEV_PART_REGISTERS);
    const uint64_t row = dev_row_bytes(program);
    for (uint32_t part = 0; part < DEV_PART_CODE; part++) {
        if (at->near_at[part] == DEV_NONE) return 0;
    }
    return (registers < row ? registers : row) <= rest - bytes;
}

/* Whether a part of so many bytes gets a place in what is left of the room. */
DEV_FN int dev_part_fits(const struct vm_header *program, const struct dev_warp_layout *at,
                         uint32_t part, uint64_t bytes, uint32_t room)
{
    const uint64_t rest = room - at->used;
    if (bytes > rest) return 0;
    if (part == DEV_PART_CODE) return dev_code_fits(program, at, bytes, rest);
    const uint64_t row = dev_row_bytes(program);
    if (part != DEV_PART_SHARED || at->far_registers == 0 || row > rest) return 1;
    /* Registers are needed more often. */
    return bytes <= room / 4 && row <= rest - bytes;
}

/* Registers that do not all fit: puts as many there as the rest of the room takes, if any. */
DEV_FN void dev_layout_split(const struct vm_header *program, uint32_t room,
                             struct dev_warp_layout *at)
{
    const uint64_t row = dev_row_bytes(program);
    const uint32_t count = (uint32_t)((room - at->used) / row);
    if (count == 0) return;
    at->near_registers = count;
    at->far_registers = dev_row_count(program) - count;
    at->near_at[DEV_PART_REGISTERS] = at->used;
    at->bytes[DEV_PART_REGISTERS] = count * row;
    at->used += (uint32_t)at->bytes[DEV_PART_REGISTERS];
}

DEV_FN struct dev_warp_layout dev_warp_layout(const struct vm_header *program, uint32_t room)
{
    struct dev_warp_layout at;
    at.far_at[0] = 0;
    at.used = at.lasting = at.near_registers = at.far_registers = 0;
    for (uint32_t part = 0; part < DEV_PARTS; part++) {
        uint64_t bytes = (dev_part_bytes(program, part) + 15u) & ~(uint64_t)15u;
        int fits = dev_part_fits(program, &at, part, bytes, room);
        at.bytes[part] = bytes;
        at.near_at[part] = fits ? at.used : DEV_NONE;
        if (fits) at.used += (uint32_t)bytes;
        if (part == DEV_PART_CODE) at.lasting = at.used;
        if (part == DEV_PART_REGISTERS && fits) at.near_registers = dev_row_count(program);
        if (part == DEV_PART_REGISTERS && !fits) at.far_registers = dev_row_count(program);
        at.far_at[part + 1] = at.far_at[part] + (part == DEV_PART_CODE ? 0 : bytes);
    }
    if (at.far_registers != 0) dev_layout_split(program, room, &at);
    return at;
}

/* Whether all of it lies in the room. */
DEV_FN int dev_layout_near(const struct dev_warp_layout *at)
{
    for (uint32_t part = 0; part < DEV_PARTS; part++) {
        if (at->near_at[part] == DEV_NONE) return 0;
    }
    return at->far_registers == 0;
}

/* The result in which a completion says what of a run's workgroups does not fit a room (enum
 * vyre_run_place). */
#define DEV_RESULT_FAR 6u

DEV_FN uint32_t dev_layout_far(const struct dev_warp_layout *at)
{
    return (at->far_registers != 0 ? (uint32_t)VYRE_RUN_REGISTERS_FAR : 0u) |
           (at->near_at[DEV_PART_SHARED] == DEV_NONE ? (uint32_t)VYRE_RUN_WORKGROUP_FAR : 0u);
}

DEV_FN uint32_t dev_warp_far(const struct vm_header *program, uint32_t room)
{
    struct dev_warp_layout at = dev_warp_layout(program, room);
    return dev_layout_far(&at);
}

/* The bytes that a frame of this program takes in device memory, whoever runs it. */
DEV_FN uint64_t dev_frame_needs(const struct vm_header *program)
{
    uint64_t warp = dev_warp_layout(program, 0).far_at[DEV_PARTS];
    uint64_t thread = dev_frame_bytes(program);
    return warp > thread ? warp : thread;
}

/* Copies words with all lanes; both ends at multiples of 16 bytes. */
DEV_FN void dev_warp_copy(void *to, const void *from, uint64_t bytes)
{
    struct dev_word128 *target = (struct dev_word128 *)to;
    const struct dev_word128 *source = (const struct dev_word128 *)from;
    DEV_ROLES(l)
    {
        for (uint64_t i = l; i < bytes / 16; i += DEV_WARP)
            target[i] = source[i];
    }
}

DEV_FN unsigned char *dev_part_near(unsigned char *room, const struct dev_warp_layout *at,
                                    unsigned char *far_frame, uint32_t part)
{
    return at->near_at[part] != DEV_NONE ? room + at->near_at[part] : far_frame + at->far_at[part];
}

/*
 * Whether a header can be gone by: the block has `block` bytes, a frame `frame_bytes`, and one for
 * this header takes `needs`. The verifier has passed it before it was loaded; a warp that finds one
 * that cannot be has met memory that somebody has written to since, and faults rather than follow
 * it. Views and operands are checked where they are used.
 */
DEV_FN int dev_header_sound(const struct vm_header *header, uint64_t block, uint64_t frame_bytes,
                            uint64_t needs)
{
    uint64_t code = (uint64_t)header->code_count * sizeof(struct vm_insn);
    uint64_t constants = (uint64_t)header->constant_count * sizeof(uint32_t);
    uint64_t buffers = (uint64_t)header->buffer_count * sizeof(struct vm_buffer);
    uint32_t most = VM_MAX_LANES;
    uint64_t lanes = (uint64_t)header->workgroup[0] * header->workgroup[1];
    if (header->workgroup[0] > most || header->workgroup[1] > most || header->workgroup[2] > most)
        return 0;
    return header->lanes != 0 && header->lanes <= most &&
           lanes * header->workgroup[2] == header->lanes && header->level_count <= VM_MAX_LEVELS &&
           header->scalar_count <= VM_MAX_SCALARS && header->register_count <= VM_MAX_REGISTERS &&
           header->constant_count <= header->scalar_count && header->code_count != 0 &&
           header->buffer_count <= VM_MAX_BUFFERS && header->shared_bytes <= VM_MAX_SHARED &&
           header->shared_bytes % 16 == 0 && header->code_offset % 16 == 0 &&
           header->constant_offset % 4 == 0 && header->buffer_offset % 8 == 0 &&
           header->code_offset + code <= block && header->constant_offset + constants <= block &&
           header->buffer_offset + buffers <= block && header->serial != 0 && needs <= frame_bytes;
}

/* The header's pointers; on the first lane. */
DEV_FN void dev_warp_point(struct dev_frame *frame, const struct vm_header *origin,
                           const struct dev_warp_layout *at, unsigned char *far_frame)
{
    unsigned char *room = (unsigned char *)frame;
    frame->program = &frame->header;
    frame->origin = origin;
    frame->far_frame = far_frame;
    frame->scalars = (uint32_t *)(void *)dev_part_near(room, at, far_frame, DEV_PART_SCALARS);
    frame->masks = (uint32_t *)(void *)dev_part_near(room, at, far_frame, DEV_PART_MASKS);
    frame->views = (struct dev_view *)(void *)dev_part_near(room, at, far_frame, DEV_PART_VIEWS);
    frame->registers = (uint32_t *)(void *)dev_part_near(room, at, far_frame, DEV_PART_REGISTERS);
    frame->far_registers = NULL;
    if (far_frame != NULL)
        frame->far_registers = (uint32_t *)(void *)(far_frame + at->far_at[DEV_PART_REGISTERS]);
    frame->near_registers = at->near_registers;
    frame->shared = dev_part_near(room, at, far_frame, DEV_PART_SHARED);
    frame->code = vm_code_at(origin, frame->header.code_offset);
    frame->near_bytes = at->used;
    frame->lasting_bytes = at->lasting;
    frame->far_parts = dev_layout_far(at);
    frame->quick = 0;
    if (dev_layout_quick(at))
        frame->quick =
            at->near_at[DEV_PART_CODE] + DEV_OPS_BEFORE * (uint32_t)sizeof(struct dev_op);
}

/* Decodes the code into the room, where it has a place there. */
DEV_FN void dev_warp_code(struct dev_frame *frame, const struct dev_warp_layout *at)
{
    struct dev_op *ops = (struct dev_op *)(void *)((unsigned char *)frame + frame->quick);
    struct dev_decoder decoder;
    if (frame->quick == 0) return;
    decoder.header = &frame->header;
    decoder.frame = dev_near_place(frame);
    decoder.registers = decoder.frame + at->near_at[DEV_PART_REGISTERS];
    decoder.near_registers = at->near_registers;
    decoder.scalars = decoder.frame + at->near_at[DEV_PART_SCALARS];
    decoder.views = decoder.frame + at->near_at[DEV_PART_VIEWS];
    decoder.units = dev_units(frame->header.lanes);
    DEV_ROLES(l)
    {
        for (uint32_t i = l; i < frame->header.code_count; i += DEV_WARP) {
            struct vm_insn in = frame->code[i];
            ops[i] = dev_decode(&decoder, &in, i);
        }
    }
    DEV_FIRST
    {
        ops[frame->header.code_count].op = DEV_CLASS_RARE << 8; /* and there it ends */
        *(dev_word64 *)(void *)(ops - DEV_OPS_BEFORE) = (dev_word64)(uintptr_t)frame->far_registers;
    }
}

/* A block of bytecode as a handle has it. */
struct dev_block {
    const struct vm_header *program;
    uint64_t bytes;
    uint32_t room;        /* bytes of a warp's room */
    uint64_t frame_bytes; /* of a frame in device memory */
};

/* Makes the room ready for a program, unless it is. 0: the block is not what was loaded. Who has no
 * frame in device memory (NULL) has seen that it fits the room; one that no longer does is not what
 * was loaded either. */
DEV_FN int dev_warp_prepare(struct dev_frame *frame, const struct dev_block *block,
                            unsigned char *far_frame)
{
    const struct vm_header *origin = block->program;
    const uint32_t words = (uint32_t)(sizeof(struct vm_header) / sizeof(uint32_t));
    uint32_t word[DEV_WARP_ROLES]; /* of the header, one a lane: it is on its way only once */
    DEV_ROLES(l)
    {
        word[DEV_MINE(l)] = l < words ? ((const uint32_t *)(const void *)origin)[l] : 0;
    }
    const uint32_t at_serial = (uint32_t)(offsetof(struct vm_header, serial) / sizeof(uint32_t));
    const uint32_t serial = dev_warp_word32(word, at_serial);
    if (frame->serial == serial && frame->origin == origin && frame->far_frame == far_frame)
        return 1;
    dev_warp_sync(); /* all have looked */
    DEV_FIRST frame->serial = 0;
    DEV_ROLES(l)
    {
        if (l < words) ((uint32_t *)(void *)&frame->header)[l] = word[DEV_MINE(l)];
    }
    dev_warp_sync();
    struct dev_warp_layout at = dev_warp_layout(&frame->header, block->room);
    if (!dev_header_sound(&frame->header, block->bytes, block->frame_bytes, at.far_at[DEV_PARTS]))
        return 0;
    if (far_frame == NULL && !dev_layout_near(&at)) return 0;
    DEV_FIRST dev_warp_point(frame, origin, &at, far_frame);
    dev_warp_sync();
    dev_warp_code(frame, &at);
    const uint32_t *constants =
        (const uint32_t *)(const void *)((const char *)origin + frame->header.constant_offset);
    DEV_ROLES(l)
    {
        for (uint32_t i = l; i < (frame->header.scalar_count + 4u) * DEV_SCALAR_WORDS;
             i += DEV_WARP) {
            uint32_t number = i / DEV_SCALAR_WORDS;
            frame->scalars[i] = number < frame->header.constant_count ? constants[number] : 0;
        }
    }
    DEV_FIRST
    {
        frame->active[0] = 0; /* its masks are made with the first workgroup */
        frame->serial = frame->header.serial;
    }
    dev_warp_sync();
    return 1;
}

/* One view of a run. What the block says of it is believed as far as it can do no harm. */
DEV_FN void dev_warp_view(struct dev_frame *frame, struct dev_run_args *args,
                          const struct dev_bindings *bindings, const struct vm_buffer *buffers,
                          uint32_t i)
{
    const struct vm_buffer buffer = buffers[i];
    const uint32_t shared_bytes = frame->header.shared_bytes;
    unsigned char *base = (unsigned char *)frame->zero;
    uint64_t bytes = 0;
    uint32_t writable = 0;
    if (buffer.flags & VM_BUFFER_SHARED) {
        if (buffer.view <= shared_bytes && buffer.bytes <= shared_bytes - buffer.view &&
            buffer.view % 16 == 0) {
            base = frame->shared + buffer.view;
            bytes = buffer.bytes;
            writable = 1;
        }
    } else if (bindings != NULL && buffer.view < bindings->count &&
               bindings->bound[buffer.view].handle != 0) {
        const struct dev_bound *bound = &bindings->bound[buffer.view];
        base = (unsigned char *)(uintptr_t)bound->address;
        bytes = bound->bytes;
        dev_window_apply(args, buffer.view, &base, &bytes);
        writable = (bound->rights & VYRE_RIGHT_WRITE) != 0;
    } else {
        uint32_t scalar = 0;
        for (uint32_t k = 0; k < i && scalar < DEV_SCALARS; k++)
            scalar += (buffers[k].flags & VM_BUFFER_SCALAR) != 0;
        if (scalar < DEV_SCALARS) {
            base = (unsigned char *)&args->scalar[scalar];
            bytes = 4;
        }
    }
    dev_view_set(&frame->views[i], &buffer, base, bytes, frame->zero);
    if (writable) frame->views[i].access |= DEV_VIEW_WRITE;
}

/* The buffers and scalars of a run, each by one lane. */
DEV_FN void dev_warp_bind(struct dev_frame *frame, struct dev_run_args *args,
                          const struct dev_bindings *bindings)
{
    const struct vm_buffer *buffers =
        (const struct vm_buffer *)(const void *)((const char *)frame->origin +
                                                 frame->header.buffer_offset);
    DEV_ROLES(l)
    {
        for (uint32_t i = l; i < frame->header.buffer_count; i += DEV_WARP)
            dev_warp_view(frame, args, bindings, buffers, i);
    }
    dev_warp_sync();
}

/* A workgroup at its beginning. */
DEV_FN void dev_warp_begin(struct dev_frame *frame, uint64_t number, const uint32_t grid[3])
{
    const struct vm_header *program = &frame->header;
    const uint32_t lanes = program->lanes, units = dev_units(lanes);
    int fresh = frame->active[0] != lanes;
    dev_warp_sync();
    DEV_FIRST
    {
        dev_frame_reset(frame, number, grid);
        frame->active[0] = lanes;
    }
    DEV_ROLES(l)
    {
        uint32_t rest = lanes % DEV_WARP;
        if (fresh && l < units)
            frame->masks[l] = l + 1 == units && rest != 0 ? (1u << rest) - 1u : 0xFFFFFFFFu;
        for (uint32_t i = l; i < program->shared_bytes / 8; i += DEV_WARP)
            ((dev_word64 *)(void *)frame->shared)[i] = 0;
    }
    dev_warp_sync();
}

/* Puts what lies in the room beside what lies in device memory, so that any warp can go on. */
DEV_FN void dev_warp_spill(struct dev_frame *frame, uint32_t room_bytes)
{
    struct dev_warp_layout at = dev_warp_layout(&frame->header, room_bytes);
    unsigned char *far_frame = frame->far_frame;
    dev_warp_sync();
    for (uint32_t part = 0; part < DEV_PARTS; part++) {
        if (at.near_at[part] == DEV_NONE || part == DEV_PART_CODE || part == DEV_PART_VIEWS)
            continue;
        dev_warp_copy(far_frame + at.far_at[part], (unsigned char *)frame + at.near_at[part],
                      at.bytes[part]);
    }
    dev_warp_sync();
    DEV_FIRST frame->serial = 0; /* the frame is another's now */
    dev_warp_sync();
}

/* Takes a workgroup up that dev_warp_spill has put into this frame of device memory. Its views are
 * bound anew. */
DEV_FN void dev_warp_fill(struct dev_frame *frame, unsigned char *far_frame, uint32_t room_bytes)
{
    dev_warp_sync();
    dev_warp_copy(frame, far_frame, sizeof *frame);
    dev_warp_sync();
    struct dev_warp_layout at = dev_warp_layout(&frame->header, room_bytes);
    for (uint32_t part = 1; part < DEV_PARTS; part++) {
        if (at.near_at[part] == DEV_NONE || part == DEV_PART_CODE || part == DEV_PART_VIEWS)
            continue;
        dev_warp_copy((unsigned char *)frame + at.near_at[part], far_frame + at.far_at[part],
                      at.bytes[part]);
    }
    DEV_FIRST dev_warp_point(frame, frame->origin, &at, far_frame);
    dev_warp_sync();
    dev_warp_code(frame, &at);
    dev_warp_sync();
}

#endif
