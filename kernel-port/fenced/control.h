/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a user sees of a client, and may set while it runs: files in ROOT/<pid>/<gpu>/, as
 * gvm.ko and the shim have them, so gvmctl and gvmd work on them with --root.
 *
 *     fence.sample  one launch of so many is counted, at random; 0: none. Written by the user
 *     fence.stat    launches, and what those that were counted have found
 *     gmem.current  bytes of its partition that it has allocated
 *
 * ROOT is the user's who runs gvmfenced, and no client needs it.
 */
#ifndef KERNEL_PORT_FENCED_CONTROL_H
#define KERNEL_PORT_FENCED_CONTROL_H

#include "share.h"

/*
 * Take the folder of all clients of GPU @ordinal, which is made if it is missing. 0, or the errno
 * that says why not; EWOULDBLOCK: another gvmfenced has it. stop gives it back.
 */
int control_start(const char *root, int ordinal);
void control_stop(void);

/* Remove what clients of GPU @ordinal had when the process before this one ended. */
void control_clean(int ordinal);

/*
 * A client's files, with @tenant->sample.every as their setting; none if control_start() was
 * not called, if gvmfenced cannot see the client's process, or if another client of that process
 * has them. close removes them.
 */
void control_open(struct tenant *tenant);
void control_close(struct tenant *tenant);

/* Read the setting, and write what was found. LOCKING: tenant->lock. */
void control_look(struct tenant *tenant);

#endif
