/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The part of <time.h> that the tests of the core use; see check.h. */
#ifndef GVM_CORETEST_TIME_H
#define GVM_CORETEST_TIME_H

#include <linux/timekeeping.h>

/* Seconds since 1970. */
static inline s64 time(s64 *unused)
{
	return ktime_get_real_seconds();
}

#endif
