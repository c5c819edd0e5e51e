// SPDX-License-Identifier: MIT OR GPL-2.0
/* "gvmd check" and "gvmd policies", see cmd_policies.h. */
#include "gvmd/host/cmd_policies.h"

#include <stdio.h>

#include "config/units.h"
#include "engine/error.h"
#include "gvmd/describe.h"
#include "gvmd/plan.h"

static int check(int argc, char **argv, struct sim_error *err);
static int policies(int argc, char **argv, struct sim_error *err);

static const struct command_option options[] = { { NULL, NULL, false, NULL } };

const struct command command_check = {
	.name = "gvmd check",
	.operands = "POLICY",
	.summary = "read a policy and report its mistakes",
	.about = "Reads the JSON file of a policy, loads its plug-in, and checks all "
		 "settings.\n",
	.options = options,
	.run = check,
};

const struct command command_policies = {
	.name = "gvmd policies",
	.summary = "metrics, policies and their settings",
	.about = "Prints what a policy sees, and the policies with their settings, as "
		 "Markdown.\n",
	.options = options,
	.run = policies,
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	(void)data;
	(void)option;
	(void)value;
	(void)err;
	return 0;
}

static int check(int argc, char **argv, struct sim_error *err)
{
	struct command_line line;
	struct gvmd_plan plan;
	char period[UNITS_TEXT_MAX];
	int status = command_parse(&command_check, argc, argv, take_option, NULL, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_check, err);
	if (line.operand_count != 1)
		return command_mistake(&command_check, err, "%d policies, expected 1",
				       line.operand_count);
	status = gvmd_plan_load(&plan, line.operands[0], err);
	if (status)
		return status;
	units_format_duration(plan.period_ns, period, sizeof(period));
	printf("%s: policy %s, a step every %s\n", line.operands[0], plan.policy->name, period);
	gvmd_plan_destroy(&plan);
	return command_flush(err);
}

static int policies(int argc, char **argv, struct sim_error *err)
{
	struct command_line line;
	int status =
		command_parse(&command_policies, argc, argv, take_option, NULL, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_policies, err);
	if (line.operand_count)
		return command_mistake(&command_policies, err, "'%s' is not valid here",
				       line.operands[0]);
	gvmd_describe();
	return command_flush(err);
}
