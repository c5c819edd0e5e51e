// SPDX-License-Identifier: MIT OR GPL-2.0
/* Reads the JSON file of a policy; see plan.h. */
#include "gvmd/plan.h"

#include <dlfcn.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "config/json_read.h"
#include "config/units.h"
#include "engine/error.h"
#include "engine/guess.h"
#include "gvmd/policies.h"

const struct gvmd_setting gvmd_common_settings[] = {
	GVMD_SETTING("period", DURATION, struct gvmd_plan, period_ns, GVMD_PERIOD_MIN_NS,
		     GVMD_PERIOD_MAX_NS, "0s", "between two steps; 0s: the policy's own"),
	GVMD_SETTING("deadline", DURATION, struct gvmd_plan, deadline_ns, GVMD_PERIOD_MIN_NS,
		     GVMD_PERIOD_MAX_NS, GVMD_DEADLINE_DEFAULT,
		     "a step that takes longer hangs, and ends the policy; in the simulator: "
		     "computes for longer"),
};

const size_t gvmd_common_setting_count =
	sizeof(gvmd_common_settings) / sizeof(gvmd_common_settings[0]);

/* A key of any policy's file, for people. */
#define DESCRIPTION "description"

static int plan_error(const struct gvmd_plan *plan, const char *key, struct sim_error *err,
		      const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static int plan_error(const struct gvmd_plan *plan, const char *key, struct sim_error *err,
		      const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return sim_user_error(err, "%.400s:%s%s%s", plan->file, key, *key ? ": " : " ", text);
}

static int plan_read(struct gvmd_plan *plan, struct sim_error *err)
{
	FILE *stream = fopen(plan->file, "rb");
	json_error_t bad;
	struct stat info;

	if (!stream)
		return plan_error(plan, "", err, "cannot be read: %s", strerror(errno));
	if (!fstat(fileno(stream), &info) && S_ISDIR(info.st_mode)) {
		fclose(stream);
		return plan_error(plan, "", err, "is a folder, allowed: a policy's file");
	}
	plan->root = cfg_json_read(stream, &bad);
	fclose(stream);
	if (!plan->root && !*bad.text)
		return sim_runtime_error(err, "out of memory");
	if (!plan->root)
		return sim_user_error(err, "%.400s:%d:%d: %s", plan->file, bad.line, bad.column,
				      bad.text);
	if (!json_is_object(plan->root))
		return plan_error(plan, "", err, "is not a JSON object, allowed: a policy");
	return 0;
}

/* Load the plug-in @name. A relative name begins in the folder of the policy's file. */
static int plan_load_plugin(struct gvmd_plan *plan, const char *name, struct sim_error *err)
{
	const char *slash = strrchr(plan->file, '/');
	int folder = *name != '/' && slash ? (int)(slash - plan->file) : 0;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s%s%s", folder, plan->file,
		 *name == '/' ? "" : (folder ? "/" : "./"), name);
	plan->plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!plan->plugin)
		return plan_error(plan, "plugin", err, "%.300s", dlerror());
	plan->policy = dlsym(plan->plugin, "gvmd_policy");
	if (!plan->policy)
		return plan_error(plan, "plugin", err, "\"%.200s\" exports no \"gvmd_policy\"",
				  name);
	if (plan->policy->abi != GVMD_ABI)
		return plan_error(plan, "plugin", err,
				  "\"%.200s\" is of version %u of the interface, allowed: %u",
				  name, plan->policy->abi, GVMD_ABI);
	if (!plan->policy->step)
		return plan_error(plan, "plugin", err, "\"%.200s\" has no step()", name);
	return 0;
}

/* Find the policy that the file names, by "policy" or by "plugin". */
static int plan_find_policy(struct gvmd_plan *plan, struct sim_error *err)
{
	const json_t *named = json_object_get(plan->root, "policy");
	const json_t *plugin = json_object_get(plan->root, "plugin");
	char known[256] = "", right[300];
	size_t length = 0;

	for (size_t i = 0; gvmd_policies[i]; i++) {
		if (named && json_is_string(named) &&
		    !strcmp(gvmd_policies[i]->name, json_string_value(named)))
			plan->policy = gvmd_policies[i];
		length += (size_t)snprintf(known + length, sizeof(known) - length, "%s\"%s\"",
					   i ? ", " : "", gvmd_policies[i]->name);
	}
	if (named && plugin)
		return plan_error(plan, "plugin", err,
				  "stands beside \"policy\", allowed: one of them");
	if (plugin && !json_string_length(plugin))
		return plan_error(plan, "plugin", err,
				  "is no text, allowed: the file of a shared object");
	if (plugin)
		return plan_load_plugin(plan, json_string_value(plugin), err);
	if (plan->policy)
		return 0;
	if (!named)
		return plan_error(plan, "policy", err, "is missing, allowed: %s, or \"plugin\"",
				  known);
	if (!json_is_string(named))
		return plan_error(plan, "policy", err, "is no text, allowed: %s, or \"plugin\"",
				  known);
	guess_describe(json_string_value(named), known, right, sizeof(right));
	return plan_error(plan, "policy", err, "\"%.40s\" is not known, %s%s",
			  json_string_value(named), right,
			  strchr(right, '?') ? "" : ", or \"plugin\"");
}

void gvmd_setting_allowed(const struct gvmd_setting *setting, char *text, size_t size)
{
	static const char *const words[] = {
		[GVMD_SET_NUMBER] = "a number",
		[GVMD_SET_BYTES] = "a size such as 6000000000, \"6e9\", \"1.5G\" or \"max\"",
		[GVMD_SET_DURATION] = "a duration such as \"100ms\"",
		[GVMD_SET_SHARE] = "a number of at most 6 decimals",
		[GVMD_SET_SWITCH] = "true or false",
		[GVMD_SET_CONTAINER] = "the name of a container",
		[GVMD_SET_JSON] = "JSON",
	};
	char low[UNITS_TEXT_MAX], high[UNITS_TEXT_MAX];
	void (*format)(u64 value, char *to, size_t room) = units_format_integer;

	if (setting->type == GVMD_SET_DURATION)
		format = units_format_duration;
	else if (setting->type == GVMD_SET_BYTES)
		format = units_format_size;
	else if (setting->type == GVMD_SET_SHARE)
		format = units_format_ppm;
	format(setting->min, low, sizeof(low));
	format(setting->max, high, sizeof(high));
	if (setting->type <= GVMD_SET_SHARE)
		snprintf(text, size, "%s from %s to %s", words[setting->type], low, high);
	else
		snprintf(text, size, "%s", words[setting->type]);
}

/* Store the value @text of a setting in @state. False: it is none, or out of bounds. */
static bool setting_store(const struct gvmd_setting *setting, const char *text, void *state)
{
	void *member = (char *)state + setting->offset;
	enum units_status status = UNITS_SYNTAX;
	u64 value = 0;

	switch (setting->type) {
	case GVMD_SET_NUMBER:
		status = units_parse_integer(text, &value);
		break;
	case GVMD_SET_BYTES:
		status = units_parse_size(text, &value);
		break;
	case GVMD_SET_DURATION:
		status = units_parse_duration(text, &value);
		break;
	case GVMD_SET_SHARE:
		status = units_parse_ppm(text, &value);
		break;
	case GVMD_SET_SWITCH:
		*(bool *)member = !strcmp(text, "true");
		return *(bool *)member || !strcmp(text, "false");
	case GVMD_SET_CONTAINER:
		snprintf(member, GVMD_NAME_MAX, "%s", text);
		return *text && strlen(text) < GVMD_NAME_MAX;
	case GVMD_SET_JSON:
		return false;
	}
	*(u64 *)member = value;
	return status == UNITS_OK && value >= setting->min && value <= setting->max;
}

/* Store a JSON value: numbers by their text, so that they have one parser. */
static bool setting_store_json(const struct gvmd_setting *setting, json_t *json, void *state)
{
	char text[64];

	if (setting->type == GVMD_SET_JSON) {
		*(json_t **)((char *)state + setting->offset) = json;
		return true;
	}
	if (json_is_string(json))
		return setting->type != GVMD_SET_SWITCH &&
		       setting_store(setting, json_string_value(json), state);
	if (setting->type == GVMD_SET_CONTAINER)
		return false;
	if (json_is_boolean(json))
		snprintf(text, sizeof(text), "%s", json_is_true(json) ? "true" : "false");
	else if (json_is_integer(json))
		snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(json));
	else if (json_is_real(json) && setting->type == GVMD_SET_SHARE)
		snprintf(text, sizeof(text), "%.6f", json_real_value(json));
	else
		return false;
	return setting_store(setting, text, state);
}

/* Bind @count rows to @state, and append the names of missing ones to @missing. */
static int plan_bind(struct gvmd_plan *plan, const struct gvmd_setting *rows, size_t count,
		     void *state, char *missing, size_t size, struct sim_error *err)
{
	for (size_t i = 0; i < count; i++) {
		json_t *json = json_object_get(plan->root, rows[i].name);
		size_t length = strlen(missing);
		char allowed[160];

		if (json && !setting_store_json(&rows[i], json, state)) {
			gvmd_setting_allowed(&rows[i], allowed, sizeof(allowed));
			return plan_error(plan, rows[i].name, err,
					  "is out of range or no such "
					  "value, allowed: %s",
					  allowed);
		}
		if (json)
			continue;
		if (!rows[i].fallback)
			snprintf(missing + length, size - length, "%s%s", length ? ", " : "",
				 rows[i].name);
		else if (rows[i].type != GVMD_SET_JSON)
			setting_store(&rows[i], rows[i].fallback, state);
	}
	return 0;
}

/* Is @key a key of the file that no row has? */
static bool plan_is_unknown(const struct gvmd_plan *plan, const char *key)
{
	const struct gvmd_policy *policy = plan->policy;

	for (size_t i = 0; i < gvmd_common_setting_count; i++)
		if (!strcmp(gvmd_common_settings[i].name, key))
			return false;
	for (size_t i = 0; i < policy->setting_count; i++)
		if (!strcmp(policy->settings[i].name, key))
			return false;
	return strcmp(key, "policy") && strcmp(key, "plugin") && strcmp(key, DESCRIPTION);
}

static int plan_check_keys(const struct gvmd_plan *plan, struct sim_error *err)
{
	const struct gvmd_policy *policy = plan->policy;
	const json_t *description = json_object_get(plan->root, DESCRIPTION);
	char known[256] = "", right[300];
	size_t length = 0;
	const char *key;
	json_t *value;

	json_object_foreach(plan->root, key, value) {
		if (!plan_is_unknown(plan, key))
			continue;
		for (size_t i = 0; i < policy->setting_count && length < sizeof(known); i++)
			length += (size_t)snprintf(known + length, sizeof(known) - length,
						   "%s, ", policy->settings[i].name);
		if (length < sizeof(known))
			snprintf(known + length, sizeof(known) - length,
				 "period, deadline, " DESCRIPTION);
		guess_describe(key, known, right, sizeof(right));
		return plan_error(plan, key, err, "is no setting of \"%.60s\", %s",
				  policy->name, right);
	}
	if (description && !json_is_string(description))
		return plan_error(plan, DESCRIPTION, err,
				  "is no text, allowed: what the policy is for");
	return 0;
}

/* Bind all settings, and let the policy check how they relate. */
static int plan_open(struct gvmd_plan *plan, struct sim_error *err)
{
	const struct gvmd_policy *policy = plan->policy;
	char why[GVMD_WHY_MAX] = "";
	char missing[256] = "";
	int status = plan_check_keys(plan, err);

	if (status)
		return status;
	plan->state = calloc(1, policy->bytes + 1);
	if (!plan->state)
		return sim_runtime_error(err, "out of memory");
	status = plan_bind(plan, gvmd_common_settings, gvmd_common_setting_count, plan, missing,
			   sizeof(missing), err);
	if (!status)
		status = plan_bind(plan, policy->settings, policy->setting_count, plan->state,
				   missing, sizeof(missing), err);
	if (status)
		return status;
	if (*missing)
		return plan_error(plan, missing, err, "missing, and without a default");
	if (!plan->period_ns)
		plan->period_ns = policy->period_ns;
	if (plan->period_ns < GVMD_PERIOD_MIN_NS)
		return plan_error(plan, "period", err, "the policy has none of its own");
	plan->opened = true;
	if (policy->open && policy->open(plan->state, plan->period_ns, why))
		return sim_user_error(err, "%.400s:%s", plan->file, why);
	return 0;
}

int gvmd_plan_load(struct gvmd_plan *plan, const char *file, struct sim_error *err)
{
	int status;

	*plan = (struct gvmd_plan){ 0 };
	snprintf(plan->file, sizeof(plan->file), "%s", file);
	status = plan_read(plan, err);
	if (!status)
		status = plan_find_policy(plan, err);
	if (!status)
		status = plan_open(plan, err);
	if (status)
		gvmd_plan_destroy(plan);
	return status;
}

void gvmd_plan_destroy(struct gvmd_plan *plan)
{
	if (plan->opened && plan->policy->close)
		plan->policy->close(plan->state);
	free(plan->state);
	json_decref(plan->root);
	if (plan->plugin)
		dlclose(plan->plugin);
	*plan = (struct gvmd_plan){ 0 };
}

int gvmd_plan_check_containers(const struct gvmd_plan *plan, const char *const *names,
			       size_t count, struct sim_error *err)
{
	const struct gvmd_policy *policy = plan->policy;
	char known[256] = "", right[300];
	char why[GVMD_WHY_MAX] = "";
	size_t length = 0;

	for (size_t i = 0; i < count && length < sizeof(known); i++)
		length += (size_t)snprintf(known + length, sizeof(known) - length, "%s%s",
					   i ? ", " : "", names[i]);
	for (size_t k = 0; k < policy->setting_count; k++) {
		const char *name = (const char *)plan->state + policy->settings[k].offset;

		if (policy->settings[k].type == GVMD_SET_CONTAINER && *name &&
		    !gvmd_is_named(names, count, name)) {
			guess_describe(name, known, right, sizeof(right));
			return plan_error(plan, policy->settings[k].name, err,
					  "no container \"%s\", %s", name, right);
		}
	}
	if (policy->check && policy->check(plan->state, names, count, why))
		return sim_user_error(
			err, "%.400s:%s%s%s", plan->file, why,
			strchr(why, '?') ? "" : ", allowed: ", strchr(why, '?') ? "" : known);
	return 0;
}
