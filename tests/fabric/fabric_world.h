/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Fabrics for tests: the two clusters of Device Lending, Figure 8. A host of the driver, and
 * lenders. In (a) both GPUs are below a switch, and the NTB is below another one. In (b) each
 * lender has a GPU and its NTBs below one switch.
 */
#ifndef TESTS_FABRIC_FABRIC_WORLD_H
#define TESTS_FABRIC_FABRIC_WORLD_H

#include "fabric/lending.h"
#include "fabric/traffic.h"
#include "suite.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

/* Latencies that are easy to add. */
static const struct fabric_config world_config = {
	.switch_ns = 100,
	.root_ns = 200,
	.ntb_ns = 350,
	.memory_ns = 400,
	.store_ns = 150,
	.device_ns = 300,
	.payload = 256,
	.read_request = 256,
	.read_tags = 32,
	.completion = 64,
	.root_read = 64,
	.root_tags = 32,
	.root_write = 128,
};

static struct fabric fabric;
static u32 borrower, lender, lender_b;
static u32 gpu, gpu_b, far_gpu, ntb, lender_ntb;

/* Segments of an NTB's window that lead somewhere. */
static inline u32 world_segments_used(u32 number)
{
	const struct fabric_element *element = &fabric.elements[number];
	u32 used = 0;

	for (u32 i = 0; i < element->segment_count; i++)
		used += element->segments[i].used;
	return used;
}

/* (a): the borrower, and one lender with two GPUs. */
static inline void build_a(bool iommu)
{
	u32 upper, other;

	fabric_init(&fabric, &world_config);
	borrower = fabric_add_host(&fabric, "borrower", 16 * GIB, false);
	lender = fabric_add_host(&fabric, "lender", 16 * GIB, iommu);
	ntb = fabric_add_ntb(&fabric, "borrower.ntb", fabric.hosts[borrower].root, 3, 16, GIB,
			     64);
	upper = fabric_add_switch(&fabric, "lender.switch", fabric.hosts[lender].root, 3, 16);
	gpu = fabric_add_device(&fabric, "lender.gpu", upper, 2, 16, 64 * MIB);
	gpu_b = fabric_add_device(&fabric, "lender.gpu-b", upper, 2, 16, 64 * MIB);
	other = fabric_add_switch(&fabric, "lender.other", fabric.hosts[lender].root, 3, 16);
	lender_ntb = fabric_add_ntb(&fabric, "lender.ntb", other, 3, 16, GIB, 64);
	fabric_join(&fabric, ntb, lender_ntb, 3, 8);
}

/* (b): the borrower and two lenders, each with a GPU, and a cable for each pair. */
static inline void build_b(bool iommu)
{
	u32 hosts[3], uppers[3], ntbs[3][3];
	static const char *const names[] = { "borrower", "lender", "lender-b" };
	char name[FABRIC_NAME_MAX];

	fabric_init(&fabric, &world_config);
	for (u32 i = 0; i < 3; i++) {
		hosts[i] = fabric_add_host(&fabric, names[i], 16 * GIB, i && iommu);
		snprintf(name, sizeof(name), "%s.switch", names[i]);
		uppers[i] =
			fabric_add_switch(&fabric, name, fabric.hosts[hosts[i]].root, 3, 16);
		for (u32 k = 0; k < 3; k++) {
			snprintf(name, sizeof(name), "%s.ntb-%s", names[i], names[k]);
			ntbs[i][k] = i == k ? FABRIC_NONE :
					      fabric_add_ntb(&fabric, name, uppers[i], 3, 16,
							     GIB, 64);
		}
	}
	for (u32 i = 0; i < 3; i++)
		for (u32 k = i + 1; k < 3; k++)
			fabric_join(&fabric, ntbs[i][k], ntbs[k][i], 3, 8);
	gpu = fabric_add_device(&fabric, "lender.gpu", uppers[1], 2, 16, 64 * MIB);
	far_gpu = fabric_add_device(&fabric, "lender-b.gpu", uppers[2], 2, 16, 64 * MIB);
	borrower = hosts[0];
	lender = hosts[1];
	lender_b = hosts[2];
	ntb = ntbs[0][1];
	lender_ntb = ntbs[1][0];
}

/* Run @body in an actor of the engine. */
static void (*world_body)(void);

static inline void world_actor(void *data)
{
	(void)data;
	world_body();
}

static inline void simulate(void (*body)(void))
{
	world_body = body;
	ck_assert_int_eq(eng_init(), 0);
	eng_spawn("test", world_actor, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	fabric_destroy(&fabric);
}

#endif
