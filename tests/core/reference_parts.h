/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the files of the reference model share. */
#ifndef TESTS_REFERENCE_PARTS_H
#define TESTS_REFERENCE_PARTS_H

#include "reference_model.h"

static inline u32 queue_position(const struct model_queue *queue, u32 entry)
{
	u32 i = 0;

	while (i < queue->count && queue->entry[i] != entry)
		i++;
	return i;
}

static inline bool queue_has(const struct model_queue *queue, u32 entry)
{
	return queue_position(queue, entry) < queue->count;
}

static inline void queue_append(struct model_queue *queue, u32 entry)
{
	queue->entry[queue->count++] = entry;
}

static inline void queue_remove(struct model_queue *queue, u32 entry)
{
	u32 i = queue_position(queue, entry);

	if (i == queue->count)
		return;
	queue->count--;
	for (; i < queue->count; i++)
		queue->entry[i] = queue->entry[i + 1];
}

static inline u32 queue_take_first(struct model_queue *queue)
{
	u32 entry = queue->entry[0];

	queue_remove(queue, entry);
	return entry;
}

/* The hand moves on: the first entry becomes the last. Returns that entry. */
static inline u32 queue_rotate(struct model_queue *queue)
{
	u32 entry = queue_take_first(queue);

	queue_append(queue, entry);
	return entry;
}

/* The container of an operation. */
static inline struct model_container *named(const struct model_op *op)
{
	return &model.container[op->container];
}

/* Are the container's chunks off the global order? */
bool model_is_shielded(const struct model_container *container);

/* Put a container's shielded chunks back if it is shielded no more. */
void model_settle(struct model_container *container);

/* Drop the chunks from the stash that are no victims any more. */
void model_prune_stash(void);

#endif
