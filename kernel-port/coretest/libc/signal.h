/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the tests of the core use of <signal.h>: SIGABRT, of tests that are skipped; see check.h. */
#include <linux/signal.h>
