/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The part of <signal.h> that the tests of the core use: SIGABRT, of skipped tests; see
 * check.h.
 */
#include <linux/signal.h>
