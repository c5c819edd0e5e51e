// SPDX-License-Identifier: MIT OR GPL-2.0
/* The memory of the running test; see coretest_memory.h. */
#include "coretest_memory.h"

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/overflow.h>

struct coretest_block {
	struct list_head node; /* in coretest_blocks */
	u64 data[];
};

static LIST_HEAD(coretest_blocks);
static DEFINE_MUTEX(
	coretest_blocks_lock); /* threads that a test started may allocate as well */

void *coretest_calloc(size_t bytes)
{
	struct coretest_block *block = kvzalloc(size_add(sizeof(*block), bytes), GFP_KERNEL);

	if (!block)
		return NULL;
	mutex_lock(&coretest_blocks_lock);
	list_add(&block->node, &coretest_blocks);
	mutex_unlock(&coretest_blocks_lock);
	return block->data;
}

void coretest_free(void *memory)
{
	struct coretest_block *block;

	if (!memory)
		return;
	block = container_of(memory, struct coretest_block, data);
	mutex_lock(&coretest_blocks_lock);
	list_del(&block->node);
	mutex_unlock(&coretest_blocks_lock);
	kvfree(block);
}

void coretest_free_all(void)
{
	struct coretest_block *block;
	struct coretest_block *next;

	list_for_each_entry_safe(block, next, &coretest_blocks, node)
		coretest_free(block->data);
}
