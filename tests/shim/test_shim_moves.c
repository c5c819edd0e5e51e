// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Ranges that move while the application frees them, launches kernels with them and ends
 * their context: cold.c, books.c and memory.c over a driver of a few lines, under
 * AddressSanitizer and ThreadSanitizer.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "fence.h"
#include "suite.h"

#define SECOND_NS 1000000000ull

struct shim_settings shim_settings;
static _Atomic u64 now_ns = 1000 * SECOND_NS;
static _Atomic bool closing;
static struct CUctx_st *const context = (struct CUctx_st *)(uintptr_t)64;
static _Atomic int to_host, to_gpu;
static _Atomic cu_ptr moved; /* last */
static void (*in_move)(cu_ptr ptr, size_t bytes);

/* What lies beside the three files, as these tests look at it. The rest is in beside.c. */
void shim_warn(const char *fmt, ...)
{
	(void)fmt;
}

u64 shim_now_ns(void)
{
	return now_ns;
}

bool shim_closing(void)
{
	return closing;
}

u64 pinned_range(const struct shim_real *real, u64 bytes)
{
	(void)real;
	(void)bytes;
	return 0;
}

bool pinned_free(cu_ptr ptr, cu_result *ret_result)
{
	(void)ptr;
	(void)ret_result;
	return false;
}

/* The driver: memory of the host. A copy reads and writes all of it. */
static cu_result get_context(struct CUctx_st **ret_context)
{
	*ret_context = context;
	return CU_OK;
}

static cu_result get_device(int *ret_device)
{
	*ret_device = 0;
	return CU_OK;
}

static cu_result push(struct CUctx_st *pushed)
{
	return pushed == context ? CU_OK : CU_INVALID_VALUE;
}

static cu_result get_attribute(int *value, unsigned int attribute, int device)
{
	(void)attribute;
	(void)device;
	*value = 1;
	return CU_OK;
}

static cu_result total(size_t *bytes, int device)
{
	(void)device;
	*bytes = 1ull << 40;
	return CU_OK;
}

static cu_result allocate(cu_ptr *ptr, size_t bytes, unsigned int flags)
{
	(void)flags;
	*ptr = (cu_ptr)(uintptr_t)malloc(bytes);
	return *ptr ? CU_OK : CU_OUT_OF_MEMORY;
}

static cu_result release(cu_ptr ptr)
{
	free((void *)(uintptr_t)ptr);
	return CU_OK;
}

static cu_result advise(cu_ptr ptr, size_t bytes, unsigned int advice, int device)
{
	(void)ptr;
	(void)bytes;
	(void)advice;
	(void)device;
	return CU_OK;
}

static cu_result prefetch(cu_ptr ptr, size_t bytes, int device, struct CUstream_st *stream)
{
	(void)stream;
	moved = ptr;
	if (device == CU_DEVICE_CPU)
		to_host++;
	else
		to_gpu++;
	if (in_move)
		in_move(ptr, bytes);
	memset((void *)(uintptr_t)ptr, 1, bytes);
	return CU_OK;
}

static cu_result make_stream(struct CUstream_st **stream, unsigned int flags)
{
	(void)flags;
	*stream = NULL;
	return CU_OK;
}

static cu_result end_stream(struct CUstream_st *stream)
{
	(void)stream;
	return CU_OK;
}

/* One argument, a pointer. */
static cu_result parameter(struct CUfunc_st *f, size_t index, size_t *offset, size_t *size)
{
	(void)f;
	*offset = 0;
	*size = sizeof(cu_ptr);
	return index ? CU_INVALID_VALUE : CU_OK;
}

static const struct shim_real driver = {
	.cuCtxGetCurrent = get_context,
	.cuCtxGetDevice = get_device,
	.cuCtxPushCurrent_v2 = push,
	.cuCtxPopCurrent_v2 = get_context,
	.cuDeviceGetAttribute = get_attribute,
	.cuDeviceTotalMem_v2 = total,
	.cuMemAllocManaged = allocate,
	.cuMemFree_v2 = release,
	.cuMemAdvise = advise,
	.cuMemPrefetchAsync = prefetch,
	.cuStreamCreate = make_stream,
	.cuStreamSynchronize = end_stream,
	.cuStreamDestroy_v2 = end_stream,
	.cuFuncGetParamInfo = parameter,
};

const struct shim_real *shim_real(void)
{
	return &driver;
}

static void setup(void)
{
	shim_settings.managed = true;
	shim_settings.resident.all = (struct shim_size){ .given = true, .bytes = 3 << 20 };
}

static cu_ptr make(size_t bytes)
{
	cu_ptr ptr = 0;

	ck_assert_int_eq(memory_allocate(&ptr, bytes), CU_OK);
	return ptr;
}

/* A round of the worker, @ns later. */
static void round_after(u64 ns)
{
	now_ns += ns;
	cold_apply(&driver);
}

/* Launch a kernel with an argument until its range was noted: one launch in 16 is looked at. */
static void use(cu_ptr ptr)
{
	void *parameters[] = { &ptr, NULL };

	for (int i = 0; i < 64; i++)
		cold_launched(NULL, parameters, NULL);
}

static pthread_t thread;
static cu_ptr victim;

static void *free_victim(void *unused)
{
	cuMemFree_v2(victim);
	return unused;
}

/* The copy has begun. It takes a while, in which the application frees what is copied. */
static void free_meanwhile(cu_ptr ptr, size_t bytes)
{
	(void)bytes;
	if (victim)
		return;
	victim = ptr;
	ck_assert_int_eq(pthread_create(&thread, NULL, free_victim, NULL), 0);
	usleep(20000);
}

/* Without a wait the copy writes into freed memory, which AddressSanitizer reports. */
START_TEST(a_free_waits_for_the_copy)
{
	for (int i = 0; i < 4; i++)
		make(1 << 20);
	in_move = free_meanwhile;
	round_after(SECOND_NS);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(to_host, 1);
	ck_assert_uint_eq(books_used(0), 3 << 20);
	round_after(SECOND_NS);
	ck_assert_uint_eq(cold_host_bytes(0), 0);
}
END_TEST

static void *end_context(void *unused)
{
	cold_stop();
	free((void *)(uintptr_t)victim);
	books_forget_context(context);
	cold_go_on();
	return unused;
}

static void end_meanwhile(cu_ptr ptr, size_t bytes)
{
	(void)bytes;
	victim = ptr;
	ck_assert_int_eq(pthread_create(&thread, NULL, end_context, NULL), 0);
	usleep(20000);
}

START_TEST(the_end_of_a_context_waits_for_the_copy)
{
	for (int i = 0; i < 4; i++)
		make(1 << 20);
	in_move = end_meanwhile;
	round_after(SECOND_NS);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(to_host, 1);
	ck_assert_uint_eq(books_used(0), 0);
}
END_TEST

static void free_it_here(cu_ptr ptr, size_t bytes)
{
	struct shim_allocation freed;

	(void)bytes;
	books_remove(ptr, &freed);
}

/* Of 256 MiB the first piece goes. Then it has been freed, and the next one is not touched. */
START_TEST(a_freed_range_is_not_moved_on)
{
	make(1 << 20);
	make(256 << 20);
	in_move = free_it_here;
	round_after(SECOND_NS);
	ck_assert_int_eq(to_host, 1);
}
END_TEST

static void end_now(cu_ptr ptr, size_t bytes)
{
	(void)ptr;
	ck_assert_uint_le(bytes, 64 << 20);
	closing = true;
}

/* The process's exit waits half a second for the worker. */
START_TEST(the_end_waits_for_one_piece)
{
	for (int i = 0; i < 4; i++)
		make(128 << 20);
	in_move = end_now;
	round_after(SECOND_NS);
	ck_assert_int_eq(to_host, 1);
}
END_TEST

static cu_ptr blocks[5];

static void use_the_next(cu_ptr ptr, size_t bytes)
{
	(void)bytes;
	for (int i = 0; i < 3; i++)
		if (blocks[i] != ptr)
			use(blocks[i]);
}

/* Three of 1 MiB are cold, and one of 2 MiB on the host is used: two make room for it. */
static void make_exchange(void)
{
	for (int i = 0; i < 3; i++)
		blocks[i] = make(1 << 20);
	blocks[3] = make(2 << 20);
	round_after(SECOND_NS); /* the last to be allocated goes */
	ck_assert_int_eq(to_host, 1);
	ck_assert_uint_eq(moved, blocks[3]);
	now_ns += 5 * SECOND_NS;
	use(blocks[3]);
}

START_TEST(a_hot_range_takes_the_place_of_cold_ones)
{
	make_exchange();
	round_after(SECOND_NS);
	ck_assert_int_eq(to_host, 3);
	ck_assert_int_eq(to_gpu, 1);
	ck_assert_uint_eq(cold_host_bytes(0), 2 << 20);
}
END_TEST

/* When the first of them has gone, the others are used: they stay. */
START_TEST(a_range_that_is_used_meanwhile_stays)
{
	make_exchange();
	in_move = use_the_next;
	round_after(SECOND_NS);
	ck_assert_int_eq(to_host, 2);
	ck_assert_int_eq(to_gpu, 0);
}
END_TEST

/*
 * Frees after the sum was taken leave less on the GPU than is moved away:
 * no sum goes below zero.
 */
static void free_all_others(cu_ptr ptr, size_t bytes)
{
	struct shim_allocation freed;

	(void)bytes;
	for (int i = 0; i < 4; i++)
		if (blocks[i] != ptr)
			books_remove(blocks[i], &freed);
}

START_TEST(frees_during_an_exchange_do_no_harm)
{
	make_exchange();
	in_move = free_all_others;
	round_after(SECOND_NS);
	in_move = NULL;
	for (int i = 0; i < 3; i++)
		round_after(SECOND_NS);
	ck_assert_uint_eq(books_used(0), 1 << 20);
	ck_assert_uint_eq(cold_host_bytes(0), 0);
}
END_TEST

static _Atomic bool stop;

static void *rounds(void *unused)
{
	while (!stop)
		round_after(SECOND_NS / 2);
	return unused;
}

/* For ThreadSanitizer: allocations, launches, frees and contexts that go, beside the worker. */
START_TEST(launches_and_frees_race_with_moves)
{
	pthread_t worker;

	ck_assert_int_eq(pthread_create(&worker, NULL, rounds, NULL), 0);
	for (int i = 0; i < 500; i++) {
		cu_ptr *block = &blocks[i % 5];

		if (*block)
			ck_assert_int_eq(cuMemFree_v2(*block), CU_OK);
		*block = make((size_t)(1 + i % 3) << 20);
		use(blocks[(i + 2) % 5]);
		if (i % 100)
			continue;
		cold_stop();
		for (int j = 0; j < 5; j++)
			free((void *)(uintptr_t)blocks[j]);
		memset(blocks, 0, sizeof(blocks));
		books_forget_context(context);
		cold_go_on();
	}
	stop = true;
	ck_assert_int_eq(pthread_join(worker, NULL), 0);
	ck_assert_int_gt(to_host, 0);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_free_waits_for_the_copy);
	tcase_add_test(tests, the_end_of_a_context_waits_for_the_copy);
	tcase_add_test(tests, a_freed_range_is_not_moved_on);
	tcase_add_test(tests, the_end_waits_for_one_piece);
	tcase_add_test(tests, a_hot_range_takes_the_place_of_cold_ones);
	tcase_add_test(tests, a_range_that_is_used_meanwhile_stays);
	tcase_add_test(tests, frees_during_an_exchange_do_no_harm);
	tcase_add_test(tests, launches_and_frees_race_with_moves);
}

int main(void)
{
	return suite_run("shim_moves", setup, NULL, add_tests);
}
