/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of a stream share. Its threads:
 *
 *   engine     one; issues and reaps the ring, submits to the queue. Owns all that says nothing
 *              else below
 *   readers    a few; open what was found, read small files, several to a cell; and with
 *              VYRE_STREAM_IO_PREAD all files. A cell that is a reader's job is that reader's
 *   walkers    of the directory walker
 *   consumer   whoever calls vyre_stream_next, or the delivery thread; reaps the queue
 *   others     add sources, release chunks, pause, cancel
 *
 * Words. A cell is the memory of one chunk, with room for its result, its records and their paths;
 * there are `depth` of them. A record is what the caller gets: a part of a file in a cell of its
 * own, or one of several small files in a cell, or what became of a source without bytes. An item
 * is a source that was found and has not been opened. A file is open and read cell by cell.
 *
 * Order. Items have numbers, without gaps, and so have files. A cell carries the number of the file
 * or of the first item that it is for. Cells and files stand in one list in the order of numbers;
 * the cell at its head is committed when it is complete: its records get their numbers, its slots
 * are submitted, and it is published to the consumer. Unordered streams commit what is complete.
 *
 * The last free cell goes to nobody but the head of that list: so there is always one that can be
 * committed, whatever cells wait behind it.
 */
#ifndef VYRE_INGEST_STREAM_H
#define VYRE_INGEST_STREAM_H

#include <pthread.h>
#include <stdbool.h>

#include "ingest/ring.h"
#include "ingest/walk.h"
#include "runtime/internal.h"
#include "runtime/ticket_map.h"
#include "vyre/stream.h"

#define VYRE_STREAM_PENDING     65536u /* sources that were added and not begun */
#define VYRE_STREAM_ITEMS       1024u  /* found and not opened; a power of two */
#define VYRE_STREAM_RECORDS     16384u /* of all cells together, at most, if depth allows it */
#define VYRE_STREAM_SMALL       65536u /* bytes of a file that may share a cell, at most */
#define VYRE_STREAM_ALIGN       64u    /* of a file in a cell of several */
#define VYRE_STREAM_MERGE_ALIGN 16u
#define VYRE_STREAM_PAGE        4096u
#define VYRE_STREAM_ROOTS       64u /* sources that the walker has at once */
#define VYRE_STREAM_REAP        64u /* completions at once */
#define VYRE_STREAM_NONE        UINT32_MAX
#define VYRE_STREAM_SPARE_LENT  (-1) /* a file has it */
#define VYRE_STREAM_SPARE_LOST                                                                     \
    (-2) /* somebody else was faster: the next that is closed becomes it */

/* A source that was added. Its memory is used again. */
struct vyre_stream_source {
    struct vyre_stream_source *next;
    int fd;             /* -1: a path */
    uint32_t named;     /* there is a name */
    uint32_t room;      /* bytes of path */
    uint64_t last_item; /* of a tree: one more than the last number found in it */
    char path[];
};

struct vyre_stream_list {
    struct vyre_stream_source *first, *last;
    uint32_t count;
};

struct vyre_stream_item {
    struct vyre_stream_source *source; /* NULL: the walker found it */
    struct vyre_walk_record found;
    uint32_t state; /* enum vyre_stream_item_state; the engine's */
};

enum vyre_stream_item_state {
    VYRE_ITEM_GONE = 0,
    VYRE_ITEM_READY = 1, /* to be opened */
    VYRE_ITEM_TAKEN = 2  /* a reader has it */
};

struct vyre_stream_record {
    vyre_chunk chunk; /* first: what the caller has */
    struct vyre_stream_cell *cell;
    uint64_t ticket;    /* of its slot */
    uint32_t tickets;   /* slots from that one on that are its own; 0: none */
    uint32_t reaped;    /* of these, those that have ended: consumer */
    uint32_t at;        /* in the cell */
    uint32_t result_at; /* in the cell's results */
    uint32_t result_bytes;
    uint64_t write_at;    /* offset of its result in the output */
    uint64_t write_bytes; /* of it, written */
    uint32_t write_done;
    uint32_t write_again;    /* it is to be asked for again */
    uint32_t write_inflight; /* the ring has it */
};

enum vyre_stream_unit_kind { VYRE_UNIT_CELL = 1, VYRE_UNIT_FILE = 2 };

/* Something that stands in the order. */
struct vyre_stream_unit {
    struct vyre_stream_unit *previous;
    struct vyre_stream_unit *next;
    uint64_t number; /* of the file, or of the first item */
    uint32_t kind;   /* enum vyre_stream_unit_kind */
    uint32_t listed;
};

/* What a descriptor is. */
enum vyre_stream_source_kind {
    VYRE_SOURCE_REGULAR = 1, /* also block devices */
    VYRE_SOURCE_PIPE = 2     /* has no offsets: FIFOs, sockets, terminals, character devices */
};

/* The file that a reader opened and did not read: it is too large, or not a regular one. */
struct vyre_stream_opened {
    int fd;         /* -1: there is none */
    uint32_t own;   /* to be closed */
    uint32_t spare; /* it has the place of the spare descriptor */
    uint32_t kind;
    uint32_t align; /* of O_DIRECT; 0: not for this file */
    uint64_t size;
    const char *path;
    uint32_t fifo;
};

enum vyre_stream_job { VYRE_JOB_OPEN = 1, VYRE_JOB_READ = 2 };

enum vyre_stream_cell_state {
    VYRE_CELL_FREE = 0,
    VYRE_CELL_BUSY = 1,     /* is filled */
    VYRE_CELL_WAITS = 2,    /* of a pipe: nothing to read yet */
    VYRE_CELL_COMPLETE = 3, /* waits to be committed */
    VYRE_CELL_OUT = 4       /* the device's or the caller's */
};

struct vyre_stream_cell {
    struct vyre_stream_unit unit;
    uint32_t index;
    uint32_t state;
    uint32_t job;
    uint32_t holds;                /* (atomic) records that were not released */
    struct vyre_stream_cell *next; /* free, returned, to be done, done */
    unsigned char *bytes;
    unsigned char *results;
    struct vyre_stream_record *records;
    uint32_t record_count;
    vyre_piece *pieces; /* MERGE */
    uint32_t piece_count;
    char *paths;
    uint32_t paths_used;

    /* of a file */
    struct vyre_stream_file *file;
    uint64_t offset;   /* in the file, of the first byte */
    uint32_t overlap;  /* first bytes that the chunk before had too */
    uint64_t plan_end; /* in the file, of the chunk, if the file is that long */
    uint32_t goal;     /* bytes to be there */
    uint32_t filled;   /* bytes that are there */
    uint32_t asked;    /* bytes of the read under way */
    uint32_t inflight; /* which the ring has */
    uint32_t carried;  /* of these, copied from the cell before */
    uint32_t direct;   /* the read under way is O_DIRECT */
    uint32_t ended;    /* the file ended in it */
    uint32_t flags;    /* enum vyre_chunk_flag, as far as known */
    int32_t error;
    uint32_t tail;     /* its file copies from it when it gets the next cell */
    uint32_t returned; /* and nobody else uses it */

    /* of several items */
    uint32_t items;                   /* how many it was given */
    uint32_t head;                    /* they are the first that were not committed */
    uint32_t done;                    /* how many of them are in it */
    uint32_t used;                    /* bytes */
    uint32_t starved;                 /* there was no descriptor for the next one */
    struct vyre_stream_opened opened; /* the one after those */
    uint64_t read_bytes;
    uint64_t read_operations;
    int32_t read_result; /* of a read job: bytes or -errno */
};

struct vyre_stream_file {
    struct vyre_stream_unit unit;
    struct vyre_stream_file *next; /* free; or pipes */
    uint32_t index;
    uint32_t used;
    int fd;
    uint32_t own;
    uint32_t spare; /* it has the place of the spare descriptor */
    uint32_t fixed; /* it is in the ring's table of files, under its index */
    uint32_t kind;
    uint32_t fifo; /* no byte has come yet: no writer means that it has not begun */
    uint32_t align;
    uint32_t sequential; /* a cell begins where the one before ended, which the bytes decide */
    uint32_t floats;     /* stands in no order */
    uint64_t size;       /* as was last seen; of those whose end is not known UINT64_MAX */
    uint64_t first_size; /* as it was at open */
    uint64_t end;        /* of the last cell that was begun */
    uint32_t begun;      /* cells */
    uint32_t underway;   /* cells that were begun and not committed */
    uint32_t all_begun;
    uint32_t ended;                 /* the last chunk was committed */
    uint32_t filling;               /* cells that are being read into */
    uint32_t polling;               /* a pipe that is watched */
    uint32_t readable;              /* a pipe that has something */
    struct vyre_stream_cell *waits; /* of a pipe: the cell that is partly filled */
    uint64_t total;                 /* bytes committed, overlaps not counted */
    struct vyre_stream_cell *tail;  /* sequential: the cell before */
    uint32_t tail_at;
    uint32_t tail_bytes;
    uint32_t tail_overlap;
    uint32_t path_bytes;
    char *path;
};

/* How a program sees chunks. Constant after open, but for what says so. */
struct vyre_stream_shape {
    vyre_program *program; /* NULL: chunks are read and handed out */
    uint32_t buffers;
    uint32_t chunk;  /* number of the buffer */
    uint32_t result; /* VYRE_STREAM_NONE: there is none */
    uint32_t chunk_stride;
    uint32_t result_stride;
    uint64_t result_fixed; /* bytes; 0: as many elements as the chunk */
    uint64_t range_start;
    uint64_t range_end;
    uint32_t carried; /* slots run one after the other */
    uint32_t copied;  /* the result is copied out of `state` by a slot of its own */
    uint32_t own_state;
    uint32_t result_room; /* bytes of a cell's results */
    vyre_buffer *results;
    vyre_buffer *state;
    vyre_bindings *bindings;
    vyre_program *copy;
    vyre_bindings *copy_bindings;
    vyre_buffer *scalar_buffers[VYRE_RUN_MAX_SCALARS];
    uint32_t scalar_count; /* that go with the slot */
    uint32_t scalars[VYRE_RUN_MAX_SCALARS];
    uint64_t *sizes; /* of all buffers, for the grid (engine) */
    struct {
        uint64_t length;
        uint32_t grid[3];
    } grids[64]; /* (engine) of the last lengths */
};

/* A thread whose CPU time is counted. */
struct vyre_stream_thread {
    pthread_t thread;
    uint32_t started;
};

struct vyre_stream_readers {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct vyre_stream_cell *first, *last; /* (lock) to be done */
    uint32_t stop;                         /* (lock) */
    struct vyre_stream_thread *threads;
    uint32_t count;
};

/* Results that are written. */
struct vyre_stream_output {
    int fd; /* -1: none */
    uint32_t seekable;
    uint32_t underway; /* writes */
    uint32_t waits;    /* for the other side to take something */
    uint64_t at;       /* offset after the last byte that was begun */
    uint64_t ended;    /* (atomic) records, in order, whose slots have ended: consumer */
    uint64_t begun;    /* of these, those whose write has begun */
    uint64_t written;  /* (atomic) of these, those that need no write any more */
};

struct vyre_stream {
    vyre *runtime;
    struct vyre_memory *memory;
    const struct vyre_stream_calls *calls;
    vyre_stream_options options;
    struct vyre_stream_shape shape;
    struct vyre_ring ring;
    uint32_t uses_ring;
    struct vyre_ring_choice choice;
    vyre_queue *queue;
    vyre_buffer *chunks; /* all cells' bytes */
    unsigned char *chunk_memory;
    unsigned char *result_memory;
    uint32_t cell_bytes;
    uint32_t cell_records; /* room for so many */
    uint32_t path_room;    /* bytes of one path, at most */
    uint32_t path_bytes;   /* of all paths of a cell */
    uint32_t small;        /* files up to this size share a cell */
    uint32_t step;         /* new bytes of a chunk, where it does not depend on them */
    uint32_t serial;       /* pipes stand in the order too */
    uint32_t any;          /* slots are waited for in any order */
    uint64_t memory_bytes;

    /* sources (lock) */
    pthread_mutex_t lock;
    pthread_cond_t room;
    struct vyre_stream_source *first, *last; /* not begun */
    struct vyre_stream_source *unused;
    uint32_t pending;
    uint32_t no_more;

    /* wishes (atomic) */
    uint32_t paused;
    uint32_t cancelled;
    uint32_t closing;
    int32_t failed; /* why the stream has ended early: a vyre_status */

    /* messages to the engine */
    int wake_fd;
    int spare_fd; /* (atomic) given up where there is no descriptor for the head of the order;
                     else VYRE_STREAM_SPARE_LENT or _LOST */
    pthread_rwlock_t opens; /* for reading while one of our threads opens something; for writing
                               while the spare one changes hands, which nobody may then take */
    uint32_t scarce;        /* (atomic) there was no descriptor once: files are opened under the
                               lock from then on */
    uint32_t files_open;    /* (atomic) files of ours that are read and will be closed */
    uint32_t news;          /* (atomic) there is a message */
    uint32_t asleep;        /* (atomic) the engine sleeps, or is about to */
    struct vyre_stream_cell *returned; /* (atomic) a stack */
    struct vyre_stream_cell *done;     /* (atomic) a stack: jobs that the readers have done */

    /* the engine's own */
    struct vyre_stream_thread engine;
    uint64_t wake_word;
    uint32_t wake_armed;
    struct vyre_stream_cell *cells;
    struct vyre_stream_record *records; /* of all cells */
    vyre_piece *pieces;                 /* the same; MERGE */
    char *paths;                        /* the same */
    char *file_paths;
    struct vyre_stream_cell *free;
    uint32_t free_count;
    uint32_t out; /* cells committed and not returned */
    struct vyre_stream_file *files;
    uint32_t file_count;
    uint32_t files_used;
    struct vyre_stream_file *pipes;    /* those that float */
    struct vyre_stream_cell *unissued; /* cells whose read found no room in the ring */
    uint32_t retry; /* a request found no room in the ring: another round, without sleeping */
    struct pollfd *watched;  /* without a ring: room for all files, the wake and the output */
    uint32_t spread;         /* reads from the page cache go to the kernel's workers */
    uint32_t short_of_files; /* there was no descriptor: until one of ours is closed */
    uint64_t copied;         /* bytes of this round that the engine copies itself */
    uint32_t hungry;         /* somebody wanted a cell and there was none */
    uint32_t cancel_begun;
    uint32_t opening;              /* cells that readers open items for */
    uint32_t reading;              /* cells that readers read */
    struct vyre_stream_unit order; /* head of the circle */
    uint64_t next_number;          /* of the first item or file that was not committed wholly */
    struct vyre_stream_item *items;
    uint64_t item_low;     /* numbers below were opened */
    uint64_t item_next;    /* the lowest that may be ready */
    uint64_t item_high;    /* numbers from here on were not found yet */
    unsigned char *passed; /* of numbers from next_number on: wholly committed, or in no order */
    uint64_t passed_mask;
    struct vyre_stream_list walking, walked;
    struct vyre_walk *walk; /* NULL: directories are not walked */
    uint32_t walk_state;
    uint64_t next_chunk;  /* number of the next record */
    uint64_t next_ticket; /* of the queue */
    int32_t start_status; /* (lock) what became of the ring; above 0: not known yet */
    vyre_error start_error;

    struct vyre_stream_readers readers;
    struct vyre_stream_output output;
    struct vyre_stream_thread delivery;

    /* between engine and consumer */
    struct vyre_stream_record **published; /* a ring */
    uint64_t published_mask;
    uint64_t published_count; /* (atomic) */
    uint32_t finished;        /* (atomic) no more will be published */
    uint32_t event;           /* (atomic) counts news for the consumer; a futex */
    uint32_t waiting;         /* (atomic) the consumer sleeps on it */

    /* the consumer's own */
    uint32_t restarts; /* of the device host, before the state was made */
    uint64_t handed;   /* records handed out, in order; unordered: how many */
    uint64_t reaped;   /* records, in order, whose slots have ended */
    uint64_t mapped;   /* unordered: records that are, or were, in by_ticket */
    struct vyre_ticket_map by_ticket;
    vyre_completion *completions; /* unordered: reaped and not handed out */
    uint32_t completion_first, completion_count;

    /* the report: each has one writer (atomic) */
    uint64_t files_found, files_read, files_failed, files_skipped;
    uint64_t chunk_count, faulted, byte_count, bytes_written;
    uint64_t waits_device, waits_io;
    vyre_stream_way way[VYRE_PATHS];
};

/* stream_open.c */

/* As vyre_stream_open, with other calls of the system. */
vyre_status vyre_stream_open_calls(vyre *runtime, const vyre_stream_options *options,
                                   const struct vyre_stream_calls *calls, vyre_stream **stream,
                                   vyre_error *err);

/* stream_check.c: checks what needs no runtime. */

vyre_status vyre_stream_check(const vyre_stream_options *options, vyre_error *err);

/* stream_memory.c */

/* How many records a cell may have, how much room for their results, and so on. */
vyre_status vyre_stream_size(vyre_stream *stream, vyre_error *err);
vyre_status vyre_stream_tables_take(vyre_stream *stream, vyre_error *err);
void vyre_stream_tables_free(vyre_stream *stream);
vyre_status vyre_stream_chunks_take(vyre_stream *stream, vyre_error *err);
/* Gives every cell and file its parts of the tables. */
void vyre_stream_lay_out(vyre_stream *stream);
/* The least power of two that is not below `least`. */
uint64_t vyre_stream_power(uint64_t least);

/* stream_shape.c */

vyre_status vyre_stream_shape_make(vyre_stream *stream, vyre_error *err);
void vyre_stream_shape_free(vyre_stream *stream);
/* Bytes of the result of so many bytes of a chunk. */
uint64_t vyre_stream_result_bytes(const struct vyre_stream_shape *shape, uint64_t length);
/* Binds the program's buffers; chunks and results are there. */
vyre_status vyre_stream_shape_bind(vyre_stream *stream, vyre_error *err);
/* Prepares and counts the slots of a record; the caller submits. (engine) */
vyre_status vyre_stream_run(vyre_stream *stream, struct vyre_stream_record *record,
                            vyre_error *err);
/* A slot that does nothing but end: so that an unordered consumer waits for one thing only. */
vyre_status vyre_stream_mark(vyre_stream *stream, struct vyre_stream_record *record,
                             vyre_error *err);

/* stream_feed.c: sources (engine, but for the public calls) */

/* Finds items, as far as there is room for them. */
void vyre_stream_feed(vyre_stream *stream);
/* Whether there will be no further item. */
bool vyre_stream_fed(vyre_stream *stream);
/* Gives an item's memory back. Any thread that has the item. */
void vyre_stream_item_free(vyre_stream *stream, struct vyre_stream_item *item);
void vyre_stream_sources_free(vyre_stream *stream);

/* stream_readers.c */

/* A thread that takes no signals. */
vyre_status vyre_stream_thread_start(struct vyre_stream_thread *thread, void *(*run)(void *),
                                     vyre_stream *stream, vyre_error *err);
void vyre_stream_thread_join(struct vyre_stream_thread *thread);

vyre_status vyre_stream_readers_start(vyre_stream *stream, vyre_error *err);
void vyre_stream_readers_stop(vyre_stream *stream);
void vyre_stream_readers_give(vyre_stream *stream, struct vyre_stream_cell *cell);

/* stream_pack.c: opens the items of a cell, reads those that are small. (reader) */
void vyre_stream_pack(vyre_stream *stream, struct vyre_stream_cell *cell);
/* Closes a file of ours; one in the place of the spare descriptor becomes that again. */
void vyre_stream_close_file(vyre_stream *stream, int fd, bool spare);
/* Copies an item's path into the cell; NULL: no room. */
const char *vyre_stream_item_path(vyre_stream *stream, struct vyre_stream_cell *cell,
                                  const struct vyre_stream_item *item);

/* stream_file.c: files that are read cell by cell (engine) */

struct vyre_stream_file *vyre_stream_file_take(vyre_stream *stream,
                                               const struct vyre_stream_opened *opened,
                                               uint64_t number);
void vyre_stream_file_drop(vyre_stream *stream, struct vyre_stream_file *file);
/* Whether it could use a cell now. */
bool vyre_stream_file_wants(const struct vyre_stream_file *file);
/* Gives it one, and begins to read. */
void vyre_stream_file_begin(vyre_stream *stream, struct vyre_stream_file *file,
                            struct vyre_stream_cell *cell);
/* The read of a cell has come to this: bytes, or -errno. */
void vyre_stream_file_read(vyre_stream *stream, struct vyre_stream_cell *cell, int32_t result);
/* Nothing more can be read into a cell that is not full, or its file has ended: it is complete. */
void vyre_stream_file_filled(vyre_stream *stream, struct vyre_stream_cell *cell);

/* stream_pipe.c: those among them that may have nothing to read (engine) */

/* Watches for something to read. */
void vyre_stream_file_watch(vyre_stream *stream, struct vyre_stream_file *file);
/* The same for a cell that is partly filled. */
void vyre_stream_file_pause(vyre_stream *stream, struct vyre_stream_cell *cell);
/* There is something to read, or its end: poll says `result`. */
void vyre_stream_file_readable(vyre_stream *stream, struct vyre_stream_file *file, int32_t result);
/* Commits a cell that is partly filled, so that there is one for somebody else. False: none. */
bool vyre_stream_pipes_yield(vyre_stream *stream);
/* Without a ring: sleeps until a pipe has something or the engine is woken. */
void vyre_stream_pipes_poll(vyre_stream *stream);

/* stream_plan.c: where chunks begin and end */

/* The step of a stream with these options. */
uint32_t vyre_stream_step(const vyre_stream_options *options);
/* The end of the chunk after the one that ended at `end`; *begin receives where it begins. */
uint64_t vyre_stream_next_end(const vyre_stream *stream, uint64_t end, uint64_t *begin);
/* After the last record that ends in what a cell has; 0: there is none. */
uint32_t vyre_stream_whole(const vyre_stream *stream, const struct vyre_stream_cell *cell);
/* Of a cell that is full or whose file has ended: how many of its bytes are the chunk, and, where
 * something of it belongs to the next one too, from where on. */
void vyre_stream_cut(const vyre_stream *stream, struct vyre_stream_cell *cell, uint32_t *length,
                     uint32_t *tail_at);

/* stream_commit.c (engine) */

void vyre_stream_insert(vyre_stream *stream, struct vyre_stream_unit *unit);
void vyre_stream_remove(struct vyre_stream_unit *unit);
/* This number is committed wholly, or stands in no order. */
void vyre_stream_pass(vyre_stream *stream, uint64_t number);
/* A cell is complete. */
void vyre_stream_complete(vyre_stream *stream, struct vyre_stream_cell *cell);
/* Commits what can be. */
void vyre_stream_commit(vyre_stream *stream);
void vyre_stream_cell_free(vyre_stream *stream, struct vyre_stream_cell *cell);
/* Copies a text into the cell's paths. NULL: no room. */
char *vyre_stream_cell_path(vyre_stream *stream, struct vyre_stream_cell *cell, const char *text,
                            size_t length);

/* stream_ring.c */

/* What the ring of a stream with these options may and must have. */
void vyre_stream_ring_options(const vyre_stream_options *options, struct vyre_ring_options *ring);
/* Makes the ring, or finds that there is none, and tells the one who opens the stream. (engine) */
void vyre_stream_ring_start(vyre_stream *stream);

/* stream_engine.c */

vyre_status vyre_stream_engine_start(vyre_stream *stream, vyre_error *err);
void vyre_stream_engine_stop(vyre_stream *stream);
/* As vyre_stream_wake, for the walker. */
void vyre_stream_walk_wake(void *stream);
/* Wakes the engine where it sleeps. Any thread. */
void vyre_stream_wake(vyre_stream *stream);
/* Ends the stream early with this status. Any thread. */
void vyre_stream_fail(vyre_stream *stream, vyre_status status);
/* Pushes a cell on a stack of the engine's. Any thread. */
void vyre_stream_push(struct vyre_stream_cell **stack, struct vyre_stream_cell *cell);

/* stream_dispatch.c (engine) */

/* Gives free cells to whoever comes first in the order. How many. */
uint32_t vyre_stream_dispatch(vyre_stream *stream);
/* A reader has opened the items of a cell. */
void vyre_stream_opened(vyre_stream *stream, struct vyre_stream_cell *cell);

/* stream_issue.c: requests to the ring, or jobs for the readers (engine) */

void vyre_stream_issue_read(vyre_stream *stream, struct vyre_stream_cell *cell);

/* stream_write.c (engine) */

vyre_status vyre_stream_output_open(vyre_stream *stream, vyre_error *err);
void vyre_stream_output_go(vyre_stream *stream);
void vyre_stream_output_written(vyre_stream *stream, uint32_t index, int32_t result);
/* The other side takes something again. */
void vyre_stream_output_ready(vyre_stream *stream);
/* Asks for the end of all writes; false: not of all yet. */
bool vyre_stream_output_cancel(vyre_stream *stream);
void vyre_stream_output_close(vyre_stream *stream);

/* stream_next.c */

vyre_status vyre_stream_delivery_start(vyre_stream *stream, vyre_error *err);
/* How often the device has died and come back. Any thread. */
uint32_t vyre_stream_restarts(const vyre *runtime);
/* Something changed for the consumer. Any thread. */
void vyre_stream_tell(vyre_stream *stream);

/* Counters with one writer, read by any thread. */
static inline void vyre_stream_count(uint64_t *counter, uint64_t more)
{
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
}

#endif
