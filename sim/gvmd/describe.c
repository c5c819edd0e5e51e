// SPDX-License-Identifier: MIT OR GPL-2.0
#include "gvmd/describe.h"

#include "gvmd/metrics.h"
#include "gvmd/plan.h"
#include "gvmd/policies.h"

static void describe_settings(const struct gvmd_setting *settings, size_t count)
{
	printf("| setting | default | allowed | meaning |\n"
	       "|---|---|---|---|\n");
	for (size_t i = 0; i < count; i++) {
		char allowed[160];

		gvmd_setting_allowed(&settings[i], allowed, sizeof(allowed));
		if (settings[i].fallback)
			printf("| `%s` | `%s` | %s | %s |\n", settings[i].name,
			       settings[i].fallback, allowed, settings[i].help);
		else
			printf("| `%s` | required | %s | %s |\n", settings[i].name, allowed,
			       settings[i].help);
	}
}

void gvmd_describe(void)
{
	printf("## Metrics\n\n| metric | from | meaning |\n|---|---|---|\n");
	for (int i = 0; i < GVMD_METRICS; i++) {
		bool report = !strcmp(gvmd_metrics[i].file, GVMD_REPORT);

		printf("| `%s` | %s%s%s | %s |\n", gvmd_metrics[i].name, report ? "" : "`",
		       report ? "the application's report" : gvmd_metrics[i].file,
		       report ? "" : "`", gvmd_metrics[i].help);
	}
	printf("\n## Settings of every policy\n\n");
	describe_settings(gvmd_common_settings, gvmd_common_setting_count);
	for (size_t i = 0; gvmd_policies[i]; i++) {
		const struct gvmd_policy *policy = gvmd_policies[i];

		printf("\n## %s\n\nA step every %llu ms: %s.\n\n", policy->name,
		       policy->period_ns / 1000000, policy->summary);
		describe_settings(policy->settings, policy->setting_count);
	}
}
