/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* /dev/gvm; what it does: gvm_ioctl.h. */
#ifndef GVM_DEV_FILE_H
#define GVM_DEV_FILE_H

/* Make and remove /dev/gvm. Returns 0 or -errno. CONTEXT: process. */
int gvm_dev_file_init(void);
void gvm_dev_file_exit(void);

#endif
