// SPDX-License-Identifier: MIT OR GPL-2.0
/* The policies "dyn" and "ac": exact writes in exact order for a hand-made load. */
#include "gvmd_fixture.h"

#define DYN	   "{\"policy\": \"dyn\", \"high\": \"vllm\", \"low\": \"diffusion\", \"window\": 3"
#define AC	   "{\"policy\": \"ac\", \"high\": \"vllm\", \"low\": \"diffusion\", \"window\": 1"

#define FREE	   "diffusion gmem.limit.high max"
#define LIMIT	   "diffusion gmem.limit.high 6000000000"
#define ASK	   LIMIT " (no wait)"
#define STOP	   "diffusion compute.freeze 1"
#define RUN	   "diffusion compute.freeze 0"
#define FREE_FIRST FREE "; " RUN

static u64 submitted;

/* A sample of the important container: new kernels, and pending ones. */
static void load_is(u64 fresh, u64 pending)
{
	submitted += fresh;
	set(vllm, GVMD_SUBMITTED, submitted);
	set(vllm, GVMD_PENDING, pending);
}

/* Steps with the same load, one each 100 ms from @from_ms to before @to_ms, without a write. */
static void nothing(u64 from_ms, u64 to_ms, u64 fresh, u64 pending)
{
	for (u64 ms = from_ms; ms < to_ms; ms += 100) {
		load_is(fresh, pending);
		expect(ms, "");
	}
}

START_TEST(the_limit_follows_the_load_and_a_high_load_stops_the_other_container)
{
	load(DYN "}");
	load_is(5, 10);
	expect(100, LIMIT "; " RUN);
	/* The mean of three samples passes 160, but the last action is less than 3 s old. */
	nothing(200, 3100, 5, 200);
	load_is(5, 200);
	expect(3100, STOP);
	/* Between the bounds it stays stopped; below the lower one it runs. */
	nothing(3200, 6200, 5, 100);
	nothing(6200, 6400, 5, 31);
	load_is(5, 31);
	expect(6400, RUN);
	/* Between the bounds it goes on. */
	nothing(6500, 9600, 5, 100);
	/* Four samples are the same. */
	nothing(9600, 9800, 0, 100);
	load_is(0, 100);
	expect(9800, FREE);
	load_is(1, 100);
	expect(9900, "");
	nothing(10000, 12800, 1, 100);
	load_is(1, 100);
	expect(12800, LIMIT);
	unload();
}
END_TEST

START_TEST(a_low_load_neither_limits_a_free_container_nor_frees_a_limited_one)
{
	load(DYN ", \"cooldown\": \"0s\"}");
	load_is(5, 10);
	expect(100, LIMIT "; " RUN);
	nothing(200, 1000, 5, 31);
	nothing(1000, 1200, 0, 31);
	load_is(0, 31);
	expect(1200, FREE);
	nothing(1300, 9000, 5, 31);
	/* The published daemon's LIMITED begins where the mean of the window reaches 32. */
	load_is(5, 34);
	expect(9000, LIMIT);
	unload();
}
END_TEST

START_TEST(an_idle_server_frees_a_stopped_container_and_its_limit_rises_before_it_runs)
{
	load(DYN ", \"cooldown\": \"0s\"}");
	load_is(5, 500);
	expect(100, STOP "; " LIMIT);
	nothing(200, 400, 0, 500);
	load_is(0, 500);
	expect(400, FREE_FIRST);
	load_is(1, 500);
	expect(500, STOP "; " LIMIT);
	unload();
}
END_TEST

START_TEST(a_server_that_does_not_run_has_no_load_and_one_that_is_unknown_changes_nothing)
{
	load(DYN ", \"cooldown\": \"0s\"}");
	expect(100, "");
	vllm->running = false;
	expect(200, LIMIT "; " RUN);
	expect(300, "");
	expect(400, FREE);
	/* The other container is replaced: it has no limit that the policy has set. */
	diffusion->running = false;
	expect(500, "");
	diffusion->running = true;
	expect(600, FREE_FIRST);
	unload();
}
END_TEST

START_TEST(an_application_that_gives_memory_in_time_is_not_reclaimed)
{
	load(AC "}");
	set(diffusion, GVMD_GMEM_CURRENT, 15000000000);
	load_is(5, 10);
	expect(100, ASK);
	load_is(5, 10);
	expect(200, "");
	set(diffusion, GVMD_GMEM_CURRENT, 6000000000);
	nothing(300, 4000, 5, 10);
	unload();
}
END_TEST

START_TEST(the_driver_takes_what_is_not_given_within_the_grace_and_a_stop_comes_after_that)
{
	load(AC "}");
	set(diffusion, GVMD_GMEM_CURRENT, 15000000000);
	load_is(5, 500);
	expect(100, ASK);
	nothing(200, 1100, 5, 500);
	load_is(5, 500);
	expect(1100, LIMIT "; " STOP);
	/* It runs again 3 s after the stop, and is free 3 s after that. */
	set(diffusion, GVMD_GMEM_CURRENT, 5000000000);
	nothing(1200, 4100, 5, 10);
	load_is(5, 10);
	expect(4100, RUN);
	nothing(4200, 7100, 0, 0);
	load_is(0, 0);
	expect(7100, FREE);
	unload();
}
END_TEST

START_TEST(an_application_that_has_given_its_memory_is_stopped_at_once_and_freed_when_idle)
{
	load(AC ", \"cooldown\": \"0s\"}");
	set(diffusion, GVMD_GMEM_CURRENT, 5000000000);
	load_is(5, 500);
	expect(100, ASK);
	load_is(5, 500);
	expect(200, STOP);
	nothing(300, 500, 0, 500);
	load_is(0, 500);
	expect(500, FREE_FIRST);
	unload();
}
END_TEST

/* Editors put it in front. */
START_TEST(a_byte_order_mark_is_no_mistake)
{
	load("\xef\xbb\xbf" DYN "}");
	unload();
}
END_TEST

START_TEST(mistakes_name_the_file_and_the_key)
{
	assert_bad("{\"policy\": \"dyn\"}", "high, low: missing, and without a default");
	assert_bad(DYN ", \"lower\": 161}", "lower: 161 is above upper, 160");
	assert_bad(AC ", \"lower\": 161}", "lower: 161 is above upper, 160");
	/* It would freeze the container whose load it waits for. */
	assert_bad("{\"policy\": \"dyn\", \"high\": \"a\", \"low\": \"a\"}",
		   "low: \"a\" is \"high\", too, allowed: another container");
	assert_bad("{\"policy\": \"ac\", \"high\": \"a\", \"low\": \"a\"}",
		   "low: \"a\" is \"high\", too, allowed: another container");
	assert_bad(DYN ", \"limit\": \"6 GB of it\"}",
		   "limit: is out of range or no such value, allowed: a size such as "
		   "6000000000, \"6e9\", \"1.5G\" or \"max\" from 0 to max");
}
END_TEST

START_TEST(a_setting_that_names_no_container_is_a_mistake)
{
	assert_no_container("{\"policy\": \"dyn\", \"high\": \"vllm\", \"low\": \"sd\"}",
			    "low: no container \"sd\", allowed: vllm, diffusion");
}
END_TEST

TEST_MAIN("gvmd_dyn", the_limit_follows_the_load_and_a_high_load_stops_the_other_container,
	  a_low_load_neither_limits_a_free_container_nor_frees_a_limited_one,
	  an_idle_server_frees_a_stopped_container_and_its_limit_rises_before_it_runs,
	  a_server_that_does_not_run_has_no_load_and_one_that_is_unknown_changes_nothing,
	  an_application_that_gives_memory_in_time_is_not_reclaimed,
	  the_driver_takes_what_is_not_given_within_the_grace_and_a_stop_comes_after_that,
	  an_application_that_has_given_its_memory_is_stopped_at_once_and_freed_when_idle,
	  a_byte_order_mark_is_no_mistake, mistakes_name_the_file_and_the_key,
	  a_setting_that_names_no_container_is_a_mistake)
