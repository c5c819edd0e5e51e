/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A client of gvmfenced: what its messages do. */
#ifndef KERNEL_PORT_FENCED_TENANT_H
#define KERNEL_PORT_FENCED_TENANT_H

#include "share.h"

/*
 * Wait for the next connection. -1: there is none, or no descriptor for it; try again later. For
 * one thread.
 */
int tenant_accept(int listener);

/* Serve one client until it leaves; owns @fd. The argument of a thread is a struct tenant. */
void *tenant_run(void *data);

#endif
