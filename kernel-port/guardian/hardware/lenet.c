// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A tenant, by CUDA's driver library alone: ./lenet PTX TASK [NUMBER] [START]
 *
 *   train NUMBER    LeNet on 28 x 28 images that a formula makes, NUMBER steps of 64; prints steps a second
 *                   and a hash of all losses
 *   victim NUMBER   fills 256 MiB and compares it again and again for NUMBER seconds
 *   attack NUMBER   writes for NUMBER seconds to addresses within 64 GiB of its own
 *   spin [N]        a kernel that never ends, after N that do
 *   copies          copies and sets at all edges of its partition, which is to be all of its memory (gvmfenced
 *                   serve --mode fence). Those within it are to be served, the others refused; prints how many
 *                   were not
 *   launch NUMBER   NUMBER empty launches, the time of each
 *
 * START: a time in seconds since 1970 at which all tenants begin. Build: cc -O2
 * lenet.c -o lenet -ldl -lm
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long u64;
typedef unsigned int u32;
typedef u64 address;
typedef void *handle;

static int (*cuInit)(u32), (*cuDeviceGet)(int *, int);
static int (*cuDevicePrimaryCtxRetain)(handle *, int), (*cuCtxSetCurrent)(handle);
static int (*cuMemAlloc)(address *, size_t), (*cuMemcpyHtoD)(address, const void *, size_t);
static int (*cuMemFree)(address);
static int (*cuMemcpyDtoH)(void *, address, size_t);
static int (*cuMemcpyDtoD)(address, address, size_t), (*cuMemGetInfo)(size_t *, size_t *);
static int (*cuMemsetD8)(address, unsigned char, size_t);
static int (*cuModuleLoadData)(handle *, const void *);
static int (*cuModuleGetFunction)(handle *, handle, const char *);
static int (*cuLaunchKernel)(handle, u32, u32, u32, u32, u32, u32, u32, handle, void **,
			     void **);
static int (*cuCtxSynchronize)(void), (*cuStreamCreate)(handle *, u32);

static const struct {
	const char *name;
	void *where;
} functions[] = {
	{ "cuInit", &cuInit },
	{ "cuDeviceGet", &cuDeviceGet },
	{ "cuDevicePrimaryCtxRetain", &cuDevicePrimaryCtxRetain },
	{ "cuCtxSetCurrent", &cuCtxSetCurrent },
	{ "cuMemAlloc_v2", &cuMemAlloc },
	{ "cuMemFree_v2", &cuMemFree },
	{ "cuMemcpyHtoD_v2", &cuMemcpyHtoD },
	{ "cuMemcpyDtoH_v2", &cuMemcpyDtoH },
	{ "cuMemcpyDtoD_v2", &cuMemcpyDtoD },
	{ "cuMemGetInfo_v2", &cuMemGetInfo },
	{ "cuMemsetD8_v2", &cuMemsetD8 },
	{ "cuModuleLoadData", &cuModuleLoadData },
	{ "cuModuleGetFunction", &cuModuleGetFunction },
	{ "cuLaunchKernel", &cuLaunchKernel },
	{ "cuCtxSynchronize", &cuCtxSynchronize },
	{ "cuStreamCreate", &cuStreamCreate },
};

#define MUST(call)                                                                       \
	do {                                                                             \
		int must_status = (call);                                                \
		if (must_status) {                                                       \
			printf("%s:%d: error %d: %s\n", __FILE__, __LINE__, must_status, \
			       #call);                                                   \
			exit(1);                                                         \
		}                                                                        \
	} while (0)

#define BATCH	64
#define BATCHES 16 /* in memory; they are used in turn */
#define THREADS 128

static handle module, stream;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void open_gpu(const char *ptx)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	FILE *file = fopen(ptx, "rb");
	static char text[4 << 20];
	handle context;
	double before;
	int device;

	if (!library || !file || !fread(text, 1, sizeof(text) - 1, file)) {
		printf("%s: %s\n", ptx, library ? "cannot be read" : dlerror());
		exit(1);
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		*(void **)functions[i].where = dlsym(library, functions[i].name);
		if (!*(void **)functions[i].where) {
			printf("no %s\n", functions[i].name);
			exit(1);
		}
	}
	MUST(cuInit(0));
	MUST(cuDeviceGet(&device, 0));
	MUST(cuDevicePrimaryCtxRetain(&context, device));
	MUST(cuCtxSetCurrent(context));
	before = now();
	MUST(cuModuleLoadData(&module, text));
	printf("module loaded in %.0f ms\n", 1e3 * (now() - before));
	MUST(cuStreamCreate(&stream, 1));
}

static handle function(const char *name)
{
	handle found;

	MUST(cuModuleGetFunction(&found, module, name));
	return found;
}

static address memory(size_t bytes)
{
	address at;

	MUST(cuMemAlloc(&at, bytes));
	return at;
}

#define LAUNCH(f, blocks, ...)                                                        \
	do {                                                                          \
		void *launch_parameters[] = { __VA_ARGS__ };                          \
		MUST(cuLaunchKernel(f, (u32)(blocks), 1, 1, THREADS, 1, 1, 0, stream, \
				    launch_parameters, NULL));                        \
	} while (0)
#define BLOCKS(count) (((count) + THREADS - 1) / THREADS)

static u64 random_state = 88172645463325252ull;

static float uniform(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (float)(random_state >> 40) / (float)(1 << 24) - 0.5f;
}

/* The kernels of lenet.cu that training uses. */
static struct {
	handle conv_forward, conv_backward_w, conv_backward_in;
	handle pool_forward, pool_backward;
	handle fc_forward, fc_backward_w, fc_backward_in;
	handle softmax_loss, mean_loss, descend;
} kernels;

static void find_kernels(void)
{
	kernels.conv_forward = function("conv_forward");
	kernels.conv_backward_w = function("conv_backward_w");
	kernels.conv_backward_in = function("conv_backward_in");
	kernels.pool_forward = function("pool_forward");
	kernels.pool_backward = function("pool_backward");
	kernels.fc_forward = function("fc_forward");
	kernels.fc_backward_w = function("fc_backward_w");
	kernels.fc_backward_in = function("fc_backward_in");
	kernels.softmax_loss = function("softmax_loss");
	kernels.mean_loss = function("mean_loss");
	kernels.descend = function("descend");
}

static int batch = BATCH;

/*
 * A layer with weights. A convolution by r x r reads images of side x side in @inputs
 * planes; a full connection (fc) is one of 1 x 1 on single points. A gradient begins
 * with d: dw is that of w.
 */
struct layer {
	int inputs, outputs, side, r;
	int weights;
	address w, b, dw, db;
	address out, dout; /* of a batch */
};

static struct layer make_layer(int inputs, int outputs, int side, int r)
{
	struct layer layer = { .inputs = inputs, .outputs = outputs, .side = side, .r = r };
	size_t points = (size_t)(BATCH * outputs * (side - r + 1) * (side - r + 1));
	size_t biases = sizeof(float) * (size_t)outputs;
	float scale = 2 * sqrtf(3.0f / (float)(inputs * r * r));
	float *values;
	size_t bytes;

	layer.weights = inputs * outputs * r * r;
	bytes = sizeof(float) * (size_t)layer.weights;
	values = malloc(bytes);
	layer.w = memory(bytes);
	layer.dw = memory(bytes);
	layer.b = memory(biases);
	layer.db = memory(biases);
	layer.out = memory(sizeof(float) * points);
	layer.dout = memory(sizeof(float) * points);
	for (int i = 0; i < layer.weights; i++)
		values[i] = scale * uniform();
	MUST(cuMemcpyHtoD(layer.w, values, bytes));
	memset(values, 0, bytes);
	MUST(cuMemcpyHtoD(layer.b, values, biases));
	free(values);
	return layer;
}

/*
 * Makes squares of four one point, in all planes of a batch; @from says
 * which of the four it was.
 */
struct pool {
	int planes, side;
	address out, dout, from;
};

static struct pool make_pool(int planes, int side)
{
	struct pool pool = { .planes = BATCH * planes, .side = side };
	size_t bytes = sizeof(float) * (size_t)(BATCH * planes * side * side / 4);

	pool.out = memory(bytes);
	pool.dout = memory(bytes);
	pool.from = memory(bytes);
	return pool;
}

static void conv_forward(struct layer *l, address in)
{
	int side = l->side - l->r + 1;

	LAUNCH(kernels.conv_forward, BLOCKS(BATCH * l->outputs * side * side), &in, &l->w,
	       &l->b, &l->out, &batch, &l->inputs, &l->side, &l->outputs, &l->r);
}

static void conv_backward_w(struct layer *l, address in)
{
	LAUNCH(kernels.conv_backward_w, l->weights + l->outputs, &in, &l->dout, &l->dw, &l->db,
	       &batch, &l->inputs, &l->side, &l->outputs, &l->r);
}

static void conv_backward_in(struct layer *l, address din)
{
	LAUNCH(kernels.conv_backward_in, BLOCKS(BATCH * l->inputs * l->side * l->side),
	       &l->dout, &l->w, &din, &batch, &l->inputs, &l->side, &l->outputs, &l->r);
}

static void pool_forward(struct pool *pool, address in)
{
	LAUNCH(kernels.pool_forward, BLOCKS(pool->planes * pool->side * pool->side / 4), &in,
	       &pool->out, &pool->from, &pool->planes, &pool->side);
}

/* To the layer below. */
static void pool_backward(struct pool *pool, struct layer *below)
{
	LAUNCH(kernels.pool_backward, BLOCKS(pool->planes * pool->side * pool->side),
	       &pool->dout, &below->out, &pool->from, &below->dout, &pool->planes, &pool->side);
}

static void fc_forward(struct layer *l, address in, int relu)
{
	LAUNCH(kernels.fc_forward, BLOCKS(BATCH * l->outputs), &in, &l->w, &l->b, &l->out,
	       &batch, &l->inputs, &l->outputs, &relu);
}

/* The weights' gradient, and the gradient @din of what the layer reads. */
static void fc_backward(struct layer *l, address in, address din)
{
	LAUNCH(kernels.fc_backward_w, BLOCKS((l->inputs + 1) * l->outputs), &in, &l->dout,
	       &l->dw, &l->db, &batch, &l->inputs, &l->outputs);
	LAUNCH(kernels.fc_backward_in, BLOCKS(BATCH * l->inputs), &l->dout, &l->w, &in, &din,
	       &batch, &l->inputs, &l->outputs);
}

/* LeNet: two convolutions, a pool after each, three full connections. */
struct net {
	struct layer conv[2], fc[3];
	struct pool pool[2];
	address losses; /* of each image of a batch */
};

static struct net make_net(void)
{
	struct net net;

	net.conv[0] = make_layer(1, 6, 28, 5);
	net.conv[1] = make_layer(6, 16, 12, 5);
	net.fc[0] = make_layer(256, 120, 1, 1);
	net.fc[1] = make_layer(120, 84, 1, 1);
	net.fc[2] = make_layer(84, 10, 1, 1);
	net.pool[0] = make_pool(6, 24);
	net.pool[1] = make_pool(16, 8);
	net.losses = memory(sizeof(float) * BATCH);
	return net;
}

static void forward(struct net *net, address images)
{
	conv_forward(&net->conv[0], images);
	pool_forward(&net->pool[0], net->conv[0].out);
	conv_forward(&net->conv[1], net->pool[0].out);
	pool_forward(&net->pool[1], net->conv[1].out);
	fc_forward(&net->fc[0], net->pool[1].out, 1);
	fc_forward(&net->fc[1], net->fc[0].out, 1);
	fc_forward(&net->fc[2], net->fc[1].out, 0);
}

/* The loss of a batch: its mean goes to history[step]. */
static void find_loss(struct net *net, address labels, address history, int step)
{
	struct layer *last = &net->fc[2];

	LAUNCH(kernels.softmax_loss, 1, &last->out, &labels, &net->losses, &last->dout, &batch,
	       &last->outputs);
	LAUNCH(kernels.mean_loss, 1, &net->losses, &history, &step, &batch);
}

static void backward(struct net *net, address images)
{
	fc_backward(&net->fc[2], net->fc[1].out, net->fc[1].dout);
	fc_backward(&net->fc[1], net->fc[0].out, net->fc[0].dout);
	fc_backward(&net->fc[0], net->pool[1].out, net->pool[1].dout);
	pool_backward(&net->pool[1], &net->conv[1]);
	conv_backward_w(&net->conv[1], net->pool[0].out);
	conv_backward_in(&net->conv[1], net->pool[0].dout);
	pool_backward(&net->pool[0], &net->conv[0]);
	conv_backward_w(&net->conv[0], images);
}

static void descend(struct layer *l)
{
	float rate = 0.02f;

	LAUNCH(kernels.descend, BLOCKS(l->weights), &l->w, &l->dw, &rate, &l->weights);
	LAUNCH(kernels.descend, BLOCKS(l->outputs), &l->b, &l->db, &rate, &l->outputs);
}

/* Each digit is a pattern of stripes, with noise. */
static void make_images(address *images, address *labels)
{
	static float pixels[BATCHES * BATCH * 784];
	static int digits[BATCHES * BATCH];

	for (int n = 0; n < BATCHES * BATCH; n++) {
		int digit = n * 7 % 10;

		digits[n] = digit;
		for (int i = 0; i < 784; i++)
			pixels[n * 784 + i] =
				(float)((i / 28 * (digit % 4 + 1) + i % 28 * (digit / 4 + 1)) %
						(digit + 5) <
					2) +
				0.6f * uniform();
	}
	*images = memory(sizeof(pixels));
	*labels = memory(sizeof(digits));
	MUST(cuMemcpyHtoD(*images, pixels, sizeof(pixels)));
	MUST(cuMemcpyHtoD(*labels, digits, sizeof(digits)));
}

/* FNV-1a of the losses, which are the same bit by bit in each run. */
static u64 hash_losses(const float *losses, size_t count)
{
	u64 hash = 14695981039346656037ull;

	for (size_t i = 0; i < sizeof(*losses) * count; i++)
		hash = (hash ^ ((const unsigned char *)losses)[i]) * 1099511628211ull;
	return hash;
}

static void train(int steps, double start)
{
	int warm = 20;
	size_t all = (size_t)(steps + warm);
	float *losses = calloc(all, sizeof(float));
	address history = memory(sizeof(float) * all), images, labels;
	double began = 0, ended;
	struct net net;

	find_kernels();
	net = make_net();
	make_images(&images, &labels);
	for (int step = 0; step < steps + warm; step++) {
		u64 first = (u64)(step % BATCHES) * BATCH;
		address in = images + first * 784 * sizeof(float);

		if (step == warm) {
			MUST(cuCtxSynchronize());
			while (now() < start)
				usleep(1000);
			began = now();
		}
		forward(&net, in);
		find_loss(&net, labels + first * sizeof(int), history, step);
		backward(&net, in);
		for (int i = 0; i < 2; i++)
			descend(&net.conv[i]);
		for (int i = 0; i < 3; i++)
			descend(&net.fc[i]);
	}
	MUST(cuCtxSynchronize());
	ended = now();
	MUST(cuMemcpyDtoH(losses, history, sizeof(float) * all));
	printf("train steps %d kernels %d began %.3f ended %.3f steps/s %.1f loss %.4f to %.4f "
	       "hash %016llx\n",
	       steps, 30 * steps, began, ended, steps / (ended - began), (double)losses[0],
	       (double)losses[all - 1], hash_losses(losses, all));
	free(losses);
}

static void victim(int seconds)
{
	u64 count = (256ull << 20) / 4;
	u32 value = 0x12345678, wrong = 0, looks = 0;
	address own = memory(4 * count), sum = memory(4);
	handle compare = function("compare");
	double end = now() + seconds;

	MUST(cuMemcpyHtoD(sum, &wrong, 4));
	LAUNCH(function("fill"), 1024, &own, &value, &count);
	do {
		LAUNCH(compare, 1024, &own, &value, &count, &sum);
		MUST(cuCtxSynchronize());
		looks++;
	} while (now() < end);
	MUST(cuMemcpyDtoH(&wrong, sum, 4));
	printf("victim at 0x%llx looked %u times, words changed %u\n", own, looks, wrong);
}

static void attack(int seconds)
{
	address own = memory(1 << 20), base = own & ~((64ull << 30) - 1);
	u64 span = 64ull << 30, seed = 1, made = 0;
	handle kernel = function("attack");
	int rounds = 64;
	double end = now() + seconds;
	int status = 0;

	do {
		void *parameters[] = { &base, &span, &seed, &rounds };

		status = cuLaunchKernel(kernel, 2048, 1, 1, THREADS, 1, 1, 0, stream,
					parameters, NULL);
		if (!status)
			status = cuCtxSynchronize();
		made += 2048ull * THREADS * (u64)rounds;
		seed = seed * 3 + 1;
	} while (!status && now() < end);
	printf("attack of 0x%llx and 64 GiB: %llu writes, status %d\n", base, made, status);
}

/* A kernel that never ends, after @short_ones that do. */
static void spin(int short_ones)
{
	address stop = memory(4), stopped = memory(4);
	u32 zero = 0, one = 1;
	double began = now();
	int status;

	MUST(cuMemcpyHtoD(stop, &zero, 4));
	MUST(cuMemcpyHtoD(stopped, &one, 4));
	for (int i = 0; i < short_ones; i++)
		LAUNCH(function("spin"), 1, &stopped);
	LAUNCH(function("spin"), 1, &stop);
	printf("spinning\n");
	fflush(stdout);
	status = cuCtxSynchronize();
	printf("spin ended: status %d after %.1f s\n", status, now() - began);
}

/* Guardian 4.2.2, and what it leaves out: length 0 at the end, and lengths that wrap. */
static void copies(void)
{
	static char bytes[64];
	size_t free_bytes, size;
	address base;
	int wrong = 0, count = 0;

	MUST(cuMemGetInfo(&free_bytes, &size));
	MUST(cuMemAlloc(&base, size));
	struct {
		const char *what;
		int result, refused;
	} cases[] = {
		{ "in, first bytes", cuMemcpyHtoD(base, bytes, 64), 0 },
		{ "in, last bytes", cuMemcpyHtoD(base + size - 64, bytes, 64), 0 },
		{ "in, over the end", cuMemcpyHtoD(base + size - 63, bytes, 64), 1 },
		{ "in, behind the end", cuMemcpyHtoD(base + size, bytes, 1), 1 },
		{ "in, in front", cuMemcpyHtoD(base - 1, bytes, 1), 1 },
		{ "in, over the begin", cuMemcpyHtoD(base - 32, bytes, 64), 1 },
		{ "out, last bytes", cuMemcpyDtoH(bytes, base + size - 64, 64), 0 },
		{ "out, over the end", cuMemcpyDtoH(bytes, base + size - 63, 64), 1 },
		{ "out, in front", cuMemcpyDtoH(bytes, base - 1, 1), 1 },
		{ "out, far away", cuMemcpyDtoH(bytes, base - (1ull << 40), 64), 1 },
		{ "within", cuMemcpyDtoD(base, base + size / 2, 4096), 0 },
		{ "within, half of all", cuMemcpyDtoD(base, base + size / 2, size / 2), 0 },
		{ "within, to outside", cuMemcpyDtoD(base + size, base, 4096), 1 },
		{ "within, from outside", cuMemcpyDtoD(base, base + size, 4096), 1 },
		{ "within, from in front", cuMemcpyDtoD(base, base - 4096, 4096), 1 },
		{ "within, a length that wraps", cuMemcpyDtoD(base, base + 64, ~0ull), 1 },
		{ "set, whole partition", cuMemsetD8(base, 0, size), 0 },
		{ "set, one byte more", cuMemsetD8(base, 0, size + 1), 1 },
		{ "set, behind the end", cuMemsetD8(base + size, 0, 1), 1 },
		{ "set, length 0 at the end", cuMemsetD8(base + size, 0, 0), 0 },
		{ "set, a length that wraps", cuMemsetD8(base + 1, 0, ~0ull), 1 },
	};

	for (; count < (int)(sizeof(cases) / sizeof(*cases)); count++) {
		if ((cases[count].result != 0) == cases[count].refused)
			continue;
		wrong++;
		printf("copies: %s: %d\n", cases[count].what, cases[count].result);
	}
	printf("copies: %d of %d are wrong, partition of %zu bytes\n", wrong, count, size);
	MUST(cuMemFree(base));
}

static void launch(int number)
{
	address stop = memory(4);
	u32 ones = 1;
	handle kernel = function("spin");
	double began, queued, ended;

	MUST(cuMemcpyHtoD(stop, &ones, 4));
	for (int i = 0; i < 1000; i++)
		LAUNCH(kernel, 1, &stop);
	MUST(cuCtxSynchronize());
	began = now();
	for (int i = 0; i < number; i++)
		LAUNCH(kernel, 1, &stop);
	queued = now();
	MUST(cuCtxSynchronize());
	ended = now();
	printf("launch %d: queued in %.3f us each, ended in %.3f us each\n", number,
	       1e6 * (queued - began) / number, 1e6 * (ended - began) / number);
	began = now();
	for (int i = 0; i < 2000; i++) {
		LAUNCH(kernel, 1, &stop);
		MUST(cuCtxSynchronize());
	}
	printf("launch and wait: %.3f us each\n", 1e6 * (now() - began) / 2000);
}

int main(int argc, char **argv)
{
	int number = argc > 3 ? atoi(argv[3]) : 10;
	double start = argc > 4 ? atof(argv[4]) : 0;

	if (argc < 3)
		return 2;
	open_gpu(argv[1]);
	if (!strcmp(argv[2], "train")) {
		train(number, start);
		return 0;
	}
	while (now() < start)
		usleep(1000);
	if (!strcmp(argv[2], "victim"))
		victim(number);
	else if (!strcmp(argv[2], "attack"))
		attack(number);
	else if (!strcmp(argv[2], "spin"))
		spin(argc > 3 ? number : 0);
	else if (!strcmp(argv[2], "copies"))
		copies();
	else
		launch(number);
	return 0;
}
