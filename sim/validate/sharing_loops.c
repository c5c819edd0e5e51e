// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The loops of two processes that share a GPU by the driver's default time slices: "slice" of
 * plots/reference/hardware/uvmbench.cu, and gapbench.cu.
 *
 * In gapbench.cu HP launches short kernels, waits for them, and begins anew, for 3 s. LP keeps
 * long kernels queued. LP begins 0.3 s before HP and goes on 0.3 s after it, so for a sixth of
 * its time it is alone. Its speed contains that, there and here.
 */
#include <stdlib.h>

#include "validate/loops.h"
#include "validate/rig.h"

#define MS	       1000000ull
#define SECOND	       1000000000ull
#define SM_COUNT       132ull /* of the GPU whose grids these are */
#define THREADS_PER_SM 2048ull
#define HP_THREADS     (SM_COUNT * 256)
#define LP_THREADS     (SM_COUNT * 1024)
#define LP_QUEUED      4u
#define LP_KERNEL_NS   (5 * MS)
#define LP_START_NS    (300 * MS)
#define LP_RUN_NS      (3600 * MS)
#define HP_START_NS    (600 * MS)
#define HP_RUN_NS      (3000 * MS)
#define STEPS_MAX      200000u

/* Two processes that touch no memory. */
struct pair {
	const struct config *config;
	const struct hw_gap *gap;
	struct hw_rig rig;
	struct cuda_context *hp;
	struct cuda_context *lp;
	u64 zero_ns;
	u64 *steps_ns; /* STEPS_MAX of them */
	u32 step_count;
	double lp_speed;
	int status; /* of its actors: 0 or the first error */
};

static u32 occupancy_ppm(u64 threads)
{
	return (u32)(min(threads, SM_COUNT * THREADS_PER_SM) * 1000000 /
		     (SM_COUNT * THREADS_PER_SM));
}

static int pair_start(struct pair *pair, const struct config *config)
{
	int status;

	*pair = (struct pair){ .config = config };
	status = hw_rig_start(&pair->rig, config, 2);
	pair->hp = &pair->rig.contexts[0];
	pair->lp = &pair->rig.contexts[1];
	pair->zero_ns = eng_now();
	return status;
}

int hw_run_slices(const struct config *config, u64 threads, struct hw_slices *ret_slices)
{
	const struct cuda_burst_config endless = { .kernels = 1,
						   .kernel_ns = 100 * SECOND,
						   .occupancy_ppm = occupancy_ppm(threads) };
	struct pair pair;
	struct fifo *fifo = &pair.rig.gpu.fifo;
	const u64 *busy_ns = &pair.rig.processes[0].tsg.busy_ns;
	u64 busy, switches;
	double turns;
	int status = pair_start(&pair, config);

	if (!status)
		status = cuda_launch(pair.hp, &endless);
	if (!status)
		status = cuda_launch(pair.lp, &endless);
	if (status)
		return status;
	/* A second of whole turns, within one in two hundred. */
	eng_sleep_until(pair.zero_ns + SECOND);
	fifo_update(fifo);
	busy = *busy_ns;
	switches = fifo->switches;
	eng_sleep_until(pair.zero_ns + 3 * SECOND);
	fifo_update(fifo);
	turns = (double)(fifo->switches - switches) / 2;
	ret_slices->on_ns = (double)(*busy_ns - busy) / turns;
	ret_slices->off_ns = 2 * (double)SECOND / turns - ret_slices->on_ns;
	ret_slices->gap_ns = (ret_slices->off_ns - ret_slices->on_ns) / 2;
	hw_rig_stop(&pair.rig);
	return 0;
}

static void hp_main(void *data)
{
	struct pair *pair = data;
	const struct hw_gap *gap = pair->gap;
	const struct cuda_burst_config burst = {
		.kernels = gap->kernels,
		.kernel_ns = gap->kernel_ns,
		.launch_ns = gap->kernels > 1 ? gap->launch_ns : hw_launch_ns(pair->config),
		.occupancy_ppm = occupancy_ppm(HP_THREADS),
	};
	u64 start = pair->zero_ns + HP_START_NS;
	int status = eng_sleep_until(start);

	while (!status && eng_now() - start < HP_RUN_NS && pair->step_count < STEPS_MAX) {
		u64 step = eng_now();

		status = cuda_run(pair->hp, &burst);
		pair->steps_ns[pair->step_count++] = eng_now() - step;
	}
	if (status)
		pair->status = status;
}

/* Keeps LP_QUEUED kernels queued. */
static void lp_main(void *data)
{
	struct pair *pair = data;
	const struct cuda_burst_config burst = { .kernels = 1,
						 .kernel_ns = LP_KERNEL_NS,
						 .launch_ns = hw_launch_ns(pair->config),
						 .occupancy_ppm = occupancy_ppm(LP_THREADS) };
	struct cuda_event ends[LP_QUEUED] = { 0 };
	u64 start = pair->zero_ns + LP_START_NS;
	int status = eng_sleep_until(start);
	u64 count = 0;

	for (; !status && eng_now() - start < LP_RUN_NS; count++) {
		struct cuda_event *end = &ends[count % LP_QUEUED];

		status = cuda_event_synchronize(end);
		if (!status)
			status = cuda_launch(pair->lp, &burst);
		if (!status)
			status = cuda_event_record(end, cuda_default_stream(pair->lp));
	}
	if (!status)
		status = cuda_synchronize(pair->lp);
	pair->lp_speed = (double)(count * LP_KERNEL_NS) / (double)(eng_now() - start);
	if (status)
		pair->status = status;
}

/* HP's median step in ns, beside LP or not; 0: it made none. */
static int run_pair(const struct config *config, const struct hw_gap *gap, bool beside,
		    double *ret_step_ns, double *ret_speed)
{
	struct eng_actor *hp = NULL, *lp = NULL;
	struct pair pair;
	int status = pair_start(&pair, config);

	if (status)
		return status;
	pair.gap = gap;
	pair.steps_ns = calloc(STEPS_MAX, sizeof(*pair.steps_ns));
	if (pair.steps_ns)
		hp = eng_spawn("hp", hp_main, &pair);
	if (hp && beside)
		lp = eng_spawn("lp", lp_main, &pair);
	if (!hp || (beside && !lp))
		pair.status = -ENOMEM;
	if (hp)
		eng_join(hp);
	if (lp)
		eng_join(lp);
	*ret_step_ns = (double)hw_median(pair.steps_ns, pair.step_count);
	*ret_speed = pair.lp_speed;
	free(pair.steps_ns);
	hw_rig_stop(&pair.rig);
	return pair.status;
}

int hw_run_gap(const struct config *config, const struct hw_gap *gap,
	       struct hw_gap_times *ret_times)
{
	int status = run_pair(config, gap, false, &ret_times->alone_ns, &ret_times->speed);

	return status ? status :
			run_pair(config, gap, true, &ret_times->step_ns, &ret_times->speed);
}
