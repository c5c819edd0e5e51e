/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the tasks of an application share: program.c runs them. */
#ifndef TESTS_SHIM_PROGRAM_H
#define TESTS_SHIM_PROGRAM_H

#include <stdbool.h>

#include "fake_cuda.h"

#define MIB	    (1ull << 20)
#define CHECK(call) check(call, #call)

/* CUDA's calls, as the application found them. */
struct program_calls {
#define POINTER(symbol, name, version, per_thread) __typeof__(&(symbol)) symbol;
	FAKE_CALLS(POINTER)
#undef POINTER
};

extern struct program_calls cu;
extern void (*hold)(void);
extern void (*release)(void);
extern void (*end_first)(unsigned long count);
extern __typeof__(&fake_graph_create) graph_create;
extern __typeof__(&fake_graph_add) graph_add;

/* A kernel that changes the numbers in memory. */
extern struct CUfunc_st *const kernel;
extern void *arguments[2];
extern cu_ptr memory;
extern unsigned int length;

void fail(const char *what);
void check(cu_result result, const char *what);
void find_calls(void);
void open_device(void);
void launch(struct CUstream_st *stream);
void wait_for_line(void);
void allocate_numbers(void);
void print_numbers(void);
void task_fill(int number);

/* What the application can be told to do. A table of tasks ends with a name that is NULL. */
struct task {
	const char *name;
	void (*run)(int number);
};

extern const struct task corner_tasks[], fork_tasks[], pool_tasks[], fenced_tasks[],
	array_tasks[], ipc_tasks[], frozen_tasks[];

#endif
