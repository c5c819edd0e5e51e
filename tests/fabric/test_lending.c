// SPDX-License-Identifier: MIT OR GPL-2.0
/* Loans: what is mapped, what a device reaches, and that nothing is left behind. */
#include "fabric_world.h"

#include <errno.h>

#include "gvm/address_fence.h"

static struct lending_loan loan, second;
static struct fabric_path path;

static u32 segments_used(void)
{
	u32 used = 0;

	for (u32 i = 0; i < fabric.element_count; i++)
		if (fabric.elements[i].kind == FABRIC_NTB)
			used += world_segments_used(i);
	return used;
}

static u32 ranges_used(void)
{
	u32 used = 0;

	for (u32 i = 0; i < FABRIC_RANGES_MAX; i++) {
		for (u32 k = 0; k < fabric.host_count; k++)
			used += fabric.hosts[k].io[i].bytes != 0;
		for (u32 k = 0; k < fabric.element_count; k++)
			used += fabric.elements[k].domain[i].bytes != 0;
	}
	return used;
}

static void expect_target(u32 from, u64 address, u32 target, u64 at)
{
	ck_assert_int_eq(fabric_route(&fabric, from, address, 64, &path), 0);
	ck_assert_uint_eq(path.target, target);
	ck_assert_uint_eq(path.address, at);
}

START_TEST(a_dma_window_is_aligned_to_its_size)
{
	u64 address;

	build_b(false);
	ck_assert_int_eq(fabric_ntb_map(&fabric, lender_ntb, 0, GIB / 64, &address), 0);
	for (u64 bytes = 4096; bytes <= GIB / 4; bytes *= 4) {
		ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, bytes, &loan),
				 0);
		ck_assert_uint_eq(loan.dma.address % bytes, 0);
		ck_assert_int_eq(lending_return(&loan), 0);
	}
}
END_TEST

START_TEST(a_driver_reaches_registers_and_the_device_reaches_buffers)
{
	u64 first, other;

	build_b(false);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, 64 * MIB, &loan), 0);
	expect_target(fabric.hosts[borrower].root, lending_registers(&loan) + 0x40, gpu,
		      fabric.elements[gpu].base + 0x40);
	ck_assert_int_eq(lending_map_buffer(&loan, 3 * GIB, MIB, &first), 0);
	ck_assert_int_eq(lending_map_buffer(&loan, 5 * GIB, MIB, &other), 0);
	expect_target(gpu, first + 4096, fabric.hosts[borrower].root, 3 * GIB + 4096);
	expect_target(gpu, other + MIB - 64, fabric.hosts[borrower].root, 5 * GIB + MIB - 64);
	/* Beyond the buffers of the window nothing is mapped. */
	ck_assert_int_eq(fabric_route(&fabric, gpu, other + MIB, 64, &path), -EFAULT);
	ck_assert_int_eq(lending_map_buffer(&loan, 0, 63 * MIB, &other), -ENOSPC);
}
END_TEST

START_TEST(a_device_that_is_returned_leaves_nothing_and_can_be_lent_again)
{
	u64 address, peer, other;

	build_b(true);
	for (u32 round = 0; round < 200; round++) {
		u32 host = round % 2 ? lender_b : borrower;

		ck_assert_int_eq(
			lending_borrow(&fabric, gpu, host, round % 3 == 0, 64 * MIB, &loan), 0);
		if (loan.virtual)
			ck_assert_int_eq(lending_enable_master(&loan), 0);
		for (u32 i = 0; i < 10; i++)
			ck_assert_int_eq(lending_map_buffer(&loan, i * MIB, MIB, &address), 0);
		ck_assert_int_eq(lending_map_peer(&loan, far_gpu, &peer), 0);
		/* It is mapped once. */
		ck_assert_int_eq(lending_map_peer(&loan, far_gpu, &other), 0);
		ck_assert_uint_eq(other, peer);
		expect_target(gpu, peer + 8, far_gpu, fabric.elements[far_gpu].base + 8);
		ck_assert_int_eq(lending_return(&loan), 0);
		ck_assert_uint_eq(segments_used(), 0);
		ck_assert_uint_eq(ranges_used(), 0);
		ck_assert_int_eq(fabric_route(&fabric, gpu, address, 64, &path), -EFAULT);
	}
}
END_TEST

START_TEST(a_peer_is_reached_in_each_of_the_three_ways)
{
	u64 address;
	u32 own;

	/* The same lender: the address that the lender itself has for it. */
	build_a(true);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, 64 * MIB, &loan), 0);
	ck_assert_int_eq(lending_map_peer(&loan, gpu_b, &address), 0);
	ck_assert_uint_eq(address, fabric.elements[gpu_b].base);
	/* The borrower's own: through the NTB to the borrower. */
	own = fabric_add_device(&fabric, "borrower.disk", fabric.hosts[borrower].root, 3, 4,
				64 * 1024);
	ck_assert_int_eq(lending_map_peer(&loan, own, &address), 0);
	ck_assert_uint_eq(loan.peers[1].ntb, lender_ntb);
	expect_target(gpu, address + 16, own, fabric.elements[own].base + 16);
	/* Another lender's: through the NTB between the lenders, which is not the borrower's. */
	build_b(true);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, 64 * MIB, &loan), 0);
	ck_assert_int_eq(lending_borrow(&fabric, far_gpu, borrower, false, 64 * MIB, &second),
			 0);
	ck_assert_int_eq(lending_map_peer(&loan, far_gpu, &address), 0);
	ck_assert_uint_eq(loan.peers[0].ntb, fabric_find(&fabric, "lender.ntb-lender-b"));
	expect_target(gpu, address + 16, far_gpu, fabric.elements[far_gpu].base + 16);
}
END_TEST

START_TEST(a_loan_that_fails_leaves_nothing_behind)
{
	u64 address;
	u32 lonely;

	build_b(false);
	/* A virtual machine needs the lender's IOMMU. */
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, true, 64 * MIB, &loan), -EPERM);
	/* The lender's window has no room for the DMA window: the registers' window goes, too. */
	ck_assert_int_eq(fabric_ntb_map(&fabric, lender_ntb, 0, GIB, &address), 0);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, 64 * MIB, &loan),
			 -ENOSPC);
	ck_assert_uint_eq(world_segments_used(ntb), 0);
	fabric_ntb_unmap(&fabric, lender_ntb, address, GIB);
	ck_assert_uint_eq(segments_used() + ranges_used(), 0);
	lonely = fabric_add_host(&fabric, "lonely", GIB, false);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, lonely, false, 64 * MIB, &loan), -ENODEV);
	ck_assert_uint_eq(segments_used() + ranges_used(), 0);
}
END_TEST

START_TEST(a_loan_is_returned_once_and_by_its_borrower)
{
	u64 address;

	build_b(true);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, 64 * MIB, &loan), 0);
	ck_assert_int_eq(lending_map_buffer(&loan, 0, MIB, &address), 0);
	/* A second loan of the device fails, and its return takes nothing from the first one. */
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, 64 * MIB, &second),
			 -EBUSY);
	ck_assert_int_eq(lending_return(&second), 0);
	expect_target(gpu, address, fabric.hosts[borrower].root, 0);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, lender_b, false, 64 * MIB, &second),
			 -EBUSY);
	/* Nor does a second return take anything from the next loan. */
	ck_assert_int_eq(lending_return(&loan), 0);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, 64 * MIB, &second), 0);
	ck_assert_int_eq(lending_map_buffer(&second, 0, MIB, &address), 0);
	ck_assert_int_eq(lending_return(&loan), 0);
	expect_target(gpu, address, fabric.hosts[borrower].root, 0);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, 64 * MIB, &loan),
			 -EBUSY);
}
END_TEST

START_TEST(a_virtual_machine_has_no_dma_before_its_device_is_a_bus_master)
{
	u64 address;

	build_b(true);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, true, 64 * MIB, &loan), 0);
	ck_assert_int_eq(lending_map_buffer(&loan, 0, MIB, &address), -EACCES);
	ck_assert_int_eq(lending_map_peer(&loan, far_gpu, &address), -EACCES);
	ck_assert_int_eq(fabric_route(&fabric, gpu, loan.dma.address, 64, &path), -EFAULT);
	ck_assert_int_eq(lending_enable_master(&loan), 0);
	ck_assert_int_eq(lending_map_buffer(&loan, 0, MIB, &address), 0);
	expect_target(gpu, address, fabric.hosts[borrower].root, 0);
}
END_TEST

START_TEST(a_host_uses_its_own_device_without_windows)
{
	u64 address;

	build_a(false);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, lender, false, 64 * MIB, &loan), 0);
	ck_assert_int_eq(lending_map_buffer(&loan, 7 * GIB, MIB, &address), 0);
	expect_target(gpu, address, fabric.hosts[lender].root, 7 * GIB);
	ck_assert_uint_eq(path.count, 2);
	ck_assert_uint_eq(segments_used(), 0);
	ck_assert_uint_eq(lending_registers(&loan), fabric.elements[gpu].base);
	ck_assert_int_eq(lending_return(&loan), 0);
	build_a(true);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, lender, false, 64 * MIB, &loan), 0);
	ck_assert_int_eq(lending_map_buffer(&loan, 7 * GIB, MIB, &address), 0);
	expect_target(gpu, address, fabric.hosts[lender].root, 7 * GIB);
	ck_assert_int_eq(lending_return(&loan), 0);
	ck_assert_uint_eq(ranges_used(), 0);
}
END_TEST

/*
 * A window is made of whole segments. So a device that is smaller than a segment has one of its
 * own: behind its memory its borrower reaches nothing, whichever host borrows it, and whatever
 * is added to the lender afterwards.
 */
START_TEST(a_device_smaller_than_a_segment_shares_it_with_nothing)
{
	u32 lenders_root, disks[3], more;
	u64 segment = GIB / 64;

	build_a(false);
	lenders_root = fabric.hosts[lender].root;
	for (u32 i = 0; i < 3; i++) {
		char name[FABRIC_NAME_MAX];

		snprintf(name, sizeof(name), "lender.disk-%u", i);
		disks[i] = fabric_add_device(&fabric, name, lenders_root, 3, 4, 4096ull << i);
	}
	more = fabric_add_ntb(&fabric, "lender.more", lenders_root, 3, 4, 4096, 1);
	ck_assert_uint_ne(more, FABRIC_NONE);
	for (u32 i = 0; i < 3; i++) {
		u64 bytes = 4096ull << i, first;

		ck_assert_int_eq(lending_borrow(&fabric, disks[i], borrower, false, MIB, &loan),
				 0);
		expect_target(fabric.hosts[borrower].root,
			      lending_registers(&loan) + bytes - 64, disks[i],
			      fabric.elements[disks[i]].base + bytes - 64);
		first = lending_registers(&loan) / segment * segment;
		for (u64 at = first; at < first + segment; at += 4096)
			if (at < lending_registers(&loan) ||
			    at >= lending_registers(&loan) + bytes)
				ck_assert_int_eq(fabric_route(&fabric,
							      fabric.hosts[borrower].root, at,
							      64, &path),
						 -EFAULT);
		ck_assert_int_eq(lending_return(&loan), 0);
	}
}
END_TEST

/* It holds where the cable comes last, as it does in the fabric of a scenario. */
START_TEST(a_cable_gives_devices_segments_of_their_own)
{
	u32 near, far, small, other;

	fabric_init(&fabric, &world_config);
	borrower = fabric_add_host(&fabric, "borrower", GIB, false);
	lender = fabric_add_host(&fabric, "lender", GIB, false);
	near = fabric_add_ntb(&fabric, "borrower.ntb", fabric.hosts[borrower].root, 3, 8, GIB,
			      16);
	small = fabric_add_device(&fabric, "small", fabric.hosts[lender].root, 3, 8, 4096);
	other = fabric_add_device(&fabric, "other", fabric.hosts[lender].root, 3, 8, 4096);
	far = fabric_add_ntb(&fabric, "lender.ntb", fabric.hosts[lender].root, 3, 8, GIB, 64);
	fabric_join(&fabric, near, far, 3, 8);
	/* The segments of the borrower's NTB count: it leads to the devices. */
	ck_assert_uint_eq(fabric.elements[small].base % (GIB / 16), 0);
	ck_assert_uint_ge(fabric.elements[other].base - fabric.elements[small].base, GIB / 16);
	ck_assert_uint_eq(fabric.elements[far].base % GIB, 0);
	ck_assert_uint_eq(fabric.elements[near].base, FABRIC_MMIO_BASE);
}
END_TEST

static int while_it_writes;

static void returns(void *data)
{
	(void)data;
	eng_sleep_until(eng_now() + 5000);
	while_it_writes = lending_return(&loan);
}

static void write_beside(void)
{
	struct fabric_transfer transfer = { .bytes = MIB };
	u64 address;

	build_b(false);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, 64 * MIB, &loan), 0);
	ck_assert_int_eq(lending_map_buffer(&loan, 0, MIB, &address), 0);
	transfer.from = gpu;
	transfer.address = address;
	eng_spawn("returns", returns, NULL);
	ck_assert_int_eq(fabric_do(&fabric, &transfer), 0);
	ck_assert_int_eq(while_it_writes, -EBUSY);
	ck_assert_int_eq(lending_return(&loan), 0);
	ck_assert_uint_eq(segments_used() + ranges_used(), 0);
}

START_TEST(a_device_cannot_be_returned_while_it_writes)
{
	simulate(write_beside);
}
END_TEST

/*
 * Guardian's fence in place of the lender's IOMMU. The DMA window is a power of two and aligned
 * to it, so it is a partition: a fenced kernel reaches nothing but the borrower's memory, on the
 * short way. Without fence and IOMMU a wild access reaches the lender's memory.
 */
START_TEST(a_fence_keeps_a_borrowed_device_in_its_window_without_an_iommu)
{
	u64 buffer, random = 20261130, strayed = 0, refused = 0;
	u32 lender_root;

	build_b(false);
	lender_root = fabric.hosts[lender].root;
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, 64 * MIB, &loan), 0);
	ck_assert_int_eq(lending_map_buffer(&loan, GIB, 64 * MIB, &buffer), 0);
	ck_assert_uint_eq(buffer % (64 * MIB), 0);
	for (u32 i = 0; i < 100000; i++) {
		u64 wild = gvm_port_draw(&random) % (1ull << (20 + i % 45));
		u64 fenced = gvm_fence_mask(wild & ~63ull, buffer, 64 * MIB - 1);

		ck_assert_int_eq(fabric_route(&fabric, gpu, fenced, 64, &path), 0);
		ck_assert_uint_eq(path.target, fabric.hosts[borrower].root);
		ck_assert_uint_eq(path.count, 5);
		ck_assert_msg(path.address >= GIB && path.address < GIB + 64 * MIB,
			      "seed 20261130: %llx", path.address);
		if (!fabric_route(&fabric, gpu, wild & ~63ull, 64, &path))
			strayed += path.target == lender_root;
	}
	ck_assert_uint_gt(strayed, 10000);
	/* With the IOMMU none strays, by the long way. */
	ck_assert_int_eq(lending_return(&loan), 0);
	fabric.hosts[lender].iommu = true;
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, 64 * MIB, &loan), 0);
	ck_assert_int_eq(lending_map_buffer(&loan, GIB, 64 * MIB, &buffer), 0);
	for (u32 i = 0; i < 10000; i++)
		refused += fabric_route(&fabric, gpu, gvm_port_draw(&random) % (16 * GIB), 64,
					&path) == -EFAULT;
	ck_assert_uint_eq(refused, 10000);
	expect_target(gpu, buffer, fabric.hosts[borrower].root, GIB);
	ck_assert_uint_eq(path.count, 7);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_dma_window_is_aligned_to_its_size);
	tcase_add_test(tests, a_driver_reaches_registers_and_the_device_reaches_buffers);
	tcase_add_test(tests, a_device_that_is_returned_leaves_nothing_and_can_be_lent_again);
	tcase_add_test(tests, a_peer_is_reached_in_each_of_the_three_ways);
	tcase_add_test(tests, a_loan_that_fails_leaves_nothing_behind);
	tcase_add_test(tests, a_loan_is_returned_once_and_by_its_borrower);
	tcase_add_test(tests, a_virtual_machine_has_no_dma_before_its_device_is_a_bus_master);
	tcase_add_test(tests, a_host_uses_its_own_device_without_windows);
	tcase_add_test(tests, a_device_smaller_than_a_segment_shares_it_with_nothing);
	tcase_add_test(tests, a_cable_gives_devices_segments_of_their_own);
	tcase_add_test(tests, a_device_cannot_be_returned_while_it_writes);
	tcase_add_test(tests, a_fence_keeps_a_borrowed_device_in_its_window_without_an_iommu);
}

int main(void)
{
	return suite_run("lending", NULL, NULL, add_tests);
}
