// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Red-black trees (Guibas and Sedgewick, 1978): the root and all missing nodes are black, a red
 * node has black children, and all paths from a node down have the same number of black nodes.
 */
#include "engine/port/gvm_rbtree.h"

enum side { LEFT, RIGHT };

static struct rb_node **child_at(struct rb_node *node, enum side side)
{
	return side == LEFT ? &node->rb_left : &node->rb_right;
}

static enum side other(enum side side)
{
	return side == LEFT ? RIGHT : LEFT;
}

static bool is_red(const struct rb_node *node)
{
	return node && node->rb_red;
}

/* @by, which may be NULL, takes the place of @node below its parent. */
static void replace(struct rb_root *root, const struct rb_node *node, struct rb_node *by)
{
	struct rb_node *parent = node->rb_parent;

	if (!parent)
		root->rb_node = by;
	else
		*child_at(parent, parent->rb_left == node ? LEFT : RIGHT) = by;
	if (by)
		by->rb_parent = parent;
}

/* @node goes down to @side. Its child on the other side takes its place. */
static void rotate(struct rb_root *root, struct rb_node *node, enum side side)
{
	struct rb_node *up = *child_at(node, other(side));
	struct rb_node *moved = *child_at(up, side);

	*child_at(node, other(side)) = moved;
	if (moved)
		moved->rb_parent = node;
	replace(root, node, up);
	*child_at(up, side) = node;
	node->rb_parent = up;
}

void rb_insert_color(struct rb_node *node, struct rb_root *root)
{
	struct rb_node *parent;

	node->rb_red = true;
	while ((parent = node->rb_parent) != NULL && parent->rb_red) {
		struct rb_node *above = parent->rb_parent;
		enum side side = parent == above->rb_left ? LEFT : RIGHT;
		struct rb_node *uncle = *child_at(above, other(side));

		above->rb_red = true;
		if (is_red(uncle)) {
			parent->rb_red = false;
			uncle->rb_red = false;
			node = above;
			continue;
		}
		if (node == *child_at(parent, other(side))) {
			rotate(root, parent, side);
			parent = node;
		}
		parent->rb_red = false;
		rotate(root, above, other(side));
		break;
	}
	root->rb_node->rb_red = false;
}

/* All paths through @node, which may be NULL, lack one black node: balance them. */
static void balance_after_erase(struct rb_root *root, struct rb_node *node,
				struct rb_node *parent)
{
	while (node != root->rb_node && !is_red(node)) {
		enum side side = parent->rb_left == node ? LEFT : RIGHT;
		struct rb_node *sibling = *child_at(parent, other(side));

		if (sibling->rb_red) {
			sibling->rb_red = false;
			parent->rb_red = true;
			rotate(root, parent, side);
			sibling = *child_at(parent, other(side));
		}
		if (!is_red(sibling->rb_left) && !is_red(sibling->rb_right)) {
			sibling->rb_red = true;
			node = parent;
			parent = node->rb_parent;
			continue;
		}
		if (!is_red(*child_at(sibling, other(side)))) {
			(*child_at(sibling, side))->rb_red = false;
			sibling->rb_red = true;
			rotate(root, sibling, other(side));
			sibling = *child_at(parent, other(side));
		}
		sibling->rb_red = parent->rb_red;
		parent->rb_red = false;
		(*child_at(sibling, other(side)))->rb_red = false;
		rotate(root, parent, side);
		node = root->rb_node;
	}
	if (node)
		node->rb_red = false;
}

void rb_erase(struct rb_node *node, struct rb_root *root)
{
	struct rb_node *gone = node, *below, *parent;
	bool was_red;

	/*
	 * If @node has two children, the next node in order leaves its own place and takes the
	 * place of @node.
	 */
	if (node->rb_left && node->rb_right)
		for (gone = node->rb_right; gone->rb_left;)
			gone = gone->rb_left;
	below = gone->rb_left ? gone->rb_left : gone->rb_right;
	parent = gone->rb_parent;
	was_red = gone->rb_red;
	replace(root, gone, below);
	if (gone != node) {
		if (parent == node)
			parent = gone;
		gone->rb_left = node->rb_left;
		gone->rb_right = node->rb_right;
		gone->rb_red = node->rb_red;
		replace(root, node, gone);
		if (gone->rb_left)
			gone->rb_left->rb_parent = gone;
		if (gone->rb_right)
			gone->rb_right->rb_parent = gone;
	}
	if (!was_red)
		balance_after_erase(root, below, parent);
}
