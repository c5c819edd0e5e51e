// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The page player, on a GPU of 32 chunks. Nothing is ever evicted here: a block is resident at
 * the end if it was touched.
 */
#include "apps/pages.h"
#include "apps_fixture.h"
#include "engine/error.h"

#include <unistd.h>

#define BLOCKS 20u

static struct cfg_pages keys = {
	.bytes = BLOCKS * CHUNK,
	.on_host = true,
	.zipf_alpha = 800000,
	.write_share = CFG_PPM,
	.kernels = 2,
	.kernel_blocks = 3,
	.kernel_time = 10 * US,
};

static bool ends_by_death;

/* Play until @end_ns, from @start_ns on as the container says. */
static void play_from(u64 start_ns, u64 end_ns)
{
	init_machine(&pages_app, &keys);
	container.start = start_ns;
	snprintf(container.name, sizeof(container.name), "pages");
	config.seed = 1;
	config.gpu.memory = 32 * CHUNK;
	config.gpu.fault.per_block = 1;
	if (ends_by_death)
		kill_ns = end_ns;
	else
		interrupt_ns = end_ns;
	simulate();
}

static void play(u64 end_ns)
{
	play_from(0, end_ns);
}

/* 6 blocks a round: the fourth one ends at block 4, and from then on nothing is missing. */
START_TEST(a_walk_goes_on_where_the_last_round_stopped)
{
	play(200 * US);
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(blocks_at_end, (1u << BLOCKS) - 1);
	ck_assert_uint_eq(process.stats.faults, BLOCKS);
	ck_assert_uint_eq(process.stats.block.pages_copied_in, BLOCKS * 32);
	ck_assert_uint_ge(app_log.record_count, 9);
	ck_assert_uint_eq(app_log.records[5].finish_ns - app_log.records[5].arrival_ns,
			  20 * US);
	ck_assert_uint_eq(app_log.records[6].arrival_ns, app_log.records[5].finish_ns);
}
END_TEST

START_TEST(a_round_touches_no_more_than_it_says)
{
	play(15 * US);
	ck_assert_uint_eq(blocks_at_end, (1u << 6) - 1);
	ck_assert_uint_eq(app_log.record_count, 1);
	ck_assert_int_eq(app_log.records[0].outcome, APP_DROPPED);
}
END_TEST

START_TEST(memory_of_its_own_is_cleared_and_not_copied)
{
	keys.on_host = false;
	play(200 * US);
	ck_assert_uint_eq(process.stats.block.pages_copied_in, 0);
	ck_assert_uint_eq(process.stats.block.pages_cleared, BLOCKS * 32);
}
END_TEST

START_TEST(random_blocks_are_all_touched_in_time)
{
	keys.pattern = CFG_PATTERN_RANDOM;
	keys.kernel_blocks = 100;
	play(100 * US);
	ck_assert_uint_eq(blocks_at_end, (1u << BLOCKS) - 1);
}
END_TEST

/*
 * Block i has i^-4 of all touches, over 1.08: of 400 the second one gets 23, the last one none.
 */
START_TEST(zipf_touches_the_first_blocks_most)
{
	keys.pattern = CFG_PATTERN_ZIPF;
	keys.zipf_alpha = 4 * CFG_PPM;
	keys.kernel_blocks = 50;
	play(85 * US);
	ck_assert_uint_eq(blocks_at_end & 3, 3);
	ck_assert_uint_ne(blocks_at_end, (1u << BLOCKS) - 1);
}
END_TEST

START_TEST(without_an_exponent_zipf_is_uniform)
{
	keys.pattern = CFG_PATTERN_ZIPF;
	keys.zipf_alpha = 0;
	keys.kernel_blocks = 100;
	play(100 * US);
	ck_assert_uint_eq(blocks_at_end, (1u << BLOCKS) - 1);
}
END_TEST

START_TEST(a_round_dies_with_its_context)
{
	ends_by_death = true;
	play(150 * US);
	ck_assert_int_eq(app_status, -EIO);
	ck_assert_int_eq(app_log.records[app_log.record_count - 1].outcome, APP_FAILED);
	ck_assert_uint_eq(app_log.records[app_log.record_count - 1].finish_ns, 150 * US);
}
END_TEST

START_TEST(kernels_without_blocks_only_compute)
{
	keys.kernel_blocks = 0;
	play(110 * US);
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(blocks_at_end, 0);
	ck_assert_uint_eq(process.stats.faults, 0);
	ck_assert_uint_eq(app_log.record_count, 6);
	ck_assert_uint_eq(app_log.records[4].finish_ns, 100 * US);
}
END_TEST

/* On a host of speed 2 a launch takes 20, a kernel 10: the second ends at 50. */
START_TEST(the_host_needs_time_for_a_launch)
{
	keys.kernel_blocks = 0;
	keys.kernel_launch = 40 * US;
	play(120 * US);
	ck_assert_uint_eq(app_log.records[0].finish_ns, 50 * US);
	ck_assert_uint_eq(app_log.records[1].finish_ns, 100 * US);
}
END_TEST

START_TEST(the_host_pauses_between_two_rounds)
{
	keys.kernel_blocks = 0;
	keys.pause = 30 * US;
	play(110 * US);
	ck_assert_uint_eq(app_log.record_count, 3);
	ck_assert_uint_eq(app_log.records[0].finish_ns, 20 * US);
	ck_assert_uint_eq(app_log.records[1].arrival_ns, 50 * US);
	ck_assert_uint_eq(app_log.records[2].arrival_ns, 100 * US);
}
END_TEST

/*
 * 20 blocks of 20 in every round, and nothing of them is on the GPU when the next one begins.
 */
START_TEST(a_region_that_is_sent_back_misses_again)
{
	policy.manager = &sim_manager_nvuvm;
	keys.kernel_blocks = BLOCKS / 2;
	keys.prefetch_back = true;
	play(400 * US);
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_ge(app_log.record_count, 3);
	ck_assert_uint_ge(process.stats.block.pages_copied_in,
			  (app_log.record_count - 1) * BLOCKS * GVM_PAGES_PER_BLOCK);
	ck_assert_uint_ge(process.stats.bytes_d2h, (app_log.record_count - 2) * BLOCKS * CHUNK);
}
END_TEST

/* All pages of two blocks are in one batch. */
START_TEST(pages_of_a_block_are_touched_side_by_side)
{
	policy.manager = &sim_manager_nvuvm;
	keys.kernels = 1;
	keys.kernel_blocks = 2;
	keys.pages_at_once = GVM_PAGES_PER_BLOCK;
	play(8 * US);
	ck_assert_uint_eq(process.stats.faults, 2 * GVM_PAGES_PER_BLOCK);
	ck_assert_uint_eq(process.stats.fault_batches, 1);
}
END_TEST

/* Give the player these events. It ignores events for other containers. */
static void be_told(const struct cfg_event *events, size_t count)
{
	config.events = calloc(count, sizeof(*events));
	memcpy(config.events, events, count * sizeof(*events));
	config.event_count = count;
	keys.pattern = CFG_PATTERN_EVENTS;
	keys.kernels = 1;
	keys.pause = 5 * US;
}

/* A block a round: 2 and 3, then 9 down to 7; and what took longer than it should is late. */
START_TEST(events_say_what_is_touched_and_when)
{
	static const struct cfg_event events[] = {
		{ .at = 10 * US,
		  .container = "pages",
		  .touch = "2-3",
		  .first_block = 2,
		  .last_block = 3 },
		{ .at = 20 * US,
		  .container = "other",
		  .touch = "15",
		  .first_block = 15,
		  .last_block = 15 },
		{ .at = 20 * US, .container = "pages", .file = "gmem.limit.low", .value = "0" },
		{ .at = 20 * US,
		  .container = "pages",
		  .touch = "9-7",
		  .first_block = 9,
		  .last_block = 7 },
		{ .at = 500 * US,
		  .container = "pages",
		  .touch = "0",
		  .first_block = 0,
		  .last_block = 0 },
	};

	be_told(events, ARRAY_SIZE(events));
	play(300 * US);
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(blocks_at_end, BIT(2) | BIT(3) | BIT(7) | BIT(8) | BIT(9));
	ck_assert_uint_eq(app_log.record_count, 5);
	ck_assert_uint_eq(app_log.records[0].arrival_ns, 10 * US);
	ck_assert_uint_eq(app_log.records[1].arrival_ns, app_log.records[0].finish_ns + 5 * US);
	ck_assert_uint_eq(app_log.records[2].arrival_ns, app_log.records[1].finish_ns + 5 * US);
	free(config.events);
}
END_TEST

/* The machine tells the user that the first one was not made. */
START_TEST(a_touch_before_the_start_is_not_made_later)
{
	static const struct cfg_event events[] = {
		{ .at = 10 * US,
		  .container = "pages",
		  .touch = "2",
		  .first_block = 2,
		  .last_block = 2 },
		{ .at = 50 * US,
		  .container = "pages",
		  .touch = "3",
		  .first_block = 3,
		  .last_block = 3 },
	};

	be_told(events, ARRAY_SIZE(events));
	play_from(50 * US, 150 * US);
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(blocks_at_end, BIT(3));
	ck_assert_uint_eq(app_log.record_count, 1);
	free(config.events);
}
END_TEST

/* The process stays while its context is dead, and goes when it is told to. */
START_TEST(who_is_told_to_exit_gives_everything_back)
{
	static const struct cfg_event events[] = {
		{ .at = 10 * US,
		  .container = "pages",
		  .touch = "0",
		  .first_block = 0,
		  .last_block = 0 },
		{ .at = 200 * US,
		  .container = "pages",
		  .touch = "1-2",
		  .first_block = 1,
		  .last_block = 2 },
		{ .at = 300 * US, .container = "pages", .exit = true },
	};

	ends_by_death = true;
	be_told(events, ARRAY_SIZE(events));
	play(150 * US);
	ck_assert_int_eq(app_status, -EIO);
	ck_assert(!process.running);
	ck_assert_uint_eq(app_log.record_count, 2);
	ck_assert_int_eq(app_log.records[0].outcome, APP_COMPLETED);
	ck_assert_int_eq(app_log.records[1].outcome, APP_FAILED);
	ck_assert_uint_eq(app_log.records[1].arrival_ns, 200 * US);
	free(config.events);
}
END_TEST

/* The player plays this trace, as its application prepares it. */
static struct app_env traced;

static void use_trace(const char *text)
{
	struct sim_error err = { 0 };
	int file;

	strcpy(keys.page_trace, "/tmp/pages.XXXXXX");
	file = mkstemp(keys.page_trace);
	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
	close(file);
	keys.pattern = CFG_PATTERN_TRACE;
	keys.kernels = 1;
	container.app = &keys;
	traced = (struct app_env){ .config = &config, .container = &container };
	ck_assert_msg(pages_app.prepare(&traced, &err) == 0, "%s", err.text);
	unlink(keys.page_trace);
	prepared = traced.prepared;
}

/*
 * Block 1; from the middle of block 3 to that of block 6; two pages of block 9, one of them again
 * by the second kernel. A kernel takes 10 us, and the trace begins again.
 */
START_TEST(a_trace_says_which_pages_are_touched)
{
	use_trace("kernel,page,pages,write\n0,32,32,0\n0,112,96,1\n0,290,2,0\n1,291,1,0\n");
	keys.pages_at_once = 1;
	play(100 * US);
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(blocks_at_end, BIT(1) | BIT(3) | BIT(4) | BIT(5) | BIT(6) | BIT(9));
	/* Each block is promoted at its first fault: Ghost's driver brings whole blocks. */
	ck_assert_uint_eq(process.stats.faults, 6);
	ck_assert_uint_ge(app_log.record_count, 7);
	ck_assert_uint_eq(app_log.records[1].finish_ns - app_log.records[1].arrival_ns,
			  10 * US);
	pages_app.discard(&traced);
}
END_TEST

/* NVIDIA's driver, without its prefetcher's help: pages of two parts of a block, and no other. */
START_TEST(pages_beside_a_run_are_not_touched)
{
	policy.manager = &sim_manager_nvuvm;
	use_trace("kernel,page,pages,write\n0,1,2,0\n0,20,1,0\n");
	keys.pages_at_once = GVM_PAGES_PER_BLOCK;
	play(50 * US);
	ck_assert_uint_eq(process.stats.faults, 3);
	ck_assert_uint_eq(process.stats.fault_batches, 1);
	pages_app.discard(&traced);
}
END_TEST

/*
 * The second kernel of 40 us is late, since the first one takes 30 and was launched 10 before
 * it; its wait counts. The third waits for its date. Then the player ends.
 */
START_TEST(dates_of_a_trace_are_those_of_its_kernels)
{
	use_trace("kernel,page,pages,write,time_ns,start_ns\n"
		  "0,0,1,0,30000,5000\n1,0,1,0,40000,15000\n2,0,1,0,1000,200000\n");
	play_from(50 * US, 400 * US);
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_log.record_count, 3);
	ck_assert_uint_eq(app_log.records[0].arrival_ns, 55 * US);
	ck_assert_uint_eq(app_log.records[1].arrival_ns, 65 * US);
	ck_assert_uint_eq(app_log.records[1].finish_ns, app_log.records[0].finish_ns + 40 * US);
	ck_assert_uint_eq(app_log.records[2].arrival_ns, 250 * US);
	ck_assert_uint_eq(app_log.records[2].finish_ns, 251 * US);
	ck_assert_uint_eq(app_end_ns, 251 * US);
	pages_app.discard(&traced);
}
END_TEST

/* Two kernels a round; the trace has three, so every second round has one. */
START_TEST(a_round_has_several_kernels_of_a_trace)
{
	use_trace("kernel,page,pages,write\n0,0,1,0\n1,0,1,0\n2,0,1,0\n");
	keys.kernels = 2;
	play(200 * US);
	ck_assert_uint_ge(app_log.record_count, 5);
	ck_assert_uint_eq(app_log.records[2].finish_ns - app_log.records[2].arrival_ns,
			  20 * US);
	ck_assert_uint_eq(app_log.records[3].finish_ns - app_log.records[3].arrival_ns,
			  10 * US);
	pages_app.discard(&traced);
}
END_TEST

TEST_MAIN("pages", a_trace_says_which_pages_are_touched, pages_beside_a_run_are_not_touched,
	  dates_of_a_trace_are_those_of_its_kernels, a_round_has_several_kernels_of_a_trace,
	  a_walk_goes_on_where_the_last_round_stopped, a_round_touches_no_more_than_it_says,
	  memory_of_its_own_is_cleared_and_not_copied, random_blocks_are_all_touched_in_time,
	  zipf_touches_the_first_blocks_most, without_an_exponent_zipf_is_uniform,
	  a_round_dies_with_its_context, kernels_without_blocks_only_compute,
	  the_host_needs_time_for_a_launch, the_host_pauses_between_two_rounds,
	  a_region_that_is_sent_back_misses_again, a_touch_before_the_start_is_not_made_later,
	  events_say_what_is_touched_and_when, who_is_told_to_exit_gives_everything_back,
	  pages_of_a_block_are_touched_side_by_side)
