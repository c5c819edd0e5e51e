/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The test programs in gvm_coretest.ko. The Kbuild renames the main() of each file to
 * FILE_main(), and includes this header in every file. If a program is missing here, its main()
 * has no prototype and the build fails.
 */
#ifndef GVM_CORETEST_PROGRAMS_H
#define GVM_CORETEST_PROGRAMS_H

#define CORETEST_PROGRAMS(X)      \
	X(coretest_port)          \
	X(test_address_fence)     \
	X(test_child)             \
	X(test_clean)             \
	X(test_control)           \
	X(test_evict)             \
	X(test_evict_random)      \
	X(test_fault)             \
	X(test_fence_table)       \
	X(test_hint)              \
	X(test_ideas_random)      \
	X(test_hmem)              \
	X(test_parse)             \
	X(test_parts)             \
	X(test_policy_charge)     \
	X(test_policy_check)      \
	X(test_policy_clock)      \
	X(test_policy_container)  \
	X(test_policy_hmem)       \
	X(test_policy_parts)      \
	X(test_policy_protection) \
	X(test_policy_stash)      \
	X(test_predictor)         \
	X(test_quiesce)           \
	X(test_reclaim)           \
	X(test_room_parts)        \
	X(test_sched)             \
	X(test_sched_random)      \
	X(test_race_books)        \
	X(test_remote)            \
	X(test_race_gpu)          \
	X(test_pressure)          \
	X(test_tsg)

#define CORETEST_DECLARE(file) int file##_main(void);
CORETEST_PROGRAMS(CORETEST_DECLARE)

/* This program fails on purpose. It runs alone, and proves that failures are reported. */
CORETEST_DECLARE(coretest_failing)

#endif
