// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A tenant, by CUDA's driver library alone: ./lenet PTX TASK [NUMBER] [START]
 *
 *   train NUMBER    LeNet on 28 x 28 images that a formula makes, NUMBER steps of 64; prints steps a second
 *                   and a hash of all losses
 *   victim NUMBER   fills 256 MiB and compares it again and again for NUMBER seconds
 *   attack NUMBER   writes for NUMBER seconds to addresses within 64 GiB of its own
 *   spin            a kernel that never ends
 *   launch NUMBER   NUMBER empty launches, the time of each
 *
 * START: a time in seconds since 1970 at which all tenants begin. Build: cc -O2 lenet.c -o lenet -ldl -lm
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

/* A layer with weights: w, b, their gradients. */
struct layer {
	int weights, biases;
	address w, b, dw, db;
};

static struct layer make_layer(int inputs, int outputs, int r)
{
	struct layer layer = { inputs * outputs * r * r, outputs, 0, 0, 0, 0 };
	size_t bytes = sizeof(float) * (size_t)layer.weights;
	float *values = malloc(bytes), scale = 2 * sqrtf(3.0f / (float)(inputs * r * r));

	layer.w = memory(bytes);
	layer.dw = memory(bytes);
	layer.b = memory(sizeof(float) * (size_t)outputs);
	layer.db = memory(sizeof(float) * (size_t)outputs);
	for (int i = 0; i < layer.weights; i++)
		values[i] = scale * uniform();
	MUST(cuMemcpyHtoD(layer.w, values, bytes));
	memset(values, 0, bytes);
	MUST(cuMemcpyHtoD(layer.b, values, sizeof(float) * (size_t)outputs));
	free(values);
	return layer;
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

static void train(int steps, double start)
{
	handle conv = function("conv_forward"), conv_w = function("conv_backward_w");
	handle conv_in = function("conv_backward_in"), pool = function("pool_forward");
	handle unpool = function("pool_backward"), fc = function("fc_forward");
	handle fc_w = function("fc_backward_w"), fc_in = function("fc_backward_in");
	handle loss = function("softmax_loss"), mean = function("mean_loss");
	handle descend = function("descend");
	struct layer layers[5] = { make_layer(1, 6, 5), make_layer(6, 16, 5),
				   make_layer(256, 120, 1), make_layer(120, 84, 1),
				   make_layer(84, 10, 1) };
	struct layer *l = layers;
	int one = 1, zero = 0, batch = BATCH, six = 6, sixteen = 16, r = 5;
	int s28 = 28, s24 = 24, s12 = 12, s8 = 8, c256 = 256, c120 = 120, c84 = 84, c10 = 10;
	int planes1 = 6 * BATCH, planes2 = 16 * BATCH, warm = 20;
	size_t f = sizeof(float) * BATCH;
	address a1 = memory(f * 6 * 576), p1 = memory(f * 6 * 144), i1 = memory(f * 6 * 144);
	address a2 = memory(f * 16 * 64), p2 = memory(f * 256), i2 = memory(f * 256);
	address a3 = memory(f * 120), a4 = memory(f * 84), a5 = memory(f * 10);
	address da1 = memory(f * 6 * 576), dp1 = memory(f * 6 * 144), da2 = memory(f * 16 * 64);
	address dp2 = memory(f * 256), da3 = memory(f * 120), da4 = memory(f * 84);
	address da5 = memory(f * 10), losses = memory(f);
	address history = memory(sizeof(float) * (size_t)(steps + warm)), images, labels;
	float rate = 0.02f, *curve = calloc((size_t)(steps + warm), sizeof(float));
	u64 hash = 14695981039346656037ull;
	double began = 0, ended;

	make_images(&images, &labels);
	for (int step = 0; step < steps + warm; step++) {
		address in = images + (u64)(step % BATCHES) * f * 784;
		address want = labels + (u64)(step % BATCHES) * BATCH * sizeof(int);

		if (step == warm) {
			MUST(cuCtxSynchronize());
			while (now() < start)
				usleep(1000);
			began = now();
		}
		LAUNCH(conv, BLOCKS(BATCH * 6 * 576), &in, &l[0].w, &l[0].b, &a1, &batch, &one,
		       &s28, &six, &r);
		LAUNCH(pool, BLOCKS(BATCH * 6 * 144), &a1, &p1, &i1, &planes1, &s24);
		LAUNCH(conv, BLOCKS(BATCH * 16 * 64), &p1, &l[1].w, &l[1].b, &a2, &batch, &six,
		       &s12, &sixteen, &r);
		LAUNCH(pool, BLOCKS(BATCH * 256), &a2, &p2, &i2, &planes2, &s8);
		LAUNCH(fc, BLOCKS(BATCH * 120), &p2, &l[2].w, &l[2].b, &a3, &batch, &c256,
		       &c120, &one);
		LAUNCH(fc, BLOCKS(BATCH * 84), &a3, &l[3].w, &l[3].b, &a4, &batch, &c120, &c84,
		       &one);
		LAUNCH(fc, BLOCKS(BATCH * 10), &a4, &l[4].w, &l[4].b, &a5, &batch, &c84, &c10,
		       &zero);
		LAUNCH(loss, 1, &a5, &want, &losses, &da5, &batch, &c10);
		LAUNCH(mean, 1, &losses, &history, &step, &batch);
		LAUNCH(fc_w, BLOCKS(85 * 10), &a4, &da5, &l[4].dw, &l[4].db, &batch, &c84,
		       &c10);
		LAUNCH(fc_in, BLOCKS(BATCH * 84), &da5, &l[4].w, &a4, &da4, &batch, &c84, &c10);
		LAUNCH(fc_w, BLOCKS(121 * 84), &a3, &da4, &l[3].dw, &l[3].db, &batch, &c120,
		       &c84);
		LAUNCH(fc_in, BLOCKS(BATCH * 120), &da4, &l[3].w, &a3, &da3, &batch, &c120,
		       &c84);
		LAUNCH(fc_w, BLOCKS(257 * 120), &p2, &da3, &l[2].dw, &l[2].db, &batch, &c256,
		       &c120);
		LAUNCH(fc_in, BLOCKS(BATCH * 256), &da3, &l[2].w, &p2, &dp2, &batch, &c256,
		       &c120);
		LAUNCH(unpool, BLOCKS(BATCH * 16 * 64), &dp2, &a2, &i2, &da2, &planes2, &s8);
		LAUNCH(conv_w, l[1].weights + 16, &p1, &da2, &l[1].dw, &l[1].db, &batch, &six,
		       &s12, &sixteen, &r);
		LAUNCH(conv_in, BLOCKS(BATCH * 6 * 144), &da2, &l[1].w, &dp1, &batch, &six,
		       &s12, &sixteen, &r);
		LAUNCH(unpool, BLOCKS(BATCH * 6 * 576), &dp1, &a1, &i1, &da1, &planes1, &s24);
		LAUNCH(conv_w, l[0].weights + 6, &in, &da1, &l[0].dw, &l[0].db, &batch, &one,
		       &s28, &six, &r);
		for (int i = 0; i < 5; i++) {
			LAUNCH(descend, BLOCKS(l[i].weights), &l[i].w, &l[i].dw, &rate,
			       &l[i].weights);
			LAUNCH(descend, BLOCKS(l[i].biases), &l[i].b, &l[i].db, &rate,
			       &l[i].biases);
		}
	}
	MUST(cuCtxSynchronize());
	ended = now();
	MUST(cuMemcpyDtoH(curve, history, sizeof(float) * (size_t)(steps + warm)));
	for (size_t i = 0; i < sizeof(float) * (size_t)(steps + warm); i++)
		hash = (hash ^ ((unsigned char *)curve)[i]) * 1099511628211ull;
	printf("train steps %d kernels %d began %.3f ended %.3f steps/s %.1f loss %.4f to %.4f "
	       "hash %016llx\n",
	       steps, 30 * steps, began, ended, steps / (ended - began), (double)curve[0],
	       (double)curve[steps + warm - 1], hash);
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

static void spin(void)
{
	address stop = memory(4);
	u32 zero = 0;
	double began = now();
	int status;

	MUST(cuMemcpyHtoD(stop, &zero, 4));
	LAUNCH(function("spin"), 1, &stop);
	printf("spinning\n");
	fflush(stdout);
	status = cuCtxSynchronize();
	printf("spin ended: status %d after %.1f s\n", status, now() - began);
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
		spin();
	else
		launch(number);
	return 0;
}
