// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The applications on a simulated GPU of 16 chunks, checked to the nanosecond.
 *
 * The machine makes sums easy: 1 byte/ns and 1 FLOP/ns, faults that cost next to nothing, context
 * switches that cost nothing, and a host of twice the reference speed. One simulation a test.
 */
#include "apps/app.h"
#include "apps/diffusion.h"
#include "apps/llm_server.h"
#include "cuda/device.h"
#include "gvm/pressure.h"
#include "engine/error.h"
#include "runner.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK	     GVM_CHUNK_BYTES
#define MS	     1000000ull
#define ARRIVALS_MAX 16

/* First requests come at 10 ms, long after start-up. */
#define ZERO (10 * MS)

static struct config config;
static struct cfg_container container;
static struct cfg_llm llm;
static struct cfg_diffusion diffusion;
static struct sim_gpu gpu;
static struct sim_process process;
static struct cuda_device device;
static struct cuda_context cuda;
static u64 limit_bytes = GVM_NO_LIMIT; /* of its container */
static struct trace_request arrivals[ARRIVALS_MAX];
static struct trace trace = { .requests = arrivals };
static struct app_log app_log;

static int (*app_run)(const struct app_env *env);
static int app_status;
static u64 app_end_ns;
static u64 resident_at_end;
static struct eng_actor *app_actor;

/* Dates at which the context is killed and the run is stopped; ENG_NEVER. */
static u64 kill_ns;
static u64 interrupt_ns;
static struct eng_timer kill_timer;
static struct eng_timer interrupt_timer;

/* It listens, and at a date is told that so much of its memory is wanted. */
static bool listens;
static u64 post_ns;
static u64 post_bytes;
static struct eng_timer post_timer;

static void init_machine(void)
{
	config.gpu = (struct cfg_gpu){
		.memory = 16 * CHUNK,
		.memory_total = 16 * CHUNK,
		.memory_bandwidth = 1000000000,
		.flops_bf16 = 2000000000,
		.link = { .bandwidth = 65536000000000, .bandwidth_both = 131072000000000 },
		.sched = { .timeslice = MS, .timeslice_scale = CFG_PPM },
		.fault = { .buffer_entries = 256,
			   .outstanding = 256,
			   .per_block = 32,
			   .zero_bandwidth = 65536000000000 },
	};
	config.host = (struct cfg_host){ .kernel_launch = 50, .speed = 2 * CFG_PPM };
	kill_ns = ENG_NEVER;
	interrupt_ns = ENG_NEVER;
	post_ns = ENG_NEVER;
}

static void init_llm(void)
{
	init_machine();
	app_run = llm_server_app.run;
	container = (struct cfg_container){ .app_type = &llm_server_app.keys, .app = &llm };
	llm = (struct cfg_llm){
		.weights = 1000,
		.kv_bytes_per_token = 10,
		.gpu_memory_utilization = CFG_PPM / 4,
		.block_tokens = 16,
		.max_batched_tokens = 64,
		.max_sequences = 8,
		.max_model_len = 256,
		.flops_per_token = 100,
		.attention_flops = 2,
		.efficiency = CFG_PPM / 2,
		.kernels_per_step = 10,
		.kv_bandwidth = CFG_PPM / 2,
		.client = { .divide = CFG_PPM, .first_request = ZERO },
	};
}

static void init_diffusion(void)
{
	init_machine();
	app_run = diffusion_app.run;
	config.host.kernel_launch = 10;
	container =
		(struct cfg_container){ .app_type = &diffusion_app.keys, .app = &diffusion };
	diffusion = (struct cfg_diffusion){
		.text_weights = 300,
		.clip_weights = 200,
		.denoiser_weights = 1000,
		.decoder_weights = 100,
		.denoiser_activation = CHUNK,
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
		.kernels_text = 2,
		.kernels_per_pass = 4,
		.kernels_decoder = 2,
		.host_per_image = 1001,
		.warmup = 20000,
	};
}

static void arrive(u64 at_ns, u32 prompt, u32 response)
{
	arrivals[trace.count++] = (struct trace_request){
		.arrival_ns = at_ns,
		.prompt_tokens = prompt,
		.response_tokens = { response, response },
	};
}

static void fire_kill(struct eng_timer *timer)
{
	(void)timer;
	fifo_kill(&gpu.fifo, process.tsg.id);
}

static void fire_interrupt(struct eng_timer *timer)
{
	(void)timer;
	eng_interrupt(app_actor);
}

static void fire_post(struct eng_timer *timer)
{
	(void)timer;
	gvm_pressure_post(process.container, post_bytes);
}

static void app_main(void *data)
{
	struct app_env env = {
		.config = &config,
		.container = &container,
		.cuda = &cuda,
		.prepared = &trace,
		.log = &app_log,
		.listens = listens,
	};

	(void)data;
	GVM_ASSERT(!sim_process_start(&process, &gpu, 1000));
	cuda_context_create(&cuda, &device, &process);
	gvm_limit_set_high(process.container, limit_bytes);
	app_status = app_run(&env);
	cuda_context_destroy(&cuda);
	app_end_ns = eng_now();
	if (process.running)
		resident_at_end = gvm_charged_bytes(process.container);
}

static void run_app(void)
{
	GVM_ASSERT(!sim_gpu_start(&gpu));
	app_actor = eng_spawn("app", app_main, NULL);
	kill_timer.fire = fire_kill;
	interrupt_timer.fire = fire_interrupt;
	post_timer.fire = fire_post;
	if (post_ns != ENG_NEVER)
		eng_timer_set(&post_timer, post_ns);
	if (kill_ns != ENG_NEVER)
		eng_timer_set(&kill_timer, kill_ns);
	if (interrupt_ns != ENG_NEVER)
		eng_timer_set(&interrupt_timer, interrupt_ns);
	eng_join(app_actor);
}

/* Start everything, wait for the application, check that it left nothing queued, and tear down. */
static void supervisor(void *data)
{
	(void)data;
	run_app();
	GVM_ASSERT(!fifo_busy(&process.tsg));
	cuda_process_exit(&cuda);
	sim_gpu_stop(&gpu);
	GVM_ASSERT(gpu.device.bound_chunks == 0);
}

static void simulate(void)
{
	static const struct sim_memory_policy policy;

	ck_assert_int_eq(eng_init(), 0);
	ck_assert_int_eq(sim_gpu_init(&gpu, "gpu", &config.gpu, &policy), 0);
	cuda_device_init(&device, &gpu);
	eng_spawn("supervisor", supervisor, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	sim_gpu_destroy(&gpu);
}

static void expect_record(size_t index, enum app_outcome outcome, u64 arrival, u64 ttft,
			  u64 latency)
{
	const struct app_record *record = &app_log.records[index];

	ck_assert_uint_lt(index, app_log.record_count);
	ck_assert_int_eq(record->outcome, outcome);
	ck_assert_uint_eq(record->arrival_ns, arrival);
	ck_assert_uint_eq(record->first_ns, ttft ? arrival + ttft : 0);
	ck_assert_uint_eq(record->finish_ns, latency ? arrival + latency : 0);
}

/* A request that failed when it was sent. */
static void expect_refused(size_t index, u64 at)
{
	const struct app_record *record = &app_log.records[index];

	ck_assert_int_eq(record->outcome, APP_FAILED);
	ck_assert_uint_eq(record->arrival_ns, at);
	ck_assert_uint_eq(record->first_ns, 0);
	ck_assert_uint_eq(record->finish_ns, at);
}

/*
 * Prefill of 20: max(1000, 20 * 100) + 20 * 10 * 2 + 210 pairs * 2 = 2820, as 10 kernels of 282
 * that start with the first launch at 50: first token at 2870.
 * Second: max(1000, 100) + 21 * 10 * 2 = 1420, and 50 before it: 1470. Third: 1490.
 */
START_TEST(a_request_takes_the_time_of_its_steps)
{
	init_llm();
	arrive(0, 20, 3);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_log.arrived, 1);
	expect_record(0, APP_COMPLETED, ZERO, 2870, 2870 + 1470 + 1490);
	ck_assert_uint_eq(app_log.records[0].prompt_tokens, 20);
	ck_assert_uint_eq(app_log.records[0].output_tokens, 3);
	ck_assert_uint_eq(app_log.gap_count, 2);
	ck_assert_uint_eq(app_log.gaps_ns[0], 1470);
	ck_assert_uint_eq(app_log.gaps_ns[1], 1490);
	ck_assert_uint_eq(app_end_ns, ZERO + 5830);
}
END_TEST

/* Launches of 500 are slower than kernels of 282 and 142: the last kernel starts at 5000. */
START_TEST(an_eager_step_is_bound_by_the_host)
{
	init_llm();
	config.host.kernel_launch = 500;
	arrive(0, 20, 2);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 5000 + 282, 5282 + 5000 + 142);
}
END_TEST

/*
 * Two prompts of 10 in one step: max(1000, 2000) + 200 * 2 + 110 pairs * 2 = 2620. The third,
 * sent meanwhile, waits for the step to end.
 */
START_TEST(requests_share_steps)
{
	init_llm();
	arrive(0, 10, 1);
	arrive(0, 10, 1);
	arrive(100, 10, 1);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 2670, 2670);
	expect_record(1, APP_COMPLETED, ZERO, 2670, 2670);
	/* max(1000, 1000) + 100 * 2 + 55 * 2 = 1310, and 50 before it. */
	expect_record(2, APP_COMPLETED, ZERO + 100, 2570 + 1360, 2570 + 1360);
}
END_TEST

/* Divided by 4, and counted from client.start; the trace's own zero is not its first request. */
START_TEST(arrivals_are_replayed_at_their_dates)
{
	init_llm();
	container.start = MS;
	llm.client.divide = 4 * CFG_PPM;
	arrive(8 * MS, 1, 1);
	arrive(16 * MS, 1, 1);
	simulate();
	ck_assert_uint_eq(app_log.records[0].arrival_ns, ZERO + MS + 2 * MS);
	ck_assert_uint_eq(app_log.records[1].arrival_ns, ZERO + MS + 4 * MS);
}
END_TEST

/* Copying weights takes 1 ns a page: ready after some hundred ns, and not at 0. */
START_TEST(a_client_waits_for_the_server_to_be_ready)
{
	init_llm();
	llm.client.first_request = 0;
	arrive(0, 1, 1);
	arrive(3 * MS, 1, 1);
	simulate();
	ck_assert_uint_gt(app_log.records[0].arrival_ns, 1000 + 3 * CHUNK);
	ck_assert_uint_eq(app_log.records[1].arrival_ns,
			  app_log.records[0].arrival_ns + 3 * MS);
}
END_TEST

/* Two connections and no more; as soon as one is closed there is room again. */
START_TEST(a_client_holds_so_many_requests_open)
{
	init_llm();
	llm.client.max_open = 2;
	arrive(0, 10, 1);
	arrive(0, 10, 1);
	arrive(0, 10, 1);
	arrive(2669, 10, 1);
	arrive(2671, 10, 1);
	simulate();
	ck_assert_uint_eq(app_log.arrived, 5);
	ck_assert_uint_eq(app_log.record_count, 5);
	ck_assert_int_eq(app_log.records[0].outcome, APP_COMPLETED);
	ck_assert_int_eq(app_log.records[1].outcome, APP_COMPLETED);
	expect_refused(2, ZERO);
	expect_refused(3, ZERO + 2669);
	expect_record(4, APP_COMPLETED, ZERO + 2671, 1360, 1360);
}
END_TEST

/*
 * The client stops 7000 after its first request, which comes at 500: number 1 is in flight then
 * and dropped, its gaps with it; number 2, at that very date, is not sent. Steps:
 *   500 to 3370: 20 tokens of number 0, as above
 *  3370 to 5250: one of 0, 10 of 1: 1100 + 31 * 10 * 2 + 55 * 2 = 1830, and 50 before it
 *  5250 to 6960: one each: 1000 + 33 * 10 * 2 = 1660, and 50
 *  6960 to 8250: one of 1: 1000 + 12 * 10 * 2 = 1240, and 50; the client left in the midst of it
 */
START_TEST(what_is_in_flight_at_the_stop_is_dropped)
{
	init_llm();
	llm.client.stop = 7000;
	llm.client.drop_in_flight = true;
	arrive(500, 20, 3);
	arrive(3000, 10, 100);
	arrive(7500, 1, 1);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_log.arrived, 2);
	ck_assert_uint_eq(app_log.record_count, 2);
	expect_record(0, APP_COMPLETED, ZERO + 500, 2870, 6460);
	expect_record(1, APP_DROPPED, ZERO + 3000, 2250, 0);
	ck_assert_uint_eq(app_log.gap_count, 2);
	ck_assert_uint_eq(app_log.gaps_ns[0], 1880);
	ck_assert_uint_eq(app_log.gaps_ns[1], 1710);
	ck_assert_uint_eq(app_end_ns, ZERO + 8250);
}
END_TEST

START_TEST(or_it_is_awaited)
{
	init_llm();
	llm.client.stop = 7000;
	arrive(500, 20, 3);
	arrive(3000, 10, 100);
	arrive(7500, 1, 1);
	simulate();
	ck_assert_uint_eq(app_log.arrived, 2);
	ck_assert_int_eq(app_log.records[1].outcome, APP_COMPLETED);
	ck_assert_uint_eq(app_log.gap_count, 2 + 99);
	ck_assert_uint_eq(app_end_ns, app_log.records[1].finish_ns);
}
END_TEST

START_TEST(prompts_that_never_fit_fail)
{
	init_llm();
	arrive(0, 257, 1);
	arrive(0, 256, 9);
	simulate();
	expect_refused(0, ZERO);
	ck_assert_int_eq(app_log.records[1].outcome, APP_COMPLETED);
	ck_assert_uint_eq(app_log.records[1].output_tokens, 1);
}
END_TEST

/*
 * Killed 1000 into the first step: the requests that are open fail then, later ones when they are
 * sent; the server reports the death when the client has stopped.
 */
START_TEST(a_dead_context_fails_open_and_later_requests)
{
	init_llm();
	kill_ns = ZERO + 1000;
	llm.client.stop = 1 * MS;
	arrive(0, 10, 5);
	arrive(10, 10, 5);
	arrive(MS / 2, 10, 5);
	arrive(2 * MS, 10, 5);
	simulate();
	ck_assert_int_eq(app_status, -EIO);
	ck_assert_uint_eq(app_log.arrived, 3);
	expect_record(0, APP_FAILED, ZERO, 0, 1000);
	expect_record(1, APP_FAILED, ZERO + 10, 0, 990);
	expect_refused(2, ZERO + MS / 2);
	ck_assert_uint_eq(app_end_ns, ZERO + MS / 2);
}
END_TEST

/* Death of an idle server is noticed with the next request. */
START_TEST(an_idle_server_dies_with_its_next_request)
{
	init_llm();
	kill_ns = ZERO - 1;
	arrive(0, 10, 5);
	simulate();
	ck_assert_int_eq(app_status, -EIO);
	expect_refused(0, ZERO);
}
END_TEST

/* Weights of 17 chunks, of which the container may have none. */
START_TEST(a_server_that_cannot_load_dies_and_refuses)
{
	init_llm();
	config.gpu.memory_total = 20 * CHUNK;
	llm.gpu_memory_utilization = CFG_PPM;
	llm.weights = 17 * CHUNK;
	limit_bytes = 0;
	arrive(0, 10, 5);
	simulate();
	ck_assert_int_eq(app_status, -EIO);
	ck_assert(process.killed);
	ck_assert(!process.running);
	ck_assert_uint_eq(app_log.arrived, 1);
	expect_refused(0, ZERO);
}
END_TEST

START_TEST(a_server_without_room_for_a_pool_does_not_start)
{
	init_llm();
	llm.weights = 3 * CHUNK + 1;
	arrive(0, 10, 5);
	simulate();
	ck_assert_int_eq(app_status, -ENOMEM);
	ck_assert_uint_eq(app_log.arrived, 0);
}
END_TEST

/* Is the server refused for want of memory? Without a trace it is refused in any case. */
static bool has_no_room(void)
{
	struct app_env env = { .config = &config, .container = &container };
	struct sim_error err = { 0 };

	ck_assert_int_eq(llm_server_app.prepare(&env, &err), -SIM_EXIT_USER);
	llm_server_app.discard(&env);
	return strstr(err.text, "does not hold weights and workspace");
}

/* 8 MiB a token: a group of blocks covers more bytes than 32 bits count. */
START_TEST(a_group_of_blocks_may_be_larger_than_four_gigabytes)
{
	init_llm();
	llm.kv_bytes_per_token = 8 << 20;
	llm.block_tokens = 16;
	ck_assert(has_no_room());
	config.gpu.memory_total = 64ull << 30;
	llm.gpu_memory_utilization = CFG_PPM;
	ck_assert(!has_no_room());
}
END_TEST

/* Its share is 4 of 16 chunks, less half a one and 1000 bytes: 3 whole groups of one chunk. */
START_TEST(a_server_takes_its_whole_share_at_the_start)
{
	init_llm();
	llm.workspace = CHUNK / 2;
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(process.range_count, 3);
	ck_assert_uint_eq(process.stats.bytes_h2d, GVM_PAGE_BYTES);
	ck_assert_uint_eq(process.stats.block.pages_copied_in, 1);
	ck_assert_uint_eq(process.stats.block.pages_cleared, 16 + 3 * 32);
}
END_TEST

/* End of the run in mid-step, and between requests. */
START_TEST(the_end_of_the_run_drops_open_requests)
{
	init_llm();
	interrupt_ns = ZERO + 3000;
	arrive(0, 20, 3);
	arrive(MS, 20, 3);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_end_ns, ZERO + 3000);
	ck_assert_uint_eq(app_log.arrived, 1);
	expect_record(0, APP_DROPPED, ZERO, 2870, 0);
	ck_assert_uint_eq(app_log.gap_count, 0);
}
END_TEST

START_TEST(an_idle_server_ends_with_the_run)
{
	init_llm();
	interrupt_ns = ZERO - 1;
	arrive(0, 20, 3);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_end_ns, ZERO - 1);
	ck_assert_uint_eq(app_log.arrived, 0);
}
END_TEST

START_TEST(a_loading_server_ends_with_the_run)
{
	init_llm();
	interrupt_ns = 60;
	arrive(0, 20, 3);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_end_ns, 60);
}
END_TEST

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
	ck_assert_uint_eq(app_log.record_count, app_log.arrived);
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

/* 20 launches of 400 are slower than any kernel: 8000, then the last kernel of 100. */
START_TEST(launches_run_ahead_through_all_phases)
{
	init_diffusion();
	config.host.kernel_launch = 400;
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
 * Blocks 1 to 191 in three groups of a chunk, all free; the one freed last is 191. For two chunks
 * the last two groups go, and the first request finds its block in the first. Weights: a chunk.
 */
START_TEST(a_server_that_listens_gives_free_groups_back)
{
	init_llm();
	listens = true;
	post_ns = ZERO - MS; /* loaded, and idle */
	post_bytes = CHUNK + 1;
	interrupt_ns = ZERO + 100000;
	arrive(0, 20, 3);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_int_eq(app_log.records[0].outcome, APP_COMPLETED);
	ck_assert_uint_eq(process.stats.bytes_d2h, 0);
	ck_assert_uint_eq(process.stats.block.pages_cleared, 3 * 32);
	ck_assert_uint_eq(resident_at_end, 2 * CHUNK);
}
END_TEST

/* All of it was given; what comes back is the group that the request needs, as fresh memory. */
START_TEST(a_parked_group_comes_back_when_it_is_needed)
{
	init_llm();
	listens = true;
	post_ns = ZERO - MS; /* loaded, and idle */
	post_bytes = U64_MAX;
	interrupt_ns = ZERO + 100000;
	arrive(0, 20, 3);
	simulate();
	ck_assert_int_eq(app_log.records[0].outcome, APP_COMPLETED);
	ck_assert_uint_eq(process.stats.bytes_d2h, 0);
	ck_assert_uint_eq(process.stats.block.pages_cleared, 4 * 32);
	ck_assert_uint_eq(resident_at_end, 2 * CHUNK);
}
END_TEST

START_TEST(who_does_not_listen_gives_nothing)
{
	init_llm();
	post_ns = ZERO - MS; /* loaded, and idle */
	post_bytes = U64_MAX;
	interrupt_ns = ZERO + 100000;
	arrive(0, 20, 3);
	simulate();
	ck_assert_uint_eq(resident_at_end, 4 * CHUNK);
}
END_TEST

/*
 * Pressure in the second image: the third finds the pool empty, and each of its 4 passes is two of
 * 4 kernels of (250 + 300) / 4. 250 + 10 + 600 + 4 * 2 * 4 * 137 + 200 + 250 = 5694, and at most a
 * nanosecond for each page of the pool. The fourth is as ever.
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

START_TEST(the_log_grows)
{
	struct app_record record = { 0 };

	for (u64 i = 0; i < 1000; i++) {
		record.id = i;
		ck_assert_int_eq(app_log_add(&app_log, &record), 0);
		ck_assert_int_eq(app_log_add_gap(&app_log, i), 0);
	}
	ck_assert_uint_eq(app_log.records[999].id, 999);
	ck_assert_uint_eq(app_log.gaps_ns[999], 999);
	app_log_destroy(&app_log);
	ck_assert_uint_eq(app_log.record_count, 0);
}
END_TEST

TEST_MAIN("apps", a_request_takes_the_time_of_its_steps, an_eager_step_is_bound_by_the_host,
	  requests_share_steps, arrivals_are_replayed_at_their_dates,
	  a_client_waits_for_the_server_to_be_ready, a_client_holds_so_many_requests_open,
	  what_is_in_flight_at_the_stop_is_dropped, or_it_is_awaited,
	  prompts_that_never_fit_fail, a_dead_context_fails_open_and_later_requests,
	  a_group_of_blocks_may_be_larger_than_four_gigabytes,
	  an_idle_server_dies_with_its_next_request, a_server_that_cannot_load_dies_and_refuses,
	  a_server_without_room_for_a_pool_does_not_start,
	  a_server_takes_its_whole_share_at_the_start, the_end_of_the_run_drops_open_requests,
	  an_idle_server_ends_with_the_run, a_loading_server_ends_with_the_run,
	  images_take_the_time_of_their_phases, launches_run_ahead_through_all_phases,
	  phases_without_memory_touch_nothing, an_image_dies_with_its_context,
	  a_server_that_listens_gives_free_groups_back,
	  a_parked_group_comes_back_when_it_is_needed, who_does_not_listen_gives_nothing,
	  a_pipeline_that_listens_makes_the_next_image_small, the_log_grows)
