// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * /sys/kernel/debug/gvm_selftest/wrong: a write of a name makes that mistake. A debug kernel
 * has to report each mistake, each by another of its checkers (tests/kernel/debug_kernel.sh).
 * This proves that the checkers work: a checker that never reports anything would not be
 * noticed.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "selftest.h"

static DEFINE_SPINLOCK(selftest_wrong_spin);
static DEFINE_MUTEX(selftest_wrong_a);
static DEFINE_MUTEX(selftest_wrong_b);

/* Take a mutex, which can sleep, under a spinlock. */
static void selftest_wrong_sleep(void)
{
	spin_lock(&selftest_wrong_spin);
	mutex_lock(&selftest_wrong_a);
	mutex_unlock(&selftest_wrong_a);
	spin_unlock(&selftest_wrong_spin);
}

/* Take two locks in both orders. Only this thread takes them, so it never waits. */
static void selftest_wrong_order(void)
{
	mutex_lock(&selftest_wrong_a);
	mutex_lock(&selftest_wrong_b);
	mutex_unlock(&selftest_wrong_b);
	mutex_unlock(&selftest_wrong_a);
	mutex_lock(&selftest_wrong_b);
	mutex_lock(&selftest_wrong_a);
	mutex_unlock(&selftest_wrong_a);
	mutex_unlock(&selftest_wrong_b);
}

/* Read freed memory, in a way that the compiler does not see. */
static void selftest_wrong_use(void)
{
	u64 *words = kzalloc(64, GFP_KERNEL);
	u64 *gone = words;

	OPTIMIZER_HIDE_VAR(gone);
	kfree(words);
	if (gone)
		(void)READ_ONCE(*gone);
}

static void selftest_wrong_shift(void)
{
	u32 bits = 40;
	u32 value = 1;

	OPTIMIZER_HIDE_VAR(bits);
	value <<= bits;
	OPTIMIZER_HIDE_VAR(value);
}

/* Lose memory: several objects, since a stack may still hold the address of one. */
static void selftest_wrong_lose(void)
{
	void *lost;

	for (u32 i = 0; i < 8; i++) {
		lost = kzalloc(64, GFP_KERNEL);
		OPTIMIZER_HIDE_VAR(lost);
	}
}

static const struct {
	const char *name;
	void (*make)(void);
} selftest_wrongs[] = {
	{ "sleep", selftest_wrong_sleep }, { "order", selftest_wrong_order },
	{ "use", selftest_wrong_use },	   { "shift", selftest_wrong_shift },
	{ "lose", selftest_wrong_lose },
};

static ssize_t selftest_wrong_write(struct file *file, const char __user *buf, size_t size,
				    loff_t *offset)
{
	char text[8];

	if (size >= sizeof(text))
		return -E2BIG;
	if (copy_from_user(text, buf, size))
		return -EFAULT;
	text[size] = '\0';
	for (u32 i = 0; i < ARRAY_SIZE(selftest_wrongs); i++) {
		if (strcmp(text, selftest_wrongs[i].name) == 0) {
			selftest_wrongs[i].make();
			return size;
		}
	}
	return -EINVAL;
}

const struct file_operations selftest_wrong_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = selftest_wrong_write,
	.llseek = noop_llseek,
};
