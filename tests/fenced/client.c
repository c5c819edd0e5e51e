// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * An application that uses CUDA's driver library, and knows nothing of gvmfenced:
 * client TASK [NUMBER]. It prints what it did, and waits for a line where a test has to
 * do something in between.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_calls.h"

#define COUNT	    1000u
#define CHECK(call) check(call, #call)

static const char module_text[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry add_one(.param .u64 numbers, .param .u32 count)\n{\n"
	".reg .b32 %r<3>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [numbers];\n"
	"ld.global.u32 %r1, [%rd1];\nadd.s32 %r2, %r1, 1;\nst.global.u32 [%rd1], "
	"%r2;\nret;\n}\n";
/* The address of a variable lies outside of every partition. */
static const char refused_text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
				   ".global .u32 secret;\n.visible .entry add_one()\n{\n"
				   ".reg .b64 %rd<3>;\nmov.u64 %rd1, secret;\nret;\n}\n";

/*
 * A store whose address may be one of local memory, where ptxas keeps what has no register. The
 * other kernel has local memory, and no such store. With .maxnreg ptxas spills.
 */
#define LOCAL_TEXT(registers)                                             \
	".version 8.0\n.target sm_90\n.address_size 64\n"                 \
	".visible .entry add_one(.param .u64 numbers, .param .u32 count)" \
	"{ .local .b8 own[16]; ret; }\n"                                  \
	".visible .entry poke(.param .u64 address) " registers "\n{\n"    \
	".reg .b64 %rd<3>;\nld.param.u64 %rd1, [address];\n"              \
	"st.u64 [%rd1], %rd1;\nret;\n}\n"
static const char local_text[] = LOCAL_TEXT("");
static const char spilled_text[] = LOCAL_TEXT(".maxnreg 24");

/* A store at a constant offset, which modes once and 4g may keep. */
#define OFFSET_TEXT                                            \
	".version 8.0\n.target sm_90\n.address_size 64\n"      \
	".visible .entry poke(.param .u64 address)\n{\n"       \
	".reg .b64 %%rd<3>;\nld.param.u64 %%rd1, [address];\n" \
	"st.global.u32 [%%rd1+%d], 7;\nret;\n}\n"

/* A module that writes to a variable of its own, and to no other memory. */
static const char variable_text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
				    ".global .u32 rounds;\n"
				    ".visible .entry poke(.param .u64 address)\n{\n"
				    ".reg .b32 %r<3>;\natom.global.add.u32 %r1, [rounds], 1;\n"
				    "ret;\n}\n";

static struct CUmod_st *module;
static struct CUstream_st *stream;

static void check(cu_result result, const char *what)
{
	if (result == CU_OK)
		return;
	printf("error %u: %s\n", result, what);
	exit(1);
}

static void wait_for_line(void)
{
	char line[16];

	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(2);
}

static void open_gpu(void)
{
	struct CUctx_st *context;
	int device;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, module_text));
	CHECK(cuStreamCreate(&stream, 1));
}

/* A launch of a kernel with an address and a number, or without. */
static void launch(const char *name, cu_ptr address, unsigned int value)
{
	void *parameters[] = { &address, &value };
	struct CUfunc_st *function;

	CHECK(cuModuleGetFunction(&function, module, name));
	CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

static void print_sum(cu_ptr ptr)
{
	unsigned int numbers[COUNT], sum = 0;

	CHECK(cuMemcpyDtoH_v2(numbers, ptr, sizeof(numbers)));
	for (unsigned int i = 0; i < COUNT; i++)
		sum = sum * 31 + numbers[i];
	printf("sum %u\n", sum);
}

/* What the daemon has kept on its stack, of a name, must not reach the next kernel. */
static void launch_behind_a_long_name(void)
{
	struct CUfunc_st *function;
	char name[4001], first[2000] = "";
	unsigned int second = 0;
	void *parameters[] = { first, &second };

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	if (cuModuleGetFunction(&function, module, name) != CU_SYMBOL_NOT_FOUND)
		printf("a kernel with a long name was found\n");
	CHECK(cuModuleGetFunction(&function, module, "bytes_2004"));
	CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

/* A module whose constants fill their 64 KB: NUMBER launches, and one at a neighbour's address. */
static void task_full(int number)
{
	size_t size = sizeof(module_text) + 64;
	char *text = malloc(size), *head = strstr(module_text, ".visible");
	unsigned int numbers[COUNT];
	cu_ptr ptr;

	snprintf(text, size, "%.*s.const .align 8 .b8 table[65500];\n%s",
		 (int)(head - module_text), module_text, head);
	open_gpu();
	CHECK(cuModuleUnload(module));
	CHECK(cuModuleLoadData(&module, text));
	CHECK(cuMemAlloc_v2(&ptr, sizeof(numbers)));
	for (unsigned int i = 0; i < COUNT; i++)
		numbers[i] = i;
	CHECK(cuMemcpyHtoD_v2(ptr, numbers, sizeof(numbers)));
	launch_behind_a_long_name();
	for (int i = 0; i < number; i++)
		launch("add_one", ptr, COUNT);
	print_sum(ptr);
	launch("add_one", ptr + 4 + (16ull << 20), 1);
	CHECK(cuMemcpyDtoH_v2(numbers, ptr, 8));
	printf("second %u\n", numbers[1]);
	/* One in its place has bounds of its own kind. */
	CHECK(cuModuleUnload(module));
	CHECK(cuModuleLoadData(&module, module_text));
	launch("add_one", ptr + 4 + (16ull << 20), 1);
	CHECK(cuMemcpyDtoH_v2(numbers, ptr, 8));
	printf("then %u\n", numbers[1]);
	free(text);
}

/* Every kind of call. */
static void task_all(int number)
{
	unsigned int numbers[COUNT];
	struct CUevent_st *before, *after;
	size_t free_bytes, total;
	char name[64];
	cu_ptr ptr, other;
	float ms = 0;

	open_gpu();
	CHECK(cuDeviceGetName(name, sizeof(name), 0));
	CHECK(cuMemGetInfo_v2(&free_bytes, &total));
	printf("%s: %zu of %zu\n", name, free_bytes, total);
	CHECK(cuMemAlloc_v2(&ptr, sizeof(numbers)));
	CHECK(cuMemAlloc_v2(&other, sizeof(numbers)));
	for (unsigned int i = 0; i < COUNT; i++)
		numbers[i] = i;
	CHECK(cuMemcpyHtoD_v2(ptr, numbers, sizeof(numbers)));
	CHECK(cuEventCreate(&before, 0));
	CHECK(cuEventCreate(&after, 0));
	CHECK(cuEventRecord(before, stream));
	for (int i = 0; i < number; i++)
		launch("add_one", ptr, COUNT);
	CHECK(cuEventRecord(after, stream));
	CHECK(cuStreamWaitEvent(stream, after, 0));
	CHECK(cuEventSynchronize(after));
	CHECK(cuEventElapsedTime(&ms, before, after));
	CHECK(cuMemcpyDtoD_v2(other, ptr, sizeof(numbers)));
	CHECK(cuMemsetD32_v2(ptr, 7, 10));
	CHECK(cuMemsetD8_v2(ptr + 40, 1, 40));
	CHECK(cuStreamQuery(stream));
	print_sum(other);
	print_sum(ptr);
	printf("%.1f ms\n", (double)ms);
	printf("a free of nothing %u\n", cuMemFree_v2(ptr + 256));
	CHECK(cuMemFree_v2(ptr));
	CHECK(cuMemFree_v2(other));
	CHECK(cuEventDestroy_v2(before));
	CHECK(cuStreamDestroy_v2(stream));
	CHECK(cuModuleUnload(module));
	CHECK(cuMemGetInfo_v2(&free_bytes, &total));
	printf("%zu of %zu\n", free_bytes, total);
}

/* Its own numbers: no other client may change them. */
static void task_victim(int number)
{
	cu_ptr ptr;

	open_gpu();
	CHECK(cuMemAlloc_v2(&ptr, COUNT * 4));
	CHECK(cuMemsetD32_v2(ptr, (unsigned int)number, COUNT));
	printf("at %llu\n", ptr);
	wait_for_line();
	print_sum(ptr);
}

/*
 * Stores and copies to addresses that another client has: NUMBER megabytes
 * on both sides of its own.
 */
static void task_hostile(int number)
{
	unsigned int bytes = 0x41414141, refused = 0, copies = 0;
	cu_ptr own;

	open_gpu();
	CHECK(cuMemAlloc_v2(&own, 4));
	for (long long at = -number * (1ll << 20); at < number * (1ll << 20); at += 1 << 18) {
		cu_ptr target = own + (cu_ptr)at;

		launch("poke", target, bytes);
		copies++;
		refused += cuMemcpyHtoD_v2(target, &bytes, 4) != CU_OK;
		CHECK(cuMemsetD32_v2(own, 1, 1));
	}
	printf("%u of %u copies were refused; outside %u %u %u %u\n", refused, copies,
	       cuMemcpyDtoH_v2(&bytes, own - (1ull << 40), 4),
	       cuMemcpyDtoD_v2(own, own - (1ull << 40), 4),
	       cuMemsetD8_v2(own - (1ull << 40), 0, 4), cuMemcpyDtoD_v2(own, own, ~0ull));
	printf("refused code %u\n", cuModuleLoadData(&module, refused_text));
	printf("code without PTX %u\n", cuModuleLoadData(&module, "\177ELF"));
}

/* Stores at both ends of its partition, at an offset of @number bytes that leads over them. */
static void task_beyond(int number)
{
	const cu_ptr margin = 8u << 20;
	char text[512];
	cu_ptr own;

	open_gpu();
	CHECK(cuMemAlloc_v2(&own, 4));
	snprintf(text, sizeof(text), OFFSET_TEXT, number);
	CHECK(cuModuleLoadData(&module, text));
	/* With a margin or without one, these wrap to the first and the last word. */
	launch("poke", own, 0);
	launch("poke", own - 4, 0);
	launch("poke", own - margin, 0);
	launch("poke", own - margin - 4, 0);
	CHECK(cuCtxSynchronize());
	printf("poked\n");
}

/*
 * NUMBER stores inside of its partition, as many outside of it, and all of them again after a
 * line; then the sum of what it has. @text: its module.
 */
static void task_wild(const char *text, int number)
{
	cu_ptr own;

	open_gpu();
	CHECK(cuModuleUnload(module));
	CHECK(cuModuleLoadData(&module, text));
	CHECK(cuMemAlloc_v2(&own, COUNT * 4));
	CHECK(cuMemsetD32_v2(own, 0, COUNT));
	printf("at %llu\n", own);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < number; i++)
			launch("poke", own + 4, 5);
		for (int i = 0; i < number; i++)
			launch("poke", own + (1ull << 45) + 8, 6);
		CHECK(cuCtxSynchronize());
		wait_for_line();
	}
	print_sum(own);
}

/* It has memory and work, and is killed; or its kernel never ends. */
static void task_stay(int number)
{
	cu_ptr ptr;

	open_gpu();
	CHECK(cuMemAlloc_v2(&ptr, (size_t)number << 20));
	CHECK(cuMemsetD8_v2(ptr, 0x5a, (size_t)number << 20));
	printf("at %llu\n", ptr);
	wait_for_line();
	printf("then %u\n", cuCtxSynchronize());
}

/* @before: another kernel that is launched first, and ends at once; NULL: none. */
static void task_kernel(const char *before, const char *name)
{
	open_gpu();
	if (before)
		launch(before, 0, 0);
	launch(name, 0, 0);
	printf("%s: %u\n", name, cuCtxSynchronize());
	printf("again: %u\n", cuCtxSynchronize());
}

/* Calls of the default stream after a kernel of another one. */
static void task_default_stream(void)
{
	cu_ptr ptr;

	open_gpu();
	CHECK(cuMemAlloc_v2(&ptr, 4));
	launch("spin", 0, 0);
	printf("set: %u\n", cuMemsetD32_v2(ptr, 1, 1));
	printf("again: %u\n", cuMemsetD8_v2(ptr, 1, 4));
}

static void task_local(void)
{
	open_gpu();
	printf("local stores: code %u\n", cuModuleLoadData(&module, local_text));
	printf("local stores and local memory: code %u\n",
	       cuModuleLoadData(&module, spilled_text));
}

/*
 * A module is loaded, used and unloaded NUMBER times; then one function is asked for as often.
 */
static void task_functions(int number)
{
	struct CUfunc_st *function;

	open_gpu();
	for (int i = 0; i < number; i++) {
		CHECK(cuModuleUnload(module));
		CHECK(cuModuleLoadData(&module, module_text));
		launch("add_one", 0, 0);
	}
	printf("loaded %d times\n", number);
	for (int i = 0; i < number; i++)
		CHECK(cuModuleGetFunction(&function, module, "add_one"));
	printf("asked for %d times\n", number);
}

/* Kernels with more parameters, or with more bytes of them, than a message has room for. */
static void task_parameters(void)
{
	static const char *const kernels[] = { "parameters_256", "parameters_257",
					       "bytes_4104" };
	struct CUfunc_st *function;

	open_gpu();
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		printf("%s: %u\n", kernels[i],
		       cuModuleGetFunction(&function, module, kernels[i]));
}

/* Are NUMBER megabytes of new memory zero? */
static void task_fresh(int number)
{
	size_t bytes = (size_t)number << 20, wrong = 0;
	unsigned char *seen = malloc(bytes);
	cu_ptr ptr;

	open_gpu();
	CHECK(cuMemAlloc_v2(&ptr, bytes));
	CHECK(cuMemcpyDtoH_v2(seen, ptr, bytes));
	for (size_t i = 0; i < bytes; i++)
		wrong += seen[i] != 0;
	printf("at %llu\n%zu bytes are not zero\n", ptr, wrong);
}

int main(int argc, char **argv)
{
	int number = argc > 2 ? atoi(argv[2]) : 1;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "all"))
		task_all(number);
	else if (!strcmp(argv[1], "full"))
		task_full(number);
	else if (!strcmp(argv[1], "victim"))
		task_victim(number);
	else if (!strcmp(argv[1], "local"))
		task_local();
	else if (!strcmp(argv[1], "hostile"))
		task_hostile(number);
	else if (!strcmp(argv[1], "beyond"))
		task_beyond(number);
	else if (!strcmp(argv[1], "wild"))
		task_wild(module_text, number);
	else if (!strcmp(argv[1], "variable"))
		task_wild(variable_text, number);
	else if (!strcmp(argv[1], "stay"))
		task_stay(number);
	else if (!strcmp(argv[1], "functions"))
		task_functions(number);
	else if (!strcmp(argv[1], "parameters"))
		task_parameters();
	else if (!strcmp(argv[1], "fresh"))
		task_fresh(number);
	else if (!strcmp(argv[1], "default-stream"))
		task_default_stream();
	else if (!strcmp(argv[1], "late-spin"))
		task_kernel("add_one", "spin");
	else
		task_kernel(NULL, argv[1]);
	return 0;
}
