/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Sleeping on a word. Used by both halves of the sleep hand-shake: workers that wait for a
 * doorbell, and callers that wait for a completion. Words are shared between threads of one process
 * here; the calls are the shared (not the private) ones, because the same words lie in memory that
 * other processes may map.
 */
#ifndef VYRE_BASE_FUTEX_H
#define VYRE_BASE_FUTEX_H

#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleeps while *word is `seen`, at most timeout_ns (UINT64_MAX: for ever). May return early for any
 * reason. */
static inline void vyre_futex_wait(uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
    struct timespec timeout;
    timeout.tv_sec = (time_t)(timeout_ns / 1000000000u);
    timeout.tv_nsec = (long)(timeout_ns % 1000000000u);
    syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout_ns == UINT64_MAX ? NULL : &timeout, NULL, 0);
}

/* Wakes up to `count` sleepers. */
static inline void vyre_futex_wake(uint32_t *word, uint32_t count)
{
    syscall(SYS_futex, word, FUTEX_WAKE, count > 0x7fffffffu ? 0x7fffffff : (int)count, NULL, NULL,
            0);
}

#endif
