// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gvm_coretest.ko: the tests of the core inside a kernel, with a copy of the core. It does not
 * need gvm.ko and shares nothing with it. This file is the runner behind libc/check.h. Each
 * test has a thread of its own. The results are TAP, in two files of debugfs:
 *
 *   /sys/kernel/debug/gvm_coretest/tests     the core's tests, the same as in user space, and
 *                                            tests of the kernel's port
 *   /sys/kernel/debug/gvm_coretest/failing   tests that fail on purpose
 *
 * Opening a file runs its tests. Reading it returns the results:
 *
 *   ok 1 - test_tsg:settings:an_untouched_container_programs_nothing
 *   not ok 2 - test_tsg:failures:a_tsg_that_is_gone_is_no_error (3):
 *   test_tsg.c:321: is_frozen() ok 3 - test_tsg:failures:to_plan_...: # SKIP a
 *   broken invariant only warns here 1..3
 *
 * The plan, "1..3", counts tests as they are added. A test's number is counted when it has run.
 * So a test that is added but does not run is noticed.
 */
#include <check.h>
#include <stdlib.h>

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>

#include "coretest_memory.h"
#include "gvm/port.h"

#define CORETEST_TEXT_MAX    (256 * 1024)
#define CORETEST_FAILURE_MAX 256

struct Suite {
	const char *name;
	struct list_head cases; /* TCase.node */
};

struct TCase {
	struct list_head node;
	const char *name;
	void (*setup)(void);
	void (*teardown)(void);
	struct list_head entries; /* coretest_entry.node */
};

/* A test, for each _i from start to end. */
struct coretest_entry {
	struct list_head node;
	const TTest *test;
	int start;
	int end;
	const char *skip; /* the reason not to run it, or NULL */
};

struct SRunner {
	Suite *suite;
	int failed;
};

/* The running test. One test runs at a time. */
static struct {
	const TCase *tcase;
	const TTest *test;
	int i;
	struct task_struct *task;
	struct completion ended;

	struct mutex lock; /* guards all below, against threads that the test has started */
	bool failed;
	char failure[CORETEST_FAILURE_MAX];
} coretest_run = {
	.lock = __MUTEX_INITIALIZER(coretest_run.lock),
};

/* The results of all tests. The mutex guards them. Its holder runs the tests. */
static struct {
	struct mutex mutex;
	u32 planned;
	u32 done;
	size_t length;
	char text[CORETEST_TEXT_MAX];
} coretest_tap = {
	.mutex = __MUTEX_INITIALIZER(coretest_tap.mutex),
};

/* Text that does not fit is dropped. The plan comes last, so the reader notices. */
static __printf(1, 2) void coretest_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	coretest_tap.length += vscnprintf(coretest_tap.text + coretest_tap.length,
					  CORETEST_TEXT_MAX - coretest_tap.length, fmt, args);
	va_end(args);
}

/* The first failure counts. A failure in another thread ends only that thread. */
struct completion *coretest_failed(const char *file, int line, const char *fmt, ...)
{
	va_list args;
	int length;

	mutex_lock(&coretest_run.lock);
	if (!coretest_run.failed) {
		coretest_run.failed = true;
		length = scnprintf(coretest_run.failure, CORETEST_FAILURE_MAX,
				   "%s.c:%d: ", file, line);
		va_start(args, fmt);
		vscnprintf(coretest_run.failure + length, CORETEST_FAILURE_MAX - length, fmt,
			   args);
		va_end(args);
	}
	mutex_unlock(&coretest_run.lock);
	return current == coretest_run.task ? &coretest_run.ended : NULL;
}

/*
 * The thread ends outside of this module's code. So the module can be unloaded as soon as the
 * thread has ended.
 */
static int coretest_thread(void *data)
{
	const TCase *tcase = coretest_run.tcase;

	coretest_run.task = current;
	if (tcase->setup)
		tcase->setup();
	coretest_run.test->fn(coretest_run.i);
	if (tcase->teardown)
		tcase->teardown();
	kthread_complete_and_exit(&coretest_run.ended, 0);
}

/* Returns true if the test passed. */
static bool coretest_run_test(const TCase *tcase, const TTest *test, int i)
{
	struct task_struct *task;

	coretest_run.tcase = tcase;
	coretest_run.test = test;
	coretest_run.i = i;
	coretest_run.failed = false;
	strscpy(coretest_run.failure, "no thread could be started for it",
		CORETEST_FAILURE_MAX);
	init_completion(&coretest_run.ended);
	task = kthread_run(coretest_thread, NULL, "gvm_coretest");
	if (IS_ERR(task))
		return false;
	/* A long test is no hung task. */
	wait_for_completion_state(&coretest_run.ended, TASK_IDLE);
	gvm_port_alloc_hook = NULL;
	coretest_free_all();
	return !coretest_run.failed;
}

/* Run a test and add its line. Returns true if the line says "ok". */
static bool coretest_point(const TCase *tcase, const struct coretest_entry *entry, int i)
{
	const TTest *test = entry->test;
	bool passed = entry->skip || coretest_run_test(tcase, test, i);

	coretest_say("%s %u - %s:%s:%s", passed ? "ok" : "not ok", ++coretest_tap.done,
		     test->file, tcase->name, test->name);
	if (entry->skip)
		coretest_say(" # SKIP %s", entry->skip);
	if (!passed)
		coretest_say(" (%d): %s", i, coretest_run.failure);
	coretest_say("\n");
	return passed;
}

/* The runner's allocations are small, and tests that run out of memory do not affect them. */
static void *coretest_must_alloc(size_t bytes)
{
	return kzalloc(bytes, GFP_KERNEL | __GFP_NOFAIL);
}

Suite *suite_create(const char *name)
{
	Suite *suite = coretest_must_alloc(sizeof(*suite));

	suite->name = name;
	INIT_LIST_HEAD(&suite->cases);
	return suite;
}

TCase *tcase_create(const char *name)
{
	TCase *tcase = coretest_must_alloc(sizeof(*tcase));

	tcase->name = name;
	INIT_LIST_HEAD(&tcase->entries);
	return tcase;
}

void suite_add_tcase(Suite *suite, TCase *tcase)
{
	list_add_tail(&tcase->node, &suite->cases);
}

void tcase_add_checked_fixture(TCase *tcase, void (*setup)(void), void (*teardown)(void))
{
	tcase->setup = setup;
	tcase->teardown = teardown;
}

void coretest_add(TCase *tcase, const TTest *test, int start, int end, const char *skip)
{
	struct coretest_entry *entry = coretest_must_alloc(sizeof(*entry));

	entry->test = test;
	entry->start = start;
	entry->end = end;
	entry->skip = skip;
	list_add_tail(&entry->node, &tcase->entries);
	coretest_tap.planned += end - start;
}

SRunner *srunner_create(Suite *suite)
{
	SRunner *runner = coretest_must_alloc(sizeof(*runner));

	runner->suite = suite;
	return runner;
}

static void coretest_run_case(SRunner *runner, const TCase *tcase)
{
	const struct coretest_entry *entry;

	list_for_each_entry(entry, &tcase->entries, node) {
		for (int i = entry->start; i < entry->end; i++)
			runner->failed += !coretest_point(tcase, entry, i);
	}
}

/* The name goes to the log. So a test that does not end can be found. */
void srunner_run_all(SRunner *runner, enum print_output output)
{
	const TCase *tcase;

	gvm_info("suite: %s", runner->suite->name);
	list_for_each_entry(tcase, &runner->suite->cases, node)
		coretest_run_case(runner, tcase);
}

int srunner_ntests_failed(const SRunner *runner)
{
	return runner->failed;
}

static void coretest_case_free(TCase *tcase)
{
	struct coretest_entry *entry;
	struct coretest_entry *next;

	list_for_each_entry_safe(entry, next, &tcase->entries, node)
		kfree(entry);
	kfree(tcase);
}

void srunner_free(SRunner *runner)
{
	TCase *tcase;
	TCase *next;

	list_for_each_entry_safe(tcase, next, &runner->suite->cases, node)
		coretest_case_free(tcase);
	kfree(runner->suite);
	kfree(runner);
}

static void coretest_run_programs(void)
{
#define CORETEST_RUN(file) file##_main();
	CORETEST_PROGRAMS(CORETEST_RUN)
}

static void coretest_run_failing(void)
{
	coretest_failing_main();
}

/* The inode points to one of the two functions above. */
static int coretest_tap_open(struct inode *inode, struct file *file)
{
	void (*run)(void) = inode->i_private;

	mutex_lock(&coretest_tap.mutex);
	coretest_tap.planned = 0;
	coretest_tap.done = 0;
	coretest_tap.length = 0;
	run();
	coretest_say("1..%u\n", coretest_tap.planned);
	mutex_unlock(&coretest_tap.mutex);
	return 0;
}

static ssize_t coretest_tap_read(struct file *file, char __user *buf, size_t size,
				 loff_t *offset)
{
	ssize_t status;

	mutex_lock(&coretest_tap.mutex);
	status = simple_read_from_buffer(buf, size, offset, coretest_tap.text,
					 coretest_tap.length);
	mutex_unlock(&coretest_tap.mutex);
	return status;
}

static const struct file_operations coretest_tap_fops = {
	.owner = THIS_MODULE,
	.open = coretest_tap_open,
	.read = coretest_tap_read,
	.llseek = default_llseek,
};

static struct dentry *coretest_dir;

static int __init coretest_init(void)
{
	coretest_dir = debugfs_create_dir("gvm_coretest", NULL);
	debugfs_create_file("tests", 0444, coretest_dir, coretest_run_programs,
			    &coretest_tap_fops);
	debugfs_create_file("failing", 0444, coretest_dir, coretest_run_failing,
			    &coretest_tap_fops);
	return 0;
}

static void __exit coretest_exit(void)
{
	debugfs_remove(coretest_dir);
}

module_init(coretest_init);
module_exit(coretest_exit);

MODULE_DESCRIPTION("The tests of gvm.ko's core, run inside the kernel");
MODULE_AUTHOR("The gvmsim authors");
MODULE_LICENSE("Dual MIT/GPL");
