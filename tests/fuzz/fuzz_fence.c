// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reads any bytes as patched PTX. What the verifier accepts is run by the interpreter of
 * tests/guardian, twice, and may not leave its partition: neither by what the text does, nor by
 * what values have that nothing has written. Its corpus are texts of the patcher, one of each
 * mode.
 */
#include "fuzz.h"
#include "interpreter.h"
#include "verify.h"

#include <stdlib.h>
#include <string.h>

#define MARGIN (8ull << 20)

static void make_world(struct world *world, enum patch_mode mode, u64 state)
{
	u64 size = mode == PATCH_4G ? 4ull << 30 : 32ull << 20;

	memset(world, 0, sizeof(*world));
	if (mode == PATCH_CHECK || mode == PATCH_MODULO)
		size -= 384; /* no power of two */
	FUZZ_ASSERT(patch_bounds_set(&world->bounds, mode, 0x7fa200000000ull, size));
	world->memory_base = world->bounds.base + (9ull << 20);
	world->state = state;
}

static bool has_left(const struct world *world, u64 margin)
{
	return world->lowest <= world->highest &&
	       (world->lowest < world->bounds.base - margin ||
		world->highest >= world->bounds.base + world->bounds.size + margin);
}

static void run(const struct ptx_text *text, const struct verify_report *report)
{
	static struct world world;
	struct sim_error err = { 0 };
	struct ptx_module module;

	if (ptx_parse(text, &module, &err))
		return;
	for (u64 state = 0; state < 2 && module.function_count; state++) {
		make_world(&world, report->mode, state);
		interpret(&module, &world);
		FUZZ_ASSERT(!has_left(&world, report->margin));
	}
	ptx_module_destroy(&module);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_error err = { 0 };
	struct verify_report report;
	struct ptx_text text;
	int status = ptx_lex("fuzz.ptx", (const char *)data, size, &text, &err);

	fuzz_accepted = false;
	if (!status) {
		status = verify_text(&text, &report, &err);
		/* A loader gives no more margin than it has. */
		if (!status && report.margin <= MARGIN)
			run(&text, &report);
		fuzz_accepted = !status;
		if (!status)
			verify_report_destroy(&report);
		ptx_text_destroy(&text);
	}
	if (status)
		fuzz_check_mistake(status, &err);
	return 0;
}
