/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Kernels that never end, and contexts that are broken. */
#ifndef KERNEL_PORT_FENCED_WATCH_H
#define KERNEL_PORT_FENCED_WATCH_H

#include "share.h"

u64 watch_now_ns(void);

#define WATCH_ENDLESS 3 /* exit codes of the process that has the context */
#define WATCH_BROKEN  4

/* Watch all tenants from now on: a kernel that runs longer than @limit_ns ends this process. */
int watch_start(struct gpu *gpu, u64 limit_ns);
void watch_add(struct tenant *tenant);
void watch_remove(struct tenant *tenant);
/* The context is broken if the driver says so: then the process ends, and is started again. */
void watch_result(const struct tenant *tenant, cu_result result);

#endif
