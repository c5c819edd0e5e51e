/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Red-black trees with the names and the semantics of <linux/rbtree.h>, as far as the core uses
 * them. The caller searches for the place, links the node in as a leaf, and calls
 * rb_insert_color() to balance the tree. No path is longer than twice the logarithm of the
 * number of nodes plus 1.
 */
#ifndef GVM_RBTREE_H
#define GVM_RBTREE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/port/gvm_list.h"

struct rb_node {
	struct rb_node *rb_parent; /* the node itself: in no tree */
	struct rb_node *rb_left;
	struct rb_node *rb_right;
	bool rb_red;
};

struct rb_root {
	struct rb_node *rb_node; /* NULL: empty */
};

#define RB_ROOT				((struct rb_root){ NULL })
#define RB_EMPTY_ROOT(root)		((root)->rb_node == NULL)
#define RB_EMPTY_NODE(node)		((node)->rb_parent == (node))
#define RB_CLEAR_NODE(node)		((node)->rb_parent = (node))
#define rb_entry(pointer, type, member) container_of(pointer, type, member)

/* Make @node a leaf, at the place *@link of @parent. */
static inline void rb_link_node(struct rb_node *node, struct rb_node *parent,
				struct rb_node **link)
{
	*node = (struct rb_node){ .rb_parent = parent };
	*link = node;
}

/* Balance the tree after a node was linked in. */
void rb_insert_color(struct rb_node *node, struct rb_root *root);

/* Take a node out of the tree and balance the tree. The node keeps its old links. */
void rb_erase(struct rb_node *node, struct rb_root *root);

#endif
