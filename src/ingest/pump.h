/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The pump: the thread that serves the requests of slots for input and output. It takes requests
 * from the ring that the device writes (device/io_ring.h), checks that the tenant may do what it
 * asks for, has an engine (io_uring, or threads that call pread) move the bytes, and writes the
 * answers.
 *
 * Everything marked (pump) is the pump thread's own. The lock guards the rest; the thread takes it
 * once for a batch of requests and once for a batch of results, so that others may look at what is
 * under way. It is never held while waiting for the system.
 *
 * The invariant: an operation that the engine has may be writing into a buffer; its answer is
 * written when the engine has given it back, and not before.
 */
#ifndef VYRE_INGEST_PUMP_H
#define VYRE_INGEST_PUMP_H

#include <pthread.h>

#include "device/io_ring.h"
#include "ingest/ring.h"
#include "runtime/internal.h"
#include "vyre/source.h"

#define PUMP_SOURCES  1024u
#define PUMP_MOVE     0x7FFFF000u /* bytes of one move, at most */
#define PUMP_NONE     0xFFFFFFFFu
#define PUMP_FILE_MAX INT64_MAX

/* Why the engine was asked to give an operation back early. */
enum pump_wish {
    PUMP_WISH_NONE = 0,
    PUMP_WISH_SLOT = 1,   /* the device wants its answer */
    PUMP_WISH_SOURCE = 2, /* the source is being closed */
    PUMP_WISH_HOLD = 3    /* the device is gone */
};

enum pump_state {
    PUMP_FREE = 0,
    PUMP_WAITING = 1, /* for its turn at a stream */
    PUMP_BEGUN = 2    /* the engine has it */
};

/* A request that was taken and has no answer yet. */
struct pump_op {
    struct dev_io_request request;
    vyre_source *source;
    unsigned char *base; /* of its bytes */
    uint32_t index;      /* of the operation */
    uint32_t state;      /* (lock) enum pump_state */
    uint32_t done;       /* bytes that have been moved */
    uint32_t wish;       /* enum pump_wish */
    uint32_t asked;      /* the engine has been told of the wish */
    uint32_t polling;    /* the source has nothing: the engine waits until it has */
    uint32_t fixed;      /* the buffer's place in the engine's table, plus 1; 0: none */
    uint64_t since_ns;   /* when it was taken */
    struct pump_op *next;
    struct pump_worker *worker; /* of the pool, that is at it (pool.lock) */
    int64_t result;             /* of the pool */
};

/* One direction of a stream: operations take turns, those of one slot without another between. */
struct pump_lane {
    struct pump_op *busy;
    struct pump_op *first; /* that wait */
    struct pump_op *last;
    uint32_t owned; /* a slot has had a piece, and more are to follow */
    uint32_t number;
    uint32_t serial;
};

struct vyre_source {
    struct vyre_pump *pump;
    uint32_t index;
    uint32_t generation;
    int fd;
    uint32_t tenant;
    uint32_t rights;
    uint32_t flags;
    uint32_t stream; /* it is one, and has no offsets */
    uint32_t direct; /* it is read and written past the page cache */
    uint32_t fixed;  /* (pump) the engine has it in its table */
    uint64_t offset;
    uint64_t length;
    uint32_t closing;         /* (lock) */
    uint32_t gone;            /* (lock) the pump has nothing of it any more */
    uint32_t underway;        /* (lock) operations */
    struct pump_lane lane[2]; /* (pump) of a stream: reads, writes */
};

struct vyre_pump;

/* How bytes are moved. Called by the pump thread. */
struct pump_engine {
    uint32_t id; /* enum vyre_io_engine */
    /* Makes what it needs; text[0] 0 or why it is less than it could be. E_UNSUPPORTED: it cannot
     * be had. */
    vyre_status (*start)(struct vyre_pump *pump, char *text, size_t room, vyre_error *err);
    void (*end)(struct vyre_pump *pump);
    /* Begins the next move of an operation. Its result comes through vyre_pump_result. */
    void (*begin)(struct vyre_pump *pump, struct pump_op *op);
    /* The result is wanted soon. */
    void (*cancel)(struct vyre_pump *pump, struct pump_op *op);
    /* Hands what was begun to the system, and takes its results. */
    void (*turn)(struct vyre_pump *pump);
    /* Sleeps until a result comes, the word `event` has changed from `seen`, or the clock shows
     * until_ns. */
    void (*sleep)(struct vyre_pump *pump, uint32_t seen, uint64_t until_ns);
    /* Nothing is under way on the source, and nothing will be. */
    void (*forget)(struct vyre_pump *pump, vyre_source *source);
};

extern const struct pump_engine vyre_pump_uring;
extern const struct pump_engine vyre_pump_pool;

struct vyre_pump {
    vyre *runtime;
    const struct pump_engine *engine;
    const struct vyre_stream_calls *calls;
    void *state; /* of the engine */
    struct dev_io_page *page;
    const struct dev_io_request *requests;
    struct dev_io_answer *answers;
    unsigned char *chunks;
    uint32_t entries;
    uint32_t chunk_count;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* held, gone, or started */

    /* (pump) */
    uint32_t taken;       /* index of the next request */
    uint32_t answered;    /* index of the next answer */
    uint32_t told;        /* as the device has been told it */
    uint32_t underway;    /* operations that are not free */
    uint32_t progress;    /* something happened in this turn */
    uint32_t stuck;       /* the next request waits for a free operation */
    uint32_t holding;     /* it takes no requests */
    uint32_t guest;       /* the device can be visited: it is in this process */
    uint32_t visiting;    /* and is, to poll in its workers' place */
    uint64_t begun_bytes; /* of the moves that were begun and not handed to the system yet */
    uint64_t ticked_ns;   /* the deadline for which a TICK was sent */
    uint64_t idle_ns;     /* since when nothing has happened; 0: something has */
    struct pump_op *free;
    struct pump_op *ops; /* entries of them */

    /* (lock) */
    uint32_t orders; /* (atomic) something of the following was asked for */
    uint32_t started;
    uint32_t held;  /* asked for */
    uint32_t quiet; /* and so */
    uint32_t ending;
    uint32_t closings; /* sources that are being closed */
    uint32_t source_count;
    vyre_source *sources[PUMP_SOURCES];
    uint32_t generation[PUMP_SOURCES];
    vyre_status start_status;
    vyre_error start_error;
    uint32_t features;
    vyre_pump_report report; /* counts; written by the pump thread (atomic) */
};

/* pump.c: its life
 * ------------------------------------------------------------------------------------------- */

/* The pump of a runtime, made where there is none. (io.lock) */
vyre_status vyre_pump_need(vyre *runtime, struct vyre_pump **pump, vyre_error *err);

/* Adds to a count of the report. (pump) */
#define PUMP_COUNT(pump, field, n)                                                                 \
    __atomic_store_n(&(pump)->report.field, (pump)->report.field + (n), __ATOMIC_RELAXED)

/* pump_order.c: what others ask for
 * ------------------------------------------------------------------------------------------- */

/* As in struct vyre_io_pump. Any thread. */
void vyre_pump_poke(void *pump);
void vyre_pump_hold(void *pump);
void vyre_pump_let_go(void *pump);
int vyre_pump_oldest(void *pump, struct vyre_io_oldest *oldest);

/* Something was asked for. Any thread. (lock) */
void vyre_pump_order(struct vyre_pump *pump);

/* Does what was asked for, as far as it can be done now. (pump) */
void vyre_pump_obey(struct vyre_pump *pump);

/* pump_take.c: requests, as they come in. (pump)
 * ------------------------------------------------------------------------------------------- */

/* Takes all requests that are there and begins them. */
void vyre_pump_take(struct vyre_pump *pump);

/* Begins the operations of a stream whose turn it is. (lock) */
void vyre_pump_lane_next(struct vyre_pump *pump, struct pump_lane *lane);

struct pump_lane *vyre_pump_lane(struct pump_op *op);

/* pump_op.c: operations, to their end. (pump)
 * ------------------------------------------------------------------------------------------- */

/* Has the engine begin the next move of an operation. (lock) */
void vyre_pump_begin(struct vyre_pump *pump, struct pump_op *op);

/* What came of a move: bytes, or -errno. (lock) */
void vyre_pump_result(struct vyre_pump *pump, struct pump_op *op, int64_t result);

/* Wants the end of an operation. (lock) */
void vyre_pump_wish(struct vyre_pump *pump, struct pump_op *op, enum pump_wish wish);

/* Writes an answer; vyre_pump_tell makes it visible. */
void vyre_pump_answer(struct vyre_pump *pump, const struct dev_io_answer *answer);

/* Makes answers visible, and wakes the device if it sleeps. */
void vyre_pump_tell(struct vyre_pump *pump);

/* Bytes that a prefetch is about, or its next part of them; 0: up to the end. */
uint32_t vyre_pump_ahead(const struct pump_op *op);
/* Bytes of the next move of an operation. */
uint32_t vyre_pump_move(const struct pump_op *op);
/* Where it begins: in the file, or -1 in a stream. */
int64_t vyre_pump_place(const struct pump_op *op);

#endif
