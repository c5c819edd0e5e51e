// SPDX-License-Identifier: MIT OR GPL-2.0
#include "retarget.h"

#include <stdio.h>
#include <string.h>

/* "sm_90": 90. 0: no number after it, or a letter after the number. */
static u32 plain_capability(const struct ptx_text *text, size_t at)
{
	const char *word = text->bytes + text->tokens[at].start;
	u32 length = text->tokens[at].length, capability = 0;

	if (length < 5 || length > 6 || !ptx_begins(text, at, "sm_"))
		return 0;
	for (u32 i = 3; i < length; i++) {
		if (word[i] < '0' || word[i] > '9')
			return 0;
		capability = 10 * capability + (u32)(word[i] - '0');
	}
	return capability;
}

/* A header that is to be changed lies in front of .address_size, where bounds are put. */
static int refuse_late(const struct ptx_module *module, u32 at, const char *word,
		       struct sim_error *err)
{
	return *word && at > module->header_end ?
		       ptx_error(module->text, at, err, "it stands after .address_size") :
		       0;
}

int retarget_module(const struct ptx_module *module, const struct patch_options *options,
		    struct retarget *ret_retarget, struct sim_error *err)
{
	u32 version = 10 * module->version_major + module->version_minor;
	u32 capability;
	int status;

	memset(ret_retarget, 0, sizeof(*ret_retarget));
	if (options->version && version > options->version)
		snprintf(ret_retarget->version, sizeof(ret_retarget->version), "%u.%u",
			 options->version / 10, options->version % 10);
	status = refuse_late(module, module->version, ret_retarget->version, err);
	if (status || !options->target)
		return status;
	capability = plain_capability(module->text, module->target);
	if (!capability)
		return ptx_error(module->text, module->target, err,
				 "it is for one GPU or one family, and cannot be lowered");
	if (capability <= options->target)
		return 0;
	snprintf(ret_retarget->target, sizeof(ret_retarget->target), "sm_%u", options->target);
	return refuse_late(module, module->target, ret_retarget->target, err);
}
