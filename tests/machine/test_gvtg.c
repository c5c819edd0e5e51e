// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * GVT-g: dispatch of workloads, to the nanosecond. A turnover has 15 us at the end of a
 * workload and 4 x 3 + 20 + 5 + 5 us and 50 ns a kernel at the start of the next one. A context
 * switch takes 100 us.
 */
#include "library_fixture.h"

#define SWITCH_NS (100 * US)

/* As the rows of keys in sim/systems/gvtg.c. */
static struct {
	u64 tick;
	u64 balance_period;
	u64 stages;
	u64 start_priority;
	u64 trap;
	u64 elsp_writes;
	u64 scan;
	u64 shadow;
	u64 pin;
	u64 submit;
	u64 complete;
	u64 page;
	u64 trapped_accesses;
	u64 host_policy;
	u64 preempt_granule;
	bool one_in_flight;
	u64 fences;
} keys = { MS,	   100 * MS, 10,   0, 3 * US, 4, 50,   20 * US, 5 * US,
	   5 * US, 15 * US,  4096, 0, 0,      0, true, 0 };

static void expect_end(u32 index, u64 date)
{
	ck_assert_int_eq(cuda_synchronize(&contexts[index]), 0);
	ck_assert_uint_eq(eng_now(), date);
}

/*
 * Two workloads of four kernels. The owner is chosen at 1 ms; 42.2 us later the first goes to
 * the GPU, where its context is loaded first. It ends at 1.5422 ms; the second starts 57.2 us
 * later, and its context is there.
 */
static void alone(void)
{
	library_launch(0, 4, 100 * US, 0);
	library_launch(0, 4, 100 * US, 0);
	expect_end(0, 1542200 + 57200 + 400 * US);
	ck_assert_uint_eq(gpu.fifo.switches, 1);
}

START_TEST(between_two_workloads_is_a_turnover)
{
	library_simulate(&system_gvtg, &keys, SWITCH_NS, (const char *const[]){ "0", NULL },
			 (void (*const[])(void)){ alone });
}
END_TEST

/* The host launches until 2 ms: the workload is queued then, and the owner chosen at once. */
static void slow_host(void)
{
	library_launch(0, 4, 100 * US, 500 * US);
	expect_end(0, 2 * MS + 42200 + SWITCH_NS + 400 * US);
}

START_TEST(a_workload_is_queued_when_all_of_it_is_launched)
{
	library_simulate(&system_gvtg, &keys, SWITCH_NS, (const char *const[]){ "0", NULL },
			 (void (*const[])(void)){ slow_host });
}
END_TEST

/*
 * Two vGPUs of equal weight, each with three workloads of 10 ms. No two are in flight: the
 * kernels of one that are not dispatched are withheld. Times in us: 0 from 1042.05 + 100 on to
 * 11142.05; the owner changes 15 us later; 1 until 21299.1, and so on, 10157.05 each.
 */
#define FIRST_END (1042050ull + SWITCH_NS + 10 * MS)
#define EACH	  (57050ull + SWITCH_NS + 10 * MS)

static void first_of_two(void)
{
	for (u32 i = 0; i < 3; i++)
		library_launch(0, 1, 10 * MS, 0);
	eng_sleep_until(FIRST_END);
	ck_assert_uint_eq(library_ended(0), 1);
	ck_assert_uint_eq(library_launched(1), 0);
	expect_end(0, FIRST_END + 4 * EACH);
	eng_sleep_until(100 * MS);
}

static void second_of_two(void)
{
	for (u32 i = 0; i < 3; i++)
		library_launch(1, 1, 10 * MS, 0);
	eng_sleep_until(FIRST_END + EACH);
	ck_assert_uint_eq(library_ended(0), 1);
	ck_assert_uint_eq(library_ended(1), 1);
	expect_end(1, FIRST_END + 5 * EACH);
	ck_assert_uint_eq(gpu.fifo.switches, 6);
}

START_TEST(one_workload_is_in_flight_and_owners_alternate)
{
	library_simulate(&system_gvtg, &keys, SWITCH_NS,
			 (const char *const[]){ "0", "0", NULL },
			 (void (*const[])(void)){ first_of_two, second_of_two });
}
END_TEST

/* A vGPU goes while its workload is in flight: the other one has the GPU. */
static void leaves(void)
{
	library_launch(0, 1, 50 * MS, 0);
	eng_sleep_until(5 * MS);
}

static void stays(void)
{
	library_launch(1, 1, 10 * MS, 0);
	ck_assert_int_eq(cuda_synchronize(&contexts[1]), 0);
	ck_assert_uint_ge(eng_now(), 15 * MS);
	ck_assert_uint_le(eng_now(), 17 * MS);
}

START_TEST(the_workload_of_one_that_leaves_is_gone)
{
	library_simulate(&system_gvtg, &keys, SWITCH_NS,
			 (const char *const[]){ "0", "0", NULL },
			 (void (*const[])(void)){ leaves, stays });
}
END_TEST

/*
 * A workload after 10 ms of copies is not queued before they have ended: the GPU could do
 * nothing with it, and no other vGPU's workload would be in flight.
 */
#define COPIES 40000u

static void waits_for_copies(void)
{
	struct cuda_memory memory;

	ck_assert_int_eq(cuda_malloc(&contexts[0], 8 * GVM_CHUNK_BYTES, false, &memory), 0);
	for (u32 i = 0; i < COPIES; i++)
		ck_assert_int_eq(cuda_memcpy_async(&memory, 0, memory.bytes, CUDA_DEVICE,
						   cuda_default_stream(&contexts[0])),
				 0);
	library_launch(0, 1, MS, 0);
	ck_assert_int_eq(cuda_synchronize(&contexts[0]), 0);
	ck_assert_uint_ge(eng_now(), 11 * MS);
	ck_assert_uint_le(eng_now(), 13 * MS);
}

static void beside_copies(void)
{
	library_launch(1, 1, MS, 0);
	ck_assert_int_eq(cuda_synchronize(&contexts[1]), 0);
	ck_assert_uint_le(eng_now(), 4 * MS);
	eng_sleep_until(100 * MS);
}

START_TEST(a_workload_that_waits_for_a_copy_is_not_in_flight)
{
	library_simulate(&system_gvtg, &keys, SWITCH_NS,
			 (const char *const[]){ "0", "0", NULL },
			 (void (*const[])(void)){ waits_for_copies, beside_copies });
}
END_TEST

/*
 * The guest's four kernels of 1 ms begin at 1142.2 us. The host launches one at 1.5 ms. First:
 * the guest's kernel in execution ends at 2142.2 us, the host's context is loaded, and after
 * its kernel the guest goes on with three more, 5 us and a switch later. In order: the guest
 * ends at 5142.2 us, 15 us later the host's turn comes, after 5 us and a switch.
 */
#define GUEST_BEGIN (1042200ull + SWITCH_NS)

static void guest(void)
{
	library_launch(0, 4, MS, 0);
	expect_end(0, keys.host_policy ?
			      GUEST_BEGIN + 4 * MS :
			      GUEST_BEGIN + MS + SWITCH_NS + MS + 5 * US + SWITCH_NS + 3 * MS);
	eng_sleep_until(10 * MS);
}

static void host(void)
{
	eng_sleep_until(1500 * US);
	library_launch(1, 1, MS, 0);
	expect_end(1, keys.host_policy ? GUEST_BEGIN + 4 * MS + 20 * US + SWITCH_NS + MS :
					 GUEST_BEGIN + MS + SWITCH_NS + MS);
	/* On an idle GPU it waits for no tick. In order, its context was there last. */
	eng_sleep_until(8 * MS);
	library_launch(1, 2, 100 * US, 0);
	expect_end(1, 8 * MS + 5 * US + 200 * US + (keys.host_policy ? 0 : SWITCH_NS));
}

START_TEST(the_host_preempts_at_the_end_of_a_kernel_or_waits_in_order)
{
	keys.host_policy = (u64)_i;
	library_vgpu_types[1] = "host";
	library_simulate(&system_gvtg, &keys, SWITCH_NS,
			 (const char *const[]){ "0", "0", NULL },
			 (void (*const[])(void)){ guest, host });
}
END_TEST

/*
 * As above, but a kernel stops at each 100 us: the guest's at 1542.2 us, 20 us after the launch at
 * the earliest. It has 3.6 ms left then.
 */
static void guest_in_granules(void)
{
	library_launch(0, 4, MS, 0);
	expect_end(0, GUEST_BEGIN + 400 * US + SWITCH_NS + MS + 5 * US + SWITCH_NS + 3600 * US);
}

static void host_in_granules(void)
{
	eng_sleep_until(1500 * US);
	library_launch(1, 1, MS, 0);
	expect_end(1, GUEST_BEGIN + 400 * US + SWITCH_NS + MS);
	eng_sleep_until(10 * MS);
}

START_TEST(the_host_preempts_at_a_granule_of_a_kernel)
{
	keys.preempt_granule = 100 * US;
	library_vgpu_types[1] = "host";
	library_simulate(&system_gvtg, &keys, SWITCH_NS,
			 (const char *const[]){ "0", "0", NULL },
			 (void (*const[])(void)){ guest_in_granules, host_in_granules });
}
END_TEST

/*
 * The host launches again while the guest is on its way back to the GPU, 2 us after the host's
 * workload: the guest waits once more, for all that is left of its four kernels.
 */
#define HOST_END  (GUEST_BEGIN + (keys.preempt_granule ? 400 * US : MS) + SWITCH_NS + MS)
#define AGAIN_END (HOST_END + 2 * US + 20 * US + MS)

static void guest_waits_twice(void)
{
	u64 end = AGAIN_END + 5 * US + SWITCH_NS + (keys.preempt_granule ? 3600 * US : 3 * MS);

	library_launch(0, 4, MS, 0);
	eng_sleep_until(end - 1);
	ck_assert_uint_eq(library_ended(0), 3);
	eng_sleep_until(end);
	ck_assert_uint_eq(library_ended(0), 4);
}

static void host_comes_twice(void)
{
	eng_sleep_until(1500 * US);
	library_launch(1, 1, MS, 0);
	expect_end(1, HOST_END);
	eng_sleep_until(HOST_END + 2 * US);
	library_launch(1, 1, MS, 0);
	expect_end(1, AGAIN_END);
	eng_sleep_until(10 * MS);
}

START_TEST(the_host_preempts_a_guest_that_is_on_its_way_back)
{
	keys.preempt_granule = _i ? 100 * US : 0;
	library_vgpu_types[1] = "host";
	library_simulate(&system_gvtg, &keys, SWITCH_NS,
			 (const char *const[]){ "0", "0", NULL },
			 (void (*const[])(void)){ guest_waits_twice, host_comes_twice });
}
END_TEST

/*
 * The host leaves before its workload has begun, 2 us before the guest's last kernel ends: the
 * guest's workload ends on its way back to the GPU, and its next one runs.
 */
#define LAST_END (1042050ull + SWITCH_NS + MS)

static void guest_ends_on_its_way(void)
{
	library_launch(0, 1, MS, 0);
	expect_end(0, LAST_END);
	library_launch(0, 1, MS, 0);
	eng_sleep_until(LAST_END + 57050 + MS);
	ck_assert_uint_eq(library_ended(0), 2);
}

static void host_leaves_too_early(void)
{
	eng_sleep_until(1900 * US);
	library_launch(1, 1, MS, 0);
	eng_sleep_until(LAST_END - 2 * US);
}

START_TEST(a_guest_may_end_on_its_way_back)
{
	library_vgpu_types[1] = "host";
	library_simulate(
		&system_gvtg, &keys, SWITCH_NS, (const char *const[]){ "0", "0", NULL },
		(void (*const[])(void)){ guest_ends_on_its_way, host_leaves_too_early });
}
END_TEST

/*
 * The end of a kernel comes before a granule of 700 us: at 2142.2 us, as without granules. The
 * kernel is the guest's last one, and its workload is over.
 */
static void guest_of_one_kernel(void)
{
	library_launch(0, 1, MS, 0);
	expect_end(0, 1042050ull + SWITCH_NS + MS);
	/* It is not held up: its next workload runs. */
	eng_sleep_until(8 * MS);
	library_launch(0, 1, MS, 0);
	ck_assert_int_eq(cuda_synchronize(&contexts[0]), 0);
	ck_assert_uint_le(eng_now(), 9 * MS + 300 * US);
}

static void host_of_one_kernel(void)
{
	eng_sleep_until(1900 * US);
	library_launch(1, 1, MS, 0);
	ck_assert_int_eq(cuda_synchronize(&contexts[1]), 0);
	ck_assert_uint_le(eng_now(), 1042050ull + SWITCH_NS + MS + 20 * US + SWITCH_NS + MS);
	eng_sleep_until(12 * MS);
}

START_TEST(a_kernel_ends_before_its_granule)
{
	keys.preempt_granule = 700 * US;
	library_vgpu_types[1] = "host";
	library_simulate(&system_gvtg, &keys, SWITCH_NS,
			 (const char *const[]){ "0", "0", NULL },
			 (void (*const[])(void)){ guest_of_one_kernel, host_of_one_kernel });
}
END_TEST

/*
 * The second workload is prepared while the first one runs: no turnover. The third is shorter
 * than a turnover, 57.05 us: the fourth begins that long after the third.
 */
static void pipelined(void)
{
	library_launch(0, 4, 100 * US, 0);
	library_launch(0, 4, 100 * US, 0);
	library_launch(0, 1, 10 * US, 0);
	library_launch(0, 1, 10 * US, 0);
	expect_end(0, 1542200 + 400 * US + 57050 + 10 * US);
	ck_assert_uint_eq(processes[0].stats.traps[SIM_TRAP_SUBMISSION], 16);
}

START_TEST(with_several_in_flight_a_turnover_hides_behind_the_workload_before)
{
	keys.one_in_flight = false;
	library_simulate(&system_gvtg, &keys, SWITCH_NS, (const char *const[]){ "0", NULL },
			 (void (*const[])(void)){ pipelined });
}
END_TEST

/* The guest leaves while the host's workload holds it up, and the host works on. */
static void guest_leaves(void)
{
	library_launch(0, 4, MS, 0);
	eng_sleep_until(1700 * US);
}

static void host_stays(void)
{
	eng_sleep_until(1500 * US);
	library_launch(1, 2, MS, 0);
	library_launch(1, 2, MS, 0);
	ck_assert_int_eq(cuda_synchronize(&contexts[1]), 0);
	ck_assert_uint_le(eng_now(), 7 * MS);
}

/* The host leaves in its workload, and the guest goes on. */
static void guest_stays(void)
{
	library_launch(0, 4, MS, 0);
	ck_assert_int_eq(cuda_synchronize(&contexts[0]), 0);
	ck_assert_uint_le(eng_now(), 7 * MS);
}

static void host_leaves(void)
{
	eng_sleep_until(1500 * US);
	library_launch(1, 1, 50 * MS, 0);
	eng_sleep_until(2500 * US);
}

START_TEST(one_of_guest_and_host_leaves)
{
	library_vgpu_types[1] = "host";
	library_simulate(&system_gvtg, &keys, SWITCH_NS,
			 (const char *const[]){ "0", "0", NULL },
			 _i ? (void (*const[])(void)){ guest_leaves, host_stays } :
			      (void (*const[])(void)){ guest_stays, host_leaves });
}
END_TEST

/*
 * A kernel of 100 us makes 66 accesses, 3 us each: the last of four is launched after 792 us.
 * The workload is queued then, before the first tick.
 */
static void accesses_registers(void)
{
	library_launch(0, 4, 100 * US, 0);
	expect_end(0, MS + 42200 + SWITCH_NS + 400 * US);
	eng_sleep_until(5 * MS);
	library_launch(0, 4, 100 * US, 0);
	expect_end(0, 5 * MS + 792 * US + 42200 + 400 * US);
	ck_assert_uint_eq(processes[0].stats.traps[SIM_TRAP_ACCESS], 2 * 264);
	ck_assert_uint_eq(processes[0].stats.traps[SIM_TRAP_SUBMISSION], 2 * 4);
}

START_TEST(trapped_accesses_hold_launches_up)
{
	keys.trapped_accesses = 660000;
	library_simulate(&system_gvtg, &keys, SWITCH_NS, (const char *const[]){ "0", NULL },
			 (void (*const[])(void)){ accesses_registers });
}
END_TEST

/* A second of work is ten million accesses, a second each: the first launch never comes. */
static void accesses_for_years(void)
{
	library_launch(0, 1000, 1000 * MS, 0);
	library_launch(0, 1000, 1000 * MS, 0);
	eng_sleep_until(1000000 * MS);
	ck_assert_uint_eq(library_launched(0), 0);
}

START_TEST(years_of_trapped_accesses_do_no_harm)
{
	keys.trapped_accesses = 10000000;
	keys.trap = 1000 * MS;
	library_simulate(&system_gvtg, &keys, SWITCH_NS, (const char *const[]){ "0", NULL },
			 (void (*const[])(void)){ accesses_for_years });
}
END_TEST

/* Trapped entries: 512, 32 and 1 for 2 MB, 3 us each, to map and to unmap. */
static void allocates(void)
{
	struct cuda_memory memory;
	u64 before = eng_now();

	ck_assert_int_eq(cuda_malloc_managed(&contexts[0], 3 * GVM_CHUNK_BYTES, false, &memory),
			 0);
	ck_assert_uint_eq(eng_now() - before, 3 * (GVM_CHUNK_BYTES / keys.page) * 3 * US);
	before = eng_now();
	ck_assert_int_eq(cuda_free(&memory), 0);
	ck_assert_uint_eq(eng_now() - before, 3 * (GVM_CHUNK_BYTES / keys.page) * 3 * US);
	ck_assert_uint_eq(processes[0].stats.traps[SIM_TRAP_ENTRY],
			  6 * (GVM_CHUNK_BYTES / keys.page));
}

START_TEST(each_entry_of_a_page_table_is_trapped)
{
	static const u64 pages[] = { 4096, 65536, GVM_CHUNK_BYTES };

	ck_assert_uint_eq(GVM_CHUNK_BYTES / pages[0], 512);
	ck_assert_uint_eq(GVM_CHUNK_BYTES / pages[1], 32);
	keys.page = pages[_i];
	library_simulate(&system_gvtg, &keys, SWITCH_NS, (const char *const[]){ "0", NULL },
			 (void (*const[])(void)){ allocates });
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gvtg");
	TCase *tests = tcase_create("gvtg");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 600);
	tcase_add_test(tests, between_two_workloads_is_a_turnover);
	tcase_add_test(tests, a_workload_is_queued_when_all_of_it_is_launched);
	tcase_add_test(tests, one_workload_is_in_flight_and_owners_alternate);
	tcase_add_test(tests, the_workload_of_one_that_leaves_is_gone);
	tcase_add_test(tests, a_workload_that_waits_for_a_copy_is_not_in_flight);
	tcase_add_loop_test(tests, the_host_preempts_at_the_end_of_a_kernel_or_waits_in_order,
			    0, 2);
	tcase_add_test(tests, the_host_preempts_at_a_granule_of_a_kernel);
	tcase_add_loop_test(tests, the_host_preempts_a_guest_that_is_on_its_way_back, 0, 2);
	tcase_add_test(tests, a_guest_may_end_on_its_way_back);
	tcase_add_test(tests, a_kernel_ends_before_its_granule);
	tcase_add_test(tests,
		       with_several_in_flight_a_turnover_hides_behind_the_workload_before);
	tcase_add_loop_test(tests, one_of_guest_and_host_leaves, 0, 2);
	tcase_add_test(tests, trapped_accesses_hold_launches_up);
	tcase_add_test(tests, years_of_trapped_accesses_do_no_harm);
	tcase_add_loop_test(tests, each_entry_of_a_page_table_is_trapped, 0, 3);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
