/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Who may look handles up without holding them: warps of a resident kernel, while the poller does
 * not change any. Lookups are counted; the poller announces a change, waits until none is under
 * way, and makes it. One that begins meanwhile waits. Count and announcement share a word, so no
 * full fence is needed, which would hold up all warps of the device. Where workers are threads
 * nobody looks up but the poller itself.
 */
#ifndef VYRE_DEVICE_LOOKUP_H
#define VYRE_DEVICE_LOOKUP_H

#include "device/layout.h"

#define DEV_LOOKUP_NAP_NS 100u
#define DEV_CHANGING      0x80000000u /* in `lookups`, beside their count */

/* Begins a lookup; on the first lane of a warp. */
DEV_FN void dev_lookup_begin(struct dev_runtime *rt)
{
    while (dev_add_acquire(&rt->lookups, 1) & DEV_CHANGING) { /* A21 pairs with R21 */
        dev_sub_release(&rt->lookups, 1);
        while (dev_load_relaxed(&rt->lookups) & DEV_CHANGING)
            dev_nap(DEV_LOOKUP_NAP_NS);
    }
}

DEV_FN void dev_lookup_end(struct dev_runtime *rt)
{
    dev_sub_release(&rt->lookups, 1); /* R22 pairs with A22 */
}

/* (poller) */
DEV_FN void dev_change_begin(struct dev_runtime *rt)
{
    if (rt->room_bytes == 0) return;
    dev_add_relaxed(&rt->lookups, DEV_CHANGING);
    while (dev_load_acquire(&rt->lookups, DEV_DEVICE) != DEV_CHANGING) /* A22 */
        dev_pause();
}

DEV_FN void dev_change_end(struct dev_runtime *rt)
{
    if (rt->room_bytes != 0) dev_sub_release(&rt->lookups, DEV_CHANGING); /* R21 */
}

#endif
