// SPDX-License-Identifier: MIT OR GPL-2.0
/* Addresses and ways: windows of NTBs, and how many links the scenarios of Device Lending take. */
#include "fabric_world.h"

#include <errno.h>

static struct fabric_path path;

static u32 roots_crossed(void)
{
	u32 roots = 0;

	for (u32 i = 0; i < path.count; i++)
		roots += path.steps[i].root;
	return roots;
}

static void expect_way(u32 from, u64 address, u32 steps, u32 roots)
{
	ck_assert_int_eq(fabric_route(&fabric, from, address, 4096, &path), 0);
	ck_assert_uint_eq(path.count, steps);
	ck_assert_uint_eq(roots_crossed(), roots);
}

START_TEST(a_window_leads_each_segment_to_its_own_target)
{
	u64 segment = GIB / 64, address, other, target, bytes;

	build_a(false);
	ck_assert_int_eq(fabric_ntb_map(&fabric, ntb, 5 * segment, 2 * segment, &address), 0);
	ck_assert_uint_eq(address, fabric.elements[ntb].base);
	ck_assert_int_eq(fabric_ntb_map(&fabric, ntb, 64 * MIB + 4096, 8192, &other), 0);
	ck_assert_uint_eq(other, address + 2 * segment + 4096);
	ck_assert_int_eq(
		fabric_ntb_translate(&fabric, ntb, address + segment - 1, &target, &bytes), 0);
	ck_assert_uint_eq(target, 6 * segment - 1);
	ck_assert_uint_eq(bytes, 1);
	ck_assert_int_eq(fabric_ntb_translate(&fabric, ntb, address + segment, &target, &bytes),
			 0);
	ck_assert_uint_eq(target, 6 * segment);
	ck_assert_uint_eq(bytes, segment);
	ck_assert_int_eq(fabric_ntb_translate(&fabric, ntb, other + 5, &target, &bytes), 0);
	ck_assert_uint_eq(target, 64 * MIB + 4096 + 5);
}
END_TEST

START_TEST(an_access_beyond_what_is_mapped_leads_nowhere_and_is_counted)
{
	u64 address;

	build_a(false);
	ck_assert_int_eq(fabric_route(&fabric, fabric.hosts[borrower].root,
				      fabric.elements[ntb].base, 64, &path),
			 -EFAULT);
	ck_assert_int_eq(fabric_route(&fabric, gpu, 16 * GIB, 64, &path), -EFAULT);
	ck_assert_uint_eq(fabric.elements[gpu].refused, 1);
	ck_assert_uint_eq(fabric.elements[fabric.hosts[borrower].root].refused, 1);
	/* An access across the edge of a segment is two. */
	ck_assert_int_eq(fabric_ntb_map(&fabric, ntb, 0, 2 * (GIB / 64), &address), 0);
	ck_assert_int_eq(fabric_route(&fabric, fabric.hosts[borrower].root,
				      address + GIB / 64 - 100, 256, &path),
			 0);
	ck_assert_uint_eq(path.bytes, 100);
	/* So is one across the end of a host's memory; the rest of it leads nowhere. */
	ck_assert_int_eq(fabric_route(&fabric, gpu, 16 * GIB - 64, 256, &path), 0);
	ck_assert_uint_eq(path.bytes, 64);
}
END_TEST

START_TEST(a_window_without_room_takes_nothing)
{
	u64 segment = GIB / 64, address;

	build_a(false);
	ck_assert_int_eq(fabric_ntb_map(&fabric, ntb, 0, 63 * segment, &address), 0);
	ck_assert_int_eq(fabric_ntb_map(&fabric, ntb, 0, segment + 1, &address), -ENOSPC);
	ck_assert_uint_eq(world_segments_used(ntb), 63);
	ck_assert_int_eq(fabric_ntb_map(&fabric, ntb, segment / 2, segment, &address), -ENOSPC);
	ck_assert_int_eq(fabric_ntb_map(&fabric, ntb, 0, segment, &address), 0);
	fabric_ntb_unmap(&fabric, ntb, address, segment);
	ck_assert_uint_eq(world_segments_used(ntb), 63);
	ck_assert_int_eq(fabric_ntb_map(&fabric, ntb, 0, 0, &address), -EINVAL);
}
END_TEST

START_TEST(two_windows_in_a_row_are_the_composition_of_their_maps)
{
	u64 first, second, target = 12345 * 4096ull;
	u32 far_root;

	build_b(false);
	far_root = fabric.hosts[lender_b].root;
	/* The borrower's window leads to a window of the lender, and that one to the other one. */
	ck_assert_int_eq(fabric_ntb_map(&fabric, fabric_find(&fabric, "lender.ntb-lender-b"),
					target, 4096, &second),
			 0);
	ck_assert_int_eq(fabric_ntb_map(&fabric, ntb, second, 4096, &first), 0);
	ck_assert_int_eq(
		fabric_route(&fabric, fabric.hosts[borrower].root, first + 77, 64, &path), 0);
	ck_assert_uint_eq(path.target, far_root);
	ck_assert_uint_eq(path.address, target + 77);
}
END_TEST

/*
 * The eight scenarios of Table 1. Links of (a): GPU - switch, switch - root, root - other,
 * other - NTB, cable, NTB - root of the borrower.
 */
START_TEST(each_way_is_the_shortest_and_the_iommu_leads_by_the_root)
{
	struct lending_loan first, second;
	u64 memory, peer;

	/* Local, and 1L-P2P: below one switch. */
	build_a(false);
	expect_way(gpu, fabric.elements[gpu_b].base, 2, 0);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, 64 * MIB, &first), 0);
	ck_assert_int_eq(lending_map_peer(&first, gpu_b, &peer), 0);
	expect_way(gpu, peer, 2, 0);
	/* 1L-RAM-P2P crosses the root without an IOMMU, too. */
	ck_assert_int_eq(lending_map_buffer(&first, 0, MIB, &memory), 0);
	expect_way(gpu, memory, 6, 1);

	/* 1L-IOMMU. */
	build_a(true);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, 64 * MIB, &first), 0);
	ck_assert_int_eq(lending_map_peer(&first, gpu_b, &peer), 0);
	expect_way(gpu, peer, 4, 1);

	/* 2L-P2P and 2L-RAM-P2P cross no root. */
	build_b(false);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, 64 * MIB, &first), 0);
	ck_assert_int_eq(lending_borrow(&fabric, far_gpu, borrower, false, 64 * MIB, &second),
			 0);
	ck_assert_int_eq(lending_map_peer(&first, far_gpu, &peer), 0);
	expect_way(gpu, peer, 5, 0);
	ck_assert_uint_eq(path.target, far_gpu);
	ck_assert_int_eq(lending_map_buffer(&first, 0, MIB, &memory), 0);
	expect_way(gpu, memory, 5, 0);

	/* 2L-IOMMU crosses both lenders' roots, 2L-RAM-IOMMU one. */
	build_b(true);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, 64 * MIB, &first), 0);
	ck_assert_int_eq(lending_borrow(&fabric, far_gpu, borrower, false, 64 * MIB, &second),
			 0);
	ck_assert_int_eq(lending_map_peer(&first, far_gpu, &peer), 0);
	expect_way(gpu, peer, 9, 2);
	ck_assert_uint_eq(path.target, far_gpu);
	ck_assert_int_eq(lending_map_buffer(&first, 0, MIB, &memory), 0);
	expect_way(gpu, memory, 7, 1);
}
END_TEST

/* 36 switches in a row are more links than a way may have, up or down. */
START_TEST(a_way_of_too_many_links_is_none)
{
	u32 below, disk;

	build_a(false);
	below = fabric.hosts[borrower].root;
	for (u32 i = 0; i < 36; i++)
		below = fabric_add_switch(&fabric, "", below, 3, 16);
	disk = fabric_add_device(&fabric, "disk", below, 3, 16, MIB);
	ck_assert_uint_ne(disk, FABRIC_NONE);
	ck_assert_int_eq(fabric_route(&fabric, disk, 0, 64, &path), -ELOOP);
	ck_assert_int_eq(fabric_route(&fabric, fabric.hosts[borrower].root,
				      fabric.elements[disk].base, 64, &path),
			 -ELOOP);
}
END_TEST

START_TEST(links_have_the_rates_of_their_generations)
{
	ck_assert_uint_eq(fabric_link_rate(1, 16), 4000000000);
	ck_assert_uint_eq(fabric_link_rate(2, 16), 8000000000);
	ck_assert_uint_eq(fabric_link_rate(3, 8), 7876923072);
	ck_assert_uint_eq(fabric_link_rate(4, 16), 31507692304);
	ck_assert_uint_eq(fabric_link_rate(5, 16), 63015384608);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_window_leads_each_segment_to_its_own_target);
	tcase_add_test(tests, an_access_beyond_what_is_mapped_leads_nowhere_and_is_counted);
	tcase_add_test(tests, a_window_without_room_takes_nothing);
	tcase_add_test(tests, two_windows_in_a_row_are_the_composition_of_their_maps);
	tcase_add_test(tests, each_way_is_the_shortest_and_the_iommu_leads_by_the_root);
	tcase_add_test(tests, a_way_of_too_many_links_is_none);
	tcase_add_test(tests, links_have_the_rates_of_their_generations);
}

int main(void)
{
	return suite_run("fabric", NULL, NULL, add_tests);
}
