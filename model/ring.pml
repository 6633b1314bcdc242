/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The rings: publish, doorbell, copy, claim, complete, reap, cancel and stop.
 *
 * One host process a queue plays its producer and its reaper. Queue 0 is the system queue: its
 * slots are requests to cancel and to stop. WORKERS workers share the poller's role. What it takes
 * to wake a sleeping worker is sleep.pml's affair: here an idle worker simply blocks until there is
 * something to do, so a worker that waits for ever shows as an invalid end state.
 *
 * One step of the model is one access to a word that another process may touch at that moment.
 * Steps are joined (atomic) only where one of these makes them one: the scheduler lock, under which
 * the in-flight table and the run queue are always touched; the poller's role, whose holder alone
 * reads and writes head, barrier and cancel bits; words that are private to the process for the
 * moment, such as a completion entry between its reservation and its lap. Ghost variables stand in
 * no C code and exist for the assertions.
 *
 * Indices run freely in 8 bits, where the code has 32, and start at START, so that every run
 * crosses the wrap. The run queue is the set of PUBLISHED table entries, taken in any order:
 * that covers every order that priorities, turns and ageing can make.
 *
 * Switches: NQ queues with the system queue, N slots a ring, T slots each host submits, TABLE
 * entries of the in-flight table, CANCEL, STOP, FENCE, BATCH; M_* each break one step on purpose
 * (mutants.sh). REACH(name) must be reached in the runs for which check.sh lists the name.
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

#ifndef NQ
#define NQ 3
#endif
#ifndef N
#define N 1
#endif
#ifndef T
#define T 2
#endif
#ifndef TABLE
#define TABLE 2
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef START
#define START 255
#endif

#ifdef CANCEL
#define CANCELS 1
#else
#define CANCELS 0
#endif
#ifdef STOP
#define STOPS 1
#else
#define STOPS 0
#endif
#define REQUESTS (CANCELS + STOPS)

/* What a slot asks for; a slot is op * 8 + number, 0 where nothing was ever written. */
#define OP_RUN    1
#define OP_FENCE  2
#define OP_CANCEL 3
#define OP_STOP   4

/* How a slot ends. DONE stands for done and for faulted: both are what a run gave. */
#define NONE      0
#define DONE      1
#define CANCELLED 2
#define STOPPED   3
#define NOT_FOUND 4
#define HEARD     7 /* a ghost: the reaper knows the status, which one no longer matters */

/* Status of an in-flight entry. FENCED is a fence that waits for the queue's count to be 0 (in the
 * code it is PUBLISHED, but in no run queue); ENDED is done or faulted, and not yet given back. */
#define FREE      0
#define PUBLISHED 1
#define CLAIMED   2
#define FENCED    3
#define ENDED     4

/* State of the device: STOPPING is DEV_STOPPED. */
#define RUNNING  0
#define STOPPING 1
#define GONE     2

#define NO_ENTRY 255

#define SUB(a, b)   (((a) - (b)) & 255)
#define INDEX(k)    (((k) + START) & 255)
#define NUMBER(i)   SUB(i, START)
#define PLACE(q, i) ((q) * N + (i) % N)
#define LAP(i)      (((i) / N + 1) & 255)
#define GHOST(q, k) ((q) * T + (k))

/* Submission rings. */
byte slot[NQ * N];
byte doorbell[NQ] = START;

/* Completion rings: the words of an entry, then the lap that makes it visible. */
byte entry_number[NQ * N];
byte entry_status[NQ * N];
byte entry_lap[NQ * N];
byte completed[NQ] = START; /* entries reserved */
byte reaped[NQ] = START;

/* Under the poller's role. */
bit role;
byte head[NQ] = START;
byte barrier[NQ] = NO_ENTRY; /* entry of the fence that waits */
bit table_full[NQ];          /* the slot at head found no free entry */
bit cancel_bit[NQ * N];
bit shutdown;

/* Under the scheduler lock. */
byte table_status[TABLE];
byte table_queue[TABLE];
byte table_number[TABLE];
bit wish[TABLE]; /* a running slot's end is wanted */

/* Atomic words. */
byte inflight[NQ];
byte alive = WORKERS;
byte state = RUNNING;
byte final_head[NQ]; /* valid once the state is GONE */

/* The one cancel request: whom it means. Written before its slot is published. */
byte target_queue;
byte target_number;

/* Ghosts: the status the device gave, whether the slot was run, whether its doorbell rang after the
 * device had stopped looking, and whether a cancel request has shut it out from running. */
byte final[NQ * T];
bit ran[NQ * T];
bit late[NQ * T];
bit asked;
bit denied;
#ifdef FENCE
bit is_fence[NQ * T];
#endif

/* All slots of queue q before k have ended; all fences among them have. */
#define ENDED_AT(q, k, j) ((k) <= (j) || final[GHOST(q, j)] != NONE)
#define ENDED_BEFORE(q, k) (ENDED_AT(q, k, 0) && ENDED_AT(q, k, 1) && ENDED_AT(q, k, 2))
#define LIFTED_AT(q, k, j) ((k) <= (j) || !is_fence[GHOST(q, j)] || final[GHOST(q, j)] != NONE)
#define LIFTED_BEFORE(q, k) (LIFTED_AT(q, k, 0) && LIFTED_AT(q, k, 1) && LIFTED_AT(q, k, 2))

#define IS_TARGET(q, k) ((q) == target_queue && (k) == target_number)

/* Something the holder of the role could do for queue q. A fence that waits and a full table are no
 * reason to take the role before they can have changed. */
#define TABLE_ROOM(e) (table_status[e] == FREE)
#define ANY_PUBLISHED(e) (table_status[e] == PUBLISHED)
#if TABLE == 2
#define SOME_FREE      (TABLE_ROOM(0) || TABLE_ROOM(1))
#define SOME_PUBLISHED (ANY_PUBLISHED(0) || ANY_PUBLISHED(1))
#else
#define SOME_FREE      (TABLE_ROOM(0) || TABLE_ROOM(1) || TABLE_ROOM(2))
#define SOME_PUBLISHED (ANY_PUBLISHED(0) || ANY_PUBLISHED(1) || ANY_PUBLISHED(2))
#endif
#define POLLABLE(q)                                                                                \
    ((barrier[q] != NO_ENTRY && inflight[q] == 0) ||                                               \
     (barrier[q] == NO_ENTRY && doorbell[q] != head[q] && (!table_full[q] || SOME_FREE)))
#if NQ == 3
#define ANY_POLLABLE (POLLABLE(0) || POLLABLE(1) || POLLABLE(2))
#else
#define ANY_POLLABLE (POLLABLE(0) || POLLABLE(1))
#endif

inline pick(entry, wanted)
{
    if
    :: table_status[0] == wanted -> entry = 0
    :: table_status[1] == wanted -> entry = 1
#if TABLE == 3
    :: table_status[2] == wanted -> entry = 2
#endif
    fi
}

/* A slot is run: never twice, never after its cancellation was certain, a fence not before all that
 * came before it has ended, and nothing before the fences in front of it have. */
inline run_once(qq, kk)
{
    assert(!ran[GHOST(qq, kk)] && final[GHOST(qq, kk)] == NONE);
    assert(!(denied && IS_TARGET(qq, kk)));
#ifdef FENCE
    assert(!is_fence[GHOST(qq, kk)] || ENDED_BEFORE(qq, kk));
    assert(LIFTED_BEFORE(qq, kk));
#endif
    ran[GHOST(qq, kk)] = 1
}

/* Queue qq's slot kk ends as ss: the words of completion entry ii. The entry must have been reaped
 * before, the slot must not have ended before, and it may end only in a way that is true. */
inline write_words(qq, kk, ss, ii)
{
    d_step {
        assert(SUB(ii, reaped[qq]) < N);
        assert(final[GHOST(qq, kk)] == NONE);
        assert(ss != CANCELLED || (asked && IS_TARGET(qq, kk)));
        assert(ss != STOPPED || shutdown);
        assert(ss != DONE || qq == 0 || ran[GHOST(qq, kk)]);
        final[GHOST(qq, kk)] = ss;
        ran[GHOST(qq, kk)] = 0; late[GHOST(qq, kk)] = 0; /* said: a slot that ended runs no more */
        if
        :: IS_TARGET(qq, kk) -> denied = 0
        :: else
        fi;
        entry_number[PLACE(qq, ii)] = kk;
        entry_status[PLACE(qq, ii)] = ss
    }
}

/* The holder of the role has taken the slot at head: its place is free again. Clearing it is a
 * ghost, so that reading it once more would be an error. */
inline advance(qq)
{
    slot[PLACE(qq, head[qq])] = 0;
    head[qq] = (head[qq] + 1) & 255
}

active [WORKERS] proctype worker()
{
    byte q, k, st, db, i, c;
    byte e = NO_ENTRY;
    bit polls;    /* has the role */
    bit last;     /* is the last worker: its final drain */
    bit progress; /* the last worker's pass over the queues took something */
    bit answer;   /* a cancel request waits for its own completion */

idle:
#ifndef STOP
end_idle:
#endif
    if
    :: atomic {
           SOME_PUBLISHED -> /* claim, under the scheduler lock */
           pick(e, PUBLISHED);
           table_status[e] = CLAIMED; q = table_queue[e]; k = table_number[e]
       }
       goto execute
#ifdef M_TWO_POLLERS
    :: atomic { ANY_POLLABLE -> role = 1; polls = 1 }
#else
    :: atomic { role == 0 && ANY_POLLABLE -> role = 1; polls = 1 } /* try-lock */
#endif
       goto poll
#ifdef STOP
    :: shutdown && !SOME_PUBLISHED -> goto leave
#endif
    fi;

execute: /* it has the entry to itself */
    atomic {
        if
        :: shutdown -> st = STOPPED; REACH(stopped_waiting)
#ifdef CANCEL
        :: wish[e] -> st = CANCELLED; REACH(cancelled_claimed)
#endif
        :: !shutdown && !wish[e] -> run_once(q, k); st = DONE
        fi;
        goto complete
    }

poll:
    atomic {
        if
        :: POLLABLE(0) -> q = 0
        :: POLLABLE(1) -> q = 1
#if NQ == 3
        :: POLLABLE(2) -> q = 2
#endif
        :: !ANY_POLLABLE -> polls = 0; role = 0; goto idle
        fi;
        db = doorbell[q] /* A1, pairs with R1 */
    }

take:
    atomic {
        if
        :: barrier[q] != NO_ENTRY && inflight[q] == 0 -> /* A4, pairs with R4 */
            /* The fence that waited is run. */
            e = barrier[q]; k = table_number[e]; barrier[q] = NO_ENTRY;
            table_status[e] = CLAIMED; inflight[q]++; progress = 1;
            if
            :: c == 0 -> REACH(fence_waited)
            :: else -> c = 0
            fi;
            goto execute
        :: barrier[q] != NO_ENTRY && inflight[q] != 0 -> goto taken
        :: barrier[q] == NO_ENTRY && head[q] == db -> goto taken
        :: barrier[q] == NO_ENTRY && head[q] != db ->
            k = NUMBER(head[q]);
            c = slot[PLACE(q, head[q])]; /* copied once */
            assert(c % 8 == k && c / 8 != 0)
        fi;
        if
        :: c / 8 == OP_RUN && !shutdown && !cancel_bit[PLACE(q, head[q])] -> /* small: in place */
            advance(q); run_once(q, k); st = DONE; progress = 1; goto complete
        :: SOME_FREE -> table_full[q] = 0
        :: !SOME_FREE -> REACH(table_full); table_full[q] = 1; goto taken
        fi;
        progress = 1;
#ifdef CANCEL
#ifndef M_CANCEL_BLIND
        if
        :: cancel_bit[PLACE(q, head[q])] ->
#ifndef M_CANCEL_STICKY
            cancel_bit[PLACE(q, head[q])] = 0;
#endif
            st = CANCELLED
        :: else
        fi;
#endif
#endif
        if
        :: shutdown && q != 0 -> st = STOPPED
        :: else
        fi;
        advance(q);
        if
        :: st == STOPPED -> REACH(stopped_in_ring); goto complete
        :: st == CANCELLED -> REACH(cancelled_in_ring); goto complete
        :: st == 0 && c / 8 == OP_RUN ->
            pick(e, FREE);
            table_status[e] = PUBLISHED; table_queue[e] = q; table_number[e] = k;
            inflight[q]++;
            e = NO_ENTRY; k = 0; c = 0; goto take
#ifdef FENCE
        :: st == 0 && c / 8 == OP_FENCE ->
            pick(e, FREE);
            table_status[e] = FENCED; table_queue[e] = q; table_number[e] = k;
            barrier[q] = e;
#ifdef M_FENCE_BLIND
            barrier[q] = NO_ENTRY; table_status[e] = CLAIMED; inflight[q]++; goto execute
#endif
            e = NO_ENTRY; k = 0; goto take
#endif
#ifdef STOP
        :: st == 0 && c / 8 == OP_STOP ->
            state = STOPPING; shutdown = 1; st = DONE; goto complete
#endif
#ifdef CANCEL
        :: st == 0 && c / 8 == OP_CANCEL -> answer = 1
#endif
        fi
    }

#ifdef CANCEL
    /* The only way here: the request to cancel (target_queue, target_number) has been taken. */
    atomic {
        if
        :: target_number >= NUMBER(doorbell[target_queue]) -> /* A1; never submitted */
            st = NOT_FOUND; goto answered
        :: target_number < NUMBER(doorbell[target_queue]) && /* A1 */
           target_number >= NUMBER(head[target_queue]) ->
            cancel_bit[PLACE(target_queue, INDEX(target_number))] = 1;
            denied = 1; st = DONE; goto answered
        :: target_number < NUMBER(head[target_queue])
        fi;
    }
    /* Under the scheduler lock: look for it in the table, and unlink it or leave a wish. */
    atomic {
        e = NO_ENTRY;
        do
        :: i == TABLE -> break
        :: i < TABLE ->
            if
            :: table_status[i] != FREE && table_status[i] != ENDED &&
               table_queue[i] == target_queue && table_number[i] == target_number -> e = i
            :: else
            fi;
            i++
        od;
        i = 0;
        if
        :: e == NO_ENTRY ->
            assert(final[GHOST(target_queue, target_number)] != NONE);
            REACH(not_found);
            st = NOT_FOUND; goto answered
        :: e != NO_ENTRY && table_status[e] == CLAIMED ->
            wish[e] = 1; e = NO_ENTRY; st = DONE; goto answered
#ifdef FENCE
        :: e != NO_ENTRY && table_status[e] == FENCED ->
            REACH(cancelled_fence);
            wish[e] = 1; e = NO_ENTRY; st = DONE; denied = 1; goto answered
#endif
        :: e != NO_ENTRY && table_status[e] == PUBLISHED
        fi;
#ifdef M_CANCEL_NO_LOCK
    }
    atomic {
#endif
        q = target_queue; k = target_number; st = CANCELLED; denied = 1;
        REACH(cancelled_waiting);
        table_status[e] = CLAIMED; goto complete
    }
answered:
    atomic { answer = 0; q = 0; k = c % 8; e = NO_ENTRY; db = head[0] }
#endif

complete:
    atomic {
        /* A running operation may look at the wish and at the stop, and end early. */
        if
        :: true
#ifdef CANCEL
        :: e != NO_ENTRY && wish[e] && st == DONE -> st = CANCELLED; REACH(cancelled_running)
#endif
#ifdef STOP
        :: e != NO_ENTRY && shutdown && st == DONE -> st = STOPPED; REACH(stopped_running)
#endif
        fi;
        if
        :: e != NO_ENTRY -> table_status[e] = ENDED
        :: else
        fi;
#ifdef M_COUNT_EARLY
        if
        :: e != NO_ENTRY -> inflight[q]--
        :: else
        fi;
#endif
        i = completed[q]; completed[q] = (i + 1) & 255; /* one atomic add: R10 and A10 */
#ifdef M_LAP_FIRST
    }
    entry_lap[PLACE(q, i)] = LAP(i);
    write_words(q, k, st, i);
#else
#ifdef M_COUNT_EARLY
    }
    atomic {
#endif
        write_words(q, k, st, i) /* the entry is this worker's alone until its lap is stored */
    }
    entry_lap[PLACE(q, i)] = LAP(i); /* R2, pairs with A2 */
#endif
    atomic {
        if
        :: e == NO_ENTRY -> goto completed_slot
        :: e != NO_ENTRY -> /* under the scheduler lock */
            table_status[e] = FREE; table_queue[e] = 0; table_number[e] = 0; wish[e] = 0
        fi
    }
#ifndef M_COUNT_EARLY
    inflight[q]--; /* R4, pairs with A4 */
#endif
completed_slot:
    atomic {
        e = NO_ENTRY; i = 0; st = 0;
        if
        :: !polls -> q = 0; k = 0; goto idle
#ifdef CANCEL
        :: polls && answer -> st = DONE; goto answered
#endif
        :: polls && !answer -> k = 0; c = 0; goto take
        fi
    }

taken:
    atomic {
        e = NO_ENTRY; k = 0; c = 0; db = 0;
        if
        :: !last -> q = 0; progress = 0; goto poll
        :: last -> q++
        fi
    }

#ifdef STOP
final_drain:
    if
#ifdef M_NO_FINAL_DRAIN
    :: q < NQ -> q = NQ
#else
    :: q < NQ -> db = doorbell[q]; goto take /* A1 */
#endif
    :: q == NQ && progress -> q = 0; progress = 0; goto final_drain
    :: q == NQ && !progress
    fi;
    atomic {
#ifndef M_FINAL_HEAD_EARLY
        final_head[0] = head[0]; final_head[1] = head[1];
#if NQ == 3
        final_head[2] = head[2];
#endif
#endif
        state = GONE; /* R6, pairs with A6: the final heads are seen with it */
        goto out
    }

leave:
    atomic {
        alive--;
        last = (alive == 0);
#ifdef M_FIRST_ENDS
        last = 1;
#endif
        if
        :: !last -> goto out
        :: last
        fi
    }
    atomic { role == 0 -> role = 1; polls = 1; q = 0; progress = 0 }
#ifdef M_FINAL_HEAD_EARLY
    d_step {
        final_head[0] = head[0]; final_head[1] = head[1];
#if NQ == 3
        final_head[2] = head[2];
#endif
    }
#endif
    goto final_drain;
out:
    skip
#endif
}

/* Fills the slot with number kk: private to the producer until its doorbell rings. */
inline fill(kk)
{
    /* The place is free: its last slot has been taken, unless nobody takes any more. */
    assert(SUB(INDEX(kk), head[q]) < N || state == GONE);
    if
    :: q != 0 -> slot[PLACE(q, INDEX(kk))] = OP_RUN * 8 + kk
#ifdef FENCE
    :: q != 0 -> slot[PLACE(q, INDEX(kk))] = OP_FENCE * 8 + kk; is_fence[GHOST(q, kk)] = 1
#endif
#ifdef STOP
    :: q == 0 && !stop_sent ->
        slot[PLACE(q, INDEX(kk))] = OP_STOP * 8 + kk;
        stop_sent = 1
#endif
#ifdef CANCEL
    :: q == 0 && !asked ->
        slot[PLACE(q, INDEX(kk))] = OP_CANCEL * 8 + kk;
        asked = 1;
        target_queue = 1; /* the queues are alike: one of them is enough */
        if
        :: target_number = 0
        :: target_number = 1
#if T >= 3
        :: target_number = 2
#endif
#if T >= 4
        :: target_number = 3
#endif
        fi
#endif
    fi
}

/* Producer and reaper of one queue. */
proctype host(byte q, total)
{
    byte submitted, n, k, seen;
    bit refused, stop_sent, lost_known;

    do
    :: atomic {
           !refused && submitted < total &&
#ifdef M_NO_ROOM_CHECK
           true ->
#else
           SUB(INDEX(submitted), reaped[q]) < N -> /* A3, pairs with R3 */
#endif
           n = 1;
#ifdef BATCH
           if
           :: true
           :: submitted + 1 < total && SUB(INDEX(submitted + 1), reaped[q]) < N -> n = 2
           fi;
#endif
#ifdef M_DOORBELL_FIRST
           doorbell[q] = INDEX(submitted + n)
       }
       atomic {
#endif
           fill(submitted);
#ifdef BATCH
           if
           :: n == 2 -> fill(submitted + 1)
           :: else
           fi;
#endif
           if
           :: state != RUNNING -> refused = 1; n = 0; REACH(refused)
           :: else
           fi
       }
       if
       :: refused
       :: else ->
           d_step {
#ifndef M_DOORBELL_FIRST
               doorbell[q] = INDEX(submitted + n); /* R1, pairs with A1; then F1 */
#endif
               late[GHOST(q, submitted)] = (state != RUNNING);
               if
               :: n == 2 -> late[GHOST(q, submitted + 1)] = (state != RUNNING)
               :: else
               fi;
               submitted = submitted + n; n = 0
           }
       fi
    :: atomic {
           INDEX(submitted) != reaped[q] &&
           entry_lap[PLACE(q, reaped[q])] == LAP(reaped[q]) -> /* A2, pairs with R2 */
reap:
           k = entry_number[PLACE(q, reaped[q])];
           assert(k < submitted);
           assert(!(seen & (1 << k))); /* heard of once */
           assert(entry_status[PLACE(q, reaped[q])] == final[GHOST(q, k)]);
           assert(final[GHOST(q, k)] != NONE);
           seen = seen | (1 << k);
           d_step {
               final[GHOST(q, k)] = HEARD; k = 0;
               entry_number[PLACE(q, reaped[q])] = 0; entry_status[PLACE(q, reaped[q])] = 0
           }
           reaped[q] = (reaped[q] + 1) & 255 /* R3, pairs with A3 of the submitting side */
       }
#ifdef STOP
#ifdef M_RING_BEFORE_GONE
    :: !lost_known && entry_lap[PLACE(q, reaped[q])] != LAP(reaped[q]) ->
        state == GONE;
#else
    :: !lost_known && state == GONE -> /* A6, pairs with R6 */
        if
        :: entry_lap[PLACE(q, reaped[q])] == LAP(reaped[q]) -> goto reap
        :: else
        fi;
#endif
        /* The ring is empty for ever: what the device never took is lost, and nothing else. */
        atomic {
            lost_known = 1;
            k = NUMBER(final_head[q]);
            assert(SUB(INDEX(submitted), reaped[q]) == submitted - k);
            do
            :: k == submitted -> break
            :: k < submitted ->
                assert(!(seen & (1 << k)));
                assert(final[GHOST(q, k)] == NONE && !ran[GHOST(q, k)]);
                assert(late[GHOST(q, k)]);
                REACH(lost);
                seen = seen | (1 << k);
                reaped[q] = (reaped[q] + 1) & 255;
                k++
            od;
            k = 0
        }
#endif
    :: INDEX(submitted) == reaped[q] && (refused || submitted == total) -> break
    od;
    /* Every accepted slot was heard of, exactly once. */
    assert(seen == (1 << submitted) - 1);
    assert(refused || submitted == total)
}

init
{
    byte i, j;
    atomic {
        /* The laps of a fresh ring are those of the round before: never the one that is expected
         * next, also where that one is 0. */
        do
        :: i == NQ -> break
        :: i < NQ ->
            j = 0;
            do
            :: j == N -> break
            :: j < N ->
#ifndef M_LAP_ZERO
                entry_lap[PLACE(i, INDEX(j))] = LAP(SUB(INDEX(j), N));
#endif
                j++
            od;
            i++
        od;
        i = 0; j = 0;
        run host(0, REQUESTS);
        run host(1, T);
#if NQ == 3
        run host(2, T)
#endif
    }
}
