// SPDX-License-Identifier: MIT OR GPL-2.0
/* The reports of the applications whose logs gvmcollect reads. */
#include "apps/report.h"

const struct app_report *app_report_at(size_t index)
{
	static const struct app_report *const reports[] = { &report_requests, &report_images };

	return index < sizeof(reports) / sizeof(reports[0]) ? reports[index] : NULL;
}
