/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The test programs in gvm_selftest.ko: each is a file whose main() the Kbuild renames to
 * FILE_main(). A file that the Kbuild has and this list has not fails the build, by a warning.
 */
#ifndef GVM_SELFTEST_PROGRAMS_H
#define GVM_SELFTEST_PROGRAMS_H

#define SELFTEST_PROGRAMS(X)     \
	X(selftest_world)        \
	X(test_clean)            \
	X(test_control)          \
	X(test_evict)            \
	X(test_evict_random)     \
	X(test_fault)            \
	X(test_hint)             \
	X(test_ideas_random)     \
	X(test_hmem)             \
	X(test_policy_charge)    \
	X(test_policy_check)     \
	X(test_policy_clock)     \
	X(test_policy_container) \
	X(test_policy_hmem)      \
	X(test_policy_stash)     \
	X(test_sched)            \
	X(test_sched_random)     \
	X(test_race_books)       \
	X(test_race_gpu)         \
	X(test_pressure)         \
	X(test_tsg)

#define SELFTEST_DECLARE(file) int file##_main(void);
SELFTEST_PROGRAMS(SELFTEST_DECLARE)

/* Fails on purpose: run on its own, to see that failures are reported. */
SELFTEST_DECLARE(selftest_failing)

#endif
