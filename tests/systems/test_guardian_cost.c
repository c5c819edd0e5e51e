// SPDX-License-Identifier: MIT OR GPL-2.0
/* By how much a fence lengthens kernels. */
#include "systems/guardian.h"
#include "systems/guardian_cost.h"

#include "config/load.h"
#include "engine/error.h"
#include "machine/machine.h"
#include "runner.h"

/* An access takes 100 cycles, and its fence 10. */
static struct guardian_keys keys = { .mode = GVM_FENCE_MASK, .hide = CFG_PPM };
static struct cfg_gpu round_gpu = {
	.cycles = { .l1 = 100 * CFG_PPM,
		    .l2 = CFG_PPM,
		    .dram = CFG_PPM,
		    .fence = 10 * CFG_PPM },
};
static const struct cfg_container container = { .guardian.l1 = CFG_PPM };

static u64 fenced_ns(u64 kernel_ns)
{
	struct fifo_burst burst = { .kernels = 1, .kernel_ns = kernel_ns };

	guardian_fence_burst(&keys, &round_gpu, &container, 0, &burst);
	return burst.kernel_ns;
}

START_TEST(a_fence_lengthens_kernels_of_any_length_alike)
{
	ck_assert_uint_eq(fenced_ns(1000), 1100);
	/* A day, and a year. */
	ck_assert_uint_eq(fenced_ns(86400000000000), 95040000000000);
	ck_assert_uint_eq(fenced_ns(31536000000000000), 34689600000000000);
	/* Twenty years are more than any burst takes. */
	round_gpu.cycles.fence = 1000000ull * CFG_PPM;
	ck_assert_uint_eq(fenced_ns(31536000000000), FIFO_BURST_MAX_NS);
	ck_assert_uint_eq(fenced_ns(31536000000000000), FIFO_BURST_MAX_NS);
}
END_TEST

START_TEST(a_kernel_with_room_on_its_sms_needs_more_of_them_first)
{
	struct fifo_burst burst = {
		.kernels = 1, .kernel_ns = 1000, .sm_need_ppm = 500000, .bandwidth_ppm = 220000
	};

	guardian_fence_burst(&keys, &round_gpu, &container, 0, &burst);
	ck_assert_uint_eq(burst.kernel_ns, 1000);
	ck_assert_uint_eq(burst.sm_need_ppm, 550000);
	ck_assert_uint_eq(burst.bandwidth_ppm, 220000);
	burst.sm_need_ppm = CFG_PPM;
	guardian_fence_burst(&keys, &round_gpu, &container, 0, &burst);
	ck_assert_uint_eq(burst.kernel_ns, 1100);
	ck_assert_uint_eq(burst.sm_need_ppm, CFG_PPM);
	ck_assert_uint_eq(burst.bandwidth_ppm, 200000);
}
END_TEST

/* What a kernel of @ns takes on @gpu, of all modes from GVM_FENCE_MASK on. */
struct kernel {
	u64 l1, l2, offsets, ns;
	u64 fenced[GVM_FENCE_MODES - GVM_FENCE_MASK];
};

static void assert_kernels(const char *gpu, const struct kernel *kernels, size_t count)
{
	char profile[80];
	const struct cfg_override override = { .path_and_value = profile };
	struct sim_error err = { 0 };
	struct config config;
	int status;

	snprintf(profile, sizeof(profile), "gpu.profile=%s", gpu);
	status = config_load(&machine_registry, "guardian-fence", &override, 1, &config, &err);
	ck_assert_str_eq(err.text, "");
	ck_assert_int_eq(status, 0);
	for (size_t i = 0; i < count; i++) {
		const struct kernel *kernel = &kernels[i];
		const struct cfg_container tenant = { .guardian = { .l1 = kernel->l1,
								    .l2 = kernel->l2,
								    .offsets =
									    kernel->offsets } };

		for (u64 mode = GVM_FENCE_MASK; mode < GVM_FENCE_MODES; mode++) {
			const struct guardian_keys modes = { .mode = mode, .hide = CFG_PPM };
			struct fifo_burst burst = { .kernels = 1, .kernel_ns = kernel->ns };

			guardian_fence_burst(&modes, &config.gpu, &tenant, 0, &burst);
			ck_assert_msg(burst.kernel_ns == kernel->fenced[mode - GVM_FENCE_MASK],
				      "%s, kernel %zu, mode %llu: %llu ns", gpu, i, mode,
				      burst.kernel_ns);
		}
	}
	config_destroy(&config);
}

/* Modes in the order of enum gvm_fence_mode: fence, once, 4g, check, modulo, count. */
START_TEST(cycles_of_an_rtx_a4000_are_the_papers)
{
	static const struct kernel kernels[] = {
		/* All in L1, without and with offsets: 28 cycles. */
		{ CFG_PPM, 0, 0, 28000, { 36000, 36000, 32000, 188000, 56000, 48000 } },
		{ CFG_PPM, 0, CFG_PPM, 28000, { 44000, 36000, 40000, 188000, 56000, 56000 } },
		/* All in L2, half of them with an offset: 180 cycles. */
		{ 0,
		  CFG_PPM,
		  500000,
		  180000,
		  { 192000, 188000, 188000, 340000, 208000, 204000 } },
		/* All from memory: 285. */
		{ 0, 0, 0, 285000, { 293000, 293000, 289000, 445000, 313000, 305000 } },
		/* Lenet's rates: 142.282 cycles. */
		{ 370000,
		  720000,
		  0,
		  142282,
		  { 150282, 150282, 146282, 302282, 170282, 162282 } },
	};

	assert_kernels("rtx-a4000-16g", kernels, ARRAY_SIZE(kernels));
	assert_kernels("rtx-3080ti-12g", kernels, ARRAY_SIZE(kernels));
	/* A profile that does not know better. */
	assert_kernels("rtx4090-24g", kernels, ARRAY_SIZE(kernels));
}
END_TEST

/* The latencies are its own, and the fences an RTX A4000's. */
START_TEST(cycles_of_an_a100_are_published_ones)
{
	static const struct kernel kernels[] = {
		{ CFG_PPM, 0, 0, 36000, { 44000, 44000, 40000, 196000, 64000, 56000 } },
		{ 0, CFG_PPM, 0, 213000, { 221000, 221000, 217000, 373000, 241000, 233000 } },
		{ 0, 0, 0, 574000, { 582000, 582000, 578000, 734000, 602000, 594000 } },
	};

	assert_kernels("a100-40g", kernels, ARRAY_SIZE(kernels));
}
END_TEST

START_TEST(cycles_of_an_h200_are_the_measured_ones)
{
	static const struct kernel kernels[] = {
		{ CFG_PPM, 0, 0, 3205, { 3950, 3950, 3925, 7806, 12794, 8263 } },
		{ CFG_PPM, 0, CFG_PPM, 3205, { 4712, 3950, 3925, 8206, 13294, 8862 } },
		{ 0,
		  CFG_PPM,
		  500000,
		  28137000,
		  { 29263000, 28882000, 28857000, 32938000, 37976000, 33494500 } },
		{ 0, 0, 0, 65853, { 66598, 66598, 66573, 70454, 75442, 70911 } },
		/* Rates of the LeNet trainer that was measured: 126.37912064 cycles. */
		{ 656000,
		  934000,
		  0,
		  12637912064,
		  { 13382912064, 13382912064, 13357912064, 17238912064, 22226912064,
		    17695912064 } },
	};

	assert_kernels("h200-141g", kernels, ARRAY_SIZE(kernels));
	assert_kernels("h100-80g", kernels, ARRAY_SIZE(kernels));
}
END_TEST

TEST_MAIN("guardian_cost", a_fence_lengthens_kernels_of_any_length_alike,
	  a_kernel_with_room_on_its_sms_needs_more_of_them_first,
	  cycles_of_an_rtx_a4000_are_the_papers, cycles_of_an_a100_are_published_ones,
	  cycles_of_an_h200_are_the_measured_ones)
