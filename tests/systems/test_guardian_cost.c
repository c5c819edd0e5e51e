// SPDX-License-Identifier: MIT OR GPL-2.0
/* By how much a fence lengthens kernels. */
#include "systems/guardian.h"

#include "runner.h"

/* An access takes 100 cycles, and its fence by two bitwise instructions 10. */
static struct guardian_keys keys = {
	.mode = GVM_FENCE_MASK, .alu = 5, .l1 = 100, .l2 = 1, .dram = 1, .hide = CFG_PPM
};
static const struct cfg_container container = { .guardian.l1 = CFG_PPM };

static u64 fenced_ns(u64 kernel_ns)
{
	struct fifo_burst burst = { .kernels = 1, .kernel_ns = kernel_ns };

	guardian_fence_burst(&keys, &container, 0, &burst);
	return burst.kernel_ns;
}

START_TEST(a_fence_lengthens_kernels_of_any_length_alike)
{
	ck_assert_uint_eq(fenced_ns(1000), 1100);
	/* A day, and a year. */
	ck_assert_uint_eq(fenced_ns(86400000000000), 95040000000000);
	ck_assert_uint_eq(fenced_ns(31536000000000000), 34689600000000000);
	/* Twenty years are more than any burst takes. */
	keys.alu = 1000000;
	ck_assert_uint_eq(fenced_ns(31536000000000), FIFO_BURST_MAX_NS);
	ck_assert_uint_eq(fenced_ns(31536000000000000), FIFO_BURST_MAX_NS);
}
END_TEST

START_TEST(a_kernel_with_room_on_its_sms_needs_more_of_them_first)
{
	struct fifo_burst burst = {
		.kernels = 1, .kernel_ns = 1000, .sm_need_ppm = 500000, .bandwidth_ppm = 220000
	};

	guardian_fence_burst(&keys, &container, 0, &burst);
	ck_assert_uint_eq(burst.kernel_ns, 1000);
	ck_assert_uint_eq(burst.sm_need_ppm, 550000);
	ck_assert_uint_eq(burst.bandwidth_ppm, 220000);
	burst.sm_need_ppm = CFG_PPM;
	guardian_fence_burst(&keys, &container, 0, &burst);
	ck_assert_uint_eq(burst.kernel_ns, 1100);
	ck_assert_uint_eq(burst.sm_need_ppm, CFG_PPM);
	ck_assert_uint_eq(burst.bandwidth_ppm, 200000);
}
END_TEST

TEST_MAIN("guardian_cost", a_fence_lengthens_kernels_of_any_length_alike,
	  a_kernel_with_room_on_its_sms_needs_more_of_them_first)
