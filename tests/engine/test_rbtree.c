// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The user-space <linux/rbtree.h>: order, colours and depth, for random trees and sorted input.
 */
#include "draw.h"
#include "engine/engine.h"
#include "gvm/port.h"
#include "runner.h"

#define NODES 100000u

struct item {
	struct rb_node node;
	u32 key;
};

static struct item items[NODES];
static struct rb_root root;

static struct item *item_of(struct rb_node *node)
{
	return rb_entry(node, struct item, node);
}

static void insert(struct item *item)
{
	struct rb_node **link = &root.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = item_of(parent)->key < item->key ? &parent->rb_right : &parent->rb_left;
	}
	rb_link_node(&item->node, parent, link);
	rb_insert_color(&item->node, &root);
}

static void erase(struct item *item)
{
	rb_erase(&item->node, &root);
	RB_CLEAR_NODE(&item->node);
}

/*
 * Check every invariant of the tree below @node. GVM_ASSERT() does the checks, because there
 * are many. Returns the black nodes on each path, missing leaf and @node included. *ret_depth
 * is the longest path.
 */
static u32 check(struct rb_node *node, u32 *ret_nodes, u32 *ret_depth)
{
	u32 left_depth = 0, right_depth = 0, left = 0, right = 0;

	if (!node)
		return 1;
	if (node->rb_left) {
		GVM_ASSERT(node->rb_left->rb_parent == node);
		GVM_ASSERT(!node->rb_red || !node->rb_left->rb_red);
		GVM_ASSERT(item_of(node->rb_left)->key <= item_of(node)->key);
	}
	if (node->rb_right) {
		GVM_ASSERT(node->rb_right->rb_parent == node);
		GVM_ASSERT(!node->rb_red || !node->rb_right->rb_red);
		GVM_ASSERT(item_of(node->rb_right)->key >= item_of(node)->key);
	}
	left = check(node->rb_left, ret_nodes, &left_depth);
	right = check(node->rb_right, ret_nodes, &right_depth);
	GVM_ASSERT(left == right);
	(*ret_nodes)++;
	*ret_depth = 1 + max(left_depth, right_depth);
	return left + !node->rb_red;
}

/* Check that the tree has @count nodes, and no path of more than @most. */
static void expect(u32 count, u32 most)
{
	u32 nodes = 0, depth = 0;

	ck_assert(!root.rb_node || (!root.rb_node->rb_red && !root.rb_node->rb_parent));
	check(root.rb_node, &nodes, &depth);
	ck_assert_uint_eq(nodes, count);
	ck_assert_uint_le(depth, most);
}

START_TEST(sorted_input_makes_no_deep_tree)
{
	/* Rising and falling keys. Twice the logarithm of 100,001 is 33.2. */
	root = RB_ROOT;
	for (u32 i = 0; i < NODES; i++) {
		items[i].key = _i ? NODES - i : i;
		insert(&items[i]);
	}
	expect(NODES, 33);
	for (u32 i = 0; i < NODES; i++)
		if (i % 1000)
			erase(&items[i]);
	expect(NODES / 1000, 13);
	for (u32 i = 0; i < NODES; i += 1000)
		erase(&items[i]);
	ck_assert(RB_EMPTY_ROOT(&root));
}
END_TEST

START_TEST(random_changes_keep_the_tree_in_order_and_balance)
{
	u64 seed = runner_seed();

	root = RB_ROOT;
	for (u32 i = 0; i < 300; i++)
		RB_CLEAR_NODE(&items[i].node);
	for (u32 step = 0, count = 0; step < 5000; step++) {
		struct item *item = &items[draw_below(&seed, 300)];

		if (RB_EMPTY_NODE(&item->node)) {
			item->key = draw_below(&seed, 100);
			insert(item);
			count++;
		} else {
			erase(item);
			count--;
		}
		expect(count, 16);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rbtree");
	TCase *tcase = tcase_create("rbtree");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 600);
	tcase_add_loop_test(tcase, sorted_input_makes_no_deep_tree, 0, 2);
	tcase_add_test(tcase, random_changes_keep_the_tree_in_order_and_balance);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
