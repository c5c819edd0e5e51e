// SPDX-License-Identifier: MIT OR GPL-2.0
/* The link: copies checked to the nanosecond. */
#include "engine/engine.h"
#include "pcie/link.h"
#include "runner.h"

/* 1 byte/ns and direction, 10 ns of set-up, 3 for each further piece. */
static const struct pcie_config full_duplex = { 1000000000, 2000000000, 10, 3 };
/* Both directions together carry 1.5 of one: 0.75 bytes/ns each while both move. */
static const struct pcie_config coupled = { 1000000000, 1500000000, 10, 3 };

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

static void expect_done_at(enum pcie_direction direction, uint64_t sequence, uint64_t date)
{
	ck_assert_int_eq(pcie_wait(&pcie, direction, sequence), 0);
	ck_assert_uint_eq(eng_now(), date);
}

static void copies_of_one_direction(void)
{
	uint64_t moved = 0;

	ck_assert_uint_eq(pcie_copy(&pcie, PCIE_H2D, 100, 0, 0, &moved), 1);
	ck_assert_uint_eq(pcie_copy(&pcie, PCIE_H2D, 50, 0, 0, &moved), 2);
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
	pcie_copy_pieces(&pcie, PCIE_H2D, 100, 5, 0, 0, NULL);
	pcie_copy_pieces(&pcie, PCIE_D2H, 100, 0, 0, 0, NULL);
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
	pcie_copy(&pcie, PCIE_H2D, 100, 0, 0, NULL);
	pcie_copy(&pcie, PCIE_D2H, 100, 0, 0, NULL);
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
	 * H2D moves 300 bytes from 10 on, D2H 150 from 60 on. Until 60: 50 bytes at 1/ns.
	 * Together at 0.75/ns: D2H needs 200 ns, to 260, in which H2D moves 150. The last 100 of
	 * H2D go at 1/ns: 360.
	 */
	pcie_copy(&pcie, PCIE_H2D, 300, 0, 0, NULL);
	pcie_copy(&pcie, PCIE_D2H, 150, 50, 0, NULL);
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
	pcie_copy(&pcie, PCIE_D2H, 5, 1000, 0, NULL);
	expect_done_at(PCIE_D2H, 1, 1015);
	/* Copies that ring long after the engine went idle start at their doorbell. */
	pcie_copy(&pcie, PCIE_D2H, 5, 0, 0, NULL);
	expect_done_at(PCIE_D2H, 2, 1030);
}

START_TEST(a_copy_never_starts_before_its_doorbell)
{
	simulate(&full_duplex, late_doorbell);
}
END_TEST

static void many_copies(void)
{
	uint64_t moved = 0;
	uint64_t last = 0;
	int i;

	for (i = 0; i < 1000; i++)
		last = pcie_copy(&pcie, PCIE_H2D, 7, 0, 0, &moved);
	expect_done_at(PCIE_H2D, last, 17000);
	ck_assert_uint_eq(moved, 7000);
}

START_TEST(the_queue_grows_and_loses_nothing)
{
	simulate(&full_duplex, many_copies);
}
END_TEST

TEST_MAIN("link", copies_of_one_direction_queue_and_each_pays_its_setup,
	  every_further_piece_of_a_copy_takes_time,
	  directions_of_a_full_duplex_link_do_not_slow_each_other,
	  directions_that_share_slow_each_other_only_while_both_move,
	  a_copy_never_starts_before_its_doorbell, the_queue_grows_and_loses_nothing)
