// SPDX-License-Identifier: MIT OR GPL-2.0
/* What systems honour of control files, and the timeslices and priorities that they set. */
#include <stdio.h>

#include "systems/core.h"
#include "machine_fixture.h"

/* A configuration of a system, with room for its keys. */
struct system_config {
	struct config config;
	u64 keys[16];
};

static struct system_config system_gvm_config, system_ghost_config;

static struct system_config *config_of(const char *system)
{
	struct system_config *config = &system_ghost_config;

	if (!strcmp(system, "gvm"))
		config = &system_gvm_config;
	config->config.system_keys = config->keys;
	return config;
}

static void set_flag(const char *system, const char *path, bool on)
{
	const struct cfg_key *key = find_key(system, path);

	ck_assert_int_eq(key->type, CFG_TYPE_BOOL);
	*((bool *)config_of(system)->keys + key->offset) = on;
}

static void set_scheduler(const char *system, enum sim_scheduler scheduler)
{
	const struct cfg_key *key = find_key(system, "system.scheduler");

	ck_assert_int_eq(key->type, CFG_TYPE_ENUM);
	config_of(system)->keys[key->offset / sizeof(u64)] = scheduler;
}

static void switch_gvm_on(void)
{
	set_flag("gvm", "system.mechanisms.memory_isolation", true);
	set_flag("gvm", "system.mechanisms.compute_isolation", true);
	set_flag("gvm", "system.mechanisms.fast_paging", true);
}

static bool honours(const char *system, const char *file)
{
	return sim_system_honours(sim_system_find(system), &config_of(system)->config, file);
}

static bool has(const char *system, const char *mechanism)
{
	char key[64];

	snprintf(key, sizeof(key), "system.mechanisms.%s", mechanism);
	return find_key(system, key);
}

/* They honour the core's control files, as far as the mechanism is on. */
START_TEST(systems_honour_what_the_core_has)
{
	switch_gvm_on();
	for (int i = 0; i < 2; i++) {
		const char *system = i ? "gvm" : "ghost";

		ck_assert(!sim_system_find(system)->own_gpu);
		ck_assert(honours(system, "gmem.limit.high"));
		ck_assert(honours(system, "memory.limit"));
		ck_assert_int_eq(honours(system, "gmem.limit.low"), !i);
		ck_assert(honours(system, "compute.timeslice"));
		ck_assert(honours(system, "compute.priority"));
		ck_assert(honours(system, "compute.freeze"));
		ck_assert(!honours(system, "compute.weight"));
		ck_assert_int_eq(honours(system, "hmem.limit"), !i);
		ck_assert_int_eq(sim_system_find(system)->has_pressure, !i);
		ck_assert(!honours(system, "gmem.current"));
	}
	ck_assert(!honours("stock", "compute.priority"));
	ck_assert(!honours("stock", "compute.freeze"));
	ck_assert(!honours("stock", "gmem.limit.high"));
	ck_assert(honours("stock", "compute.timeslice"));
	ck_assert(!honours("gpreempt", "compute.priority"));
	ck_assert(!honours("gpreempt", "gmem.limit.high"));
	ck_assert(has("gpreempt", "fast_paging"));
	ck_assert(!has("gpreempt", "memory_isolation"));
	ck_assert(has("gvm", "fast_paging"));
	ck_assert(!has("gvm", "clean_drop"));
	ck_assert(!has("ghost", "fast_paging"));
	ck_assert(has("ghost", "clean_drop"));
	ck_assert(has("ghost", "priority_batches"));
	ck_assert(has("ghost", "hint_faults"));
	ck_assert(!has("stock", "hint_faults"));
	ck_assert(has("ghost", "lirs"));
	ck_assert(!has("gvm", "lirs"));
	set_flag("gvm", "system.mechanisms.memory_isolation", false);
	ck_assert(!honours("gvm", "memory.limit"));
	ck_assert(honours("gvm", "compute.freeze"));
	ck_assert(honours("ghost", "gmem.limit.high"));
	set_flag("gvm", "system.mechanisms.compute_isolation", false);
	ck_assert(!honours("gvm", "compute.freeze"));
}
END_TEST

/* By weight, timeslices are the scheduler's own; ghost has another use for priorities. */
START_TEST(a_scheduler_honours_what_it_takes_something_from)
{
	switch_gvm_on();
	set_scheduler("gvm", SIM_SCHEDULER_WEIGHTED);
	set_scheduler("ghost", SIM_SCHEDULER_WEIGHTED);
	ck_assert(honours("gvm", "compute.weight"));
	ck_assert(honours("ghost", "compute.freeze"));
	ck_assert(!honours("gvm", "compute.timeslice"));
	ck_assert(!honours("ghost", "compute.priority"));
	ck_assert(!honours("stock", "compute.weight"));
	set_flag("ghost", "system.mechanisms.priority_batches", true);
	ck_assert(honours("ghost", "compute.priority"));
	ck_assert(!honours("gvm", "compute.priority"));
	set_scheduler("gvm", SIM_SCHEDULER_PRIORITY);
	ck_assert(honours("gvm", "compute.timeslice"));
	ck_assert(!honours("gvm", "compute.weight"));
	ck_assert_ptr_nonnull(find_key("gvm", "system.tracking"));
	ck_assert_ptr_null(find_key("stock", "system.scheduler"));
}
END_TEST

/* Of each container that ran, by its place; the first one has no priority of its own: 9. */
static u64 seen_timeslice_ns[2];

static int look_at_timeslice(const struct app_env *env)
{
	seen_timeslice_ns[env->container->start != 0] = env->cuda->process->tsg.timeslice_ns;
	return 0;
}

/* Run both under gpreempt, the second and a disabled third one of these priorities. */
static void preempt(const char *second, const char *disabled)
{
	struct cfg_control limits[] = { { "gmem.limit.high", "1048576" },
					{ "compute.priority", "" } };
	struct cfg_control late = { "compute.priority", "" };
	struct cfg_control off = { "compute.priority", "" };
	struct cfg_container three[] = { toy_containers[0], toy_containers[1],
					 toy_containers[2] };
	struct config config = toy_config("gpreempt");
	struct sim_error err = { 0 };
	struct machine machine;

	strcpy(late.text, second);
	strcpy(off.text, disabled);
	three[0].controls = limits;
	three[0].control_count = 2;
	three[1].controls = &late;
	three[1].control_count = 1;
	three[2].controls = &off;
	three[2].control_count = 1;
	config.containers = three;
	ck_assert_int_eq(run_toy(&machine, &config, look_at_timeslice, &err), 0);
	ck_assert_int_eq(machine.gpu_count, 1);
	ck_assert_int_eq(machine.containers[0].status, 0);
	machine_destroy(&machine);
}

#define FIRST_NS  524288000ull /* compute.priority 0 */
#define OTHERS_NS 16000ull     /* and 15 */

START_TEST(gpreempt_puts_the_most_important_container_first)
{
	preempt("10", "0");
	ck_assert_uint_eq(seen_timeslice_ns[0], FIRST_NS);
	ck_assert_uint_eq(seen_timeslice_ns[1], OTHERS_NS);
}
END_TEST

START_TEST(gpreempt_puts_a_later_container_first_if_it_is_more_important)
{
	preempt("8", "");
	ck_assert_uint_eq(seen_timeslice_ns[0], OTHERS_NS);
	ck_assert_uint_eq(seen_timeslice_ns[1], FIRST_NS);
}
END_TEST

START_TEST(gpreempt_puts_equals_first_together)
{
	preempt("", "");
	ck_assert_uint_eq(seen_timeslice_ns[0], FIRST_NS);
	ck_assert_uint_eq(seen_timeslice_ns[1], FIRST_NS);
}
END_TEST

/* A process sets its timeslice on the driver as it comes; its priority has no effect. */
START_TEST(stock_takes_the_timeslice_of_a_process)
{
	struct cfg_control first[] = { { "compute.timeslice", "512us" },
				       { "compute.priority", "2" } };
	struct cfg_container two[] = { toy_containers[0], toy_containers[1] };
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	two[0].controls = first;
	two[0].control_count = 2;
	config.containers = two;
	config.container_count = 2;
	ck_assert_int_eq(run_toy(&machine, &config, look_at_timeslice, &err), 0);
	machine_destroy(&machine);
	ck_assert_uint_eq(seen_timeslice_ns[0], 512000);
	ck_assert_uint_eq(seen_timeslice_ns[1], config.gpu.sched.timeslice);
}
END_TEST

TEST_MAIN("machine_systems", systems_honour_what_the_core_has,
	  a_scheduler_honours_what_it_takes_something_from,
	  gpreempt_puts_the_most_important_container_first,
	  gpreempt_puts_a_later_container_first_if_it_is_more_important,
	  gpreempt_puts_equals_first_together, stock_takes_the_timeslice_of_a_process)
