// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The runner behind libc/check.h: suites, tests in threads of their own, TAP in a file of debugfs.
 * Opening the file runs the tests; what is read from it then is the outcome:
 *
 *   ok 1 - test_tsg:settings:an_untouched_container_programs_nothing
 *   not ok 2 - test_tsg:failures:a_tsg_that_is_gone_is_no_error (3): test_tsg.c:321: is_frozen()
 *   ok 3 - test_tsg:failures:to_plan_...: # SKIP a broken invariant only warns here
 *   1..3
 *
 * The plan counts the tests when they are added, the points are numbered when they have run.
 */
#include <check.h>
#include <stdlib.h>

#include <linux/fs.h>
#include <linux/module.h>

#include "selftest.h"

#define SELFTEST_TEXT_MAX    (256 * 1024)
#define SELFTEST_FAILURE_MAX 256

struct Suite {
	const char *name;
	struct list_head cases; /* TCase.node */
};

struct TCase {
	struct list_head node;
	const char *name;
	void (*setup)(void);
	void (*teardown)(void);
	struct list_head entries; /* selftest_entry.node */
};

/* A test, for each _i from start to end. */
struct selftest_entry {
	struct list_head node;
	const TTest *test;
	int start;
	int end;
	const char *skip; /* why it is not run, or NULL */
};

struct SRunner {
	Suite *suite;
	int failed;
};

/* Memory of the test that runs. */
struct selftest_block {
	struct list_head node; /* in selftest_run.blocks */
	u64 data[];
};

/* The test that runs, one at a time. */
static struct {
	const TCase *tcase;
	const TTest *test;
	int i;
	struct task_struct *task;
	struct completion ended;

	struct mutex lock; /* guards all below: what a test started may use them as well */
	struct list_head blocks;
	bool failed;
	char failure[SELFTEST_FAILURE_MAX];
} selftest_run = {
	.lock = __MUTEX_INITIALIZER(selftest_run.lock),
	.blocks = LIST_HEAD_INIT(selftest_run.blocks),
};

/* The outcome of all tests. Guarded by mutex, which also lets only one at a time run them. */
static struct {
	struct mutex mutex;
	u32 planned;
	u32 done;
	size_t length;
	char text[SELFTEST_TEXT_MAX];
} selftest_tap = {
	.mutex = __MUTEX_INITIALIZER(selftest_tap.mutex),
};

/* What does not fit is dropped, with the plan, which comes last: its reader will notice. */
static __printf(1, 2) void selftest_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	selftest_tap.length += vscnprintf(selftest_tap.text + selftest_tap.length,
					  SELFTEST_TEXT_MAX - selftest_tap.length, fmt, args);
	va_end(args);
}

void *selftest_calloc(size_t bytes)
{
	struct selftest_block *block = kvzalloc(size_add(sizeof(*block), bytes), GFP_KERNEL);

	if (!block)
		return NULL;
	mutex_lock(&selftest_run.lock);
	list_add(&block->node, &selftest_run.blocks);
	mutex_unlock(&selftest_run.lock);
	return block->data;
}

void selftest_free(void *memory)
{
	struct selftest_block *block;

	if (!memory)
		return;
	block = container_of(memory, struct selftest_block, data);
	mutex_lock(&selftest_run.lock);
	list_del(&block->node);
	mutex_unlock(&selftest_run.lock);
	kvfree(block);
}

/* What a process leaves to the kernel when it exits, the kernel has to see to by itself. */
static void selftest_free_all(void)
{
	struct selftest_block *block;
	struct selftest_block *next;

	list_for_each_entry_safe(block, next, &selftest_run.blocks, node)
		selftest_free(block->data);
}

/* Of several failures, the first one counts. Whoever fails in another thread ends only that. */
struct completion *selftest_failed(const char *file, int line, const char *fmt, ...)
{
	va_list args;
	int length;

	mutex_lock(&selftest_run.lock);
	if (!selftest_run.failed) {
		selftest_run.failed = true;
		length = scnprintf(selftest_run.failure, SELFTEST_FAILURE_MAX,
				   "%s.c:%d: ", file, line);
		va_start(args, fmt);
		vscnprintf(selftest_run.failure + length, SELFTEST_FAILURE_MAX - length, fmt,
			   args);
		va_end(args);
	}
	mutex_unlock(&selftest_run.lock);
	return current == selftest_run.task ? &selftest_run.ended : NULL;
}

/* Ends outside of this module's code, so that it can be unloaded once the thread has ended. */
static int selftest_thread(void *data)
{
	const TCase *tcase = selftest_run.tcase;

	selftest_run.task = current;
	if (tcase->setup)
		tcase->setup();
	selftest_run.test->fn(selftest_run.i);
	if (tcase->teardown)
		tcase->teardown();
	kthread_complete_and_exit(&selftest_run.ended, 0);
}

/* Returns whether it passed. */
static bool selftest_run_test(const TCase *tcase, const TTest *test, int i)
{
	struct task_struct *task;

	selftest_run.tcase = tcase;
	selftest_run.test = test;
	selftest_run.i = i;
	selftest_run.failed = false;
	strscpy(selftest_run.failure, "it got no thread", SELFTEST_FAILURE_MAX);
	init_completion(&selftest_run.ended);
	task = kthread_run(selftest_thread, NULL, "gvm_selftest");
	if (IS_ERR(task))
		return false;
	wait_for_completion(&selftest_run.ended);
	gvm_port_alloc_hook = NULL;
	selftest_free_all();
	return !selftest_run.failed;
}

/* One point. Returns whether it is "ok". */
static bool selftest_point(const TCase *tcase, const struct selftest_entry *entry, int i)
{
	const TTest *test = entry->test;
	bool passed = entry->skip || selftest_run_test(tcase, test, i);

	selftest_say("%s %u - %s:%s:%s", passed ? "ok" : "not ok", ++selftest_tap.done,
		     test->file, tcase->name, test->name);
	if (entry->skip)
		selftest_say(" # SKIP %s", entry->skip);
	if (!passed)
		selftest_say(" (%d): %s", i, selftest_run.failure);
	selftest_say("\n");
	return passed;
}

/* Small, and there is no test of what a test runner does without memory. */
static void *selftest_must_alloc(size_t bytes)
{
	return kzalloc(bytes, GFP_KERNEL | __GFP_NOFAIL);
}

Suite *suite_create(const char *name)
{
	Suite *suite = selftest_must_alloc(sizeof(*suite));

	suite->name = name;
	INIT_LIST_HEAD(&suite->cases);
	return suite;
}

TCase *tcase_create(const char *name)
{
	TCase *tcase = selftest_must_alloc(sizeof(*tcase));

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

void selftest_add(TCase *tcase, const TTest *test, int start, int end, const char *skip)
{
	struct selftest_entry *entry = selftest_must_alloc(sizeof(*entry));

	entry->test = test;
	entry->start = start;
	entry->end = end;
	entry->skip = skip;
	list_add_tail(&entry->node, &tcase->entries);
	selftest_tap.planned += end - start;
}

SRunner *srunner_create(Suite *suite)
{
	SRunner *runner = selftest_must_alloc(sizeof(*runner));

	runner->suite = suite;
	return runner;
}

static void selftest_run_case(SRunner *runner, const TCase *tcase)
{
	const struct selftest_entry *entry;
	int i;

	list_for_each_entry(entry, &tcase->entries, node) {
		for (i = entry->start; i < entry->end; i++)
			runner->failed += !selftest_point(tcase, entry, i);
	}
}

/* The name goes to the log, so that a test that does not end can be found. */
void srunner_run_all(SRunner *runner, enum print_output output)
{
	const TCase *tcase;

	gvm_info("suite: %s", runner->suite->name);
	list_for_each_entry(tcase, &runner->suite->cases, node)
		selftest_run_case(runner, tcase);
}

int srunner_ntests_failed(const SRunner *runner)
{
	return runner->failed;
}

static void selftest_case_free(TCase *tcase)
{
	struct selftest_entry *entry;
	struct selftest_entry *next;

	list_for_each_entry_safe(entry, next, &tcase->entries, node)
		kfree(entry);
	kfree(tcase);
}

void srunner_free(SRunner *runner)
{
	TCase *tcase;
	TCase *next;

	list_for_each_entry_safe(tcase, next, &runner->suite->cases, node)
		selftest_case_free(tcase);
	kfree(runner->suite);
	kfree(runner);
}

void selftest_run_programs(void)
{
#define SELFTEST_RUN(file) file##_main();
	SELFTEST_PROGRAMS(SELFTEST_RUN)
}

void selftest_run_failing(void)
{
	selftest_failing_main();
}

/* The inode points to one of the two functions above. */
static int selftest_tap_open(struct inode *inode, struct file *file)
{
	void (*run)(void) = inode->i_private;

	mutex_lock(&selftest_tap.mutex);
	selftest_tap.planned = 0;
	selftest_tap.done = 0;
	selftest_tap.length = 0;
	run();
	selftest_say("1..%u\n", selftest_tap.planned);
	mutex_unlock(&selftest_tap.mutex);
	return 0;
}

static ssize_t selftest_tap_read(struct file *file, char __user *buf, size_t size,
				 loff_t *offset)
{
	ssize_t ret;

	mutex_lock(&selftest_tap.mutex);
	ret = simple_read_from_buffer(buf, size, offset, selftest_tap.text,
				      selftest_tap.length);
	mutex_unlock(&selftest_tap.mutex);
	return ret;
}

const struct file_operations selftest_tap_fops = {
	.owner = THIS_MODULE,
	.open = selftest_tap_open,
	.read = selftest_tap_read,
	.llseek = default_llseek,
};
