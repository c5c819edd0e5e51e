/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Circular doubly linked lists with the names and the semantics of <linux/list.h>, as far as
 * the core uses them.
 */
#ifndef GVM_LIST_H
#define GVM_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list_head {
	struct list_head *next;
	struct list_head *prev;
};

#define container_of(pointer, type, member) \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#define LIST_HEAD_INIT(name)     \
	{                        \
		&(name), &(name) \
	}
#define LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline void list_insert_between(struct list_head *entry, struct list_head *prev,
				       struct list_head *next)
{
	next->prev = entry;
	entry->next = next;
	entry->prev = prev;
	prev->next = entry;
}

static inline void list_add(struct list_head *entry, struct list_head *head)
{
	list_insert_between(entry, head, head->next);
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	list_insert_between(entry, head->prev, head);
}

static inline void list_del_init(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	entry->prev->next = entry->next;
	INIT_LIST_HEAD(entry);
}

static inline void list_move_tail(struct list_head *entry, struct list_head *head)
{
	list_del_init(entry);
	list_add_tail(entry, head);
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

#define list_entry(pointer, type, member)    container_of(pointer, type, member)
#define list_first_entry(head, type, member) list_entry((head)->next, type, member)
#define list_next_entry(position, member) \
	list_entry((position)->member.next, __typeof__(*(position)), member)

#define list_for_each_entry(position, head, member)                            \
	for (position = list_first_entry(head, __typeof__(*position), member); \
	     &position->member != (head); position = list_next_entry(position, member))

#define list_for_each_entry_safe(position, following, head, member)            \
	for (position = list_first_entry(head, __typeof__(*position), member), \
	    following = list_next_entry(position, member);                     \
	     &position->member != (head);                                      \
	     position = following, following = list_next_entry(following, member))

#endif
