// SPDX-License-Identifier: MIT OR GPL-2.0
/* vGPUs: frame buffers by type, and turns by policy, to the integer. */
#include <stdio.h>

#include "systems/system.h"
#include "runner.h"

#define VGPUS_MAX 8
#define GIB	  (1ull << 30)

/* As the words of system.policy. */
enum policy {
	BEST_EFFORT,
	EQUAL_SHARE,
	FIXED_SHARE,
};

static struct cfg_container containers[VGPUS_MAX];
static struct {
	u64 policy;
	u64 frequency;
} keys;
static struct config config = {
	.containers = containers,
	.system_keys = &keys,
	.gpu = { .name = "gpu0",
		 .product = CFG_PRODUCT_A100_80GB,
		 .memory = 80 * GIB,
		 .memory_total = 81 * GIB,
		 .flops_bf16 = 312 },
};

/* @count containers with vGPUs of @type; empty: equal parts. */
static void use(const char *type, u32 count)
{
	config.container_count = count;
	for (u32 i = 0; i < count; i++) {
		containers[i].enabled = true;
		snprintf(containers[i].vgpu_type, sizeof(containers[i].vgpu_type), "%s", type);
	}
}

static struct fifo_turns turns(enum policy policy, u64 frequency)
{
	keys.policy = policy;
	keys.frequency = frequency;
	return system_vgpu.turns(&config, 0);
}

static struct cfg_gpu part(u32 container)
{
	struct cfg_gpu gpu = config.gpu;

	system_vgpu.part(&config, &containers[container], &gpu);
	return gpu;
}

START_TEST(a_frame_buffer_is_a_part_in_whole_chunks)
{
	struct cfg_gpu gpu;

	use("10C", 1);
	gpu = part(0);
	ck_assert_uint_eq(gpu.memory, 10 * GIB);
	ck_assert_uint_eq(gpu.memory_total, 10 * GIB);
	ck_assert_uint_eq(gpu.flops_bf16, 312);
	ck_assert_str_eq(gpu.name, "gpu0");
	/* 40404 MiB less 1 byte: a twentieth has 1010 chunks of 2 MiB, and a rest. */
	use("4C", 1);
	config.gpu.memory = (40404ull << 20) - 1;
	ck_assert_uint_eq(part(0).memory, 1010 * GVM_CHUNK_BYTES);
	config.gpu.memory = 80 * GIB;
}
END_TEST

START_TEST(containers_without_a_type_get_equal_parts)
{
	static const u64 gigabytes[] = { 80, 40, 20, 20, 16, 10, 10, 10 };

	for (u32 count = 1; count <= ARRAY_SIZE(gigabytes); count++) {
		use("", count);
		ck_assert_uint_eq(part(0).memory, gigabytes[count - 1] * GIB);
		ck_assert_uint_eq(part(count - 1).memory, gigabytes[count - 1] * GIB);
	}
}
END_TEST

/* 480 Hz for a type of which a GPU takes up to 8, else 960 Hz: NVIDIA's guide, table 1. */
START_TEST(a_turn_lasts_as_the_guide_says)
{
	use("10C", 2);
	ck_assert_uint_eq(turns(EQUAL_SHARE, 0).length_ns, 2083333);
	ck_assert_uint_eq(turns(FIXED_SHARE, 0).length_ns, 2083333);
	use("8C", 2);
	ck_assert_uint_eq(turns(EQUAL_SHARE, 0).length_ns, 1041666);
	/* 0x3f is 63 Hz, 15.873 ms; less is raised to that. */
	ck_assert_uint_eq(turns(EQUAL_SHARE, 63).length_ns, 15873015);
	ck_assert_uint_eq(turns(FIXED_SHARE, 1).length_ns, 15873015);
	ck_assert_uint_eq(turns(FIXED_SHARE, 960).length_ns, 1041666);
}
END_TEST

START_TEST(fixed_share_has_turns_for_all_that_the_type_permits)
{
	use("10C", 2);
	ck_assert_uint_eq(turns(FIXED_SHARE, 0).count, 8);
	ck_assert_uint_eq(turns(EQUAL_SHARE, 0).count, 0);
	ck_assert_uint_eq(turns(BEST_EFFORT, 0).length_ns, 0);
	use("", 3);
	ck_assert_uint_eq(turns(FIXED_SHARE, 0).count, 4);
}
END_TEST

TEST_MAIN("vgpu", a_frame_buffer_is_a_part_in_whole_chunks,
	  containers_without_a_type_get_equal_parts, a_turn_lasts_as_the_guide_says,
	  fixed_share_has_turns_for_all_that_the_type_permits)
