/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Children of a container, by address range: tenants that share one context have limits,
 * protection and statistics of their own.
 *
 *   gvm_child_open()     a process gives a window of its address space to a new child
 *   (ranges that are made in the window are the child's)
 *   gvm_child_resize()   the window becomes larger or smaller
 *   gvm_child_close()    no further ranges; the child ends with its last range
 *
 * gvm_control_read() and gvm_control_write() take a child as any container. It has no TSGs, so
 * its compute.* files have no effect.
 */
#ifndef GVM_CHILD_H
#define GVM_CHILD_H

#include "gvm/family.h"

/*
 * Make a child of @parent, called @number, with @window. Returns 0 and a reference in
 * *ret_child; -EINVAL: the window is empty, wraps or is not of whole blocks, or @parent is a
 * child; -EEXIST: the number or some of the addresses are those of another open child; -ENOSPC:
 * GVM_CHILDREN_MAX exist; -ENOMEM; or -EIO: the device is dead. CONTEXT: process.
 */
int gvm_child_open(struct gvm_container *parent, const struct gvm_window *window, u32 number,
		   struct gvm_container **ret_child);

/*
 * Give the child's window another size. Ranges outside of the new one stay the child's. Returns
 * 0; -EINVAL, -EEXIST or -EIO as gvm_child_open(); or -ENOENT: the child is closed. CONTEXT:
 * atomic.
 */
int gvm_child_resize(struct gvm_container *child, u64 bytes);

/*
 * Close the window of a child; of all children with windows in @space. The child's ranges stay
 * its own until they are destroyed, and the parent's limits hold for them. A second call does
 * nothing. An address space that goes must close its children. CONTEXT: process.
 */
void gvm_child_close(struct gvm_container *child);
void gvm_children_close(struct gvm_container *parent, const void *space);

/* The open child called @number. Returns a reference, or NULL. CONTEXT: atomic. */
struct gvm_container *gvm_child_find(struct gvm_container *parent, u32 number);

/*
 * Who pays for a new range at these addresses, of a process of @container? Returns 0 and a
 * reference to the child whose window has all of them, or to @container if no window has any;
 * -EINVAL: a window has a part of them; or -EIO: the device is dead. CONTEXT: atomic.
 */
int gvm_child_payer(struct gvm_container *container, const struct gvm_window *addresses,
		    struct gvm_container **ret_payer);

#endif
