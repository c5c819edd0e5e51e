/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* /dev/gvm and the descriptors that it hands out; what they do: gvm_ioctl.h. */
#ifndef GVM_PRESSURE_FILE_H
#define GVM_PRESSURE_FILE_H

#include "gvm/device.h"

/* Make and remove /dev/gvm. Returns 0 or -errno. CONTEXT: process. */
int gvm_pressure_file_init(void);
void gvm_pressure_file_exit(void);

#endif
