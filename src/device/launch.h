/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a launch of the resident kernel is told, how launches are numbered, and what time it is in
 * one.
 *
 * A launch that is armed was put into its stream behind a wait, perhaps hours before it begins, and
 * with it how far the host's clock was ahead of the GPU's timer then. The two drift apart. So who
 * wakes it says what time it is (page->woken_ns, release.h), and the launch sets its clock by that.
 */
#ifndef VYRE_DEVICE_LAUNCH_H
#define VYRE_DEVICE_LAUNCH_H

#include "device/layout.h"

#define DEV_DRIFT_LEAST_NS 1000000u /* a clock that is wrong by less is left as it is */
#define DEV_DRIFT_PART     1024u    /* no clock drifts by more than this part of the time */

enum dev_launch_flag {
    DEV_LAUNCH_ARMED = 1,  /* it has waited for page->release */
    DEV_LAUNCH_CROWDED = 2 /* some multiprocessors have more than one block */
};

struct dev_launch {
    int64_t clock_shift; /* for dev_clock_ns */
    uint64_t clock_ns;   /* when that was measured, on the host's clock */
    uint64_t park_ns;    /* leave after so long without work; 0: never */
    uint64_t stay_ns;    /* leave after so long in any case, to be launched again; 0: never */
    uint32_t number;     /* 1 for the first launch of a device, and so on; never 0 */
    uint32_t flags;      /* enum dev_launch_flag */
    uint32_t block_warps;
};

/* The number after a launch's: 0 is none. */
DEV_FN uint32_t dev_launch_after(uint32_t number)
{
    return number + 1u != 0 ? number + 1u : 1u;
}

/*
 * The shift of a launch that begins: now_ns is what its clock shows with the shift that it was
 * told, woken_ns when it was woken.
 *
 * A clock that is behind woken_ns is wrong. One that is ahead may be right: whoever woke the launch
 * may have been put aside between reading the clock and raising the word. So the correction is
 * never more than what may have drifted since the shift was measured: crystals differ by a tenth of
 * a thousandth, a clock that is being set moves by half a thousandth.
 */
DEV_FN int64_t dev_launch_shift(const struct dev_launch *launch, uint64_t now_ns, uint64_t woken_ns)
{
    if (woken_ns <= launch->clock_ns) return launch->clock_shift; /* measured since */
    uint64_t most = (woken_ns - launch->clock_ns) / DEV_DRIFT_PART;
    uint64_t apart = woken_ns > now_ns ? woken_ns - now_ns : now_ns - woken_ns;
    if (apart <= DEV_DRIFT_LEAST_NS) return launch->clock_shift;
    if (apart > most) apart = most;
    return launch->clock_shift + (woken_ns > now_ns ? (int64_t)apart : -(int64_t)apart);
}

#endif
