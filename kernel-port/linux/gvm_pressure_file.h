/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* /dev/gvm and the descriptors that it hands out; what they do: gvm_ioctl.h. */
#ifndef GVM_PRESSURE_FILE_H
#define GVM_PRESSURE_FILE_H

#include "gvm/device.h"

/* Make and remove /dev/gvm. Returns 0 or -errno. CONTEXT: process. */
int gvm_pressure_file_init(void);
void gvm_pressure_file_exit(void);

/*
 * The device goes: from here on the descriptors of its containers read their end, and hold nothing
 * of it any more. Nobody can open another: it is not to be found. CONTEXT: process,
 * the registry's mutex not held.
 */
void gvm_pressure_file_disconnect(struct gvm_device *device);

#endif
