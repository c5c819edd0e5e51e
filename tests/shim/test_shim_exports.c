// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Memory that is exported, opened, moved and freed by several threads at once, and by a second
 * process: ipc.c, pinned.c, passing.c and what they stand on, over the tests' driver library,
 * under AddressSanitizer and ThreadSanitizer.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "fence.h"
#include "suite.h"

#define SECOND_NS 1000000000ull
#define MIB	  (1ull << 20)

struct CUipcMemHandle_st {
	unsigned char bytes[64];
};

/* What a process hands to another one, and what that says. */
struct message {
	struct CUipcMemHandle_st handle;
	unsigned int first; /* word of the memory */
};

struct shim_settings shim_settings;
static struct shim_real driver;
static struct CUctx_st *context;
static _Atomic u64 now_ns = 1000 * SECOND_NS;
static u64 step_ns; /* that pass with each look at the clock */
static char warned[1024];
static _Atomic bool stop;

/* What lies beside the files, as these tests look at it. The rest is in beside.c. */
void shim_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(warned, sizeof(warned), fmt, args);
	va_end(args);
}

void shim_die(const char *fmt, ...)
{
	(void)fmt;
	abort();
}

u64 shim_now_ns(void)
{
	now_ns += step_ns;
	return now_ns;
}

bool shim_closing(void)
{
	return false;
}

void shim_wake(void)
{
}

bool shim_lost(void)
{
	return false;
}

const struct shim_real *shim_real(void)
{
	return &driver;
}

static void open_driver(void)
{
	void *library = dlopen(DRIVER "/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	cu_result (*init)(unsigned int flags);

	ck_assert_msg(library, "%s", dlerror());
#define FIND(name, ...) driver.name = (__typeof__(driver.name))dlsym(library, #name);
	SHIM_HOOKED(FIND)
	SHIM_MADE(FIND)
#undef FIND
	init = (cu_result(*)(unsigned int))dlsym(library, "cuInit");
	ck_assert_int_eq(init(0), CU_OK);
	ck_assert_int_eq(driver.cuDevicePrimaryCtxRetain(&context, 0), CU_OK);
}

/* Each thread that makes calls has the context current. */
static void use_context(void)
{
	ck_assert_int_eq(driver.cuCtxPushCurrent_v2(context), CU_OK);
}

static void setup(void)
{
	shim_settings.managed = true;
	shim_settings.fence = SHIM_NO_FENCE;
	held_init();
	open_driver();
	use_context();
}

/* The worker: it answers, and keeps ranges on the host. */
static void *work(void *unused)
{
	use_context();
	while (!stop) {
		struct pollfd wait = { .fd = passing_fd(), .events = POLLIN };

		if (poll(&wait, 1, 1) > 0)
			passing_serve();
		now_ns += SECOND_NS / 2;
		cold_apply(&driver);
	}
	return unused;
}

/*
 * Another process. It opens each handle that comes, and answers with what the call said and
 * the memory's first word; then it changes that.
 */
static void open_all(int from, int to)
{
	struct message message;

	while (read(from, &message, sizeof(message)) == sizeof(message)) {
		cu_result answer[2] = { 0 };
		cu_ptr ptr = 0, again = 0;

		answer[0] = cuIpcOpenMemHandle_v2(&ptr, message.handle, CU_IPC_PEER);
		if (answer[0] == CU_OK) {
			unsigned int *words = (unsigned int *)(uintptr_t)ptr;

			answer[1] = words[0];
			words[1] = ~words[0];
			if (cuIpcOpenMemHandle(&again, message.handle, CU_IPC_PEER) != CU_OK ||
			    again != ptr || cuIpcCloseMemHandle(ptr) != CU_OK ||
			    cuIpcCloseMemHandle(ptr) != CU_OK ||
			    cuIpcCloseMemHandle(ptr) == CU_OK)
				answer[0] = 99;
		}
		if (write(to, answer, sizeof(answer)) != sizeof(answer))
			break;
	}
}

struct other {
	pid_t pid;
	int to, from;
};

/* Before the first thread, and before this process has exported anything. */
static struct other start_other(void)
{
	int there[2], back[2];
	struct other other;

	ck_assert_int_eq(pipe(there) | pipe(back), 0);
	other.pid = fork();
	if (!other.pid) {
		close(there[1]);
		open_all(there[0], back[1]);
		_exit(0);
	}
	close(there[0]);
	close(back[1]);
	other.to = there[1];
	other.from = back[0];
	return other;
}

/* A later one has the pipes of the earlier ones, too: all are closed before one is awaited. */
static void end_others(const struct other *others, int count)
{
	int status;

	for (int i = 0; i < count; i++)
		close(others[i].to);
	for (int i = 0; i < count; i++) {
		ck_assert_int_eq(waitpid(others[i].pid, &status, 0), others[i].pid);
		ck_assert_int_eq(status, 0);
		close(others[i].from);
	}
}

static unsigned int *words_at(cu_ptr ptr)
{
	return (unsigned int *)(uintptr_t)ptr;
}

static struct other openers[3];

/* Memory of several sizes: it is filled, exported, changed by another process, read and freed. */
static void *export_again_and_again(void *argument)
{
	const struct other *other = argument;

	use_context();
	for (unsigned int i = 0; i < 20; i++) {
		size_t bytes = (2 + i % 3) * MIB;
		struct message message = { .first = 1000 * i + 7 };
		unsigned int answer[2], *words;
		cu_ptr ptr;

		ck_assert_int_eq(memory_allocate(&ptr, bytes), CU_OK);
		words = words_at(ptr);
		words[0] = message.first;
		words[bytes / 4 - 1] = ~i;
		ck_assert_int_eq(cuIpcGetMemHandle(&message.handle, ptr), CU_OK);
		if (i % 4 == 3)
			ck_assert_int_eq(cuMemFree_v2(ptr), CU_OK);
		ck_assert_int_eq(write(other->to, &message, sizeof(message)), sizeof(message));
		ck_assert_int_eq(read(other->from, answer, sizeof(answer)), sizeof(answer));
		if (i % 4 == 3) {
			ck_assert_int_eq(answer[0], CU_INVALID_HANDLE);
			continue;
		}
		ck_assert_int_eq(answer[0], CU_OK);
		ck_assert_int_eq(answer[1], message.first);
		ck_assert_int_eq(words[1], ~message.first);
		ck_assert_int_eq(words[bytes / 4 - 1], ~i);
		ck_assert_int_eq(cuMemFree_v2(ptr), CU_OK);
	}
	return NULL;
}

/* Allocations that take addresses, and questions about pointers, beside exports. */
static void *allocate_again_and_again(void *unused)
{
	use_context();
	while (!stop) {
		size_t size = 0;
		cu_ptr ptr;

		ck_assert_int_eq(memory_allocate(&ptr, 5 * MIB), CU_OK);
		ck_assert_int_eq(cuPointerGetAttribute(&size, CU_POINTER_SIZE, ptr + 8), CU_OK);
		ck_assert_uint_eq(size, 5 * MIB);
		ck_assert_int_eq(cuMemFree_v2(ptr), CU_OK);
	}
	return unused;
}

/* What other threads of a program do with addresses. */
static void *map_again_and_again(void *unused)
{
	void *maps[16];

	while (!stop) {
		for (size_t i = 0; i < 16; i++)
			maps[i] = mmap(NULL, (4 * i + 4) * MIB, PROT_NONE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		for (size_t i = 0; i < 16; i++)
			munmap(maps[i], (4 * i + 4) * MIB);
	}
	return unused;
}

START_TEST(exports_race_with_moves_frees_and_openings)
{
	pthread_t exporters[3], worker, allocator, mapper;

	shim_settings.resident.all = (struct shim_size){ .given = true, .bytes = 3 * MIB };
	for (int i = 0; i < 3; i++)
		openers[i] = start_other();
	ck_assert_int_eq(pthread_create(&worker, NULL, work, NULL), 0);
	ck_assert_int_eq(pthread_create(&allocator, NULL, allocate_again_and_again, NULL), 0);
	ck_assert_int_eq(pthread_create(&mapper, NULL, map_again_and_again, NULL), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&exporters[i], NULL, export_again_and_again,
						&openers[i]),
				 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_join(exporters[i], NULL), 0);
	stop = true;
	ck_assert_int_eq(pthread_join(worker, NULL), 0);
	ck_assert_int_eq(pthread_join(allocator, NULL), 0);
	ck_assert_int_eq(pthread_join(mapper, NULL), 0);
	end_others(openers, 3);
	ck_assert_uint_eq(books_used(0), 0);
	passing_close();
}
END_TEST

static cu_result (*free_in_driver)(cu_ptr ptr);
static cu_ptr freed;

/* The ways of another thread to addresses: by name, from the driver, by a wish. */
static void *take_addresses(void *unused)
{
	void *there = mmap((void *)(uintptr_t)freed, 4096, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	cu_ptr taken = 0, wished = 0;

	ck_assert_ptr_eq(there, MAP_FAILED);
	ck_assert_int_eq(errno, EEXIST);
	use_context();
	ck_assert_int_eq(memory_allocate(&taken, 5 * MIB), CU_OK);
	ck_assert_uint_ne(taken, freed);
	ck_assert_int_eq(driver.cuMemAddressReserve(&wished, 64 * MIB, 0, freed, 0), CU_OK);
	ck_assert_uint_ne(wished, freed);
	return unused;
}

/* The managed memory is free, and its addresses are not reserved yet. */
static cu_result free_and_lag(cu_ptr ptr)
{
	cu_result result = free_in_driver(ptr);
	pthread_t thread;

	if (ptr != freed)
		return result;
	ck_assert_int_eq(pthread_create(&thread, NULL, take_addresses, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	return result;
}

START_TEST(nobody_takes_the_addresses_meanwhile)
{
	struct CUipcMemHandle_st handle;

	free_in_driver = driver.cuMemFree_v2;
	ck_assert_int_eq(memory_allocate(&freed, 4 * MIB), CU_OK);
	words_at(freed)[9] = 9;
	driver.cuMemFree_v2 = free_and_lag;
	ck_assert_int_eq(cuIpcGetMemHandle(&handle, freed), CU_OK);
	ck_assert_uint_eq(words_at(freed)[9], 9);
	passing_close();
}
END_TEST

/* A library that is loaded later leads the driver's calls past the shim: it is noticed. */
START_TEST(each_export_looks_whether_addresses_can_be_held)
{
	struct CUipcMemHandle_st handle;
	cu_ptr ptr;

	for (unsigned int i = 0; i < 4; i++) {
		ck_assert_int_eq(memory_allocate(&ptr, (2 + i) * MIB), CU_OK);
		words_at(ptr)[i] = i;
		setenv("FAKE_SYSTEM_CALLS", "1", 1);
		if (!(i % 2))
			unsetenv("FAKE_SYSTEM_CALLS");
		ck_assert_int_eq(cuIpcGetMemHandle(&handle, ptr),
				 i % 2 ? CU_INVALID_VALUE : CU_OK);
		ck_assert_uint_eq(words_at(ptr)[i], i);
		ck_assert_int_eq(cuMemFree_v2(ptr), CU_OK);
	}
	ck_assert_ptr_nonnull(strstr(warned, "by the C library's munmap()"));
	passing_close();
}
END_TEST

static void round_later(void)
{
	now_ns += SECOND_NS;
	cold_apply(&driver);
}

/* All ranges but the exported one go; one on the host comes back as it is exported. */
START_TEST(exported_memory_is_not_moved)
{
	struct CUipcMemHandle_st handle;
	cu_ptr ptrs[4];

	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(memory_allocate(&ptrs[i], 2 * MIB), CU_OK);
		memset(words_at(ptrs[i]), i + 1, 2 * MIB);
	}
	ck_assert_int_eq(cuIpcGetMemHandle(&handle, ptrs[3]), CU_OK);
	shim_settings.resident.all = (struct shim_size){ .given = true, .bytes = MIB };
	round_later();
	ck_assert_uint_eq(cold_host_bytes(0), 6 * MIB);
	ck_assert_int_eq(cuIpcGetMemHandle(&handle, ptrs[0]), CU_OK);
	round_later();
	ck_assert_uint_eq(cold_host_bytes(0), 4 * MIB);
	ck_assert_uint_eq(books_used(0), 8 * MIB);
	for (int i = 0; i < 4; i++) {
		ck_assert_uint_eq(words_at(ptrs[i])[100], 0x01010101u * (unsigned int)(i + 1));
		ck_assert_int_eq(cuMemFree_v2(ptrs[i]), CU_OK);
	}
	ck_assert_uint_eq(books_used(0), 0);
	passing_close();
}
END_TEST

/* Its socket is there, and no thread reads it: the opener gives up, by a clock that runs fast. */
START_TEST(an_opener_does_not_wait_for_ever)
{
	struct CUipcMemHandle_st handle;
	int status;
	cu_ptr ptr;

	ck_assert_int_eq(memory_allocate(&ptr, 2 * MIB), CU_OK);
	ck_assert_int_eq(cuIpcGetMemHandle(&handle, ptr), CU_OK);
	if (!fork()) {
		pinned_reset();
		ipc_reset();
		passing_reset();
		step_ns = SECOND_NS;
		_exit(cuIpcOpenMemHandle_v2(&ptr, handle, CU_IPC_PEER) == CU_MAP_FAILED &&
				      strstr(warned, "does not answer") ?
			      0 :
			      1);
	}
	wait(&status);
	ck_assert_int_eq(status, 0);
	passing_close();
}
END_TEST

/* The socket of a process that has exported something is made again, with the same name. */
START_TEST(a_closed_socket_is_made_again)
{
	struct other other = start_other();
	struct message message;
	unsigned int answer[2];
	pthread_t worker;
	cu_ptr ptr;

	ck_assert_int_eq(memory_allocate(&ptr, 2 * MIB), CU_OK);
	words_at(ptr)[0] = 77;
	ck_assert_int_eq(cuIpcGetMemHandle(&message.handle, ptr), CU_OK);
	close(passing_fd());
	ck_assert_int_eq(passing_fd(), -1);
	ck_assert_int_eq(cuIpcGetMemHandle(&message.handle, ptr), CU_OK);
	ck_assert_int_eq(pthread_create(&worker, NULL, work, NULL), 0);
	ck_assert_int_eq(write(other.to, &message, sizeof(message)), sizeof(message));
	ck_assert_int_eq(read(other.from, answer, sizeof(answer)), sizeof(answer));
	ck_assert_int_eq(answer[0], CU_OK);
	ck_assert_int_eq(answer[1], 77);
	stop = true;
	ck_assert_int_eq(pthread_join(worker, NULL), 0);
	end_others(&other, 1);
	passing_close();
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, exports_race_with_moves_frees_and_openings);
	tcase_add_test(tests, nobody_takes_the_addresses_meanwhile);
	tcase_add_test(tests, each_export_looks_whether_addresses_can_be_held);
	tcase_add_test(tests, exported_memory_is_not_moved);
	tcase_add_test(tests, an_opener_does_not_wait_for_ever);
	tcase_add_test(tests, a_closed_socket_is_made_again);
}

int main(void)
{
	return suite_run("shim_exports", setup, NULL, add_tests);
}
