/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The sleep hand-shakes: workers that sleep until a producer rings, and reapers that sleep until a
 * completion comes.
 *
 * A missed wake-up shows as an invalid end state: somebody sleeps for ever while there is work. To
 * see also a worker that sleeps while another one is busy, the first slot of queue 1 may be a long
 * operation that ends only after every other slot has ended (or the device is told to stop):
 * whatever its worker would have done next must be done by the other one. Contents of slots and
 * rings are ring.pml's affair; here a ring is a pair of counters and a slot is its kind.
 *
 * One step is one access to a shared word, as far as another process can tell. Steps are joined
 * (atomic) under the scheduler lock, for a futex call (its compare and its sleep are one), for
 * words that no other process looks at meanwhile, and for taking the role together with the first
 * access under it. Full fences (F1 to F4) need no step: spin keeps all accesses in order. A mutant
 * M_*_NO_FENCE shows what each of them is for by making the accesses around it in the other order.
 *
 * Words that are only compared with an earlier reading (wake_seq, event, ends) are not counted: a
 * bit per reader says whether the word still is what that reader read. So there is no wrap in this
 * model; the code's words are the same again after 2^32 changes.
 *
 * Switches: NQ queues with the system queue; T1 and T2 slots of queues 1 and 2; LONG: the long
 * operation; FENCE: the last slot of the last queue is a fence; WAIT: the reapers sleep, and the
 * host of the last queue awaits each submit before the next; STOP: the device is told to stop after
 * all work, with STOP_ANY at any time; HELP: a host thread takes the role once; M_* break one step
 * on purpose (mutants.sh). REACH(name) must be reached in the runs for which check.sh lists it.
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
#ifndef T1
#define T1 1
#endif
#ifndef T2
#define T2 1
#endif
#define WORKERS 2
#if NQ == 3
#define OTHERS (T1 + T2 - 1) /* all slots but the long one */
#else
#define OTHERS (T1 - 1)
#endif
#ifdef STOP
#define FIRST 0
#else
#define FIRST 1 /* no stop: nobody looks at queue 0 */
#endif
#define LAST (NQ - 1)

#define RUNNING  0
#define STOPPING 1
#define GONE     2

#define NO_JOB   0
#define LONG_JOB 3 /* job 1 or 2: a slot of that queue */

/* The device page. */
bit poller; /* the role */
byte sleepers;
byte state = RUNNING;

/* Sleeping workers: whether wake_seq is what the worker read, whether it is in the futex call. */
bit seq_same[WORKERS];
bit asleep[WORKERS];

/* Rings. */
byte doorbell[NQ];
byte head[NQ];
byte lap[NQ]; /* completions visible */

#ifdef WAIT
/* Sleeping reapers: whether event is what the reaper read, whether it says that it waits, whether
 * it is in the futex call. */
bit event_same[NQ];
bit waiter[NQ];
bit host_asleep[NQ];
#endif

/* Under the scheduler lock, read without it for a hint. */
byte waiting[NQ]; /* in the run queue */
bit waiting_long;
#if NQ == 3
#define WAITING (waiting[1] + waiting[2] + waiting_long)
#else
#define WAITING (waiting[1] + waiting_long)
#endif

#ifdef FENCE
byte inflight; /* of the last queue */
bit ends_same[WORKERS];
bit barrier; /* of the last queue: its fence waits */
#endif
bit shutdown;
byte alive = WORKERS;

byte others; /* ghost: slots ended but the long one */

#ifdef LONG
#define IS_LONG(q, k) ((q) == 1 && (k) == 0)
#else
#define IS_LONG(q, k) false
#endif
#ifdef FENCE
#if NQ == 3
#define IS_FENCE(q, k) ((q) == 2 && (k) == T2 - 1)
#else
#define IS_FENCE(q, k) ((q) == 1 && (k) == T1 - 1)
#endif
#else
#define IS_FENCE(q, k) false
#endif

/* Wakes up to n of the workers that sleep on wake_seq. */
inline wake_workers(n)
{
    d_step { seq_same[0] = 0; seq_same[1] = 0 } /* wake_seq moves on */
    atomic {
        if
        :: n == 1 && asleep[0] -> asleep[0] = 0
        :: n == 1 && asleep[1] -> asleep[1] = 0
        :: n > 1 -> asleep[0] = 0; asleep[1] = 0
        :: n == 1 && !asleep[0] && !asleep[1]
        fi
    }
}

inline stop_wakes()
{
#ifdef M_STOP_WAKES_ONE
    wake_workers(1)
#else
    wake_workers(WORKERS)
#endif
}

#ifdef WAIT
inline notify(qq)
{
    if
    :: was_waiting ->
        d_step { was_waiting = 0; event_same[qq] = 0 } /* event moves on */
        host_asleep[qq] = 0
    :: else
    fi
}
#endif

/* A completion of queue qq becomes visible: R2; then F3, and a look whether its reaper sleeps. */
inline complete(qq, is_long)
{
#ifdef M_NOTIFY_NO_FENCE
    was_waiting = waiter[qq];
#endif
    d_step { lap[qq]++; others = others + 1 - is_long }
#ifdef WAIT
#ifndef M_NOTIFY_NO_FENCE
    was_waiting = waiter[qq]; /* F3 before it, pairs with F4 */
#endif
    notify(qq)
#endif
}

/* An entry of the last queue was given back. */
#ifndef FENCE
#define end_entry skip
#elif defined(M_ENDS_FIRST)
#define end_entry                                                                                  \
    d_step { ends_same[0] = 0; ends_same[1] = 0 }                                                  \
    inflight--
#else
#define end_entry                                                                                  \
    inflight--; /* R4 */                                                                           \
    d_step { ends_same[0] = 0; ends_same[1] = 0 } /* R11: ends moves on */
#endif

/* A doorbell without its slots taken, as seen without the role. */
#ifdef FENCE
#define NEWS(q) (doorbell[q] != head[q] && !((q) == LAST && barrier))
#else
#define NEWS(q) (doorbell[q] != head[q])
#endif

active [WORKERS] proctype worker()
{
    byte q = FIRST;
    byte k, db, job;
    bit role, progress, news, last, was_waiting, is_long, lifted, saw_sleepers;

again:
    atomic {
        progress = 0;
#ifdef M_SHARE_NO_FENCE
        saw_sleepers = (sleepers != 0);
#endif
        if
        :: !role && poller != 0 -> goto pop
        :: !role && poller == 0 -> poller = 1; role = 1
        :: role
        fi;
#ifdef FENCE
        ends_same[_pid] = 1 /* A11, pairs with R11: reads ends */
#endif
    }

pass:
    atomic {
        if
        :: q == NQ -> q = FIRST; goto passed
#ifdef FENCE
        :: q == LAST && barrier && inflight != 0 -> q = FIRST; goto passed /* A4, pairs with R4 */
        :: q == LAST && barrier && inflight == 0 ->
            REACH(fence_waited);
            barrier = 0; lifted = 1; is_long = 0; goto end_slot
        :: q == LAST && !barrier && doorbell[q] == head[q] -> q++; goto pass
        :: q < LAST && doorbell[q] == head[q] -> q++; goto pass
        :: q < NQ && !(q == LAST && barrier) && doorbell[q] != head[q]
#else
        :: q < NQ && doorbell[q] == head[q] -> q++; goto pass
        :: q < NQ && doorbell[q] != head[q]
#endif
           -> db = doorbell[q]; k = head[q]; progress = 1 /* A1, pairs with R1 */
        fi
    }
slot:
    atomic {
        if
#ifdef STOP
        :: q == 0 -> state = STOPPING; shutdown = 1 /* F1 */
#endif
        :: q != 0 && shutdown -> is_long = IS_LONG(q, k); goto end_slot
        :: q != 0 && !shutdown && !IS_LONG(q, k) && !IS_FENCE(q, k) -> /* in place */
            is_long = 0; goto end_slot
        :: q != 0 && !shutdown && !IS_FENCE(q, k) -> /* handed over, under the scheduler lock */
            if
            :: IS_LONG(q, k) -> waiting_long = 1
            :: else -> waiting[q]++
            fi;
#ifdef FENCE
            if
            :: q == LAST -> inflight++
            :: else
            fi;
#endif
            goto next_slot
#ifdef FENCE
        :: q != 0 && !shutdown && IS_FENCE(q, k) -> barrier = 1; goto fence
#endif
        fi
    }
#ifdef STOP
    stop_wakes();
    goto next_slot;
#endif
#ifdef FENCE
fence: /* the barrier stands; it is lifted at once if nothing is in flight */
    atomic {
        if
        :: inflight == 0 -> barrier = 0; is_long = 0; goto end_slot /* A4 */
        :: else -> goto next_slot
        fi
    }
#endif
end_slot:
    complete(q, is_long);
#ifdef FENCE
    atomic {
        is_long = 0;
        if
        :: IS_FENCE(q, k) || lifted -> ends_same[0] = 0; ends_same[1] = 0 /* R11 */
        :: else
        fi;
        if
        :: lifted -> lifted = 0; goto pass
        :: else
        fi
    }
#endif
next_slot:
    atomic {
        k++; is_long = 0;
        if
        :: k != db -> goto slot
        :: else -> head[q] = k; q++; k = 0; db = 0; goto pass
        fi
    }

passed:
#ifdef STOP
    if
    :: last && progress -> goto again
    :: last && !progress -> goto gone
    :: !last
    fi;
#endif

pop:
    atomic { /* under the scheduler lock */
        if
        :: waiting_long -> waiting_long = 0; job = LONG_JOB
        :: waiting[1] -> waiting[1]--; job = 1
#if NQ == 3
        :: waiting[2] -> waiting[2]--; job = 2
#endif
        :: WAITING == 0
        fi
    }
#ifndef M_NO_SHARE_OUT
    if
    :: !progress
    :: progress && WAITING -> /* then F2, pairs with F2 */
        if
#ifdef M_SHARE_NO_FENCE
        :: saw_sleepers -> wake_workers(1)
#elif defined(M_SHARE_ALL_BUT_ONE)
        :: sleepers && WAITING > 1 -> wake_workers(1)
#else
        :: atomic { sleepers -> REACH(shared_out) } wake_workers(1)
#endif
        :: else
        fi
    :: progress && !WAITING
    fi;
#endif
    if
    :: job != NO_JOB && !role -> goto execute
    :: job != NO_JOB && role
    :: job == NO_JOB && progress -> goto again
#ifdef STOP
    :: job == NO_JOB && !progress && shutdown -> goto leave
#endif
    :: job == NO_JOB && !progress && !shutdown -> goto again /* looks for a while */
    :: job == NO_JOB && !progress && !shutdown -> goto sleep /* has looked long enough */
    fi;

    /* Before a long run the role is left. */
#ifdef M_LEAVE_NO_FENCE
    if
    :: sleepers == 0 -> poller = 0; role = 0; goto execute
    :: else
    fi;
#endif
    atomic { poller = 0; role = 0 } /* unlock */
#ifdef M_LEAVE_BLIND
    goto execute;
#endif
    if
    :: sleepers == 0 -> goto execute /* F2 before it, pairs with F1 and F2 */
    :: else
    fi;
    do
    :: q == NQ -> break
    :: atomic { q < NQ && NEWS(q) -> REACH(role_handed_over) } wake_workers(1); goto handed_over
    :: q < NQ && !NEWS(q) -> q++
    od;
#ifdef FENCE
#ifndef M_LEAVE_FORGETS_FENCE
    if
    :: atomic { barrier && !ends_same[_pid] -> REACH(fence_handed_over) } wake_workers(1)
    :: else
    fi;
#endif
#endif
handed_over:
    q = FIRST;

execute:
    if
#ifdef LONG
    :: atomic { job == LONG_JOB && (others == OTHERS || shutdown) -> REACH(long_ended) }
       complete(1, 1)
#endif
#if NQ == 3
    :: job == 1 -> complete(1, 0)
#endif
    :: job == LAST -> complete(LAST, 0); end_entry
    fi;
    job = NO_JOB;
    goto again;

sleep:
#ifndef M_SEQ_LATE
    seq_same[_pid] = 1; /* reads wake_seq */
#endif
#ifdef M_SLEEP_NO_FENCE
    news = (WAITING || shutdown || NEWS(1) || NEWS(LAST));
    sleepers++;
    if
    :: role -> role = 0; poller = 0
    :: else
    fi;
#else
    sleepers++;
    if
    :: role -> role = 0; poller = 0 /* unlock */
    :: else
    fi;
    /* F2, pairs with F1: one more look at everything. */
#ifdef M_NO_SECOND_LOOK
    goto looked;
#endif
    if
    :: WAITING != 0 || shutdown -> news = 1; goto looked
    :: else
    fi;
    if
    :: poller != 0 -> goto looked /* doorbells and fences are the other's: he looks when he stops */
    :: else
    fi;
    do
    :: q == NQ -> break
    :: atomic { q < NQ && NEWS(q) -> news = 1; REACH(second_look); break }
    :: q < NQ && !NEWS(q) -> q++
    od;
    q = FIRST;
#ifdef FENCE
#ifndef M_SLEEP_FORGETS_FENCE
    if
    :: atomic { !news && barrier && !ends_same[_pid] -> news = 1; REACH(fence_look) }
    :: else
    fi;
#endif
#endif
looked:
#endif
#ifdef M_SEQ_LATE
    seq_same[_pid] = 1;
#endif
    if
    :: news
    :: else ->
        atomic { /* futex wait: compares and sleeps in one */
            if
            :: seq_same[_pid] -> asleep[_pid] = 1
            :: else
            fi
        }
#ifndef STOP
end_asleep: /* a good end: the hosts say whether there is work */
#endif
        atomic { asleep[_pid] == 0 -> REACH(slept) }
    fi;
    d_step { sleepers--; news = 0; seq_same[_pid] = 0 }
    goto again;

#ifdef STOP
leave:
    atomic {
        if
        :: role -> role = 0; poller = 0
        :: else
        fi
    }
    d_step { alive--; last = (alive == 0) }
    if
    :: !last -> goto out
    :: atomic { last && poller == 0 -> poller = 1; role = 1 } /* and keeps it */
    fi;
    goto again;

gone: /* final heads, then R6; then F3 and a look whether reapers sleep */
    state = GONE;
#ifdef WAIT
#ifndef M_GONE_SILENT
    do
    :: q == NQ -> break
    :: q < NQ ->
        was_waiting = waiter[q];
        notify(q);
        q++
    od;
    q = FIRST;
#endif
#endif
out:
    skip
#endif
}

/* All `n` slots have ended, or the device is gone. */
#define READY(q, n) (lap[q] >= (n) || state == GONE)

inline await(qq, n)
{
#ifdef WAIT
    do
    :: READY(qq, n) -> break
    :: else ->
        event_same[qq] = 1; /* reads event */
#ifdef M_WAIT_NO_FENCE
        if
        :: READY(qq, n) -> break
        :: else
        fi;
        waiter[qq] = 1;
#else
        waiter[qq] = 1; /* F4 after it, pairs with F3 */
        if
        :: READY(qq, n) -> waiter[qq] = 0; break
        :: else
        fi;
#endif
        atomic { /* futex wait */
            if
            :: event_same[qq] -> host_asleep[qq] = 1
            :: else
            fi
        }
        atomic { host_asleep[qq] == 0 -> REACH(host_slept) }
        waiter[qq] = 0
    od;
    event_same[qq] = 0
#else
    READY(qq, n)
#endif
}

/* Producer and reaper of queue q. Queue 0 submits the stop. */
proctype host(byte q, total)
{
    byte submitted, n;

#ifdef STOP
#ifndef STOP_ANY
    (q != 0 || (lap[1] == T1
#if NQ == 3
                && lap[2] == T2
#endif
    ));
#endif
#endif
    do
    :: submitted == total -> break
    :: submitted < total ->
        atomic {
            if
            :: n = 1
            :: submitted + 2 <= total -> n = 2
            fi;
#ifdef STOP_ANY
            if
            :: state != RUNNING -> break /* refused */
            :: else
            fi
#endif
        }
#ifdef M_SUBMIT_NO_FENCE
        if
        :: poller || sleepers == 0 ->
            atomic { doorbell[q] = submitted + n; submitted = submitted + n; n = 0 }
            goto rung
        :: else
        fi;
#endif
        atomic { doorbell[q] = submitted + n; submitted = submitted + n; n = 0 } /* R1, to A1 */
        if
        :: poller -> goto rung /* F1 before it, pairs with F2 */
        :: else
        fi;
        if
        :: sleepers == 0 -> goto rung
        :: atomic { sleepers != 0 -> REACH(producer_wakes) }
        fi;
        wake_workers(1);
rung:
        skip;
#ifdef WAIT
        if
        :: q == LAST -> await(q, submitted)
        :: else
        fi
#endif
    od;
    n = 0;
    if
    :: q == 0 -> state == GONE
    :: else -> await(q, submitted)
    fi
}

#ifdef HELP
/* A thread that waits for queue 0 takes the role itself if nobody has it, at any time, and serves
 * queue 0 alone; whoever went to sleep meanwhile relied on it. */
active proctype helper()
{
    byte q = FIRST;

    if
    :: atomic { poller == 0 -> poller = 1 }
#ifdef STOP
    :: alive == 0 -> goto out /* the last worker keeps the role */
#endif
    fi;
#ifdef STOP
    if
    :: doorbell[0] != head[0] -> /* A1 */
        atomic { state = STOPPING; shutdown = 1; REACH(help_stopped) } /* F1 */
        stop_wakes();
        head[0] = doorbell[0]
    :: else
    fi;
#endif
    poller = 0; /* unlock */
    if
    :: sleepers == 0 -> goto out /* F2 before it */
    :: else
    fi;
    do
    :: q == NQ -> break
    :: atomic { q < NQ && NEWS(q) -> REACH(help_handed_over) } wake_workers(1); goto out
    :: q < NQ && !NEWS(q) -> q++
    od;
#ifdef FENCE
#ifndef M_HELP_FORGETS_FENCE
    if
    :: atomic { barrier -> REACH(help_fence) } wake_workers(1) /* no pass: any may be ready */
    :: else
    fi;
#endif
#endif
out:
    q = FIRST
}
#endif

init
{
    atomic {
#ifdef STOP
        run host(0, 1);
#endif
        run host(1, T1);
#if NQ == 3
        run host(2, T2)
#endif
    }
}
