/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The objects that the process has of NVIDIA's resource manager (RM), as far as turns.c and
 * freeze.c make control calls about them. See rm.c.
 */
#ifndef GVM_SHIM_RM_H
#define GVM_SHIM_RM_H

#include <sys/types.h>

#include "shim.h"

enum rm_kind {
	RM_SUBDEVICE, /* a client's GPU; its parent is the client's device */
	RM_GROUP,     /* a channel group (TSG); its parent is the device */
	RM_CHANNEL,   /* its parent is a channel group, or the device */
};

struct rm_object {
	enum rm_kind kind;
	int fd;
	dev_t device; /* of the file that was @fd when the object was made */
	ino_t inode;
	u32 client; /* RM's handles */
	u32 parent;
	u32 object;
	bool due; /* a channel group without the timeslice of the settings */
};

/*
 * The objects that are there, in the order in which they were made. They stay until rm_unlock_objects().
 * LOCKING: takes rm_lock.
 */
struct rm_object *rm_lock_objects(u32 *ret_count);
void rm_unlock_objects(void);

/* A control call about @object of @of's client. Returns 0 or RM's status. LOCKING: rm_lock. */
u32 rm_control(const struct rm_object *of, u32 object, u32 command, void *params, u32 size);

/* Are there objects that had no place in the table? */
bool rm_table_is_full(void);

#endif
