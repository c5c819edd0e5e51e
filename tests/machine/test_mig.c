// SPDX-License-Identifier: MIT OR GPL-2.0
/* GPU instances of MIG: their places on a GPU, and their shares of it, to the integer. */
#include <stdio.h>

#include "systems/mig_layout.h"
#include "systems/system.h"
#include "runner.h"

#define INSTANCES_MAX 8

/* Containers with instances of their own on GPUs of one kind; the test fills them in. */
static struct cfg_container containers[INSTANCES_MAX];
static u64 keys[4];
static struct config config = {
	.containers = containers,
	.system_keys = keys,
};

static void use_gpu(enum cfg_product product)
{
	memset(containers, 0, sizeof(containers));
	config.container_count = 0;
	config.gpu = (struct cfg_gpu){
		.name = "gpu0",
		.product = product,
		.memory = 1000000000,
		.memory_total = 2000000000,
		.memory_bandwidth = 1555000000001,
		.flops_bf16 = 312000000000000,
		.flops_fp8 = 540000000,
		.link = { .bandwidth = 16000000000, .bandwidth_both = 28000000000 },
		.fault = { .zero_bandwidth = 800000000000 },
	};
}

static void add(const char *profile, u64 start)
{
	struct cfg_container *container = &containers[config.container_count++];

	ck_assert_uint_le(config.container_count, INSTANCES_MAX);
	container->enabled = true;
	container->mig.start = start;
	snprintf(container->mig.profile, sizeof(container->mig.profile), "%s", profile);
}

static struct mig_layout lay_out(void)
{
	struct mig_layout layout;

	mig_lay_out(&config, 0, &layout);
	ck_assert_uint_eq(layout.count, config.container_count);
	return layout;
}

static struct cfg_gpu part(u32 container)
{
	struct cfg_gpu gpu = config.gpu;

	system_mig.part(&config, &containers[container], &gpu);
	return gpu;
}

/* The name of the profile with @slices compute slices on an A100-40GB. */
static const char *a100_profile(char slices)
{
	static const char *const names[] = { ['1'] = "1g.5gb",
					     ['2'] = "2g.10gb",
					     ['3'] = "3g.20gb",
					     ['4'] = "4g.20gb",
					     ['7'] = "7g.40gb" };

	return names[(int)slices];
}

/*
 * The user guide's figure "MIG profiles on A100", row by row: compute slices and where each
 * begins.
 */
static const struct {
	const char *slices;
	const char *starts;
} figure[] = {
	{ "7", "0" },		{ "43", "04" },		{ "421", "046" },
	{ "4111", "0456" },	{ "33", "04" },		{ "321", "046" },
	{ "3111", "0456" },	{ "223", "024" },	{ "2113", "0234" },
	{ "1123", "0124" },	{ "11113", "01234" },	{ "2221", "0246" },
	{ "21121", "02346" },	{ "11221", "01246" },	{ "211111", "023456" },
	{ "112111", "012456" }, { "111121", "012346" }, { "1111111", "0123456" },
};

START_TEST(the_guides_combinations_fit_and_leave_no_place)
{
	for (size_t row = 0; row < ARRAY_SIZE(figure); row++) {
		for (int anywhere = 0; anywhere < 2; anywhere++) {
			struct mig_layout layout;

			use_gpu(CFG_PRODUCT_A100_40GB);
			for (size_t i = 0; figure[row].slices[i]; i++)
				add(a100_profile(figure[row].slices[i]),
				    anywhere ? CFG_MIG_ANYWHERE :
					       (u64)(figure[row].starts[i] - '0'));
			ck_assert_uint_eq(lay_out().placed, config.container_count);
			/*
			 * Of two rows with the same profiles one has room left: 3 2 1, if 3
			 * begins at 4.
			 */
			if (anywhere)
				continue;
			add("1g.5gb", CFG_MIG_ANYWHERE);
			layout = lay_out();
			ck_assert_uint_eq(layout.placed, layout.count - 1);
			for (u32 i = 0; i < layout.placed; i++)
				ck_assert_uint_eq(layout.instances[i].start,
						  (u32)(figure[row].starts[i] - '0'));
		}
	}
}
END_TEST

/* The first instance moves out of the way of the second one. */
START_TEST(an_instance_leaves_the_place_that_another_needs)
{
	struct mig_layout layout;

	use_gpu(CFG_PRODUCT_H100_80GB);
	add("3g.40gb", CFG_MIG_ANYWHERE);
	add("1g.10gb", CFG_MIG_ANYWHERE);
	add("2g.20gb", 0);
	layout = lay_out();
	ck_assert_uint_eq(layout.placed, 3);
	ck_assert_uint_eq(layout.instances[0].start, 4);
	ck_assert_uint_eq(layout.instances[1].start, 2);
	ck_assert_uint_eq(layout.instances[2].start, 0);
	/* 4g begins at 0 only. */
	add("4g.40gb", CFG_MIG_ANYWHERE);
	layout = lay_out();
	ck_assert_uint_eq(layout.placed, 3);
	ck_assert_uint_eq(layout.instances[0].start, 4);
}
END_TEST

START_TEST(an_instance_has_its_shares_to_the_integer)
{
	struct cfg_gpu gpu;

	use_gpu(CFG_PRODUCT_A100_40GB);
	add("4g.20gb", CFG_MIG_ANYWHERE);
	add("2g.10gb", CFG_MIG_ANYWHERE);
	add("1g.5gb", CFG_MIG_ANYWHERE);
	gpu = part(0);
	ck_assert_str_eq(gpu.name, "gpu0-4g.20gb-0");
	ck_assert_uint_eq(gpu.flops_bf16, 161777777777777); /* 56 of 108 SMs */
	ck_assert_uint_eq(gpu.flops_fp8, 280000000);
	ck_assert_uint_eq(gpu.memory_bandwidth, 777500000000); /* 4 of 8 slices */
	ck_assert_uint_eq(gpu.fault.zero_bandwidth, 400000000000);
	ck_assert_uint_eq(gpu.memory, 496815286); /* 19.5 of 39.25 GiB */
	ck_assert_uint_eq(gpu.memory_total, 993630573);
	ck_assert_uint_eq(gpu.link.bandwidth, 9142857142); /* 4 of 7 copy engines */
	ck_assert_uint_eq(gpu.link.bandwidth_both, 16000000000);
	gpu = part(1);
	ck_assert_str_eq(gpu.name, "gpu0-2g.10gb-4");
	ck_assert_uint_eq(gpu.flops_bf16, 80888888888888);
	ck_assert_uint_eq(gpu.memory_bandwidth, 388750000000);
	ck_assert_uint_eq(gpu.memory, 245222929); /* 9.625 of 39.25 */
	gpu = part(2);
	ck_assert_str_eq(gpu.name, "gpu0-1g.5gb-6");
	ck_assert_uint_eq(gpu.flops_bf16, 40444444444444);
	ck_assert_uint_eq(gpu.memory_bandwidth, 194375000000);
	ck_assert_uint_eq(gpu.memory, 121019108); /* 4.75 of 39.25 */
	/* One copy engine moves bytes one way at a time. */
	ck_assert_uint_eq(gpu.link.bandwidth, 2285714285);
	ck_assert_uint_eq(gpu.link.bandwidth_both, 2285714285);
	keys[0] = 1; /* system.link "whole" */
	gpu = part(2);
	ck_assert_uint_eq(gpu.link.bandwidth, 16000000000);
	ck_assert_uint_eq(gpu.link.bandwidth_both, 28000000000);
}
END_TEST

/* gpu.sms 0 stays 0, "any kernel fills them all"; a part of few SMs must not become that. */
START_TEST(a_part_of_few_sms_is_one_at_least)
{
	use_gpu(CFG_PRODUCT_A100_40GB);
	add("1g.5gb", CFG_MIG_ANYWHERE);
	ck_assert_uint_eq(part(0).sms, 0);
	config.gpu.sms = 7;
	ck_assert_uint_eq(part(0).sms, 1);
	config.gpu.sms = 108;
	ck_assert_uint_eq(part(0).sms, 14);
}
END_TEST

START_TEST(the_largest_instance_is_the_gpu_but_for_its_sms)
{
	static const struct {
		enum cfg_product product;
		const char *name;
		u64 flops;
		u64 flops_fp8;
	} whole[] = {
		{ CFG_PRODUCT_A100_40GB, "7g.40gb", 283111111111111,
		  490000000 }, /* 98 of 108 */
		{ CFG_PRODUCT_A100_80GB, "7g.80gb", 283111111111111, 490000000 },
		{ CFG_PRODUCT_H100_80GB, "7g.80gb", 312000000000000,
		  540000000 }, /* 132 of 132 */
		{ CFG_PRODUCT_H200_141GB, "7g.141gb", 312000000000000, 540000000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
		struct cfg_gpu gpu, expected;

		use_gpu(whole[i].product);
		add(whole[i].name, CFG_MIG_ANYWHERE);
		gpu = part(0);
		expected = config.gpu;
		memcpy(expected.name, gpu.name, sizeof(gpu.name));
		expected.flops_bf16 = whole[i].flops;
		expected.flops_fp8 = whole[i].flops_fp8;
		ck_assert_mem_eq(&gpu, &expected, sizeof(gpu));
	}
}
END_TEST

START_TEST(containers_without_a_profile_get_equal_parts)
{
	static const char *const parts[] = { "7g.40gb", "3g.20gb", "2g.10gb", "1g.10gb",
					     "1g.5gb",	"1g.5gb",  "1g.5gb" };

	use_gpu(CFG_PRODUCT_A100_40GB);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		struct mig_layout layout;

		add("", CFG_MIG_ANYWHERE);
		layout = lay_out();
		ck_assert_uint_eq(layout.placed, i + 1);
		for (u32 k = 0; k <= i; k++)
			ck_assert_str_eq(layout.instances[k].profile->name, parts[i]);
	}
	add("", CFG_MIG_ANYWHERE);
	ck_assert_uint_eq(lay_out().placed, 7);
}
END_TEST

/* A disabled container has no instance, also where it is the first with the name of one. */
START_TEST(containers_with_the_same_instance_share_it)
{
	struct mig_layout layout;

	use_gpu(CFG_PRODUCT_A100_40GB);
	add("3g.20gb", CFG_MIG_ANYWHERE);
	add("3g.20gb", CFG_MIG_ANYWHERE);
	add("3g.20gb", CFG_MIG_ANYWHERE);
	for (int i = 0; i < 3; i++)
		strcpy(containers[i].mig.instance, "shared");
	mig_lay_out(&config, 0, &layout);
	ck_assert_uint_eq(layout.count, 1);
	ck_assert_str_eq(part(2).name, "gpu0-3g.20gb-0");
	containers[0].enabled = false;
	ck_assert_ptr_eq(mig_first(&config, &containers[2]), &containers[1]);
	mig_lay_out(&config, 0, &layout);
	ck_assert_uint_eq(layout.count, 1);
	ck_assert_ptr_eq(layout.instances[0].first, &containers[1]);
}
END_TEST

TEST_MAIN("mig", the_guides_combinations_fit_and_leave_no_place,
	  an_instance_leaves_the_place_that_another_needs,
	  an_instance_has_its_shares_to_the_integer, a_part_of_few_sms_is_one_at_least,
	  the_largest_instance_is_the_gpu_but_for_its_sms,
	  containers_without_a_profile_get_equal_parts,
	  containers_with_the_same_instance_share_it)
