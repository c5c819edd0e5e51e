// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A diffusion pipeline in a closed loop
 * =====================================
 *
 * One image after the other, one at a time, in the phases of Stable Diffusion 3:
 *
 *     host | a pass of the text encoders for each prompt | steps of the
 *     denoiser | decoder | host
 *
 * Half of the host's work (tokenising, preparing the scheduler) is done before the first
 * launch, half (fetching the picture and converting it) after the last kernel. The GPU has no
 * work of this pipeline then. In between the host waits for nothing. It launches all phases
 * ahead, so only the launches of its own kernels can delay a phase.
 *
 * Each phase touches weights of its own. A product of a weight matrix with few tokens, as in
 * the text encoders, touches all of the matrix as it begins: its thread blocks read all parts
 * of it side by side. So it faults on tens of blocks at once where they are not resident (T5:
 * 16 or 40), and the GPU stays with it until they have come. A product with the 8,858 tokens of
 * the denoiser goes through its matrix bit by bit, since most of its thread blocks read the
 * same part. Both were seen on an H200 (plots/reference/hardware/h200-580-footprints.txt). The
 * matrices of one model count as equal.
 *
 * Activations live in one pool that the phases share, as in PyTorch's caching allocator. It
 * never shrinks, and each phase uses its beginning. The allocator deals in 2 MB, so touches are
 * of whole blocks. The first image touches all of the pool: convolutions are tried with more
 * workspace than they use later. Other images touch what their phases need. The layers of the
 * denoiser are equal: each one reads its part of the weights and uses the activations again, as
 * the allocator gives it the same memory. So an order of first touches, as UVM's, evicts them
 * between two layers. Of the tables of embeddings a prompt reads a few rows. They are loaded,
 * and not touched again here.
 *
 * With app.pressure it listens for pressure events. It looks for one between two images, when
 * the pool is not in use. After an event it empties the pool and makes the next image in
 * smaller batches. A pass of the denoiser has a batch of two: the image with its prompt, and
 * without. It becomes two passes, each with half of the activations. Both read the weights. An
 * event during an image waits for the end of the image. The driver evicts meanwhile if it needs
 * the memory sooner.
 *
 * Before the first image the weights are loaded, at the rate at which the host reads and
 * converts them. Without such a rate the first image faults them in. The pool grows with the
 * first image either way.
 *
 * With app.offload the weights of the encoders, or of all networks, go to the host's memory at
 * the end of each image, by a prefetch, and the next image faults them in. Pipelines of diffusers
 * do so by copies (enable_model_cpu_offload()), to fit onto a small GPU. With managed memory it
 * makes an application page on a GPU that has room, so that its faults beside other containers
 * can be measured (plots/reference/hardware/h200-corun/paging).
 *
 * A pipeline that was measured had made images before the recording began: its memory was on the
 * GPU, and its kernels were known. app.warm_images says how many. They are made as any others,
 * but results do not have them, nor count their launches and memory. The process starts app.boot
 * ahead of the container's start, to be ready by then. If it is not, its images begin late.
 */
#include "apps/app.h"

#include "apps/app_cost.h"
#include "apps/diffusion.h"

/* Passes that one becomes when the batch is halved. */
#define SMALL_PASSES 2u

/* Weights are loaded in parts of this many chunks. */
#define LOAD_CHUNKS 32u

/* The networks, in the order of their use. */
enum network {
	CLIP, /* the small text encoders */
	TEXT, /* the large one */
	DENOISER,
	DECODER,
	NETWORKS,
};

/* A pass of one phase: what its burst looks like, and what that accesses. */
struct diffusion_phase {
	struct cuda_burst_config burst;
	struct cuda_access accesses[2 * DIFFUSION_LAYERS_MAX]; /* two for each layer */
};

struct diffusion {
	const struct app_env *env;
	const struct cfg_diffusion *cfg;
	struct cuda_memory weights[NETWORKS];
	struct cuda_memory pool;

	struct diffusion_phase text_phase;
	struct diffusion_phase denoiser_phase;
	struct diffusion_phase small_phase; /* half of one */
	struct diffusion_phase decoder_phase;
	struct diffusion_phase first_decoder_phase; /* touches all of the pool */

	u64 images;		      /* started */
	struct gvm_listener pressure; /* open if it listens */
	bool is_small;		      /* the image in flight is made in smaller batches */
};

static int diffusion_allocate(struct diffusion *diffusion)
{
	const struct cfg_diffusion *cfg = diffusion->cfg;
	u64 touched = max(cfg->denoiser_activation, cfg->decoder_activation);
	const u64 bytes[NETWORKS] = {
		[CLIP] = cfg->clip_weights,
		[TEXT] = cfg->text_weights,
		[DENOISER] = cfg->denoiser_weights,
		[DECODER] = cfg->decoder_weights,
	};
	int status = 0;

	for (u32 i = 0; i < NETWORKS && !status; i++)
		status = app_malloc(diffusion->env, bytes[i], true, &diffusion->weights[i]);
	if (!status)
		status = app_malloc(diffusion->env, max(cfg->pool, touched), false,
				    &diffusion->pool);
	return status;
}

/* What the kernels of a phase do. */
struct phase_work {
	u64 kernels;
	u64 flops;
	u64 traffic; /* bytes */
	u64 cycles;  /* of SMs */
	u64 beside;  /* bytes that arithmetic and cycles hide */
	u64 blocks;  /* thread blocks of a kernel with cycles; 0: they fill all SMs */
};

/*
 * A phase of kernels: their time, and what they access. Arithmetic, the memory or the SMs bound
 * an eager kernel, so the times of the three add up.
 */
static void phase_init(const struct diffusion *diffusion, struct diffusion_phase *phase,
		       struct phase_work amounts, struct cuda_access first,
		       struct cuda_access second)
{
	const struct config *config = diffusion->env->config;
	const struct cfg_diffusion *cfg = diffusion->cfg;
	struct app_work work = { 0 };

	app_work_add(&work, &config->gpu,
		     app_flops_ns(&config->gpu, cfg->efficiency, amounts.flops), 0,
		     app_product_blocks(amounts.flops / amounts.kernels));
	app_work_add(&work, &config->gpu, 0,
		     app_bytes_ns(&config->gpu, cfg->memory_efficiency, amounts.traffic),
		     app_element_blocks(amounts.traffic / amounts.kernels));
	if (amounts.cycles)
		app_work_add_cycles(&work, &config->gpu,
				    app_cycles_ns(&config->gpu, amounts.cycles),
				    amounts.blocks ? amounts.blocks : config->gpu.sms);
	app_work_move(&work,
		      app_bytes_ns(&config->gpu, cfg->memory_efficiency, amounts.beside));
	phase->accesses[0] = first;
	phase->accesses[1] = second;
	phase->burst = (struct cuda_burst_config){
		.kernels = (u32)amounts.kernels,
		.launch_ns = app_launch_ns(&config->host, cfg->kernel_launch,
					   cfg->graph ? amounts.kernels : 1),
		.graph = cfg->graph,
		.accesses = phase->accesses,
		.access_count = 2,
	};
	app_work_burst(&work, &config->gpu, &phase->burst);
}

/* Let a phase have @layers, each with its part of the first access and all of the second. */
static void phase_split(struct diffusion_phase *phase, u32 layers)
{
	const struct cuda_access weights = phase->accesses[0];
	const struct cuda_access activations = phase->accesses[1];

	for (u32 i = 0; i < layers; i++) {
		phase->accesses[2 * i] = cuda_access_part(&weights, i, layers);
		phase->accesses[2 * i + 1] = activations;
	}
	phase->burst.access_count = 2 * layers;
}

/* @bytes of a model's weights: @matrices kernels read one matrix each. */
static struct cuda_access weights_access(const struct cuda_memory *memory, u64 bytes,
					 u64 matrices)
{
	struct cuda_access access = cuda_access_head(memory, bytes, CUDA_READ);

	cuda_access_matrices(&access, matrices);
	return access;
}

/* The access of a transformer of @bytes in a pass of @flops, for weights in host memory. */
static struct cuda_access product_access(struct cuda_access access, u64 bytes, u64 flops)
{
	access.remote_reads = app_product_reads(flops, bytes);
	return access;
}

static void diffusion_init_phases(struct diffusion *diffusion)
{
	const struct cfg_diffusion *cfg = diffusion->cfg;
	u64 clip_bytes = cfg->clip_weights - min(cfg->clip_weights, cfg->clip_embeddings);
	u64 text_bytes = cfg->text_weights - min(cfg->text_weights, cfg->text_embeddings);
	struct cuda_access clip =
		weights_access(&diffusion->weights[CLIP], clip_bytes, cfg->clip_matrices);
	struct cuda_access text =
		weights_access(&diffusion->weights[TEXT], text_bytes, cfg->text_matrices);
	struct cuda_access denoiser =
		product_access(cuda_access_all(&diffusion->weights[DENOISER], CUDA_READ),
			       cfg->denoiser_weights, cfg->denoiser_flops);
	struct cuda_access decoder = cuda_access_all(&diffusion->weights[DECODER], CUDA_READ);
	/* A pass moves its weights and, in proportion to its batch, everything else. */
	u64 weights = min(cfg->denoiser_weights, cfg->denoiser_traffic);
	const struct phase_work encode = {
		.kernels = cfg->kernels_text,
		.flops = cfg->text_flops,
		.traffic = cfg->text_weights + cfg->clip_weights,
	};
	const struct phase_work denoise = {
		.kernels = cfg->kernels_per_pass,
		.flops = cfg->denoiser_flops,
		.traffic = cfg->denoiser_traffic,
		.cycles = cfg->denoiser_cycles,
		.beside = cfg->denoiser_traffic_beside,
	};
	const struct phase_work small = {
		.kernels = cfg->kernels_per_pass,
		.flops = cfg->denoiser_flops / SMALL_PASSES,
		.traffic = weights + (cfg->denoiser_traffic - weights) / SMALL_PASSES,
		.cycles = cfg->denoiser_cycles / SMALL_PASSES,
		.beside = cfg->denoiser_traffic_beside / SMALL_PASSES,
	};
	const struct phase_work decode = {
		.kernels = cfg->kernels_decoder,
		.flops = cfg->decoder_flops,
		.traffic = cfg->decoder_traffic,
		.cycles = cfg->decoder_cycles,
		.beside = cfg->decoder_traffic_beside,
		.blocks = cfg->decoder_blocks,
	};

	phase_init(diffusion, &diffusion->text_phase, encode,
		   product_access(clip, clip_bytes + text_bytes, cfg->text_flops),
		   product_access(text, clip_bytes + text_bytes, cfg->text_flops));
	phase_init(diffusion, &diffusion->denoiser_phase, denoise, denoiser,
		   cuda_access_head(&diffusion->pool, cfg->denoiser_activation, CUDA_WRITE));
	phase_init(diffusion, &diffusion->small_phase, small,
		   product_access(denoiser, cfg->denoiser_weights,
				  cfg->denoiser_flops / SMALL_PASSES),
		   cuda_access_head(&diffusion->pool, cfg->denoiser_activation / SMALL_PASSES,
				    CUDA_WRITE));
	phase_split(&diffusion->denoiser_phase, (u32)cfg->denoiser_layers);
	phase_split(&diffusion->small_phase, (u32)cfg->denoiser_layers);
	phase_init(diffusion, &diffusion->decoder_phase, decode, decoder,
		   cuda_access_head(&diffusion->pool, cfg->decoder_activation, CUDA_WRITE));
	phase_init(diffusion, &diffusion->first_decoder_phase, decode, decoder,
		   cuda_access_all(&diffusion->pool, CUDA_WRITE));
}

/*
 * Blocking: load all weights in parts, each of them when the host has it ready. Returns 0,
 * -EIO, -EINTR or -ENOMEM.
 */
static int diffusion_load(const struct diffusion *diffusion)
{
	u64 bandwidth = diffusion->cfg->load_bandwidth;
	u64 date = eng_now();
	u64 part_ns;
	int status = 0;

	if (!bandwidth)
		return 0;
	part_ns = app_host_ns(&diffusion->env->config->host,
			      (LOAD_CHUNKS << GVM_CHUNK_SHIFT) * 1000000000ull / bandwidth);
	for (u32 i = 0; i < NETWORKS; i++) {
		const struct cuda_memory *weights = &diffusion->weights[i];
		struct cuda_access part = cuda_access_all(weights, CUDA_WRITE);
		struct cuda_burst_config copy = {
			.kernels = 1, .kernel_ns = 1, .accesses = &part, .access_count = 1
		};

		for (; part.first < weights->chunks && !status; part.first += LOAD_CHUNKS) {
			part.chunks = min(LOAD_CHUNKS, weights->chunks - part.first);
			date += part_ns;
			status = eng_sleep_until(date);
			if (!status)
				status = cuda_run(diffusion->env->cuda, &copy);
		}
	}
	return status;
}

/* Blocking: send weights to the host. Returns 0, -EINTR, or the error of the prefetch. */
static int diffusion_offload(const struct diffusion *diffusion)
{
	/* Networks before this one. */
	static const u32 ends[] = {
		[CFG_OFFLOAD_NONE] = CLIP,
		[CFG_OFFLOAD_ENCODERS] = DENOISER,
		[CFG_OFFLOAD_ALL] = NETWORKS,
	};
	int status = 0;

	for (u32 i = 0; i < ends[diffusion->cfg->offload] && !status; i++)
		status = cuda_prefetch(&diffusion->weights[i], CUDA_HOST);
	return status;
}

/* Blocking: all phases of an image on the GPU. */
static int diffusion_compute(const struct diffusion *diffusion)
{
	const struct diffusion_phase *denoiser =
		diffusion->is_small ? &diffusion->small_phase : &diffusion->denoiser_phase;
	u64 passes = diffusion->cfg->steps * diffusion->cfg->passes_per_step *
		     (diffusion->is_small ? SMALL_PASSES : 1);
	const struct diffusion_phase *decoder = diffusion->images > 1 ?
							&diffusion->decoder_phase :
							&diffusion->first_decoder_phase;
	struct cuda_context *cuda = diffusion->env->cuda;
	int status = 0;

	for (u64 i = 0; i < diffusion->cfg->text_passes && !status; i++)
		status = cuda_launch(cuda, &diffusion->text_phase.burst);
	for (u64 i = 0; i < passes && !status; i++)
		status = cuda_launch(cuda, &denoiser->burst);
	if (!status)
		status = cuda_launch(cuda, &decoder->burst);
	return status ? status : cuda_synchronize(cuda);
}

/*
 * Blocking: make one image, in smaller batches if there was pressure since the last one.
 * Returns 0, -EIO, -EINTR or -ENOMEM.
 */
static int diffusion_make_image(struct diffusion *diffusion)
{
	const struct cfg_diffusion *cfg = diffusion->cfg;
	u64 before = cfg->host_per_image / 2;
	u64 after = cfg->host_per_image - before;
	struct gvm_pressure_event event;
	int status;

	diffusion->is_small =
		diffusion->env->listens &&
		gvm_listener_read(&diffusion->pressure, &event, sizeof(event), false) > 0;
	if (diffusion->is_small)
		cuda_discard(&diffusion->pool, 0, diffusion->pool.bytes);
	if (!diffusion->images++)
		before += cfg->warmup;
	status = app_host_work(diffusion->env, before);
	if (!status)
		status = diffusion_compute(diffusion);
	if (!status)
		status = app_host_work(diffusion->env, after);
	if (!status)
		status = diffusion_offload(diffusion);
	return status;
}

/* Blocking: make one image and log it. */
static int diffusion_log_image(struct diffusion *diffusion)
{
	struct app_record *record;
	int status = app_begin(diffusion->env, eng_now(), &record);

	if (status)
		return status;
	status = diffusion_make_image(diffusion);
	app_log_end(diffusion->env, record, status);
	return status;
}

/*
 * Blocking: make the images that results do not have, and wait for the container's start.
 */
static int diffusion_warm_up(struct diffusion *diffusion)
{
	const struct app_env *env = diffusion->env;
	u64 open_ns = app_open_ns(env);
	int status = 0;

	env->log->warming = diffusion->cfg->warm_images;
	for (u64 i = 0; i < diffusion->cfg->warm_images && !status; i++)
		status = diffusion_make_image(diffusion);
	if (!status && open_ns > eng_now())
		status = eng_sleep_until(open_ns);
	if (env->log->warming)
		env->log->warm_ns = eng_now();
	env->log->warming = false;
	return status;
}

static int diffusion_run(const struct app_env *env)
{
	struct diffusion diffusion = { .env = env, .cfg = env->container->app };
	int status = diffusion_allocate(&diffusion);

	if (status)
		return status;
	diffusion_init_phases(&diffusion);
	status = app_listen(env, &diffusion.pressure);
	if (!status && !diffusion.cfg->boot)
		status = app_start_late(env);
	if (!status)
		status = diffusion_load(&diffusion);
	if (!status)
		status = diffusion_warm_up(&diffusion);
	if (!status && diffusion.cfg->boot)
		status = app_start_late(env);
	while (!status)
		status = diffusion_log_image(&diffusion);
	gvm_listener_close(&diffusion.pressure);
	return status == -EINTR ? 0 : status;
}

static u64 diffusion_ahead_ns(const struct cfg_container *container)
{
	const struct cfg_diffusion *cfg = container->app;

	return cfg->boot;
}

static int diffusion_prepare(struct app_env *env, struct sim_error *err)
{
	const struct cfg_diffusion *cfg = env->container->app;
	int status = 0;

	if (cfg->denoiser_cycles)
		status = app_check_cycles(env, "denoiser_cycles", err);
	if (!status && cfg->decoder_cycles)
		status = app_check_cycles(env, "decoder_cycles", err);
	if (!status && cfg->offload != CFG_OFFLOAD_NONE)
		status = app_check_prefetch(env, "offload", "none", err);
	return status;
}

/* Constants of the pipeline are required; a profile gives them. */
#define DIFFUSION(type_, member_, min_, max_, help_)                       \
	CFG_APP_KEY(#member_, type_, struct cfg_diffusion, member_, help_, \
		    CFG_RANGE(min_, max_))

#define DIFFUSION_MATRICES(name_, member_, model_)                         \
	CFG_APP_KEY(name_, INTEGER, struct cfg_diffusion, member_,         \
		    "weight matrices of the " model_                       \
		    ", each touched at once by one kernel; 0: bit by bit", \
		    CFG_RANGE(0, CFG_COUNT_MAX), CFG_DEFAULT("0"))

#define DIFFUSION_CYCLES(name_, member_, work_)                                                \
	CFG_APP_KEY(name_, INTEGER, struct cfg_diffusion, member_,                             \
		    "cycles of SMs that " work_                                                \
		    " takes beside arithmetic and traffic; the GPU has gpu.sms and gpu.clock", \
		    CFG_RANGE(0, CFG_FLOPS_MAX), CFG_DEFAULT("0"))

#define DIFFUSION_BESIDE(name_, member_, work_)                                                \
	CFG_APP_KEY(name_, SIZE, struct cfg_diffusion, member_,                                \
		    "bytes of device memory that " work_                                       \
		    " moves, hidden by arithmetic and cycles: they take the memory of others", \
		    CFG_RANGE(0, CFG_BANDWIDTH_MAX), CFG_DEFAULT("0"))

static const char *const offloads[] = { "none", "encoders", "all", NULL };

static const struct cfg_key diffusion_keys[] = {
	DIFFUSION(SIZE, text_weights, 0, 16 * CFG_TIB, "bytes of the large text encoder (T5)"),
	DIFFUSION(SIZE, clip_weights, 0, 16 * CFG_TIB, "bytes of the small text encoders"),
	DIFFUSION(SIZE, denoiser_weights, 1, 16 * CFG_TIB, "bytes of the denoiser (MMDiT)"),
	DIFFUSION(SIZE, decoder_weights, 0, 16 * CFG_TIB, "bytes of the decoder (VAE)"),
	DIFFUSION(SIZE, denoiser_activation, 0, 16 * CFG_TIB,
		  "bytes touched by each layer of a denoising pass: the same ones"),
	CFG_APP_KEY("denoiser_layers", INTEGER, struct cfg_diffusion, denoiser_layers,
		    "layers of the denoiser", CFG_RANGE(1, DIFFUSION_LAYERS_MAX),
		    CFG_DEFAULT("1")),
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
	DIFFUSION_CYCLES("denoiser_cycles", denoiser_cycles, "one denoising pass"),
	DIFFUSION_CYCLES("decoder_cycles", decoder_cycles, "decoding an image"),
	DIFFUSION_BESIDE("denoiser_traffic_beside", denoiser_traffic_beside,
			 "one denoising pass"),
	DIFFUSION_BESIDE("decoder_traffic_beside", decoder_traffic_beside, "decoding an image"),
	CFG_APP_KEY("decoder_blocks", INTEGER, struct cfg_diffusion, decoder_blocks,
		    "thread blocks of the decoder's kernels with cycles, a mean by time; 0: "
		    "they fill all SMs",
		    CFG_RANGE(0, CFG_COUNT_MAX), CFG_DEFAULT("0")),
	DIFFUSION(PPM, efficiency, 1, CFG_PPM,
		  "share of gpu.flops_bf16 that its kernels reach"),
	DIFFUSION(PPM, memory_efficiency, 1, CFG_PPM,
		  "share of gpu.memory_bandwidth that its kernels reach"),
	DIFFUSION(DURATION, kernel_launch, 0, CFG_SEC,
		  "host time of a launch, on the reference host"),
	CFG_APP_KEY("graph", BOOL, struct cfg_diffusion, graph,
		    "a pass is one CUDA graph: one launch for all its kernels",
		    CFG_DEFAULT("false")),
	DIFFUSION(INTEGER, kernels_per_pass, 1, APP_KERNELS_MAX,
		  "kernels of one denoising pass"),
	DIFFUSION(INTEGER, kernels_text, 1, APP_KERNELS_MAX,
		  "kernels of one pass of the encoders"),
	DIFFUSION(INTEGER, kernels_decoder, 1, APP_KERNELS_MAX, "kernels of the decoder"),
	CFG_APP_KEY("pool", SIZE, struct cfg_diffusion, pool,
		    "bytes of activations that the first image leaves allocated; 0: as touched",
		    CFG_RANGE(0, 16 * CFG_TIB), CFG_DEFAULT("0")),
	CFG_APP_KEY("text_embeddings", SIZE, struct cfg_diffusion, text_embeddings,
		    "bytes of text_weights in tables that a prompt hardly touches",
		    CFG_RANGE(0, 16 * CFG_TIB), CFG_DEFAULT("0")),
	CFG_APP_KEY("clip_embeddings", SIZE, struct cfg_diffusion, clip_embeddings,
		    "bytes of clip_weights in tables that a prompt hardly touches",
		    CFG_RANGE(0, 16 * CFG_TIB), CFG_DEFAULT("0")),
	DIFFUSION_MATRICES("text_matrices", text_matrices, "large text encoder"),
	DIFFUSION_MATRICES("clip_matrices", clip_matrices, "small text encoders"),
	DIFFUSION(DURATION, host_per_image, 0, CFG_HOUR,
		  "host work an image, on the reference host"),
	DIFFUSION(DURATION, warmup, 0, CFG_HOUR,
		  "host work before the first image only, on the reference host"),
	CFG_APP_KEY("boot", DURATION, struct cfg_diffusion, boot,
		    "its process starts this long before the container's start",
		    CFG_RANGE(0, CFG_HOUR), CFG_DEFAULT("0s")),
	CFG_APP_KEY("warm_images", INTEGER, struct cfg_diffusion, warm_images,
		    "images that it makes before those of the results, which do not count them",
		    CFG_RANGE(0, 1000), CFG_DEFAULT("0")),
	CFG_APP_KEY("load_bandwidth", SIZE, struct cfg_diffusion, load_bandwidth,
		    "bytes/s at which weights are loaded; 0: faulted in by use",
		    CFG_RANGE(0, CFG_BANDWIDTH_MAX), CFG_DEFAULT("0")),
	CFG_APP_KEY("offload", ENUM, struct cfg_diffusion, offload,
		    "networks whose weights are prefetched to the host after each image",
		    .words = offloads, CFG_DEFAULT("none")),
};

const struct sim_app diffusion_app = {
	.keys = {
		.name = "diffusion",
		.summary = "a diffusion pipeline that makes one image after the other",
		CFG_KEYS(diffusion_keys),
		.bytes = sizeof(struct cfg_diffusion),
	},
	.report = &report_images,
	.prepare = diffusion_prepare,
	.ahead_ns = diffusion_ahead_ns,
	.run = diffusion_run,
};
