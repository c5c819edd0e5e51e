// SPDX-License-Identifier: MIT OR GPL-2.0
/* The link: copies checked to the nanosecond. */
#include "engine/engine.h"
#include "pcie/link.h"
#include "runner.h"

/* 1 byte/ns in each direction, 10 ns of set-up, 3 ns for each further piece. */
static const struct pcie_config full_duplex = { 1000000000, 2000000000, 10, { 3, 3 } };
/* Both directions together carry 1.5 times one: 0.75 bytes/ns each while both move. */
static const struct pcie_config coupled = { 1000000000, 1500000000, 10, { 3, 3 } };

static struct pcie_link pcie;
static void (*body)(void);

static void actor(void *data)
{
	(void)data;
	body();
}

static void simulate(const struct pcie_config *config, void (*function)(void))
{
	body = function;
	ck_assert_int_eq(eng_init(), 0);
	pcie_link_init(&pcie, config);
	eng_spawn("test", actor, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	pcie_link_destroy(&pcie);
}

/* Ring for a copy. Returns its number. */
static u64 copy(enum pcie_direction direction, u64 bytes, u64 doorbell_ns, u64 *ret_bytes)
{
	const struct pcie_copy copied = {
		.bytes = bytes,
		.doorbell_ns = doorbell_ns,
		.ret_bytes = ret_bytes,
	};
	u64 sequence;

	ck_assert_int_eq(pcie_copy(&pcie, direction, &copied, &sequence), 0);
	return sequence;
}

static void expect_done_at(enum pcie_direction direction, u64 sequence, u64 date)
{
	ck_assert_int_eq(pcie_wait(&pcie, direction, sequence), 0);
	ck_assert_uint_eq(eng_now(), date);
}

static void copies_of_one_direction(void)
{
	u64 moved = 0;

	ck_assert_uint_eq(copy(PCIE_H2D, 100, 0, &moved), 1);
	ck_assert_uint_eq(copy(PCIE_H2D, 50, 0, &moved), 2);
	expect_done_at(PCIE_H2D, 1, 110);
	ck_assert_uint_eq(moved, 100);
	expect_done_at(PCIE_H2D, 2, 170);
	ck_assert_uint_eq(moved, 150);
}

START_TEST(copies_of_one_direction_queue_and_each_pays_its_setup)
{
	simulate(&full_duplex, copies_of_one_direction);
}
END_TEST

static void in_pieces(void)
{
	const struct pcie_copy pieces = { .bytes = 100, .pieces = 5 };

	ck_assert_int_eq(pcie_copy(&pcie, PCIE_H2D, &pieces, NULL), 0);
	copy(PCIE_D2H, 100, 0, NULL);
	expect_done_at(PCIE_D2H, 1, 110);
	expect_done_at(PCIE_H2D, 1, 10 + 4 * 3 + 100);
}

START_TEST(every_further_piece_of_a_copy_takes_time)
{
	simulate(&full_duplex, in_pieces);
}
END_TEST

static void both_directions(void)
{
	copy(PCIE_H2D, 100, 0, NULL);
	copy(PCIE_D2H, 100, 0, NULL);
	expect_done_at(PCIE_H2D, 1, 110);
	expect_done_at(PCIE_D2H, 1, 110);
}

START_TEST(directions_of_a_full_duplex_link_do_not_slow_each_other)
{
	simulate(&full_duplex, both_directions);
}
END_TEST

static void coupled_directions(void)
{
	/*
	 * H2D moves 300 bytes from 10 on, D2H 150 from 60 on. Until 60, H2D moves 50 bytes at 1
	 * byte/ns. Then both move at 0.75 bytes/ns: D2H needs 200 ns, to 260, in which H2D
	 * moves 150. The last 100 bytes of H2D move at 1 byte/ns: to 360.
	 */
	copy(PCIE_H2D, 300, 0, NULL);
	copy(PCIE_D2H, 150, 50, NULL);
	expect_done_at(PCIE_D2H, 1, 260);
	expect_done_at(PCIE_H2D, 1, 360);
}

START_TEST(directions_that_share_slow_each_other_only_while_both_move)
{
	simulate(&coupled, coupled_directions);
}
END_TEST

static void late_doorbell(void)
{
	copy(PCIE_D2H, 5, 1000, NULL);
	expect_done_at(PCIE_D2H, 1, 1015);
	/*
	 * A copy whose doorbell rings long after the engine went idle starts at its doorbell.
	 */
	copy(PCIE_D2H, 5, 0, NULL);
	expect_done_at(PCIE_D2H, 2, 1030);
}

START_TEST(a_copy_never_starts_before_its_doorbell)
{
	simulate(&full_duplex, late_doorbell);
}
END_TEST

static void many_copies(void)
{
	u64 moved = 0;
	u64 last = 0;

	for (int i = 0; i < 1000; i++)
		last = copy(PCIE_H2D, 7, 0, &moved);
	expect_done_at(PCIE_H2D, last, 17000);
	ck_assert_uint_eq(moved, 7000);
}

START_TEST(the_queue_grows_and_loses_nothing)
{
	simulate(&full_duplex, many_copies);
}
END_TEST

/*
 * Random copies, compared with a naive link that advances by a nanosecond and counts quarters
 * of a byte.
 */

enum { COPIES = 40, QUARTERS = 4 };

static struct random_copy {
	int direction;
	u64 bytes, pieces, doorbell_ns, after;
	u64 done_ns; /* 0: not yet */
} copies[COPIES];

/*
 * The first copy of a direction that is not done, or NULL. *ret_done: the number of copies
 * before it.
 */
static struct random_copy *naive_first(int direction, u64 *ret_done)
{
	*ret_done = 0;
	for (int i = 0; i < COPIES; i++) {
		if (copies[i].direction != direction)
			continue;
		if (!copies[i].done_ns)
			return &copies[i];
		++*ret_done;
	}
	return NULL;
}

/* Work out when each copy is done, and how long each direction, and either of them, is busy. */
static void naive_link(const struct pcie_config *config, struct pcie_use *use)
{
	s64 left[2] = { 0 }, setup[2] = { -1, -1 };
	u64 now, done[2];

	for (now = 0;; now++) {
		struct random_copy *first[2];
		bool moving[2];

		for (int d = 0; d < 2; d++) /* a copy that ends now lets others start now */
			if ((first[d] = naive_first(d, &done[d])) && !setup[d] &&
			    left[d] <= 0) {
				first[d]->done_ns = now;
				setup[d] = -1;
			}
		for (int d = 0; d < 2; d++)
			first[d] = naive_first(d, &done[d]);
		if (!first[0] && !first[1])
			return;
		for (int d = 0; d < 2; d++)
			if (first[d] && setup[d] < 0 && now >= first[d]->doorbell_ns &&
			    done[!d] >= first[d]->after) {
				setup[d] = (s64)(config->setup_ns +
						 (first[d]->pieces - 1) * config->piece_ns[d]);
				left[d] = (s64)first[d]->bytes * QUARTERS;
			}
		for (int d = 0; d < 2; d++)
			moving[d] = first[d] && !setup[d];
		use->in_ns += setup[PCIE_H2D] >= 0;
		use->out_ns += setup[PCIE_D2H] >= 0;
		use->either_ns += setup[PCIE_H2D] >= 0 || setup[PCIE_D2H] >= 0;
		for (int d = 0; d < 2; d++) {
			bool shared = moving[0] && moving[1];

			if (moving[d])
				left[d] -= (s64)(shared ? config->bandwidth_both / 2 :
							  config->bandwidth) *
					   QUARTERS / 1000000000;
			else if (setup[d] > 0)
				setup[d]--;
		}
	}
}

/* The latest end of the copies up to @last. The test waits for the copies in turn. */
static u64 max_date(int last)
{
	u64 date = 0;

	for (int i = 0; i <= last; i++)
		date = copies[i].done_ns > date ? copies[i].done_ns : date;
	return date;
}

static void random_copies(void)
{
	u64 sequence[COPIES], queued[2] = { 0 };
	struct pcie_use expected = { 0 }, use;

	for (int i = 0; i < COPIES; i++) {
		int d = rand() % 2;

		copies[i] = (struct random_copy){
			.direction = d,
			.bytes = 1 + (u64)rand() % 100,
			.pieces = 1 + (u64)rand() % 4,
			.doorbell_ns = (u64)rand() % 3000,
			.after = rand() % 2 ? (u64)rand() % (queued[!d] + 1) : 0,
		};
		queued[d]++;
	}
	naive_link(&pcie.config, &expected);
	for (int i = 0; i < COPIES; i++) {
		const struct pcie_copy drawn = {
			.bytes = copies[i].bytes,
			.pieces = copies[i].pieces,
			.doorbell_ns = copies[i].doorbell_ns,
			.after = copies[i].after,
		};

		ck_assert_int_eq(pcie_copy(&pcie, (enum pcie_direction)copies[i].direction,
					   &drawn, &sequence[i]),
				 0);
	}
	for (int i = 0; i < COPIES; i++) {
		enum pcie_direction direction = (enum pcie_direction)copies[i].direction;

		eng_sleep_until(copies[i].done_ns - 1);
		if (eng_now() < copies[i].done_ns)
			ck_assert(!pcie_is_done(&pcie, direction, sequence[i]));
		ck_assert_int_eq(pcie_wait(&pcie, direction, sequence[i]), 0);
		ck_assert_uint_le(eng_now(), max_date(i));
	}
	use = pcie_use(&pcie);
	ck_assert_uint_eq(use.in_ns, expected.in_ns);
	ck_assert_uint_eq(use.out_ns, expected.out_ns);
	ck_assert_uint_eq(use.either_ns, expected.either_ns);
}

START_TEST(random_copies_end_when_a_naive_link_says)
{
	/*
	 * While both directions move, each has its full rate, three quarters of it, or half.
	 * Each round runs in a process of its own.
	 */
	static const u64 both[] = { 2000000000, 1500000000, 1000000000 };
	struct pcie_config config = full_duplex;

	config.bandwidth_both = both[_i % 3];
	srand((unsigned int)_i);
	simulate(&config, random_copies);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		copies_of_one_direction_queue_and_each_pays_its_setup,
		every_further_piece_of_a_copy_takes_time,
		directions_of_a_full_duplex_link_do_not_slow_each_other,
		directions_that_share_slow_each_other_only_while_both_move,
		a_copy_never_starts_before_its_doorbell,
		the_queue_grows_and_loses_nothing,
	};
	Suite *suite = suite_create("link");
	TCase *tcase = tcase_create("link");
	SRunner *runner = srunner_create(suite);
	int failed;

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tcase, tests[i]);
	tcase_set_timeout(tcase, 600);
	tcase_add_loop_test(tcase, random_copies_end_when_a_naive_link_says, 0, 60);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
