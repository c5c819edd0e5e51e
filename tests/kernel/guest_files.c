// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Control files as files: offsets, O_NONBLOCK, a kill in the middle of a write, and writes of
 * any bytes. gvm.ko and gvm_selftest.ko are loaded, and no process is attached.
 *
 * The fuzzer writes the inputs of tests/fuzz/corpus/control, some of them damaged, and noise of
 * up to 4 KB, to every writable file. GVM_TEST_SEED draws others.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUZZ_WRITES    3000
#define FUZZ_KILLS     60
#define FUZZ_BYTES_MAX 4096
#define TEXTS_MAX      2048

static const char *const writable[] = {
	"gmem.limit.high",   "memory.limit",	 "gmem.limit.low", "hmem.limit",
	"compute.timeslice", "compute.priority", "compute.freeze",
};

#define WRITABLE (sizeof(writable) / sizeof(writable[0]))

/* The values of the corpus. */
static struct {
	char *texts[TEXTS_MAX];
	unsigned int count;
} corpus;

static int open_file(const char *name, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), GUEST_DEBUGFS "/gvm/2000/0/%s", name);
	return open(path, flags | O_CLOEXEC);
}

/* Each write is a whole value, at any offset. A value in pieces is not put together. */
static void test_offsets(void)
{
	int fd = open_file("gmem.limit.low", O_RDWR);
	char text[32] = "";

	guest_check(pwrite(fd, "4M", 2, 100) == 2, "pwrite at an offset");
	guest_check(pread(fd, text, sizeof(text), 0) == 8 && strcmp(text, "4194304\n") == 0,
		    "the written text is the value: '%s'", text);
	guest_check(pread(fd, text, sizeof(text), 8) == 0, "a read from the end: nothing");
	guest_check(pread(fd, text, sizeof(text), 1000) == 0, "a read from beyond: nothing");
	guest_check(pread(fd, text, 0, 0) == 0, "a read of nothing");
	guest_check(write(fd, "6", 1) == 1 && write(fd, "GB", 2) < 0 && errno == EINVAL,
		    "a value in pieces: the second is malformed");
	guest_check(write(fd, "", 0) < 0 && errno == EINVAL, "an empty write: EINVAL");
	guest_check(write(fd, GUEST_NO_MEMORY, 4) < 0 && errno == EFAULT,
		    "a bad pointer: EFAULT");
	guest_expect_read("gvm/2000/0/gmem.limit.low", "6\n");
	guest_expect_write("gvm/2000/0/gmem.limit.low", "0", 0);
	close(fd);
}

/* O_NONBLOCK: the limit holds at once, and no memory is taken for it. */
static void test_nonblock(void)
{
	int fd = open_file("gmem.limit.high", O_RDWR | O_NONBLOCK);
	char text[32] = "";

	guest_expect_write("gvm_selftest/charge", "2000 4", 0);
	guest_check(write(fd, "2M", 2) == 2, "a limit is lowered without waiting");
	guest_check(pread(fd, text, sizeof(text), 0) > 0 && strcmp(text, "2097152\n") == 0,
		    "it holds: '%s'", text);
	guest_expect_read("gvm/2000/0/gmem.current", "8388608\n");
	guest_expect_write("gvm_selftest/charge", "2000 1", EDQUOT);
	close(fd);
	guest_expect_write("gvm/2000/0/gmem.limit.high", "4M", 0);
	guest_expect_read("gvm/2000/0/gmem.current", "4194304\n");
	guest_expect_write("gvm/2000/0/gmem.limit.high", "max", 0);
	guest_expect_write("gvm_selftest/uncharge", "2000 2", 0);
}

/* Wait until the core has made this call of the GPU's driver. */
static void await_call(const char *call)
{
	char text[GUEST_TEXT_MAX];

	do {
		usleep(1000);
		guest_read("gvm_selftest/calls", text, sizeof(text));
	} while (!strstr(text, call));
}

static unsigned int count_evictions(void)
{
	char text[GUEST_TEXT_MAX];
	unsigned int count = 0;

	guest_read("gvm_selftest/calls", text, sizeof(text));
	for (char *at = text; (at = strstr(at, "evict")); at++)
		count++;
	return count;
}

/* D25, F10: a kill in the middle of a reclaim. The GPU finishes the chunk that is under way. */
static void test_kill(void)
{
	int status = 0;
	pid_t writer;

	guest_expect_write("gvm_selftest/charge", "2000 8", 0);
	guest_expect_write("gvm_selftest/calls", "forget", 0);
	guest_expect_write("gvm_selftest/hold", "1", 0);
	writer = fork();
	if (writer == 0)
		_exit(guest_write("gvm/2000/0/gmem.limit.high", "0"));
	await_call("evict");
	guest_expect_read("gvm/2000/0/gmem.limit.high",
			  "0\n"); /* readers do not wait for the writer */
	guest_expect_write("gvm/2000/0/gmem.limit.low", "0", 0);
	kill(writer, SIGKILL);
	guest_expect_write("gvm_selftest/hold", "0", 0);
	waitpid(writer, &status, 0);
	guest_check(WIFSIGNALED(status) && count_evictions() == 1,
		    "a killed limit write leaves the rest: %u evicted", count_evictions());
	guest_expect_read("gvm/2000/0/gmem.current", "14680064\n");
	guest_expect_write("gvm/2000/0/gmem.limit.high", "max", 0);
	guest_expect_write("gvm_selftest/uncharge", "2000 7", 0);
	guest_expect_read("gvm_selftest/check", "ok\n");
}

static pid_t start(void (*function)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		function();
		_exit(0);
	}
	return pid;
}

static void write_timeslice(void)
{
	guest_write("gvm/2000/0/compute.timeslice", "7ms");
}

static void write_freeze(void)
{
	guest_write("gvm/2000/0/compute.freeze", "1");
}

static void read_freeze(void)
{
	char text[32];

	guest_read("gvm/2000/0/compute.freeze", text, sizeof(text));
}

/* F10: a writer that waits after a slow RPC can be killed. Reads of settings do not wait. */
static void test_kill_behind_rpc(void)
{
	int status[2] = { 0 };
	pid_t slow, waiting[2];

	guest_expect_write("gvm_selftest/calls", "forget", 0);
	guest_expect_write("gvm_selftest/hold", "1", 0);
	slow = start(write_timeslice);
	await_call("timeslice");
	waiting[0] = start(write_freeze);
	waiting[1] = start(read_freeze);
	guest_expect_read("gvm/2000/0/compute.timeslice", "7000us\n");
	guest_expect_read("gvm/2000/0/compute.weight", "100\n");
	usleep(20000); /* by now both most likely wait */
	for (int i = 0; i < 2; i++) {
		kill(waiting[i], SIGKILL);
		waitpid(waiting[i], &status[i], 0);
	}
	guest_check(WIFSIGNALED(status[0]) && WIFSIGNALED(status[1]),
		    "a writer and a reader are killed behind an RPC");
	guest_check(waitpid(slow, NULL, WNOHANG) == 0, "which goes on");
	guest_expect_write("gvm_selftest/hold", "0", 0);
	waitpid(slow, NULL, 0);
	guest_expect_read("gvm/2000/0/compute.timeslice", "7000us\n");
	guest_expect_read("gvm/2000/0/compute.freeze", "0\n");
}

/*
 * F11, D20: a process detaches while a limit write is stuck in its directory. Its detach waits
 * for the write, and other processes attach and detach meanwhile.
 */
static void test_detach_waits_alone(void)
{
	pid_t writer, detacher;
	int status = 0;

	guest_expect_write("gvm/attach", "2001 0 2000", 0);
	guest_expect_write("gvm_selftest/charge", "2000 2", 0);
	guest_expect_write("gvm_selftest/calls", "forget", 0);
	guest_expect_write("gvm_selftest/hold", "1", 0);
	writer = fork();
	if (writer == 0)
		_exit(guest_write("gvm/2001/0/gmem.limit.high", "0"));
	await_call("evict");
	detacher = fork();
	if (detacher == 0)
		_exit(guest_write("gvm/detach", "2001 0"));
	while (guest_write("gvm/attach", "2001 0 2000") == EEXIST)
		usleep(1000);
	guest_expect_write("gvm/attach", "2001 0 2000", EBUSY); /* its detach waits */
	guest_expect_write("gvm/attach", "2002 0", 0);
	guest_expect_write("gvm/detach", "2002 0", 0);
	guest_check(waitpid(detacher, &status, WNOHANG) == 0, "the detach waits for the write");
	guest_expect_write("gvm_selftest/hold", "0", 0);
	waitpid(writer, &status, 0);
	guest_check(status == 0, "the write ends");
	waitpid(detacher, &status, 0);
	guest_check(status == 0, "the process leaves");
	guest_expect_read("gvm/2000/0/gmem.current", "0\n");
	guest_expect_write("gvm/2000/0/gmem.limit.high", "max", 0);
	guest_expect_read("gvm_selftest/check", "ok\n");
}

/* Fuzzing. */

/* xorshift64*; @state is not 0. */
static uint64_t draw(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

static uint64_t read_seed(void)
{
	const char *text = getenv("GVM_TEST_SEED");

	return text ? strtoull(text, NULL, 10) | 1 : 1;
}

/* Take the values of one input: the text after the "=" of each line. */
static void load_input(const char *name)
{
	char path[300], line[8192];
	FILE *file;

	snprintf(path, sizeof(path), "/corpus/%s", name);
	file = fopen(path, "re");
	while (file && corpus.count < TEXTS_MAX && fgets(line, sizeof(line), file)) {
		char *equals = strchr(line, '=');

		if (equals)
			corpus.texts[corpus.count++] = strdup(equals + 1);
	}
	if (file)
		fclose(file);
}

static void load_corpus(void)
{
	DIR *dir = opendir("/corpus");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			load_input(entry->d_name);
	if (dir)
		closedir(dir);
	guest_check(corpus.count > 50, "a corpus of %u values", corpus.count);
}

static size_t make_noise(uint64_t *state, char *bytes)
{
	size_t length = draw(state) % (FUZZ_BYTES_MAX + 1);

	for (size_t i = 0; i < length; i++)
		bytes[i] = (char)draw(state);
	return length;
}

/* A value of the corpus: unchanged, with one byte changed, or cut. */
static size_t make_value(uint64_t *state, char *bytes)
{
	const char *text = corpus.texts[draw(state) % corpus.count];
	size_t length = strnlen(text, FUZZ_BYTES_MAX);

	memcpy(bytes, text, length);
	if (length && draw(state) % 2)
		bytes[draw(state) % length] = (char)draw(state);
	if (length && draw(state) % 4 == 0)
		length = draw(state) % length;
	return length;
}

/* One write. A refused write has changed nothing. Returns whether the result is right. */
static bool fuzz_write(uint64_t *state)
{
	const char *name = writable[draw(state) % WRITABLE];
	char bytes[FUZZ_BYTES_MAX], before[64] = "", after[64] = "";
	size_t length = draw(state) % 4 ? make_value(state, bytes) : make_noise(state, bytes);
	int fd = open_file(name, O_RDWR | (draw(state) % 2 ? O_NONBLOCK : 0));
	bool ok = fd >= 0 && pread(fd, before, sizeof(before) - 1, 0) > 0;
	ssize_t got = write(fd, bytes, length);

	if (got < 0)
		ok = ok && (errno == EINVAL || errno == E2BIG) &&
		     pread(fd, after, sizeof(after) - 1, 0) > 0 && strcmp(before, after) == 0;
	else
		ok = ok && got == (ssize_t)length;
	close(fd);
	return ok;
}

/* F15 */
static void test_fuzz(uint64_t *state)
{
	unsigned int failures = 0;
	char text[64];

	for (unsigned int i = 0; i < FUZZ_WRITES; i++) {
		if (i % 16 == 0)
			guest_write("gvm_selftest/charge", "2000 3");
		if (!fuzz_write(state) && failures++ == 0)
			guest_log("the first failure is write %u", i);
		if (i % 64 == 0 && (guest_read("gvm_selftest/check", text, sizeof(text)) ||
				    strcmp(text, "ok\n") != 0))
			failures++;
	}
	guest_check(failures == 0, "%u writes of anything, %u failures", FUZZ_WRITES, failures);
	guest_expect_read("gvm_selftest/check", "ok\n");
}

/* F10: writers of any bytes, killed at any point. A writer that does not end hangs the test. */
static void test_fuzz_kills(uint64_t *state)
{
	unsigned int killed = 0;

	for (unsigned int i = 0; i < FUZZ_KILLS; i++) {
		uint64_t seed = draw(state) | 1;
		pid_t writer = fork();
		int status = 0;

		if (writer == 0) {
			for (;;)
				fuzz_write(&seed);
		}
		guest_write("gvm_selftest/charge", "2000 5");
		usleep(draw(state) % 8000);
		kill(writer, SIGKILL);
		waitpid(writer, &status, 0);
		killed += WIFSIGNALED(status);
	}
	guest_check(killed == FUZZ_KILLS, "%u of %u writers were killed", killed, FUZZ_KILLS);
	guest_expect_read("gvm_selftest/check", "ok\n");
}

/* The files of one container, which has memory and TSGs for the writes to act on. */
void guest_test_files(void)
{
	uint64_t seed = read_seed();

	guest_expect_write("gvm/attach", "2000 0", 0);
	test_offsets();
	test_nonblock();
	test_kill();
	test_detach_waits_alone();
	guest_log("GVM_TEST_SEED=%llu", (unsigned long long)seed);
	load_corpus();
	guest_expect_write("gvm_selftest/tsg_attach", "2000 1", 0);
	guest_expect_write("gvm_selftest/tsg_attach", "2000 2", 0);
	test_kill_behind_rpc();
	test_fuzz(&seed);
	test_fuzz_kills(&seed);
	guest_expect_write("gvm_selftest/tsg_detach", "2000 1", 0);
	guest_expect_write("gvm_selftest/tsg_detach", "2000 2", 0);
	guest_expect_write("gvm/2000/0/hmem.limit", "max", 0);
	guest_expect_write("gvm/2000/0/gmem.limit.high", "0", 0);
	guest_expect_read("gvm/2000/0/gmem.current", "0\n");
	guest_expect_write("gvm/detach", "2000 0", 0);
}
