// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Streams: order, turns, the default stream, events. A copy of a chunk takes 5 + 100 us here.
 */
#include "cuda_fixture.h"

#define COPY (105 * US)

static struct cuda_stream *one, *two;

static void make_streams(void)
{
	ck_assert_int_eq(cuda_stream_create(&cuda, &one), 0);
	ck_assert_int_eq(cuda_stream_create(&cuda, &two), 0);
}

static void slow_link(void)
{
	profile.link.bandwidth = CHUNK * 10000;
	profile.link.bandwidth_both = 2 * profile.link.bandwidth;
	profile.link.setup = 5 * US;
}

/* Record @event after what is in @stream. */
static void mark(struct cuda_event *event, struct cuda_stream *stream)
{
	ck_assert_int_eq(cuda_event_record(event, stream), 0);
}

static void kernel(struct cuda_stream *stream, u64 us)
{
	ck_assert_int_eq(launch_on(stream, 1, us * US, NULL), 0);
}

static void order_in_a_stream(void)
{
	struct cuda_memory memory = resident(1);
	struct cuda_event begin, first, second, third, none = { 0 };

	make_streams();
	mark(&begin, one);
	kernel(one, 10);
	mark(&first, one);
	ck_assert_int_eq(cuda_memcpy_async(&memory, 0, CHUNK, CUDA_HOST, one), 0);
	mark(&second, one);
	kernel(one, 10);
	kernel(one, 10);
	mark(&third, one);
	ck_assert(cuda_event_is_reached(&begin));
	ck_assert(!cuda_event_is_reached(&first));
	ck_assert(cuda_event_is_reached(&none));
	ck_assert_int_eq(cuda_event_synchronize(&none), 0);
	ck_assert_int_eq(cuda_stream_synchronize(two), 0);
	ck_assert_int_eq(cuda_event_synchronize(&first), 0);
	ck_assert_uint_eq(eng_now() - begin.date_ns, 10 * US);
	ck_assert_int_eq(cuda_stream_synchronize(one), 0);
	ck_assert_uint_eq(eng_now() - begin.date_ns, 30 * US + COPY);
	ck_assert_uint_eq(cuda_event_elapsed_ns(&begin, &first), 10 * US);
	ck_assert_uint_eq(cuda_event_elapsed_ns(&first, &second), COPY);
	ck_assert_uint_eq(cuda_event_elapsed_ns(&second, &third), 20 * US);
}

START_TEST(operations_of_a_stream_start_when_the_one_before_has_ended)
{
	slow_link();
	simulate(order_in_a_stream);
}
END_TEST

/* Three bursts of 10 us in each, all called at once: one, two, one, two... */
static void take_turns(void)
{
	struct cuda_event ends[2][3];
	u64 start = eng_now();

	make_streams();
	for (u32 i = 0; i < 6; i++) {
		struct cuda_stream *stream = i < 3 ? one : two;

		kernel(stream, 10);
		mark(&ends[i / 3][i % 3], stream);
	}
	ck_assert_int_eq(cuda_synchronize(&cuda), 0);
	for (u32 i = 0; i < 3; i++) {
		ck_assert_uint_eq(ends[0][i].date_ns - start, (2 * i + 1) * 10 * US);
		ck_assert_uint_eq(ends[1][i].date_ns - start, (2 * i + 2) * 10 * US);
	}
	ck_assert_uint_eq(process.tsg.busy_ns, 60 * US);
	ck_assert_uint_eq(gpu.fifo.switches, 1);
}

START_TEST(streams_take_turns_without_a_context_switch)
{
	simulate(take_turns);
}
END_TEST

/* Two streams with 100 us of kernels each, on the partition. */
static void fill_two_streams(void)
{
	u64 start = eng_now();

	make_streams();
	ck_assert_int_eq(launch_on(one, 10, 10 * US, NULL), 0);
	ck_assert_int_eq(launch_on(two, 10, 10 * US, NULL), 0);
	ck_assert_int_eq(cuda_synchronize(&cuda), 0);
	ck_assert_uint_eq((eng_now() - start) * partition.sm_ppm / FIFO_ALL_PPM, 200 * US);
}

START_TEST(streams_share_the_whole_gpu)
{
	partition = (struct fifo_share){ FIFO_ALL_PPM, FIFO_ALL_PPM, false };
	simulate(fill_two_streams);
}
END_TEST

START_TEST(streams_share_a_quarter_of_the_gpu)
{
	partition = (struct fifo_share){ FIFO_ALL_PPM / 4, FIFO_ALL_PPM, false };
	simulate(fill_two_streams);
}
END_TEST

START_TEST(streams_share_a_partition_in_space)
{
	partition = (struct fifo_share){ FIFO_ALL_PPM / 2, FIFO_ALL_PPM, true };
	simulate(fill_two_streams);
}
END_TEST

/*
 * Three kernels with records between them: all are in the channel, and no other context gets a
 * turn.
 */
static void record_between_kernels(void)
{
	struct cuda_event ends[3];
	u64 start = eng_now();

	for (u32 i = 0; i < 3; i++) {
		kernel(NULL, 10);
		mark(&ends[i], cuda_default_stream(&cuda));
	}
	ck_assert_uint_eq(cuda.unfinished, 6);
	ck_assert_uint_eq(cuda.unstarted, 3);
	ck_assert_int_eq(cuda_synchronize(&cuda), 0);
	for (u32 i = 0; i < 3; i++)
		ck_assert_uint_eq(ends[i].date_ns - start, (i + 1) * 10 * US);
}

START_TEST(records_do_not_hold_up_kernels)
{
	simulate(record_between_kernels);
}
END_TEST

/* A sparse burst, a kernel each 30 us; and one that was called later, but is there at once. */
static void fill_gaps(void)
{
	struct cuda_event sparse_end, dense_end;
	struct cuda_memory memory = resident(1);
	u64 start = eng_now();

	make_streams();
	ck_assert_int_eq(cuda_memcpy_async(&memory, 0, CHUNK, CUDA_HOST, two), 0);
	ck_assert_int_eq(launch_on(two, 20, 10 * US, NULL), 0);
	mark(&dense_end, two);
	ck_assert_int_eq(cuda_launch(&cuda, &(struct cuda_burst_config){ .kernels = 10,
									 .kernel_ns = 10 * US,
									 .launch_ns = 30 * US,
									 .stream = one }),
			 0);
	mark(&sparse_end, one);
	ck_assert_int_eq(cuda_synchronize(&cuda), 0);
	/*
	 * Kernels at 30, 60, 90 and then, after the copy, all of the dense ones; the last is
	 * at 310.
	 */
	ck_assert_uint_eq(dense_end.date_ns - start, COPY + 200 * US);
	ck_assert_uint_eq(sparse_end.date_ns - start, COPY + 200 * US + 70 * US);
}

START_TEST(a_stream_has_the_gaps_of_another)
{
	slow_link();
	simulate(fill_gaps);
}
END_TEST

/*
 * A kernel, a copy and a kernel in streams of their own are side by side but for the kernels.
 */
static void overlap_with_copies(void)
{
	struct cuda_memory memory = resident(2);
	struct cuda_event copied, computed;
	u64 start = eng_now();

	make_streams();
	ck_assert_int_eq(cuda_memcpy_async(&memory, 0, CHUNK, CUDA_HOST, one), 0);
	ck_assert_int_eq(cuda_memcpy_async(&memory, CHUNK, CHUNK, CUDA_DEVICE, two), 0);
	mark(&copied, two);
	kernel(one, 10);
	mark(&computed, one);
	ck_assert_int_eq(cuda_synchronize(&cuda), 0);
	ck_assert_uint_eq(copied.date_ns - start, COPY);
	ck_assert_uint_eq(computed.date_ns - start, COPY + 10 * US);
}

START_TEST(copies_both_ways_run_side_by_side)
{
	slow_link();
	simulate(overlap_with_copies);
}
END_TEST

/* one and two up to the default stream's kernel; then two alone waits for it. */
static void use_the_default_stream(void)
{
	struct cuda_stream *all = cuda_default_stream(&cuda);
	struct cuda_memory memory = resident(1);
	struct cuda_event middle, end;
	u64 start = eng_now();

	make_streams();
	kernel(one, 20);
	ck_assert_int_eq(cuda_memcpy_async(&memory, 0, CHUNK, CUDA_HOST, two), 0);
	kernel(all, 10);
	mark(&middle, all);
	ck_assert_int_eq(cuda_memcpy_async(&memory, 0, CHUNK, CUDA_HOST, two), 0);
	mark(&end, two);
	ck_assert_int_eq(cuda_stream_synchronize(all), 0);
	ck_assert_uint_eq(eng_now() - start, COPY + 10 * US);
	ck_assert_int_eq(cuda_stream_synchronize(two), 0);
	ck_assert_uint_eq(middle.date_ns - start, COPY + 10 * US);
	ck_assert_uint_eq(end.date_ns - start, 2 * COPY + 10 * US);
}

START_TEST(the_default_stream_waits_for_all_and_all_wait_for_it)
{
	slow_link();
	simulate(use_the_default_stream);
}
END_TEST

/*
 * A wait is for the record that came before the wait: for the first copy, not for the second.
 */
static void wait_for_an_event(void)
{
	struct cuda_memory memory = resident(1);
	struct cuda_event event, end;
	u64 start = eng_now();

	make_streams();
	ck_assert_int_eq(cuda_memcpy_async(&memory, 0, CHUNK, CUDA_HOST, one), 0);
	mark(&event, one);
	ck_assert_int_eq(cuda_stream_wait(two, &event), 0);
	kernel(two, 10);
	mark(&end, two);
	ck_assert_int_eq(cuda_memcpy_async(&memory, 0, CHUNK, CUDA_HOST, one), 0);
	mark(&event, one);
	ck_assert_int_eq(cuda_event_synchronize(&end), 0);
	ck_assert_uint_eq(eng_now() - start, COPY + 10 * US);
	ck_assert_int_eq(cuda_event_synchronize(&event), 0);
	ck_assert_uint_eq(event.date_ns - start, 2 * COPY);
	ck_assert_int_eq(cuda_stream_destroy(one), 0);
	kernel(two, 10);
	ck_assert_int_eq(cuda_stream_destroy(two), 0);
	ck_assert_uint_eq(eng_now() - start, 2 * COPY + 10 * US);
}

START_TEST(a_stream_waits_for_an_event_of_another)
{
	slow_link();
	simulate(wait_for_an_event);
}
END_TEST

/* A copy on the link, kernels that are held after it, and a wait for them. */
static void queue_all_kinds(void)
{
	static struct cuda_event event;
	struct cuda_memory memory = resident(1);

	make_streams();
	ck_assert_int_eq(cuda_memcpy_async(&memory, 0, CHUNK, CUDA_HOST, one), 0);
	kernel(one, 10);
	mark(&event, one);
	ck_assert_int_eq(cuda_stream_wait(two, &event), 0);
	kernel(two, 10);
	ck_assert_int_eq(cuda_memcpy_async(&memory, 0, CHUNK, CUDA_DEVICE, two), 0);
}

START_TEST(an_application_may_return_with_all_kinds_of_work_queued)
{
	slow_link();
	simulate(queue_all_kinds);
	ck_assert_uint_eq(cuda.copied_bytes[PCIE_D2H], CHUNK);
	ck_assert_uint_eq(cuda.copied_bytes[PCIE_H2D], 0);
}
END_TEST

static void die_with_all_kinds(void)
{
	u64 start;

	queue_all_kinds();
	start = eng_now();
	kill_at(start + 50 * US);
	ck_assert_int_eq(cuda_synchronize(&cuda), -EIO);
	/* The copy was on the link. */
	ck_assert_uint_eq(eng_now() - start, COPY);
	kernel(two, 10);
	ck_assert_int_eq(cuda_stream_synchronize(two), -EIO);
	ck_assert_uint_eq(eng_now() - start, COPY);
}

START_TEST(a_dead_context_fails_the_work_of_all_streams)
{
	slow_link();
	simulate(die_with_all_kinds);
	ck_assert_uint_eq(cuda.copied_bytes[PCIE_H2D], 0);
}
END_TEST

static void interrupt_waits(void)
{
	struct cuda_event event;

	make_streams();
	interrupt_at(eng_now() + 10 * US);
	kernel(one, 100);
	mark(&event, one);
	ck_assert_int_eq(cuda_stream_synchronize(one), -EINTR);
	ck_assert_int_eq(cuda_event_synchronize(&event), -EINTR);
	ck_assert_int_eq(cuda_stream_destroy(one), -EINTR);
	ck_assert_int_eq(cuda_stream_destroy(two), 0);
}

START_TEST(an_interrupted_wait_leaves_the_work_queued)
{
	simulate(interrupt_waits);
}
END_TEST

TEST_MAIN("streams", operations_of_a_stream_start_when_the_one_before_has_ended,
	  streams_take_turns_without_a_context_switch, streams_share_the_whole_gpu,
	  streams_share_a_quarter_of_the_gpu, streams_share_a_partition_in_space,
	  records_do_not_hold_up_kernels, a_stream_has_the_gaps_of_another,
	  copies_both_ways_run_side_by_side,
	  the_default_stream_waits_for_all_and_all_wait_for_it,
	  a_stream_waits_for_an_event_of_another,
	  an_application_may_return_with_all_kinds_of_work_queued,
	  a_dead_context_fails_the_work_of_all_streams,
	  an_interrupted_wait_leaves_the_work_queued)
