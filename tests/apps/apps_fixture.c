// SPDX-License-Identifier: MIT OR GPL-2.0
#include "apps_fixture.h"

struct config config;
struct cfg_container container;
struct sim_memory_policy policy;
u64 limit_bytes = GVM_NO_LIMIT;
const void *prepared;
bool listens;
u64 reopen_ns;

struct sim_gpu gpu;
struct sim_process process;
struct app_log app_log;

int app_status;
u64 app_end_ns;
u64 resident_at_end;
u32 blocks_at_end;

u64 kill_ns = ENG_NEVER;
u64 interrupt_ns = ENG_NEVER;
bool event_stops;
u64 post_ns = ENG_NEVER;
u64 post_bytes;
u64 watch_ns[WATCHES];
u64 charged_at[WATCHES];

static const struct sim_app *tested;
static struct cuda_device device;
static struct cuda_context cuda;
static struct eng_actor *app_actor;
static struct app_env app_env;

void init_machine(const struct sim_app *app, void *keys)
{
	tested = app;
	container = (struct cfg_container){ .app_type = &app->keys, .app = keys };
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
			   .front = 512,
			   .zero_bandwidth = 65536000000000 },
	};
	config.host = (struct cfg_host){ .speed = 2 * CFG_PPM };
}

static void fire_kill(struct eng_timer *timer)
{
	(void)timer;
	fifo_kill(&gpu.fifo, process.tsg.id);
}

static void fire_interrupt(struct eng_timer *timer)
{
	(void)timer;
	app_env.stopping = event_stops;
	eng_interrupt(app_actor);
}

static void fire_end(struct eng_timer *timer)
{
	(void)timer;
	app_env.end_ns = eng_now();
}

static void fire_post(struct eng_timer *timer)
{
	(void)timer;
	gvm_pressure_post(process.container, post_bytes);
}

static struct eng_timer watch_timers[WATCHES];

static void fire_watch(struct eng_timer *timer)
{
	charged_at[timer - watch_timers] = gvm_charged_bytes(process.container);
}

static void set_timer(struct eng_timer *timer, u64 date, void (*fire)(struct eng_timer *timer))
{
	timer->fire = fire;
	if (date != ENG_NEVER)
		eng_timer_set(timer, date);
}

static void app_main(void *data)
{
	app_env = (struct app_env){
		.config = &config,
		.container = &container,
		.cuda = &cuda,
		.prepared = (void *)prepared,
		.log = &app_log,
		.listens = listens,
		.reopen_ns = reopen_ns,
	};

	(void)data;
	GVM_ASSERT(!sim_process_start(&process, &gpu, 1000));
	cuda_context_create(&cuda, &device, &process);
	gvm_limit_set_high(process.container, limit_bytes);
	app_status = tested->run(&app_env);
	cuda_context_destroy(&cuda);
	app_end_ns = eng_now();
	if (!process.running)
		return;
	resident_at_end = gvm_charged_bytes(process.container);
	for (u32 i = 0; i < min(process.ranges[0].block_count, 32u); i++)
		blocks_at_end |= (u32)(process.ranges[0].blocks[i].resident != 0) << i;
}

static void supervisor(void *data)
{
	static struct eng_timer kill_timer, interrupt_timer, end_timer, post_timer;

	(void)data;
	GVM_ASSERT(!sim_gpu_start(&gpu));
	app_actor = eng_spawn("app", app_main, NULL);
	set_timer(&kill_timer, kill_ns, fire_kill);
	set_timer(&interrupt_timer, interrupt_ns, fire_interrupt);
	set_timer(&end_timer, config.duration, fire_end);
	set_timer(&post_timer, post_ns, fire_post);
	for (u32 i = 0; i < WATCHES; i++)
		set_timer(&watch_timers[i], watch_ns[i] ? watch_ns[i] : ENG_NEVER, fire_watch);
	eng_join(app_actor);
	GVM_ASSERT(!fifo_busy(&process.tsg));
	cuda_process_exit(&cuda);
	sim_gpu_stop(&gpu);
	GVM_ASSERT(gpu.device.bound_chunks == 0);
}

void simulate(void)
{
	/* That is how a run ends, if it is no event. */
	config.duration = event_stops ? 2 * interrupt_ns : interrupt_ns;
	ck_assert_int_eq(eng_init(), 0);
	ck_assert_int_eq(sim_gpu_init(&gpu, "gpu", &config.gpu, &policy), 0);
	cuda_device_init(&device, &gpu);
	eng_spawn("supervisor", supervisor, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	sim_gpu_destroy(&gpu);
}

void expect_record(size_t index, enum app_outcome outcome, u64 arrival, u64 ttft, u64 latency)
{
	const struct app_record *record = &app_log.records[index];

	ck_assert_uint_lt(index, app_log.record_count);
	ck_assert_int_eq(record->outcome, outcome);
	ck_assert_uint_eq(record->arrival_ns, arrival);
	ck_assert_uint_eq(record->first_ns, ttft ? arrival + ttft : 0);
	ck_assert_uint_eq(record->finish_ns, latency ? arrival + latency : 0);
}
