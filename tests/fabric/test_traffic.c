// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reads and writes by TLP, against dates and counts that are worked out by hand. In (a) and (b)
 * the cable has 7,876,923,072 bytes/s.
 */
#include "fabric_world.h"

#include <errno.h>

static struct lending_loan loan;
static u64 buffer;

static void borrow_a(void)
{
	build_a(false);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, GIB / 2, &loan), 0);
	ck_assert_int_eq(lending_map_buffer(&loan, 0, GIB / 4, &buffer), 0);
}

static void borrow_b(void)
{
	build_b(false);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, GIB / 2, &loan), 0);
	ck_assert_int_eq(lending_map_buffer(&loan, 0, GIB / 4, &buffer), 0);
}

/* Returns how long it takes, in ns. */
static u64 move(u32 from, u64 address, u64 bytes, bool read)
{
	struct fabric_transfer transfer = {
		.from = from, .address = address, .bytes = bytes, .read = read
	};
	u64 start = eng_now();

	ck_assert_int_eq(fabric_do(&fabric, &transfer), 0);
	return eng_now() - start;
}

/*
 * 64 bytes from the GPU into the borrower's memory, by (b): 88 bytes take 11.17 ns on the
 * cable. Two switches, the NTBs and the store: 100 + 350 + 100 + 150.
 */
static void one_write(void)
{
	borrow_b();
	ck_assert_uint_eq(move(gpu, buffer, 64, false), 712);
}

/*
 * A read of 64 bytes: 24 bytes take 3.05 ns, the way 550, the memory 400, the way back 550, and
 * 84 bytes take 10.66 ns: 1513.71.
 */
static void one_read(void)
{
	borrow_b();
	ck_assert_uint_eq(move(gpu, buffer, 64, true), 1514);
}

START_TEST(a_tlp_takes_its_way_and_its_time_on_the_slowest_link)
{
	simulate(one_write);
	simulate(one_read);
}
END_TEST

/* 4096 bytes as 16 requests of 256, and 64 completions of 64. */
static void read_in_requests(void)
{
	const struct fabric_wire *up, *down;

	borrow_b();
	up = &fabric.elements[gpu].up;
	down = &fabric.elements[gpu].down;
	move(gpu, buffer, 4096, true);
	ck_assert_uint_eq(up->packets, 16);
	ck_assert_uint_eq(up->total, 16 * 24);
	ck_assert_uint_eq(down->packets, 64);
	ck_assert_uint_eq(down->data, 4096);
	ck_assert_uint_eq(down->total, 64 * (64 + 20));
	/* 200 bytes from offset 100: up to a multiple of 256, and the rest. */
	move(gpu, buffer + 100, 200, true);
	ck_assert_uint_eq(up->packets, 18);
	ck_assert_uint_eq(down->data, 4096 + 200);
}

START_TEST(a_read_is_requests_of_256_and_completions_of_64)
{
	simulate(read_in_requests);
}
END_TEST

/* By (a) the lender's root cuts each request of 256 into four. */
static void read_by_a_root(void)
{
	const struct fabric_wire *cable;

	borrow_a();
	cable = &fabric.elements[lender_ntb].cable;
	move(gpu, buffer, 256, true);
	ck_assert_uint_eq(fabric.elements[gpu].up.packets, 1);
	ck_assert_uint_eq(cable->packets, 4);
	ck_assert_uint_eq(cable->total, 4 * 24);
	ck_assert_uint_eq(fabric.elements[ntb].cable.packets, 4);
	ck_assert_uint_eq(fabric.elements[gpu].down.data, 256);
	/* A write of 256 goes on as two of 128. */
	move(gpu, buffer, 256, false);
	ck_assert_uint_eq(fabric.elements[gpu].up.packets, 2);
	ck_assert_uint_eq(cable->packets, 6);
	ck_assert_uint_eq(cable->data, 256);
}

START_TEST(a_root_cuts_what_crosses_it)
{
	simulate(read_by_a_root);
}
END_TEST

static u64 rate(u64 bytes, u64 ns)
{
	return bytes * 1000000000 / ns;
}

static void expect_near(u64 value, u64 right, u64 ppm)
{
	u64 off = value > right ? value - right : right - value;

	ck_assert_msg(off <= right / 1000000 * ppm, "%llu, not %llu", value, right);
}

/* Writes: 256 of 280 bytes of the cable. Reads with tags enough: 64 of 84. */
static void rates_of_links(void)
{
	u64 cable = fabric_link_rate(3, 8), bytes = 64 * MIB;

	borrow_b();
	expect_near(rate(bytes, move(gpu, buffer, bytes, false)), cable / 280 * 256, 500);
	fabric.config.read_tags = 1024;
	expect_near(rate(bytes, move(gpu, buffer, bytes, true)), cable / 84 * 64, 1000);
	ck_assert_uint_le(fabric.elements[gpu].tags_most, 1024);
}

/*
 * Reads with few tags: tags * 256 for a round trip. The last of four completions comes 3 * 10.66
 * ns after the first one.
 */
static void rates_of_tags(void)
{
	u64 bytes = 16 * MIB, round_ps = (3047 + 10664 * 4 + 1500000);

	borrow_b();
	fabric.config.read_tags = 4;
	expect_near(rate(bytes, move(gpu, buffer, bytes, true)),
		    4 * 256 * 1000000000000ull / round_ps, 12000);
	ck_assert_uint_eq(fabric.elements[gpu].tags_most, 4);
	ck_assert_uint_eq(fabric.elements[gpu].tags[0].used, 0);
}

/* Through a root its tags count: 32 * 64 bytes for its round trip to the memory. */
static void rates_of_a_root(void)
{
	u64 bytes = 16 * MIB, got;
	u32 root;

	borrow_a();
	root = fabric.hosts[lender].root;
	got = rate(bytes, move(gpu, buffer, bytes, true));
	ck_assert_uint_eq(fabric.elements[root].tags_most, 32);
	ck_assert_uint_le(fabric.elements[gpu].tags_most, 32);
	/* Root - other - NTB - cable - NTB - root: 450 each way, and the memory's 400. */
	expect_near(got, 32 * 64 * 1000000000ull / (450 + 400 + 450 + 14), 30000);
}

START_TEST(rates_are_those_of_links_or_of_tags)
{
	simulate(rates_of_links);
	simulate(rates_of_tags);
	simulate(rates_of_a_root);
}
END_TEST

static u32 ends;

static void note_end(struct fabric_transfer *transfer)
{
	(void)transfer;
	ends++;
}

/*
 * Two devices of two lenders read each other's memory, by both roots, in opposite directions. A
 * root's tags that wait for the other root's never wait for each other.
 */
static void read_both_ways(void)
{
	struct lending_loan other;
	struct fabric_transfer reads[2];
	u64 addresses[2], bytes = MIB;

	build_b(true);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, MIB, &loan), 0);
	ck_assert_int_eq(lending_borrow(&fabric, far_gpu, borrower, false, MIB, &other), 0);
	ck_assert_int_eq(lending_map_peer(&loan, far_gpu, &addresses[0]), 0);
	ck_assert_int_eq(lending_map_peer(&other, gpu, &addresses[1]), 0);
	for (u32 i = 0; i < 2; i++)
		reads[i] = (struct fabric_transfer){ .from = i ? far_gpu : gpu,
						     .address = addresses[i],
						     .bytes = bytes,
						     .read = true,
						     .on_end = note_end };
	fabric_begin(&fabric, &reads[0]);
	ck_assert_int_eq(fabric_do(&fabric, &reads[1]), 0);
	eng_sleep_until(eng_now() + 100000);
	ck_assert_uint_eq(ends, 1);
	ck_assert_uint_eq(reads[0].done, bytes);
}

START_TEST(reads_by_two_roots_in_opposite_directions_end)
{
	simulate(read_both_ways);
}
END_TEST

static u64 written_ns, read_ns;

static void note_write(struct fabric_transfer *transfer)
{
	(void)transfer;
	written_ns = eng_now();
}

static void note_read(struct fabric_transfer *transfer)
{
	(void)transfer;
	read_ns = eng_now();
}

/*
 * A write of 4096 bytes, and a read behind it. The read's request waits on the first link for
 * the write's TLPs; without a write it ends after 1514 ns.
 */
static void read_behind_write(void)
{
	struct fabric_transfer write = { .bytes = 4096, .on_end = note_write };
	struct fabric_transfer read = { .bytes = 64, .read = true, .on_end = note_read };

	borrow_b();
	write.from = read.from = gpu;
	write.address = read.address = buffer;
	fabric_begin(&fabric, &write);
	eng_sleep_until(eng_now() + 560);
	fabric_begin(&fabric, &read);
	while (!written_ns || !read_ns)
		eng_sleep_until(eng_now() + 100);
	ck_assert_uint_lt(written_ns, read_ns);
	ck_assert_uint_gt(read_ns, 560 + 1514);
}

START_TEST(a_read_passes_no_write_that_was_posted_before_it)
{
	simulate(read_behind_write);
}
END_TEST

/* Two devices that write at once share the cable. */
static void share_a_cable(void)
{
	struct fabric_transfer writes[2];
	u64 bytes = 4 * MIB, start;

	borrow_a();
	for (u32 i = 0; i < 2; i++) {
		written_ns = 0;
		writes[i] = (struct fabric_transfer){ .from = i ? gpu_b : gpu,
						      .address = buffer + i * bytes,
						      .bytes = bytes,
						      .on_end = note_write };
	}
	fabric_domain_add(&fabric, gpu_b, loan.dma.address, loan.dma.bytes);
	start = eng_now();
	fabric_begin(&fabric, &writes[0]);
	ck_assert_int_eq(fabric_do(&fabric, &writes[1]), 0);
	/* Through the root: 128 of 152 bytes. */
	expect_near(rate(2 * bytes, eng_now() - start), fabric_link_rate(3, 8) / 152 * 128,
		    2000);
}

START_TEST(transfers_share_a_link)
{
	simulate(share_a_cable);
}
END_TEST

/* An access that begins inside of a buffer and ends outside: the part inside is done. */
static void fail_half_way(void)
{
	struct fabric_transfer transfer = { .bytes = 4096 };

	borrow_b();
	transfer.from = gpu;
	transfer.address = buffer + GIB / 4 - 1024;
	ck_assert_int_eq(fabric_do(&fabric, &transfer), -EFAULT);
	ck_assert_uint_eq(transfer.done, 1024);
	transfer.read = true;
	transfer.bytes = 4096;
	ck_assert_int_eq(fabric_do(&fabric, &transfer), -EFAULT);
	ck_assert_uint_eq(transfer.done, 1024);
	transfer.address = 1ull << 60;
	transfer.bytes = 4096;
	ck_assert_int_eq(fabric_do(&fabric, &transfer), -EFAULT);
	ck_assert_uint_eq(transfer.done, 0);
	ck_assert_uint_eq(fabric.elements[gpu].transfers, 0);
	ck_assert_uint_eq(fabric.elements[gpu].tags[0].used, 0);
	/* One without bytes has ended at once. */
	transfer.bytes = 0;
	ck_assert_int_eq(fabric_do(&fabric, &transfer), 0);
}

START_TEST(an_access_that_leads_nowhere_ends_with_an_error)
{
	simulate(fail_half_way);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_tlp_takes_its_way_and_its_time_on_the_slowest_link);
	tcase_add_test(tests, a_read_is_requests_of_256_and_completions_of_64);
	tcase_add_test(tests, a_root_cuts_what_crosses_it);
	tcase_add_test(tests, rates_are_those_of_links_or_of_tags);
	tcase_add_test(tests, reads_by_two_roots_in_opposite_directions_end);
	tcase_add_test(tests, a_read_passes_no_write_that_was_posted_before_it);
	tcase_add_test(tests, transfers_share_a_link);
	tcase_add_test(tests, an_access_that_leads_nowhere_ends_with_an_error);
}

int main(void)
{
	return suite_run("traffic", NULL, NULL, add_tests);
}
