/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Waking a resident kernel that has parked: by a store to one word, page->release, from whichever
 * process has something for it. Host code.
 *
 * Launch k parks: it says so (page->sleepers is k), fences (F2), and looks at all bells once more.
 * Launch k + 1 stands in the stream already, or soon does, behind a wait until release >= k + 1. A
 * producer that has rung its bell, fenced (F1) and sees sleepers k raises release to k + 1.
 *
 * Nothing is lost. The bell is seen by launch k, or its producer sees that k sleeps (F1, F2). Then
 * release is k + 1 or more: the wait is satisfied, be it put into the stream before or after, for
 * it compares and does not look for a change; and launch k + 1 looks at all bells when it begins.
 *
 * Nobody is harmful who comes late. Release only ever grows (cyclic, as the GPU compares): one who
 * has read sleepers k long ago and raises to k + 1 or less than there is changes nothing. Two at
 * once raise to the same. One who has read k while k took its word back (it saw another bell), or
 * before k + 1 began by another's hand, lets k + 1 begin that was not wanted, or nothing: a launch
 * that finds no work parks again.
 */
#ifndef VYRE_DEVICE_RELEASE_H
#define VYRE_DEVICE_RELEASE_H

#include "base/clock.h"
#include "device/launch.h"

/* Whether a launch may begin. */
static inline int dev_released(const struct dev_page *page, uint32_t number)
{
    return (int32_t)(__atomic_load_n(&page->release, __ATOMIC_ACQUIRE) - number) >= 0;
}

/* Lets all launches up to a number begin. */
static inline void dev_release(struct dev_page *page, uint32_t number)
{
    if (dev_released(page, number)) return;
    uint64_t now = vyre_clock_ns(), woken = __atomic_load_n(&page->woken_ns, __ATOMIC_RELAXED);
    while (woken < now && !__atomic_compare_exchange_n(&page->woken_ns, &woken, now, 1,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    uint32_t release = __atomic_load_n(&page->release, __ATOMIC_RELAXED);
    while ((int32_t)(number - release) > 0 &&
           !__atomic_compare_exchange_n(&page->release, &release, number, 1, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {}
}

/* Wakes the kernel if it has parked; F1 stands before it. One that runs, or that took its word back
 * meanwhile, looks at the bells by itself. */
static inline void dev_wake_parked(struct dev_page *page)
{
    uint32_t parked = dev_load_relaxed(&page->sleepers);
    if (parked != 0) dev_release(page, dev_launch_after(parked));
}

#endif
