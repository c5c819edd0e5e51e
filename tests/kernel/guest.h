/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Helpers for the tests inside the virtual machine: TAP through the kernel's log. */
#ifndef GUEST_H
#define GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define GUEST_DEBUGFS  "/sys/kernel/debug"
#define GUEST_TEXT_MAX 4096

/* A pointer outside the memory of any process. */
#define GUEST_NO_MEMORY ((void *)-4096L)

/*
 * Write one record to the kernel's log, in order with the kernel's own and in one piece: a
 * console with two writers would tear lines apart. The text is one line.
 */
void guest_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * The kernel's log from now on: a file. count: how many records with that text came since
 * then. It closes the file.
 */
int guest_log_open(void);
unsigned int guest_log_count(int fd, const char *text);

/* One test point. Returns @ok. */
bool guest_check(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The name of an errno, as "EINVAL"; "success" for 0. */
const char *guest_error_name(int error);

/*
 * Write @text to a file in debugfs with one write(). Returns 0, or the errno of open or write.
 */
int guest_write(const char *path, const char *text);

/* Read a whole file of debugfs into a zero-terminated text. Returns 0 or the errno. */
int guest_read(const char *path, char *text, size_t size);

/* Test points: the write gives this errno (0: success); the file reads as this text. */
void guest_expect_write(const char *path, const char *text, int error);
void guest_expect_read(const char *path, const char *text);

/* Load "/NAME.ko" with parameters, or unload a module: 0 or the errno. */
int guest_load(const char *name, const char *parameters);
int guest_unload(const char *name);

/* The same without parameters. A test point: the call gives this errno. */
void guest_expect_load(const char *name, int error);
void guest_expect_unload(const char *name, int error);

/*
 * Let the module run the core's tests: each of their points, and their plan, is a test point.
 * Then run tests that fail on purpose: test points that these are reported correctly.
 */
void guest_run_tests(void);
void guest_run_failing_tests(void);

/*
 * The tests of guest_processes.c, guest_pressure.c and guest_files.c. Both modules must be
 * loaded.
 */
void guest_test_processes(void);
void guest_test_pressure(void);
void guest_test_files(void);

/* The tests of guest_injection.c. No module is loaded before or after. */
void guest_test_injection(void);

/* The tests of guest_broken.c, in place of all others. No module may be loaded. */
void guest_test_broken(void);
void guest_test_wrong(void);

/*
 * Count the objects that @module has allocated and not freed: in the kernel's kmalloc caches,
 * by the stack traces that slub_debug=U keeps, and the areas of vmalloc(). -1: there are no
 * traces to read.
 */
long guest_count_objects(const char *module);

/*
 * A test point: @before objects are left. It waits for objects that are freed a grace period
 * later.
 */
void guest_expect_no_leak(const char *module, long before);

/*
 * The checks that a kernel of debug_kernel.sh makes by itself, where there are any.
 * guest_watch_begin() comes before the first line of the log and clears what the kernel has
 * lost until then. guest_watch_end() comes after the last module is unloaded. Its test points:
 * nothing was lost since, lockdep has not given up, and the only taint is that of our modules.
 */
void guest_watch_begin(void);
void guest_watch_end(void);

/*
 * Let guest_watch_end() accept the taint of a warning. boot.sh reads which warnings there were.
 */
void guest_allow_warnings(void);

/* As fork(), but the child gets the number @pid, which must be free. On error -1 and errno. */
pid_t guest_fork_as(pid_t pid);

/*
 * Start the processes 1000, 1001 and 2000 to 2003. They do nothing until the machine ends.
 * Tests attach them by hand.
 */
void guest_start_processes(void);

/* A number from the kernel's command line; @otherwise if it has none. */
unsigned long guest_number(const char *name, unsigned long otherwise);

/* Whether a list of names, with commas between them, has this one. */
bool guest_list_has(const char *list, const char *name);

/*
 * Wait until each thread of the kernel whose name begins with @name has done its work and
 * sleeps. What is work for them has to be there already: who gives it has woken the thread. One
 * thing is not seen: a thread in the middle of its work that waits for a signal or an event.
 * Returns whether there is such a thread.
 */
bool guest_wait_for_threads(const char *name);

/* Seconds since the machine was started. */
long guest_seconds(void);

/*
 * Nanoseconds that all tasks have run on all processors, without idle ones, or 0:
 * the kernel does not tell. Read before and after; with GVM_BOOT_ICOUNT (vm.sh) it
 * is a count of instructions.
 */
unsigned long long guest_task_ns(void);

/* Mount the file systems that the first process of a machine needs. */
void guest_mount(void);

/* Write the plan and end the machine. */
void guest_end(void);

#endif
