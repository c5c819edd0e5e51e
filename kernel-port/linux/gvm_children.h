/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Children that a process makes of its own container, by addresses of its own address space
 * (GVM_IOCTL_CHILD_OPEN). Between the registry and its members.
 */
#ifndef GVM_CHILDREN_H
#define GVM_CHILDREN_H

#include "gvm/port.h"

/*
 * Make child @number of the calling process on device number @gpu, with @bytes from @va on of
 * its address space, and the directory child.<number> in its own one. Returns 0 or the errors
 * of GVM_IOCTL_CHILD_OPEN. CONTEXT: process.
 */
int gvm_own_child_open(u32 gpu, u32 number, u64 va, u64 bytes);

/*
 * Move the end of the window of the caller's child. Returns 0 or the errors of
 * GVM_IOCTL_CHILD_RESIZE. CONTEXT: process.
 */
int gvm_own_child_resize(u32 gpu, u32 number, u64 bytes);

/*
 * Close the caller's child: on return its directory has gone, and no operation on its files is
 * under way. Its window, and its own limits, are gone as well. Returns 0, or -ENOENT, -ENODEV
 * or -ESRCH. CONTEXT: process.
 */
int gvm_own_child_close(u32 gpu, u32 number);

#endif
