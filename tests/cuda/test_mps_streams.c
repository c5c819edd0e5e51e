// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Streams of two clients of an MPS server. Each client may use half of the SMs, so its kernels
 * take twice their time. The clients run side by side.
 */
#include "cuda_fixture.h"

static struct sim_process neighbour;
static struct cuda_context neighbour_cuda;
static struct cuda_stream *one, *two; /* of the first client */
static struct cuda_stream *theirs;    /* of the second client */
static u64 begin_ns;

static void (*clients_body)(void);

static void run_clients(void)
{
	ck_assert_int_eq(sim_process_start_client(&neighbour, &gpu, 2, &mps, client_ppm), 0);
	cuda_context_create(&neighbour_cuda, &device, &neighbour);
	ck_assert_int_eq(cuda_stream_create(&cuda, &one), 0);
	ck_assert_int_eq(cuda_stream_create(&cuda, &two), 0);
	ck_assert_int_eq(cuda_stream_create(&neighbour_cuda, &theirs), 0);
	begin_ns = eng_now();
	clients_body();
	cuda_context_destroy(&neighbour_cuda);
	cuda_process_exit(&neighbour_cuda);
}

static void simulate_clients(void (*body)(void))
{
	client_ppm = FIFO_ALL_PPM / 2;
	clients_body = body;
	simulate(run_clients);
}

/* Launch on a stream of the second client. */
static void launch_theirs(struct cuda_stream *stream, u32 kernels, u64 kernel_ns)
{
	ck_assert_int_eq(cuda_launch(&neighbour_cuda,
				     &(struct cuda_burst_config){ .kernels = kernels,
								  .kernel_ns = kernel_ns,
								  .stream = stream }),
			 0);
}

static void fill_both(void)
{
	struct cuda_event ends[2];

	ck_assert_int_eq(launch_on(one, 10, 10 * US, NULL), 0);
	ck_assert_int_eq(cuda_event_record(&ends[0], one), 0);
	ck_assert_int_eq(launch_on(two, 10, 10 * US, NULL), 0);
	ck_assert_int_eq(cuda_event_record(&ends[1], two), 0);
	launch_theirs(theirs, 10, 10 * US);
	ck_assert_int_eq(cuda_synchronize(&neighbour_cuda), 0);
	ck_assert_uint_eq(eng_now() - begin_ns, 200 * US);
	ck_assert_int_eq(cuda_synchronize(&cuda), 0);
	ck_assert_uint_eq(ends[0].date_ns - begin_ns, 200 * US);
	ck_assert_uint_eq(ends[1].date_ns - begin_ns, 400 * US);
}

START_TEST(the_streams_of_a_client_share_its_part_of_the_sms)
{
	simulate_clients(fill_both);
}
END_TEST

static void use_default_streams(void)
{
	ck_assert_int_eq(launch_on(one, 1, 100 * US, NULL), 0);
	launch_theirs(NULL, 1, 10 * US);
	launch_theirs(theirs, 1, 10 * US);
	ck_assert_int_eq(cuda_synchronize(&neighbour_cuda), 0);
	ck_assert_uint_eq(eng_now() - begin_ns, 40 * US);
	ck_assert_int_eq(launch_on(NULL, 1, 10 * US, NULL), 0);
	ck_assert_int_eq(cuda_synchronize(&cuda), 0);
	ck_assert_uint_eq(eng_now() - begin_ns, 220 * US);
}

START_TEST(a_default_stream_waits_for_the_streams_of_its_own_client_only)
{
	simulate_clients(use_default_streams);
}
END_TEST

static void die_together(void)
{
	struct gvm_fault fault = { .space = &neighbour, .status = -ENOMEM };

	ck_assert_int_eq(launch_on(one, 1, 100 * US, NULL), 0);
	ck_assert_int_eq(launch_on(two, 1, 100 * US, NULL), 0);
	launch_theirs(theirs, 1, 100 * US);
	gpu.device.ops->cancel_fault(&gpu, &fault);
	ck_assert_int_eq(cuda_stream_synchronize(one), -EIO);
	ck_assert_int_eq(cuda_stream_synchronize(two), -EIO);
	ck_assert_int_eq(cuda_stream_synchronize(theirs), -EIO);
	ck_assert_uint_eq(eng_now(), begin_ns);
}

START_TEST(a_fatal_fault_of_one_client_fails_the_streams_of_all)
{
	simulate_clients(die_together);
}
END_TEST

static void leave_early(void)
{
	ck_assert_int_eq(launch_on(one, 1, 100 * US, NULL), 0);
	launch_theirs(theirs, 1, 100 * US);
	eng_sleep_until(begin_ns + 50 * US);
	cuda_context_destroy(&neighbour_cuda);
	ck_assert(!neighbour.running || !fifo_busy(&neighbour.tsg));
	ck_assert_int_eq(cuda_synchronize(&cuda), 0);
	/* A limit stays a limit when the other client is gone. */
	ck_assert_uint_eq(eng_now() - begin_ns, 200 * US);
}

START_TEST(a_client_that_leaves_takes_only_its_own_streams_along)
{
	simulate_clients(leave_early);
}
END_TEST

TEST_MAIN("mps_streams", the_streams_of_a_client_share_its_part_of_the_sms,
	  a_default_stream_waits_for_the_streams_of_its_own_client_only,
	  a_fatal_fault_of_one_client_fails_the_streams_of_all,
	  a_client_that_leaves_takes_only_its_own_streams_along)
