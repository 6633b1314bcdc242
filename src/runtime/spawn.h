/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A device host as a process: finding its executable, starting it, talking to it one request at a
 * time, ending it. For hosted.c, restart.c and caps.c.
 */
#ifndef VYRE_RUNTIME_SPAWN_H
#define VYRE_RUNTIME_SPAWN_H

#include <sys/types.h>

#include "base/error.h"
#include "runtime/protocol.h"

#define HOST_HELLO_NS  5000000000u  /* how long a host has to say that it is there */
#define HOST_ASK_NS    30000000000u /* and to ask a driver that nobody has used yet */
#define HOST_ENDING_NS 1000000000u  /* and to end by itself */
#define HOST_DYING_NS  5000000000u  /* and to be gone after a kill: a GPU's driver takes its time */
#define HOST_PATH_ROOM 4096

/* One that does not run has pid 0 and descriptors -1. */
struct vyre_host_process {
    pid_t pid;
    int pidfd;
    int socket;
};

/* Where the executable is: as asked for, as VYRE_HOST says, where it was installed, or beside the
 * program or the library. E_NOT_FOUND. */
vyre_status vyre_host_find(const char *asked, char path[HOST_PATH_ROOM], vyre_error *err);

/* Starts a host and exchanges HELLOs with it. E_NOT_FOUND, E_SYSTEM, E_TIMEOUT, E_UNSUPPORTED
 * (another version). */
vyre_status vyre_host_start(const char *asked, struct vyre_host_process *process, vyre_error *err);

/* Ends it at once. The process is still there to be buried. */
void vyre_host_kill(const struct vyre_host_process *process);

/* Closes the socket, which ends the host, kills it where it does not end within patience_ns, and
 * forgets the process. `how`, unless NULL, says in words how it ended. 0: it did not even after a
 * kill. */
int vyre_host_end(struct vyre_host_process *process, uint64_t patience_ns, char *how, size_t room);

/* Waits until a message is there. E_TIMEOUT at until_ns; else as host_receive. */
vyre_status vyre_host_await(const struct vyre_host_process *process, struct host_message *message,
                            uint64_t until_ns, vyre_error *err);

/* What a REPLY says: its status and error, or `room` bytes into answer. */
vyre_status vyre_host_reply(const struct host_message *message, void *answer, uint32_t room,
                            vyre_error *err);

/* One request to a host that does nothing else, and its answer of `room` bytes. */
vyre_status vyre_host_ask(const struct vyre_host_process *process,
                          const struct host_sending *sending, void *answer, uint32_t room,
                          vyre_error *err);

#endif
