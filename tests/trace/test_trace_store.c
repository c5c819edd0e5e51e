// SPDX-License-Identifier: MIT OR GPL-2.0
/* Long traces lie in a file, and do not fill the memory. */
#include "trace/trace_store.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/error.h"
#include "suite.h"
#include "trace/trace.h"
#include "trace/trace_arrivals.h"

#define MILLION 1000000

/* Resident memory in bytes: pages of files, and others. */
struct resident {
	size_t file, other;
};

static struct resident resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t all = 0, pages = 0, shared = 0, bytes = (size_t)sysconf(_SC_PAGESIZE);

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%zu %zu %zu", &all, &pages, &shared), 3);
	fclose(file);
	return (struct resident){ .file = shared * bytes, .other = (pages - shared) * bytes };
}

static void keep_most(struct resident *most)
{
	struct resident now = resident();

	most->file = now.file > most->file ? now.file : most->file;
	most->other = now.other > most->other ? now.other : most->other;
}

static void fill(struct trace *trace, const char *folder, size_t count)
{
	struct sim_error err = { 0 };
	int status = 0;

	/* No ck_assert in loops: each one costs a system call. */
	trace_init(trace);
	trace->store.folder = folder;
	for (size_t i = 0; i < count; i++) {
		struct trace_request request = { .arrival_ns = i * 1000,
						 .prompt_tokens = (u32)i % 1000 + 1,
						 .response_tokens = { 1, 2 } };

		status |= trace_append(trace, &request, &err);
	}
	ck_assert_int_eq(status, 0);
}

/*
 * The most memory that filling a trace, drawing its arrivals and reading it
 * takes above what there was.
 */
static struct resident memory_of(const char *folder, size_t count)
{
	struct resident before = resident(), most = before;
	struct sim_error err = { 0 };
	size_t wrong = 0;
	struct trace trace;
	u64 last_ns = 0;

	fill(&trace, folder, count);
	keep_most(&most);
	ck_assert_int_eq(trace_arrive(&trace, TRACE_ARRIVALS_POISSON, 0, 0, 1, &err), 0);
	keep_most(&most);
	for (size_t i = 0; i < count; i++) {
		trace_pass(&trace, i);
		wrong += trace.requests[i].prompt_tokens != i % 1000 + 1 ||
			 trace.requests[i].arrival_ns < last_ns;
		last_ns = trace.requests[i].arrival_ns;
		if (i % (MILLION / 8) == 0)
			keep_most(&most);
	}
	ck_assert_uint_eq(wrong, 0);
	trace_destroy(&trace);
	return (struct resident){ .file = most.file - before.file,
				  .other = most.other - before.other };
}

/*
 * In memory, four million requests are 128 MB. A sanitizer keeps memory that is freed, and
 * records of the file's addresses: that is why other memory has a wide bound.
 */
START_TEST(memory_does_not_grow_with_the_number_of_requests)
{
	struct resident one = memory_of("/var/tmp", MILLION);
	struct resident four = memory_of("/var/tmp", 4 * MILLION);

	ck_assert_uint_ge(memory_of(NULL, 4 * MILLION).other, 100 * (size_t)MILLION);
	ck_assert_uint_le(four.file, one.file + TRACE_STORE_MEMORY);
	ck_assert_uint_le(four.file, 2 * TRACE_STORE_MEMORY);
	ck_assert_uint_le(four.other, 50 * (size_t)MILLION);
}
END_TEST

START_TEST(requests_are_the_same_in_the_file_and_in_memory)
{
	size_t count = 3 * TRACE_PASSED + 1;
	struct trace in_file, in_memory;

	fill(&in_file, "/var/tmp", count);
	fill(&in_memory, NULL, count);
	ck_assert(in_file.store.mapped && !in_memory.store.mapped);
	ck_assert_mem_eq(in_file.requests, in_memory.requests,
			 count * sizeof(*in_file.requests));
	trace_destroy(&in_file);
	trace_destroy(&in_memory);
}
END_TEST

START_TEST(without_a_file_requests_stay_in_memory)
{
	size_t count = 2 * TRACE_PASSED + 1;
	struct trace trace;

	fill(&trace, "/nonexistent", count);
	ck_assert(!trace.store.mapped);
	ck_assert_uint_eq(trace.requests[count - 1].arrival_ns, (count - 1) * 1000);
	trace_destroy(&trace);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, memory_does_not_grow_with_the_number_of_requests);
	tcase_add_test(tests, requests_are_the_same_in_the_file_and_in_memory);
	tcase_add_test(tests, without_a_file_requests_stay_in_memory);
}

int main(void)
{
	return suite_run("trace_store", NULL, NULL, add_tests);
}
