/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Parking and waking of the resident kernel (device/release.h, device/leave.h,
 * backend/cuda/launch.c): a launch that has parked is followed by one that stands in the stream
 * behind a wait for a word, and whoever has something for it raises that word. Two producers, and on
 * queue 0 somebody who links or stops.
 *
 * A missed wake-up shows as an invalid end state: somebody waits for ever for a slot that nobody
 * takes. A kernel that is armed, or that rests, is a good end if nobody waits. Contents of slots are
 * ring.pml's affair; here a ring is a pair of counters.
 *
 * One step is one access to a shared word. Joined (atomic) are what stands under the launch lock,
 * the raising of the word (a loop of compare and swap), and words that no other process looks at
 * meanwhile. Full fences (F1, F2) need no step: spin keeps all accesses in order. Times that pass
 * (how long a kernel looks before it parks, how long a hold lasts) are choices: any time at all.
 *
 * Switches: T slots of each producer; LINK: somebody links so often; STOP: the device is told to stop
 * after all work; LOOKS: streams cannot wait, the launch thread looks at the word itself; M_* break
 * one step on purpose (mutants.sh). REACH(name) must be reached in the runs for which check.sh lists
 * it.
 */
#define REACH(name) c_code { note_reached(#name); }

c_decl {
    /* Says once that a place was reached; check.sh reads it. No part of the model's state. */
    static void note_reached(const char *name)
    {
        static const char *said[32];
        int i = 0;
        while (i < 31 && said[i] && said[i] != name) i++;
        if (!said[i]) printf("reached %s\n", said[i] = name);
    }
}

#ifndef T
#define T 2
#endif
#define NQ 3 /* queue 0 and one of each producer */

/* The device page. */
bit poller;
byte sleepers;
byte told;
byte release;
bit gone;

byte bell[NQ];
byte head[NQ];

/* The launch thread's, under its lock. */
bit running; /* a launch runs or is armed */
byte number;
bit held;    /* somebody links */
bit awaited; /* who told the last launch to park has neither linked nor woken it */

/* Lets all launches up to n begin. */
#ifdef M_RELEASE_STORES
#define RAISE(n) release = n
#else
#define RAISE(n)                                                                                   \
    atomic {                                                                                       \
        if                                                                                         \
        :: release < (n) -> release = n                                                            \
        :: else -> REACH(raised_already)                                                           \
        fi                                                                                         \
    }
#endif
#ifdef M_RELEASE_SAME
#define AFTER(k) (k)
#else
#define AFTER(k) ((k) + 1)
#endif

#define RUNG(q) (bell[q] != head[q])

/* Nobody launches now. */
#ifdef M_LINK_NOT_HELD
#define HELD_OFF false
#else
#define HELD_OFF (held || awaited)
#endif

proctype device()
{
    byte q, next;
    bit park, news;
#ifdef M_ARM_FOR_CHANGE
    byte seen;
#endif

begin: /* dev_poller_begin */
    sleepers = 0;
    poller = 1;
look:
    atomic { /* what is seen is taken: nobody else moves heads, and a bell only moves on */
        if
        :: RUNG(1) -> head[1] = bell[1]; goto look
        :: RUNG(2) -> head[2] = bell[2]; goto look
#ifdef LINK
        :: RUNG(0) -> head[0] = bell[0]; park = 1; goto look
#endif
#ifdef STOP
        :: RUNG(0) -> head[0] = bell[0]; goto stop
#endif
        :: park -> goto leave_told
        :: !park && !RUNG(0) && !RUNG(1) && !RUNG(2) -> goto park_now
        fi
    }

park_now: /* dev_resident_park; it may be rung again by now */
#ifdef M_PARK_NO_FENCE
    news = (RUNG(0) || RUNG(1) || RUNG(2));
#endif
    poller = 0;
    sleepers = number;
#ifndef M_PARK_NO_FENCE
#ifndef M_PARK_BLIND
    q = 0; /* F2, pairs with F1: one more look at all bells, one after the other */
    do
    :: q == NQ -> break
    :: q < NQ && RUNG(q) -> news = 1; break
    :: q < NQ && !RUNG(q) -> q++
    od;
#endif
#endif
    if
    :: news -> news = 0; sleepers = 0; poller = 1; REACH(took_back); goto look
    :: else
    fi;
    goto left;

leave_told:
    told = number;
    poller = 0;
    sleepers = number;
    park = 0;

left: /* launch_next */
    atomic { running = 0; q = 0; awaited = (told == number) }
rest:
#ifdef LOOKS
end_rest: /* looks at the word now and then */
#endif
    atomic { /* wait_before_next */
        if
        :: awaited && !held -> awaited = 0; REACH(nobody_came); goto rest /* in time */
        :: !HELD_OFF && release > number -> REACH(early)
#ifndef LOOKS
        :: !HELD_OFF && release <= number
#endif
        fi;
        next = number + 1;
        if
        :: release > next -> next = release; REACH(ahead)
        :: else
        fi;
        running = 1;
        number = next;
#ifdef M_ARM_FOR_CHANGE
        seen = release
#endif
    }
#ifndef LOOKS
#ifdef M_ARM_FOR_CHANGE
end_armed:
    release != seen;
#else
end_armed: /* cuStreamWaitValue32 */
    atomic { release >= number -> REACH(armed) }
#endif
#endif
    goto begin;

stop: /* takes what was published, and is gone */
    atomic { head[1] = bell[1]; head[2] = bell[2]; gone = 1; running = 0; REACH(stopped) }
}

/* A slot is published, and the kernel woken if it sleeps: vyre_queue_submit, dev_wake_parked. */
inline submit(qq, k)
{
#ifdef M_SUBMIT_NO_FENCE
    if
    :: poller || sleepers == 0 -> bell[qq]++; goto rung
    :: else
    fi;
#endif
    bell[qq]++; /* R1 */
    if
    :: poller -> goto rung /* F1 before it, pairs with F2 */
    :: else
    fi;
    k = sleepers;
    if
    :: k == 0 -> goto rung
    :: else
    fi;
    k = sleepers; /* dev_wake_parked reads it for itself */
    if
    :: k == 0 -> REACH(begun_meanwhile); goto rung
    :: else
    fi;
    RAISE(AFTER(k))
}

proctype producer(byte q)
{
    byte k, sent;

    do
    :: sent == T -> break
    :: sent < T ->
        submit(q, k);
rung:
        atomic {
            k = 0;
            sent++;
            if /* one waits for each slot, the other at last */
            :: q == 1 -> head[q] == bell[q]
            :: else
            fi
        }
    od;
    head[q] == bell[q]
}

#ifdef LINK
/* local_link, vyre_cuda_hold, vyre_cuda_release, vyre_cuda_wake. */
proctype linker()
{
    byte k, n;

    do
    :: n == LINK -> break
    :: n < LINK ->
        n++;
        submit(0, k);
rung:
        k = 0;
        head[0] == bell[0]; /* the request to park is answered before the kernel leaves */
        held = 1;
        if
        :: !running -> REACH(held_at_once)
        :: running ->
            if
            :: !running -> REACH(held_later)
            :: running -> held = 0; REACH(busy); goto wake /* it does not leave in time */
            fi
        fi;
        assert(!running); /* linking */
        assert(!running);
        atomic { held = 0; awaited = 0 }
wake:
        atomic { /* under the launch lock */
            k = sleepers;
            if
            :: k == 0 -> k = number
            :: else
            fi;
            awaited = 0
        }
#ifndef M_LINK_NO_WAKE
        RAISE(AFTER(k));
#endif
        k = 0
    od
}
#endif

#ifdef STOP
proctype stopper()
{
    byte k;

    (head[1] == T && head[2] == T);
    submit(0, k);
rung:
    k = 0;
    gone
}
#endif

init
{
    atomic {
        number = 1;
        running = 1;
        run device();
        run producer(1);
        run producer(2);
#ifdef LINK
        run linker();
#endif
#ifdef STOP
        run stopper();
#endif
    }
}
