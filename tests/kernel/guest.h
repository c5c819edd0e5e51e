/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the tests inside the virtual machine are written with: TAP through the kernel's log. */
#ifndef GUEST_H
#define GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define GUEST_DEBUGFS  "/sys/kernel/debug"
#define GUEST_TEXT_MAX 4096

/* A pointer to no memory of a process. */
#define GUEST_NO_MEMORY ((void *)-4096L)

/*
 * Say one thing in the kernel's log, where it stands between what the kernel says, and whole:
 * a console that two write to would tear lines apart. The text is one line.
 */
void guest_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* One test point. Returns @ok. */
bool guest_check(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "EINVAL"; "success" for 0. */
const char *guest_error_name(int error);

/* Write @text to a file in debugfs with one write(). Returns 0 or the errno, of open or write. */
int guest_write(const char *path, const char *text);

/* Read a whole file of debugfs into a zero-terminated text. Returns 0 or the errno. */
int guest_read(const char *path, char *text, size_t size);

/* Test points: the write gives this errno (0: success); the file reads as this text. */
void guest_expect_write(const char *path, const char *text, int error);
void guest_expect_read(const char *path, const char *text);

/* Load "/NAME.ko" with parameters, or unload a module: 0 or the errno. */
int guest_load(const char *name, const char *parameters);
int guest_unload(const char *name);

/* The same without parameters: test points that it gives this errno. */
void guest_expect_load(const char *name, int error);
void guest_expect_unload(const char *name, int error);

/*
 * Let the module run the tests of the core; each of theirs, and their plan, is a test point. And
 * the tests that fail on purpose: test points that they are reported as they should.
 */
void guest_run_tests(void);
void guest_run_failing_tests(void);

/* What guest_processes.c, guest_pressure.c and guest_files.c prove; both modules are loaded. */
void guest_test_processes(void);
void guest_test_pressure(void);
void guest_test_files(void);

/* guest_injection.c; nothing is loaded, before and after. */
void guest_test_injection(void);

/* guest_broken.c, instead of all others: nothing is loaded. */
void guest_test_broken(void);
void guest_test_wrong(void);

/*
 * What @module has allocated and not freed: objects in the kernel's kmalloc caches, by the stack
 * traces that slub_debug=U keeps, and areas of vmalloc(). -1 if there are no traces to be read.
 */
long guest_count_objects(const char *module);

/*
 * A test point: as many of them as @before are left, once what is freed a grace period later has
 * gone.
 */
void guest_expect_no_leak(const char *module, long before);

/*
 * What a kernel of debug_kernel.sh watches by itself, if it is one. begin, before the log does: what the
 * kernel has lost until then is not our business. end, after the last module: test points
 * that nothing was lost since, that lockdep has not given up, and that the kernel is tainted by modules
 * that are not its own, and by nothing else.
 */
void guest_watch_begin(void);
void guest_watch_end(void);

/*
 * Let the end of the watch not mind that something was warned of: boot.sh does, who reads what, and of
 * whom.
 */
void guest_allow_warnings(void);

/*
 * As fork(), but the child gets the number @pid, which no process may have. -1 and errno: it could not.
 */
pid_t guest_fork_as(pid_t pid);

/*
 * Start the processes 1000, 1001 and 2000 to 2003, which do nothing until the machine ends. Tests attach
 * them by hand.
 */
void guest_start_processes(void);

/* A number from the kernel's command line. */
unsigned long guest_number(const char *name, unsigned long otherwise);

/* Since the machine was started. */
long guest_seconds(void);

/* Make the file systems that the first process of a machine finds missing. */
void guest_mount(void);

/* The plan, and the end of the machine. */
void guest_end(void);

#endif
