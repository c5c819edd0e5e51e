// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A diffusion pipeline in a closed loop
 * =====================================
 *
 * One image after the other, one at a time, in the phases of Stable Diffusion 3:
 *
 *     host | a pass of the text encoders for each prompt | steps of the denoiser | decoder | host
 *
 * Half of the host's work (tokenising, preparing the scheduler) is done before the first launch,
 * half (fetching the picture and converting it) after the last kernel; the GPU has nothing of
 * this pipeline then. In between the host does not wait for anything: it launches all phases
 * ahead, and a phase is held up by the launches of its own kernels at most.
 *
 * Each phase touches weights of its own. Activations live in one pool that the phases share, as
 * PyTorch's caching allocator has it: it is as large as the hungriest phase wants it, nothing is
 * ever given back, and a smaller phase uses its beginning. The allocator deals in 2 MB, so touches
 * are in whole blocks.
 *
 * Told to (app.pressure), it listens for pressure. Between two images, where nothing of the pool is
 * in use, it looks whether there was an event. If so it empties the pool, and makes the next image
 * in smaller batches: a pass through the denoiser, which has the image with and without its prompt
 * as a batch of two, becomes two passes with half of the activations each, which read the weights
 * twice. An event that comes during an image waits for its end; what the driver wants sooner, it
 * takes.
 *
 * Before the first image the weights are loaded, at the rate at which the host reads and converts
 * them; without such a rate the first image faults them in. The pool grows with the first image
 * either way.
 */
#include "apps/app.h"

#include <stdlib.h>

#include "apps/app_cost.h"
#include "apps/diffusion.h"
#include "gvm/pressure.h"

enum { TEXT_TOUCHES = 2, PHASE_TOUCHES = 2 };

/* Passes that one becomes when the batch is halved. */
#define SMALL_PASSES 2u

/* Weights are loaded in parts of this many blocks. */
#define LOAD_BLOCKS 32u

/* The pipeline. Ranges of size 0 are NULL. */
struct diffusion {
	const struct app_env *env;
	const struct cfg_diffusion *cfg;
	struct gvm_range *clip;
	struct gvm_range *text;
	struct gvm_range *denoiser;
	struct gvm_range *decoder;
	struct gvm_range *pool;

	/* Touches of each phase. */
	struct gmmu_touch text_touches[TEXT_TOUCHES];
	struct gmmu_touch denoiser_touches[PHASE_TOUCHES];
	struct gmmu_touch small_touches[PHASE_TOUCHES];
	struct gmmu_touch decoder_touches[PHASE_TOUCHES];

	/* What a phase's burst looks like when it is submitted. */
	struct fifo_burst text_phase;
	struct fifo_burst denoiser_phase;
	struct fifo_burst small_phase; /* half of one */
	struct fifo_burst decoder_phase;

	struct fifo_burst *bursts; /* of the image in flight */
	u32 text_passes;
	u32 passes;		      /* of the denoiser */
	u64 images;		      /* started */
	struct gvm_listener pressure; /* open if it listens */
	bool is_small;		      /* the image in flight is made in smaller batches */
};

static bool map_one(struct diffusion *diffusion, u64 bytes, bool on_host,
		    struct gvm_range **ret_range)
{
	if (!bytes)
		return true;
	*ret_range = sim_process_map(diffusion->env->process, bytes, on_host);
	return *ret_range != NULL;
}

static int diffusion_map(struct diffusion *diffusion)
{
	const struct cfg_diffusion *cfg = diffusion->cfg;
	u64 pool = max(cfg->denoiser_activation, cfg->decoder_activation);

	if (map_one(diffusion, cfg->clip_weights, true, &diffusion->clip) &&
	    map_one(diffusion, cfg->text_weights, true, &diffusion->text) &&
	    map_one(diffusion, cfg->denoiser_weights, true, &diffusion->denoiser) &&
	    map_one(diffusion, cfg->decoder_weights, true, &diffusion->decoder) &&
	    map_one(diffusion, pool, false, &diffusion->pool))
		return 0;
	return -ENOMEM;
}

/* Append a touch of the first @bytes of a range to those of a phase. */
static void phase_touch(struct fifo_burst *phase, struct gmmu_touch *touches,
			struct gvm_range *range, u64 bytes, enum gvm_access access)
{
	struct gmmu_touch *touch = &touches[phase->touch_count];

	if (!bytes)
		return;
	*touch = sim_touch_blocks(
		range, 0, (u32)((bytes + GVM_CHUNK_BYTES - 1) >> GVM_CHUNK_SHIFT), access);
	phase->touches = touches;
	phase->touch_count++;
}

static void diffusion_init_touches(struct diffusion *diffusion)
{
	const struct cfg_diffusion *cfg = diffusion->cfg;
	struct fifo_burst *text = &diffusion->text_phase;
	struct fifo_burst *denoiser = &diffusion->denoiser_phase;
	struct fifo_burst *small = &diffusion->small_phase;
	struct fifo_burst *decoder = &diffusion->decoder_phase;

	phase_touch(text, diffusion->text_touches, diffusion->clip, cfg->clip_weights,
		    GVM_ACCESS_READ);
	phase_touch(text, diffusion->text_touches, diffusion->text, cfg->text_weights,
		    GVM_ACCESS_READ);
	phase_touch(denoiser, diffusion->denoiser_touches, diffusion->denoiser,
		    cfg->denoiser_weights, GVM_ACCESS_READ);
	phase_touch(denoiser, diffusion->denoiser_touches, diffusion->pool,
		    cfg->denoiser_activation, GVM_ACCESS_WRITE);
	phase_touch(small, diffusion->small_touches, diffusion->denoiser, cfg->denoiser_weights,
		    GVM_ACCESS_READ);
	phase_touch(small, diffusion->small_touches, diffusion->pool,
		    cfg->denoiser_activation / SMALL_PASSES, GVM_ACCESS_WRITE);
	phase_touch(decoder, diffusion->decoder_touches, diffusion->decoder,
		    cfg->decoder_weights, GVM_ACCESS_READ);
	phase_touch(decoder, diffusion->decoder_touches, diffusion->pool,
		    cfg->decoder_activation, GVM_ACCESS_WRITE);
}

/* Arithmetic and memory traffic do not overlap perfectly in eager kernels: their times add up. */
static void phase_init(const struct diffusion *diffusion, struct fifo_burst *phase, u64 kernels,
		       u64 flops, u64 traffic)
{
	const struct config *config = diffusion->env->config;
	u64 gpu_ns = app_flops_ns(&config->gpu, diffusion->cfg->efficiency, flops) +
		     app_bytes_ns(&config->gpu, traffic);

	phase->kernels = (u32)kernels;
	phase->kernel_ns = max(1ull, gpu_ns / kernels);
	phase->launch_ns = config->host.kernel_launch;
}

/* What a pass moves is its weights and, in proportion to its batch, all else. */
static u64 small_traffic(const struct cfg_diffusion *cfg)
{
	u64 weights = min(cfg->denoiser_weights, cfg->denoiser_traffic);

	return weights + (cfg->denoiser_traffic - weights) / SMALL_PASSES;
}

static int diffusion_init(struct diffusion *diffusion)
{
	const struct cfg_diffusion *cfg = diffusion->cfg;
	int status = diffusion_map(diffusion);

	if (status)
		return status;
	diffusion_init_touches(diffusion);
	phase_init(diffusion, &diffusion->text_phase, cfg->kernels_text, cfg->text_flops,
		   cfg->text_weights + cfg->clip_weights);
	phase_init(diffusion, &diffusion->denoiser_phase, cfg->kernels_per_pass,
		   cfg->denoiser_flops, cfg->denoiser_traffic);
	phase_init(diffusion, &diffusion->small_phase, cfg->kernels_per_pass,
		   cfg->denoiser_flops / SMALL_PASSES, small_traffic(cfg));
	phase_init(diffusion, &diffusion->decoder_phase, cfg->kernels_decoder,
		   cfg->decoder_flops, cfg->decoder_traffic);
	diffusion->passes = (u32)(cfg->steps * cfg->passes_per_step);
	diffusion->text_passes = (u32)cfg->text_passes;
	diffusion->bursts =
		calloc(diffusion->text_passes + SMALL_PASSES * diffusion->passes + 1,
		       sizeof(*diffusion->bursts));
	return diffusion->bursts ? 0 : -ENOMEM;
}

static void diffusion_submit(struct diffusion *diffusion, u32 index,
			     const struct fifo_burst *phase)
{
	diffusion->bursts[index] = *phase;
	fifo_submit(&diffusion->env->process->tsg, &diffusion->bursts[index]);
}

/* Blocking: all phases of an image. A TSG runs its bursts in order, so the last one ends last. */
static int diffusion_compute(struct diffusion *diffusion)
{
	u32 text_end = diffusion->text_passes;
	u32 last = text_end + diffusion->passes * (diffusion->is_small ? SMALL_PASSES : 1);
	const struct fifo_burst *denoiser =
		diffusion->is_small ? &diffusion->small_phase : &diffusion->denoiser_phase;
	u32 i;

	for (i = 0; i < last; i++)
		diffusion_submit(diffusion, i,
				 i < text_end ? &diffusion->text_phase : denoiser);
	diffusion_submit(diffusion, last, &diffusion->decoder_phase);
	return fifo_wait(&diffusion->bursts[last]);
}

/* Blocking: work of @ns on the reference host. */
static int diffusion_host_work(const struct diffusion *diffusion, u64 ns)
{
	ns = app_host_ns(&diffusion->env->config->host, ns);
	return ns ? eng_sleep_until(eng_now() + ns) : 0;
}

/* Blocking: put one part of a range's weights on the device. */
static int diffusion_load_part(const struct diffusion *diffusion, struct gvm_range *range,
			       u32 first_block)
{
	struct gmmu_touch touch =
		sim_touch_blocks(range, first_block,
				 min(LOAD_BLOCKS, range->block_count - first_block),
				 GVM_ACCESS_WRITE);
	struct fifo_burst copy = {
		.kernels = 1,
		.kernel_ns = 1,
		.touches = &touch,
		.touch_count = 1,
	};
	struct fifo_tsg *tsg = &diffusion->env->process->tsg;
	int status;

	fifo_submit(tsg, &copy);
	status = fifo_wait(&copy);
	/* An interrupted burst is still queued, and lies in this frame. */
	if (status == -EINTR)
		fifo_kill(tsg->fifo, tsg->id);
	return status;
}

/* Blocking: load a range, each part when the host has it ready. *date: when the last one was. */
static int diffusion_load_range(const struct diffusion *diffusion, struct gvm_range *range,
				u64 *date)
{
	u64 part_ns = app_host_ns(&diffusion->env->config->host,
				  (LOAD_BLOCKS << GVM_CHUNK_SHIFT) * 1000000000ull /
					  diffusion->cfg->load_bandwidth);
	int status = 0;
	u32 block;

	for (block = 0; range && block < range->block_count && !status; block += LOAD_BLOCKS) {
		*date += part_ns;
		status = eng_sleep_until(*date);
		if (!status)
			status = diffusion_load_part(diffusion, range, block);
	}
	return status;
}

/* Blocking: load all weights. 0, -EIO or -EINTR. */
static int diffusion_load(const struct diffusion *diffusion)
{
	struct gvm_range *const ranges[] = { diffusion->clip, diffusion->text,
					     diffusion->denoiser, diffusion->decoder };
	u64 date = eng_now();
	int status = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ranges) && !status && diffusion->cfg->load_bandwidth; i++)
		status = diffusion_load_range(diffusion, ranges[i], &date);
	return status;
}

/* Blocking: if there was pressure since the last image, empty the pool and make this one small. */
static void diffusion_yield(struct diffusion *diffusion)
{
	struct gvm_pressure_event event;

	diffusion->is_small =
		diffusion->env->listens &&
		gvm_listener_read(&diffusion->pressure, &event, sizeof(event), false) > 0;
	if (!diffusion->is_small || !diffusion->pool)
		return;
	gvm_range_discard(diffusion->pool, 0, diffusion->pool->bytes);
	eng_pay_debt();
}

/* Blocking: make one image. 0, -EIO or -EINTR. */
static int diffusion_make_image(struct diffusion *diffusion)
{
	const struct cfg_diffusion *cfg = diffusion->cfg;
	u64 before = cfg->host_per_image / 2;
	u64 after = cfg->host_per_image - before;
	int status;

	diffusion_yield(diffusion);
	if (!diffusion->images++)
		before += cfg->warmup;
	status = diffusion_host_work(diffusion, before);
	if (!status)
		status = diffusion_compute(diffusion);
	if (!status)
		status = diffusion_host_work(diffusion, after);
	return status;
}

static enum app_outcome image_outcome(int status)
{
	if (!status)
		return APP_COMPLETED;
	return status == -EIO ? APP_FAILED : APP_DROPPED;
}

/* Blocking: make one image and log it: as dropped until it is known how it ended. */
static int diffusion_log_image(struct diffusion *diffusion)
{
	struct app_log *log = diffusion->env->log;
	struct app_record record = {
		.id = diffusion->images,
		.arrival_ns = eng_now(),
		.outcome = APP_DROPPED,
	};
	size_t index = app_log_add(log, &record);
	int status;

	log->arrived++;
	status = diffusion_make_image(diffusion);
	log->records[index].outcome = image_outcome(status);
	if (status != -EINTR)
		log->records[index].finish_ns = eng_now();
	return status;
}

static int diffusion_run(const struct app_env *env)
{
	struct diffusion diffusion = { .env = env, .cfg = env->container->app };
	int status = diffusion_init(&diffusion);

	if (!status && env->listens)
		status = gvm_listener_open(&diffusion.pressure, env->process->container);
	if (!status)
		status = diffusion_load(&diffusion);
	while (!status)
		status = diffusion_log_image(&diffusion);
	/*
	 * Bursts that an interrupted wait left in the queue lie in memory that is freed here. Only
	 * the context is killed: the process is the caller's to look at and to end.
	 */
	if (status == -EINTR)
		fifo_kill(env->process->tsg.fifo, env->process->tsg.id);
	gvm_listener_close(&diffusion.pressure);
	free(diffusion.bursts);
	return status == -EINTR ? 0 : status;
}

/* Constants of the pipeline are required; a profile gives them. */
#define DIFFUSION(type_, member_, min_, max_, help_)                       \
	CFG_APP_KEY(#member_, type_, struct cfg_diffusion, member_, help_, \
		    CFG_RANGE(min_, max_))

static const struct cfg_key diffusion_keys[] = {
	DIFFUSION(SIZE, text_weights, 0, 16 * CFG_TIB, "bytes of the large text encoder (T5)"),
	DIFFUSION(SIZE, clip_weights, 0, 16 * CFG_TIB, "bytes of the small text encoders"),
	DIFFUSION(SIZE, denoiser_weights, 1, 16 * CFG_TIB, "bytes of the denoiser (MMDiT)"),
	DIFFUSION(SIZE, decoder_weights, 0, 16 * CFG_TIB, "bytes of the decoder (VAE)"),
	DIFFUSION(SIZE, denoiser_activation, 0, 16 * CFG_TIB,
		  "bytes touched by one denoising pass"),
	DIFFUSION(SIZE, decoder_activation, 0, 16 * CFG_TIB, "bytes touched by the decoder"),
	DIFFUSION(INTEGER, steps, 1, 10000, "denoising steps an image"),
	DIFFUSION(INTEGER, passes_per_step, 1, 16, "passes through the denoiser a step"),
	DIFFUSION(INTEGER, text_passes, 1, 16,
		  "passes through all text encoders an image: one a prompt"),
	DIFFUSION(INTEGER, text_flops, 0, CFG_FLOPS_MAX, "FLOP of one pass of the encoders"),
	DIFFUSION(INTEGER, denoiser_flops, 1, CFG_FLOPS_MAX, "FLOP of one denoising pass"),
	DIFFUSION(SIZE, denoiser_traffic, 0, CFG_BANDWIDTH_MAX,
		  "bytes of device memory moved by one denoising pass"),
	DIFFUSION(INTEGER, decoder_flops, 0, CFG_FLOPS_MAX, "FLOP of decoding an image"),
	DIFFUSION(SIZE, decoder_traffic, 0, CFG_BANDWIDTH_MAX,
		  "bytes of device memory moved by decoding"),
	DIFFUSION(PPM, efficiency, 1, CFG_PPM,
		  "share of gpu.flops_bf16 that its kernels reach"),
	DIFFUSION(INTEGER, kernels_per_pass, 1, CFG_COUNT_MAX, "kernels of one denoising pass"),
	DIFFUSION(INTEGER, kernels_text, 1, CFG_COUNT_MAX,
		  "kernels of one pass of the encoders"),
	DIFFUSION(INTEGER, kernels_decoder, 1, CFG_COUNT_MAX, "kernels of the decoder"),
	DIFFUSION(DURATION, host_per_image, 0, CFG_HOUR,
		  "host work an image, on the reference host"),
	DIFFUSION(DURATION, warmup, 0, CFG_HOUR,
		  "host work before the first image only, on the reference host"),
	CFG_APP_KEY("load_bandwidth", SIZE, struct cfg_diffusion, load_bandwidth,
		    "bytes/s at which weights are loaded; 0: faulted in by use",
		    CFG_RANGE(0, CFG_BANDWIDTH_MAX), CFG_DEFAULT("0")),
};

const struct sim_app diffusion_app = {
	.keys = {
		.name = "diffusion",
		.summary = "a diffusion pipeline that makes one image after the other",
		CFG_KEYS(diffusion_keys),
		.bytes = sizeof(struct cfg_diffusion),
	},
	.run = diffusion_run,
};
