// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The daemon over a world of files in memory: what a policy sees, what is written in which
 * order, and what is there after a policy has failed.
 */
#include "gvmd_fixture.h"

#include "gvmd/metrics.h"

/* The control files of two containers. Without a text there is no file. */
static struct {
	u32 container;
	const char *file;
	char text[256];
} files[] = {
	{ 0, "gmem.limit.high", "max\n" },
	{ 0, "gmem.current", "4194304\n" },
	{ 0, "compute.timeslice", "2048us\n" },
	{ 0, "gcgroup.stat",
	  "nr_submitted_kernels: 9\nnr_ended_kernels: 7\nnr_pending_kernels: 2\n" },
	{ 0, "gmem.events", "high 3\nhmem 0\noom 1\n" },
	{ 0, GVMD_REPORT, "ttft_us 5000\nwaiting nonsense\n" },
	{ 1, "gmem.current", "0\n" },
	{ 1, "gmem.limit.high", "6000000000\n" },
	{ 1, "compute.priority", "0\n" },
	{ 1, "compute.timeslice", "1024us\n" },
	{ 1, "compute.freeze", "0\n" },
};

static char written[1024];

static int find_file(u32 container, const char *file)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i].container == container && !strcmp(files[i].file, file) &&
		    *files[i].text)
			return (int)i;
	return -ENOENT;
}

static int world_read(void *data, u32 index, const char *file, char *text, size_t size,
		      bool wait)
{
	int found = find_file(index, file);

	(void)data;
	(void)wait;
	return found < 0 ? found : snprintf(text, size, "%s", files[found].text);
}

/* As the driver: a priority sets a timeslice, too, and a frozen container refuses limits. */
static int world_write(void *data, u32 index, const char *file, const char *text, bool no_wait)
{
	int found = find_file(index, file);

	(void)data;
	(void)no_wait;
	if (found < 0)
		return found;
	if (!strcmp(text, "refused"))
		return -EINVAL;
	snprintf(files[found].text, sizeof(files[found].text), "%s\n", text);
	if (!strcmp(file, "compute.priority"))
		snprintf(files[find_file(index, "compute.timeslice")].text, 256, "%lluus\n",
			 524288ull >> atoi(text));
	return 0;
}

static int (*decide)(struct gvmd_step *asked);

static int world_decide(void *data, struct gvmd_step *asked)
{
	(void)data;
	return decide(asked);
}

static void world_wrote(void *data, const struct gvmd_write *write, int status, bool restored)
{
	size_t length = strlen(written);

	(void)data;
	snprintf(written + length, sizeof(written) - length, "%s%u %s %s%s%s",
		 length ? "; " : "", write->container, write->file, write->text,
		 status ? " (refused)" : "", restored ? " (restored)" : "");
}

static const struct gvmd_world world = { world_read, world_write, world_decide, world_wrote };

static struct gvmd gvmd;

static void daemon_setup(int (*with)(struct gvmd_step *asked))
{
	step.container_count = 2;
	decide = with;
	gvmd_init(&gvmd, &world, NULL, &step);
}

static int ask_nothing(struct gvmd_step *asked)
{
	(void)asked;
	return 0;
}

START_TEST(a_policy_sees_what_the_files_say_and_nothing_that_they_do_not)
{
	daemon_setup(ask_nothing);
	strcpy(files[find_file(1, "gmem.current")].text, "");
	ck_assert_int_eq(gvmd_tick(&gvmd, 5), 0);
	ck_assert_uint_eq(step.now_ns, 5);
	ck_assert(vllm->running && !diffusion->running);
	ck_assert_uint_eq(gvmd_value(vllm, GVMD_GMEM_HIGH, 1), GVMD_NO_LIMIT);
	ck_assert_uint_eq(gvmd_value(vllm, GVMD_GMEM_CURRENT, 1), 4194304);
	ck_assert_uint_eq(gvmd_value(vllm, GVMD_TIMESLICE_US, 1), 2048);
	ck_assert_uint_eq(gvmd_value(vllm, GVMD_SUBMITTED, 1), 9);
	ck_assert_uint_eq(gvmd_value(vllm, GVMD_ENDED, 1), 7);
	ck_assert_uint_eq(gvmd_value(vllm, GVMD_PENDING, 1), 2);
	ck_assert_uint_eq(gvmd_value(vllm, GVMD_EVENTS_HIGH, 1), 3);
	ck_assert_uint_eq(gvmd_value(vllm, GVMD_EVENTS_OOM, 8), 1);
	ck_assert_uint_eq(gvmd_value(vllm, GVMD_TTFT_US, 1), 5000);
	ck_assert(!gvmd_known(vllm, GVMD_WAITING));
	ck_assert(!gvmd_known(vllm, GVMD_PRIORITY));
	gvmd_destroy(&gvmd);
}
END_TEST

static int ask_five(struct gvmd_step *asked)
{
	if (asked->now_ns == 2)
		return gvmd_fail(asked, -EPROTO, "as the test wants");
	gvmd_write(asked, diffusion, "compute.freeze", "1");
	gvmd_write_number(asked, diffusion, "compute.priority", 10);
	gvmd_write(asked, diffusion, "gmem.limit.high", "refused");
	gvmd_write_number(asked, diffusion, "gmem.limit.high", GVMD_NO_LIMIT);
	gvmd_write(asked, vllm, "gmem.limit.low", "1");
	return 0;
}

START_TEST(writes_are_applied_in_their_order_and_put_back_in_reverse_when_a_policy_fails)
{
	daemon_setup(ask_five);
	ck_assert_int_eq(gvmd_tick(&gvmd, 1), 0);
	ck_assert_str_eq(written, "1 compute.freeze 1; 1 compute.priority 10; "
				  "1 gmem.limit.high refused (refused); 1 gmem.limit.high max; "
				  "0 gmem.limit.low 1 (refused)");
	ck_assert_uint_eq(gvmd.writes, 3);
	ck_assert_uint_eq(gvmd.refused, 2);
	*written = '\0';
	ck_assert_int_eq(gvmd_tick(&gvmd, 2), -EPROTO);
	ck_assert_str_eq(step.why, "as the test wants");
	/* The timeslice comes after the priority, which sets it, too. */
	ck_assert_str_eq(written, "1 gmem.limit.high 6000000000 (restored); "
				  "1 compute.priority 0 (restored); "
				  "1 compute.timeslice 1024us (restored); "
				  "1 compute.freeze 0 (restored)");
	*written = '\0';
	ck_assert_int_eq(gvmd_tick(&gvmd, 3), -ECANCELED);
	ck_assert_str_eq(written, "");
	gvmd_destroy(&gvmd);
}
END_TEST

START_TEST(a_file_that_another_writer_has_changed_is_left_alone)
{
	daemon_setup(ask_five);
	ck_assert_int_eq(gvmd_tick(&gvmd, 1), 0);
	strcpy(files[find_file(1, "gmem.limit.high")].text, "7000000000\n");
	*written = '\0';
	gvmd_restore(&gvmd);
	ck_assert_str_eq(written, "1 compute.priority 0 (restored); "
				  "1 compute.timeslice 1024us (restored); "
				  "1 compute.freeze 0 (restored)");
	gvmd_destroy(&gvmd);
}
END_TEST

START_TEST(nothing_is_put_back_into_a_container_that_has_gone_and_come_again)
{
	daemon_setup(ask_five);
	ck_assert_int_eq(gvmd_tick(&gvmd, 1), 0);
	decide = ask_nothing;
	strcpy(files[6].text, "");
	ck_assert_int_eq(gvmd_tick(&gvmd, 3), 0);
	strcpy(files[6].text, "0\n");
	ck_assert_int_eq(gvmd_tick(&gvmd, 4), 0);
	*written = '\0';
	gvmd_restore(&gvmd);
	ck_assert_str_eq(written, "");
	gvmd_destroy(&gvmd);
}
END_TEST

static int ask_priority_and_timeslice(struct gvmd_step *asked)
{
	gvmd_write_number(asked, diffusion, "compute.priority", 10);
	gvmd_write(asked, diffusion, "compute.timeslice", "1024us");
	return 0;
}

START_TEST(a_timeslice_that_ends_as_it_was_is_put_back_after_the_priority_that_sets_it)
{
	daemon_setup(ask_priority_and_timeslice);
	ck_assert_int_eq(gvmd_tick(&gvmd, 1), 0);
	*written = '\0';
	gvmd_restore(&gvmd);
	ck_assert_str_eq(written, "1 compute.priority 0 (restored); "
				  "1 compute.timeslice 1024us (restored)");
	ck_assert_str_eq(files[find_file(1, "compute.timeslice")].text, "1024us\n");
	gvmd_destroy(&gvmd);
}
END_TEST

START_TEST(a_timeslice_of_another_writer_is_not_put_back_with_the_priority)
{
	daemon_setup(ask_priority_and_timeslice);
	ck_assert_int_eq(gvmd_tick(&gvmd, 1), 0);
	strcpy(files[find_file(1, "compute.timeslice")].text, "4096us\n");
	*written = '\0';
	gvmd_restore(&gvmd);
	ck_assert_str_eq(written, "1 compute.priority 0 (restored)");
	gvmd_destroy(&gvmd);
}
END_TEST

static int ask_then_fail(struct gvmd_step *asked)
{
	gvmd_write(asked, diffusion, "compute.freeze", "1");
	return -EINVAL;
}

static int ask_no_container(struct gvmd_step *asked)
{
	gvmd_write(asked, diffusion, "compute.freeze", "1");
	gvmd_write(asked, &asked->containers[2], "compute.freeze", "1");
	return 0;
}

START_TEST(a_step_that_fails_or_writes_to_no_container_has_written_nothing)
{
	daemon_setup(ask_then_fail);
	ck_assert_int_eq(gvmd_tick(&gvmd, 1), -EINVAL);
	ck_assert_str_eq(step.why, "error 22: Invalid argument");
	daemon_setup(ask_no_container);
	ck_assert_int_eq(gvmd_tick(&gvmd, 1), -EINVAL);
	ck_assert_str_eq(step.why, "a write to no container");
	ck_assert_str_eq(written, "");
	gvmd_destroy(&gvmd);
}
END_TEST

TEST_MAIN("gvmd_daemon", a_policy_sees_what_the_files_say_and_nothing_that_they_do_not,
	  writes_are_applied_in_their_order_and_put_back_in_reverse_when_a_policy_fails,
	  a_file_that_another_writer_has_changed_is_left_alone,
	  nothing_is_put_back_into_a_container_that_has_gone_and_come_again,
	  a_timeslice_that_ends_as_it_was_is_put_back_after_the_priority_that_sets_it,
	  a_timeslice_of_another_writer_is_not_put_back_with_the_priority,
	  a_step_that_fails_or_writes_to_no_container_has_written_nothing)
