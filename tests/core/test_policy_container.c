// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Devices and containers: how they are found, how long they live, and what a lack of memory
 * does.
 */
#include "core_world.h"
#include "find_container.h"
#include "gvm/swap.h"

#include <signal.h>
#include <stdlib.h>

static struct gvm_device *const device = &world.device;

START_TEST(a_device_without_chunks_is_refused)
{
	struct gvm_device none;
	struct gvm_device_config config = { .name = "none" };

	ck_assert_int_eq(gvm_device_init(&none, &config), -EINVAL);
}
END_TEST

/* F17 */
START_TEST(a_device_without_memory_is_refused_and_leaks_nothing)
{
	struct gvm_device none;
	struct gvm_device_config config = { .name = "none", .chunk_count = 4 };
	u32 live = world.live;

	world.fail_allocation = world.allocations;
	ck_assert_int_eq(gvm_device_init(&none, &config), -ENOMEM);
	ck_assert_uint_eq(world.live, live);
}
END_TEST

START_TEST(a_device_of_one_chunk_works)
{
	struct gvm_device one;
	struct gvm_device_config config = { .name = "one", .chunk_count = 1 };

	ck_assert_int_eq(gvm_device_init(&one, &config), 0);
	ck_assert_int_eq(gvm_check(&one), 0);
	gvm_device_destroy(&one);
}
END_TEST

START_TEST(a_device_with_containers_must_not_go)
{
	world_attach(1);
	gvm_device_destroy(device);
}
END_TEST

/* D2: a container has a limit and a usage from its beginning. */
START_TEST(a_new_container_has_no_limits_and_touched_nothing)
{
	struct gvm_container *container = world_attach(7);

	ck_assert_uint_eq(container->tgid, 7);
	ck_assert_uint_eq(container->gmem_high_bytes, GVM_NO_LIMIT);
	ck_assert_uint_eq(container->gmem_low_bytes, 0);
	ck_assert_uint_eq(container->priority, WORLD_PRIORITY);
	ck_assert_uint_eq(container->timeslice_us, WORLD_TIMESLICE_US);
	ck_assert(!container->frozen && !container->is_protected);
	ck_assert_uint_eq(world.call_count, 0);
	gvm_container_detach(container);
}
END_TEST

/* F2, D13 */
START_TEST(processes_of_a_group_share_one_container)
{
	struct gvm_container *first = world_attach(1), *second = world_attach(1);

	ck_assert_ptr_eq(first, second);
	ck_assert_uint_eq(first->processes, 2);
	ck_assert_uint_eq(device->container_count, 1);
	gvm_container_detach(first);
	world_check();
	ck_assert_ptr_eq(find_container(device, 1), second);
	gvm_container_put(second);
	gvm_container_detach(second);
	ck_assert_ptr_null(find_container(device, 1));
	ck_assert_uint_eq(device->container_count, 0);
}
END_TEST

/*
 * D14: the process that gave the container its name leaves first, and a stranger gets its tgid.
 */
START_TEST(a_renamed_container_leaves_its_old_name_to_a_stranger)
{
	struct gvm_container *first = world_attach(1), *stranger;

	world_attach(1);
	gvm_container_rename(first, 2);
	gvm_container_detach(first);
	stranger = world_attach(1);
	ck_assert_ptr_ne(stranger, first);
	ck_assert_ptr_eq(world_attach(2), first);
	world_check();
	gvm_container_detach(first);
	gvm_container_detach(first);
	gvm_container_detach(stranger);
}
END_TEST

START_TEST(to_take_another_containers_name_is_a_broken_invariant)
{
	world_attach(2);
	gvm_container_rename(world_attach(1), 2);
}
END_TEST

/* D5: join the second of two containers, and one that does not exist. */
START_TEST(attach_tells_groups_apart)
{
	struct gvm_container *a = world_attach(1), *b = world_attach(2), *c;

	ck_assert_ptr_eq(world_attach(2), b);
	c = world_attach(3);
	ck_assert(c != a && c != b);
	ck_assert_uint_eq(device->container_count, 3);
	gvm_container_detach(a);
	gvm_container_detach(b);
	gvm_container_detach(b);
	gvm_container_detach(c);
}
END_TEST

/* F11, D11 */
START_TEST(a_reference_outlives_the_process)
{
	struct gvm_container *container = world_attach(1);

	gvm_container_get(container);
	gvm_container_detach(container);
	ck_assert_ptr_null(find_container(device, 1));
	ck_assert_uint_eq(device->container_count, 1);
	world_check();
	/* A fault in service when the process ended still charges the container. */
	ck_assert_uint_eq(world_charge(container), 0);
	world_check();
	gvm_uncharge(device, 0);
	gvm_container_put(container);
	ck_assert_uint_eq(device->container_count, 0);
	ck_assert_uint_eq(world.live, 1);
}
END_TEST

/* D14, F16 */
START_TEST(a_reused_tgid_inherits_nothing)
{
	struct gvm_container *old = world_attach(1), *new;

	world_charge(old);
	gvm_limit_set_high(old, 0);
	gvm_swap_charge(old, GVM_CHUNK_BYTES);
	gvm_container_count_event(old, GVM_EVENT_OOM);
	gvm_container_get(old);
	gvm_container_detach(old);
	new = world_attach(1);
	ck_assert_ptr_ne(new, old);
	ck_assert_uint_eq(new->gmem_high_bytes, GVM_NO_LIMIT);
	ck_assert_uint_eq(gvm_charged_bytes(new) + gvm_peak_bytes(new), 0);
	ck_assert_uint_eq(new->swapped_bytes + new->events[GVM_EVENT_OOM], 0);
	world_check();
	gvm_uncharge(device, 0);
	gvm_swap_uncharge(old, GVM_CHUNK_BYTES);
	gvm_container_put(old);
	ck_assert_ptr_eq(find_container(device, 1), new);
	gvm_container_put(new);
	gvm_container_detach(new);
}
END_TEST

/* F13 */
START_TEST(attach_without_memory_fails_and_leaves_nothing)
{
	struct gvm_container *container;

	world.fail_allocation = world.allocations;
	ck_assert_int_eq(gvm_container_attach(device, 1, &container), -ENOMEM);
	ck_assert_ptr_null(container);
	ck_assert_uint_eq(device->container_count, 0);
	world_check();
	container = world_attach(1);
	gvm_container_detach(container);
}
END_TEST

START_TEST(joining_an_existing_group_needs_no_memory)
{
	struct gvm_container *container = world_attach(1);

	world.fail_allocation = world.allocations;
	ck_assert_ptr_eq(world_attach(1), container);
	gvm_container_detach(container);
	gvm_container_detach(container);
}
END_TEST

static struct gvm_container *rival;

/* Another process of the group attaches while the first one allocates. */
static void attach_rival(void)
{
	world.on_allocation = NULL;
	rival = world_attach(1);
}

/* D13 */
START_TEST(two_that_attach_at_once_get_one_container)
{
	struct gvm_container *container;

	world.on_allocation = attach_rival;
	container = world_attach(1);
	ck_assert_ptr_eq(container, rival);
	ck_assert_uint_eq(device->container_count, 1);
	ck_assert_uint_eq(container->processes, 2);
	ck_assert_uint_eq(world.live, 2);
	world_check();
	gvm_container_detach(container);
	gvm_container_detach(container);
}
END_TEST

/* D22 */
START_TEST(counters_count)
{
	struct gvm_container *container = world_attach(1);

	gvm_container_count_kernels(container, 10, 0);
	gvm_container_count_kernels(container, 1, 4);
	gvm_container_count_event(container, GVM_EVENT_OOM);
	ck_assert_uint_eq(container->kernels_submitted, 11);
	ck_assert_uint_eq(container->kernels_ended, 4);
	ck_assert_uint_eq(container->events[GVM_EVENT_OOM], 1);
	ck_assert_uint_eq(container->events[GVM_EVENT_HIGH], 0);
	gvm_container_detach(container);
}
END_TEST

START_TEST(to_free_a_container_with_a_charge_is_a_broken_invariant)
{
	struct gvm_container *container = world_attach(1);

	world_charge(container);
	gvm_container_detach(container);
}
END_TEST

START_TEST(to_free_a_container_with_a_promise_is_a_broken_invariant)
{
	struct gvm_container *container = world_attach(1);

	ck_assert_int_eq(gvm_charge_reserve(container), 0);
	gvm_container_detach(container);
}
END_TEST

START_TEST(to_free_a_container_with_swap_is_a_broken_invariant)
{
	struct gvm_container *container = world_attach(1);

	gvm_swap_charge(container, GVM_PAGE_BYTES);
	gvm_container_detach(container);
}
END_TEST

START_TEST(to_free_a_container_with_clean_copies_is_a_broken_invariant)
{
	struct gvm_container *container = world_attach(1);

	gvm_clean_charge(container, 0, 0, GVM_PAGE_BYTES);
	gvm_container_detach(container);
}
END_TEST

/* D11 */
START_TEST(to_detach_more_often_than_attach_is_a_broken_invariant)
{
	struct gvm_container *container = world_attach(1);

	gvm_container_get(container);
	gvm_container_detach(container);
	gvm_container_detach(container);
}
END_TEST

static void setup(void)
{
	world_init(WORLD_CHUNKS);
}

static void add_device_tests(TCase *tests)
{
	tcase_add_test(tests, a_device_without_chunks_is_refused);
	tcase_add_test(tests, a_device_without_memory_is_refused_and_leaks_nothing);
	tcase_add_test(tests, a_device_of_one_chunk_works);
	tcase_add_test_raise_signal(tests, a_device_with_containers_must_not_go, SIGABRT);
}

static void add_container_tests(TCase *tests)
{
	tcase_add_test(tests, a_new_container_has_no_limits_and_touched_nothing);
	tcase_add_test(tests, processes_of_a_group_share_one_container);
	tcase_add_test(tests, a_renamed_container_leaves_its_old_name_to_a_stranger);
	tcase_add_test_raise_signal(
		tests, to_take_another_containers_name_is_a_broken_invariant, SIGABRT);
	tcase_add_test(tests, attach_tells_groups_apart);
	tcase_add_test(tests, a_reference_outlives_the_process);
	tcase_add_test(tests, a_reused_tgid_inherits_nothing);
	tcase_add_test(tests, attach_without_memory_fails_and_leaves_nothing);
	tcase_add_test(tests, joining_an_existing_group_needs_no_memory);
	tcase_add_test(tests, two_that_attach_at_once_get_one_container);
	tcase_add_test(tests, counters_count);
	tcase_add_test_raise_signal(
		tests, to_free_a_container_with_a_charge_is_a_broken_invariant, SIGABRT);
	tcase_add_test_raise_signal(
		tests, to_free_a_container_with_a_promise_is_a_broken_invariant, SIGABRT);
	tcase_add_test_raise_signal(tests, to_free_a_container_with_swap_is_a_broken_invariant,
				    SIGABRT);
	tcase_add_test_raise_signal(
		tests, to_free_a_container_with_clean_copies_is_a_broken_invariant, SIGABRT);
	tcase_add_test_raise_signal(
		tests, to_detach_more_often_than_attach_is_a_broken_invariant, SIGABRT);
}

int main(void)
{
	Suite *suite = suite_create("policy container");

	world_add_case(suite, "device", setup, world_destroy, add_device_tests);
	world_add_case(suite, "container", setup, world_destroy, add_container_tests);
	return world_run(suite);
}
