// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A matrix product of few tokens, whose weights lie on the host, makes about as many batches of
 * faults as on an H200 (plots/reference/hardware/h200-580-uvm-batches.txt).
 */
#include "cuda_fixture.h"

/* Outputs and inputs of the product, of 16-bit numbers. */
static u32 outputs, inputs;

static void multiply(void)
{
	struct cuda_memory weights;
	struct cuda_access access;
	struct cuda_burst_config product = {
		.kernels = 1, .kernel_ns = US, .accesses = &access, .access_count = 1
	};

	ck_assert_int_eq(cuda_malloc_managed(&cuda, 2ull * outputs * inputs, true, &weights),
			 0);
	access = cuda_access_all(&weights, CUDA_READ);
	cuda_access_matrices(&access, 1);
	access.rows_per_page = (u32)(GVM_PAGE_BYTES / (2 * inputs));
	ck_assert_int_eq(cuda_run(&cuda, &product), 0);
}

/* The product on the SMs of an H200 makes @batches with faults on @pages in all. */
static void expect_product(u32 product_outputs, u32 product_inputs, u64 batches, u64 pages)
{
	outputs = product_outputs;
	inputs = product_inputs;
	policy.manager = &sim_manager_nvuvm;
	profile.memory = 48 * CHUNK;
	profile.sms = 132;
	profile.fault.buffer_entries = 4096;
	profile.fault.per_page = 16;
	profile.fault.per_sm = 3;
	profile.fault.again = 460000;
	simulate(multiply);
	ck_assert_uint_eq(process.stats.fault_batches, batches);
	ck_assert_uint_eq(process.stats.faults, pages);
}

/* On an H200 12.6 to 13.1 batches, whose records are on 920 to 940 pages in all. */
START_TEST(a_product_of_long_columns_makes_as_many_batches_as_on_an_h200)
{
	expect_product(10240, 4096, 13, 1105);
}
END_TEST

/* On an H200 11.7 to 12.3, on 980 to 1010 pages. */
START_TEST(a_product_of_long_rows_makes_as_many_batches_as_on_an_h200)
{
	expect_product(4096, 10240, 13, 1172);
}
END_TEST

/* On an H200 7.4 to 8.0, on 460 to 480 pages. Two SMs read each row there. */
START_TEST(a_small_product_makes_as_many_batches_as_on_an_h200)
{
	expect_product(4096, 4096, 6, 515);
}
END_TEST

/* A GPU whose number of SMs is not known: all blocks of the product miss side by side. */
START_TEST(without_sms_a_product_misses_as_other_kernels_do)
{
	outputs = 4096;
	inputs = 4096;
	policy.manager = &sim_manager_nvuvm;
	profile.fault.per_sm = 3;
	simulate(multiply);
	ck_assert_uint_eq(process.stats.fault_batches, 2);
}
END_TEST

static void multiply_nothing(void)
{
}

START_TEST(a_host_of_half_the_speed_takes_twice_as_long_for_faults)
{
	profile.fault.interrupt = 3 * US;
	profile.fault.block = US;
	profile.fault.host_speed = CFG_PPM / 2;
	simulate(multiply_nothing);
	ck_assert_uint_eq(gpu.interrupt_ns, 6 * US);
	ck_assert_uint_eq(gpu.cost_ns[GVM_COST_BLOCK], 2 * US);
}
END_TEST

TEST_MAIN("product_faults", a_product_of_long_columns_makes_as_many_batches_as_on_an_h200,
	  a_product_of_long_rows_makes_as_many_batches_as_on_an_h200,
	  a_small_product_makes_as_many_batches_as_on_an_h200,
	  without_sms_a_product_misses_as_other_kernels_do,
	  a_host_of_half_the_speed_takes_twice_as_long_for_faults)
