// SPDX-License-Identifier: MIT OR GPL-2.0
/* The diffusion pipeline. */
#include "apps/diffusion.h"
#include "apps_fixture.h"

static struct cfg_diffusion diffusion;

static void init_diffusion(void)
{
	init_machine(&diffusion_app, &diffusion);
	diffusion = (struct cfg_diffusion){
		.text_weights = 300,
		.clip_weights = 200,
		.denoiser_weights = 1000,
		.decoder_weights = 100,
		.denoiser_activation = CHUNK,
		.denoiser_layers = 1,
		.decoder_activation = 3 * CHUNK,
		.steps = 2,
		.passes_per_step = 2,
		.text_passes = 1,
		.text_flops = 100,
		.denoiser_flops = 500,
		.denoiser_traffic = 300,
		.decoder_flops = 150,
		.decoder_traffic = 50,
		.efficiency = CFG_PPM / 2,
		.memory_efficiency = CFG_PPM,
		.kernel_launch = 20,
		.kernels_text = 2,
		.kernels_per_pass = 4,
		.kernels_decoder = 2,
		.host_per_image = 1001,
		.warmup = 20000,
	};
}

/*
 * Host 500 / 2, launch 10, text (100 + 500), 4 passes of (500 + 300), decoder (150 + 50), host
 * 501 / 2: 250 + 10 + 600 + 3200 + 200 + 250 = 4510. The first has 10000 of warm-up and faults
 * in 2 + 1 + 1 weights at 1 ns a page and 3 chunks of pool.
 */
START_TEST(images_take_the_time_of_their_phases)
{
	u64 second;

	init_diffusion();
	interrupt_ns = 28000;
	simulate();
	ck_assert_int_eq(app_status, 0);
	second = app_log.records[1].arrival_ns;
	ck_assert_uint_gt(second, 4510 + 10000);
	ck_assert_uint_le(second, 4510 + 10000 + 4 + 3 * 32);
	expect_record(0, APP_COMPLETED, 0, 0, second);
	expect_record(1, APP_COMPLETED, second, 0, 4510);
	expect_record(2, APP_COMPLETED, second + 4510, 0, 4510);
	ck_assert_uint_eq(app_log.records[2].id, 2);
	expect_record(3, APP_DROPPED, second + 2 * 4510, 0, 0);
	ck_assert_uint_eq(app_log.record_count, 4);
	ck_assert_uint_eq(process.stats.block.pages_cleared, 3 * 32);
	ck_assert_uint_eq(process.stats.block.pages_copied_in, 4);
}
END_TEST

/*
 * An image before its start takes what the first one takes, and is in no result. The first image
 * of the results then takes the time of any other, and clears and copies nothing.
 */
START_TEST(warm_images_are_made_before_the_start_and_not_counted)
{
	init_diffusion();
	diffusion.warm_images = 1;
	container.start = 20000;
	interrupt_ns = 20000 + 2 * 4510 + 1;
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_log.record_count, 3);
	expect_record(0, APP_COMPLETED, 20000, 0, 4510);
	expect_record(1, APP_COMPLETED, 20000 + 4510, 0, 4510);
	ck_assert_uint_eq(app_log.warm_ns, 20000);
	ck_assert_uint_eq(process.stats.block.pages_cleared, 3 * 32);
	ck_assert_uint_eq(process.stats.block.pages_copied_in, 4);
}
END_TEST

/* It is not ready at its start, so images begin late. */
START_TEST(a_pipeline_that_is_not_warm_at_its_start_begins_late)
{
	init_diffusion();
	diffusion.warm_images = 2;
	container.start = 5000;
	interrupt_ns = 40000;
	simulate();
	ck_assert_uint_gt(app_log.warm_ns, 10000 + 2 * 4510);
	expect_record(0, APP_COMPLETED, app_log.warm_ns, 0, 4510);
}
END_TEST

/* 20 launches of 400 are slower than any kernel: 8000, then the last kernel of 100. */
START_TEST(launches_run_ahead_through_all_phases)
{
	init_diffusion();
	diffusion.kernel_launch = 800;
	interrupt_ns = 30000;
	simulate();
	expect_record(1, APP_COMPLETED, app_log.records[0].finish_ns, 0,
		      250 + 8000 + 100 + 250);
}
END_TEST

START_TEST(phases_without_memory_touch_nothing)
{
	init_diffusion();
	diffusion.text_weights = 0;
	diffusion.clip_weights = 0;
	diffusion.decoder_weights = 0;
	diffusion.denoiser_activation = 0;
	diffusion.decoder_activation = 0;
	interrupt_ns = 30000;
	simulate();
	ck_assert_uint_eq(process.range_count, 1);
	expect_record(1, APP_COMPLETED, app_log.records[0].finish_ns, 0, 4510 - 500);
}
END_TEST

/*
 * Chunks that come in for each image but the first one. Weights of the text encoder have 2
 * chunks, those of the small encoders 1, the denoiser's 4, the decoder's 3.
 */
static u64 comes_back_an_image(enum cfg_offload offload)
{
	init_diffusion();
	policy.manager = &sim_manager_nvuvm;
	diffusion.text_weights = 2 * CHUNK;
	diffusion.clip_weights = CHUNK;
	diffusion.denoiser_weights = 4 * CHUNK;
	diffusion.decoder_weights = 3 * CHUNK;
	diffusion.offload = offload;
	interrupt_ns = 400 * MS;
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_gt(app_log.record_count, 20);
	return (process.stats.block.pages_copied_in / 32 - 10) / (app_log.record_count - 2);
}

START_TEST(weights_stay_where_they_are)
{
	ck_assert_uint_eq(comes_back_an_image(CFG_OFFLOAD_NONE), 0);
}
END_TEST

START_TEST(encoders_that_are_offloaded_come_back_with_each_image)
{
	ck_assert_uint_eq(comes_back_an_image(CFG_OFFLOAD_ENCODERS), 3);
}
END_TEST

START_TEST(all_weights_that_are_offloaded_come_back_with_each_image)
{
	ck_assert_uint_eq(comes_back_an_image(CFG_OFFLOAD_ALL), 10);
}
END_TEST

START_TEST(an_image_dies_with_its_context)
{
	init_diffusion();
	kill_ns = 20000;
	simulate();
	ck_assert_int_eq(app_status, -EIO);
	ck_assert_uint_eq(app_end_ns, 20000);
	ck_assert_uint_eq(app_log.record_count, 3);
	ck_assert_int_eq(app_log.records[1].outcome, APP_COMPLETED);
	ck_assert_int_eq(app_log.records[2].outcome, APP_FAILED);
	ck_assert_uint_eq(app_log.records[2].finish_ns, 20000);
}
END_TEST

/*
 * Pressure in the second image: the third finds the pool empty, and each of its 4 passes is two
 * of 4 kernels of (250 + 300) / 4. 250 + 10 + 600 + 4 * 2 * 4 * 137 + 200 + 250 = 5694, and at
 * most a nanosecond for each page of the pool. The fourth is as ever.
 */
START_TEST(a_pipeline_that_listens_makes_the_next_image_small)
{
	u64 second, fourth;

	init_diffusion();
	listens = true;
	post_ns = 16000;
	post_bytes = CHUNK;
	interrupt_ns = 34000;
	simulate();
	second = app_log.records[1].arrival_ns;
	fourth = app_log.records[3].arrival_ns;
	ck_assert(second < 16000 && second + 4510 > 16000);
	expect_record(1, APP_COMPLETED, second, 0, 4510);
	ck_assert_uint_gt(fourth, second + 4510 + 5694);
	ck_assert_uint_le(fourth, second + 4510 + 5694 + 3 * 32);
	expect_record(3, APP_COMPLETED, fourth, 0, 4510);
	ck_assert_uint_eq(process.stats.block.pages_cleared, 2 * 3 * 32);
	ck_assert_uint_eq(process.stats.bytes_d2h, 0);
}
END_TEST

/* Chunks that are brought in for an image of two passes, as a mean of thousands. */
static u64 misses_an_image(u64 layers)
{
	init_diffusion();
	diffusion.text_weights = 0;
	diffusion.clip_weights = 0;
	diffusion.decoder_weights = 0;
	diffusion.decoder_activation = 0;
	diffusion.denoiser_weights = 4 * CHUNK;
	diffusion.denoiser_layers = layers;
	diffusion.passes_per_step = 1;
	limit_bytes = 2 * CHUNK;
	interrupt_ns = 20 * MS;
	simulate();
	ck_assert_uint_gt(app_log.record_count, 5000);
	return (process.stats.block.pages_copied_in / 32 + app_log.record_count / 2) /
	       app_log.record_count;
}

/*
 * Weights of 4 chunks and activations A of one, of which 2 chunks fit, and the oldest one goes.
 * Four layers: 0 A 1 A 2 A 3 A. A is there after 1 and after 3, so a pass has 6 misses.
 */
START_TEST(layers_use_the_activations_again)
{
	ck_assert_uint_eq(misses_an_image(4), 12);
}
END_TEST

/* The same with one layer: 0 1 2 3 A, which are 5 misses. */
START_TEST(one_layer_uses_the_activations_once)
{
	ck_assert_uint_eq(misses_an_image(1), 10);
}
END_TEST

TEST_MAIN("diffusion", images_take_the_time_of_their_phases,
	  warm_images_are_made_before_the_start_and_not_counted,
	  a_pipeline_that_is_not_warm_at_its_start_begins_late,
	  launches_run_ahead_through_all_phases, phases_without_memory_touch_nothing,
	  weights_stay_where_they_are, encoders_that_are_offloaded_come_back_with_each_image,
	  all_weights_that_are_offloaded_come_back_with_each_image,
	  an_image_dies_with_its_context, a_pipeline_that_listens_makes_the_next_image_small,
	  layers_use_the_activations_again, one_layer_uses_the_activations_once)
