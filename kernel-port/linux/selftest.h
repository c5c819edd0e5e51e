/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Between the files of gvm_selftest.ko. */
#ifndef GVM_SELFTEST_H
#define GVM_SELFTEST_H

/*
 * Try the kernel half of the port: timeouts, completions, and workers whose waits are stopped.
 * Returns NULL, or what went wrong. CONTEXT: process.
 */
const char *selftest_world(void);

#endif
