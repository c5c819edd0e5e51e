// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cmd_verify.h"

#include <stdio.h>

#include "engine/error.h"
#include "source.h"
#include "verify.h"

static int run(int argc, char **argv, struct sim_error *err);

/* clang-format off */
static const struct command_option options[] = {
	{ NULL, NULL, false, NULL },
};

const struct command command_verify = {
	.name = "gvmfence verify",
	.operands = "FILE",
	.summary = "prove that a patched PTX file stays inside of its partition",
	.about =
"Reads a file that \"gvmfence patch\" has written, and proves of each access that its address is fenced.\n"
"It trusts nothing that the patcher says. Only files that verify should be loaded.\n",
	.options = options,
	.examples = "    gvmfence patch saxpy.ptx | gvmfence verify -\n",
	.run = run,
};
/* clang-format on */

static int run(int argc, char **argv, struct sim_error *err)
{
	static const char *const modes[PATCH_MODES] = { "fence", "once",   "4g",
							"check", "modulo", "count" };
	struct verify_report report;
	struct command_line line;
	struct source source;
	int status = command_parse(&command_verify, argc, argv, NULL, NULL, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_verify, err);
	if (line.operand_count != 1)
		return command_mistake(&command_verify, err, "one file is wanted");
	status = source_read(line.operands[0], &source, err);
	if (status)
		return status;
	status = verify_text(&source.text, &report, err);
	if (status) {
		source_destroy(&source);
		return status;
	}
	printf("%s: verified: mode %s, bounds in %s, margin %llu; %llu fenced accesses, %llu "
	       "to variables, %llu confined by hardware, %llu jumps through tables\n",
	       line.operands[0], modes[report.mode],
	       report.pass == PATCH_CONST ? "constants" : "parameters", report.margin,
	       report.accesses, report.direct, report.confined, report.tables);
	for (size_t i = 0; i < report.entry_count; i++) {
		const struct verify_entry *entry = &report.entries[i];

		if (entry->local_stores)
			printf("%s: kernel %.*s: %llu stores may reach all of local memory, "
			       "where ptxas may keep fenced addresses; its variables there "
			       "have %llu bytes\n",
			       line.operands[0], (int)entry->name_length,
			       source.text.bytes + entry->name, entry->local_stores,
			       entry->local_bytes);
	}
	verify_report_destroy(&report);
	source_destroy(&source);
	return command_flush(err);
}
