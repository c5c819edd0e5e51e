// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * rules: a policy without code
 * ============================
 *
 * A rule is a sentence: when METRIC of CONTAINER over WINDOW is above (or below) VALUE, then
 * write these files. A JSON file holds a list of them:
 *
 *     { "policy": "rules", "rules": [
 *         { "when": { "container": "vllm", "metric": "gcgroup.stat.pending",
 *                     "over": "1500ms", "above": 160, "until": 32 },
 *           "then": [ { "container": "diffusion", "file": "gmem.limit.high", "value": "6e9" }
 *           ], "cooldown": "3s" } ] }
 *
 * A rule fires when its condition begins to hold, and not again while it holds:
 *
 *     statistic   ______/''''''''\____/''\_____
 *     above       - - - F - - - - - - - - - - -    fires once
 *     until       - - - - - - - - - R - F - - -    is armed again below "until", fires again
 *
 * "until" is the hysteresis; without it the rule is armed again as soon as the condition does
 * not hold.
 *
 * "cooldown" is the least time between two firings. If the condition still holds when it is
 * over, the rule fires then. With "repeat" it fires again after each cooldown. A rule fires
 * only while all containers that it writes to run.
 *
 * A window is full after WINDOW / period samples; before that a rule does not fire. A container
 * that is gone, or a value that is not known, empties the window. The statistics are mean, min,
 * max, last, and change: the newest sample minus the one a window before, for counters.
 *
 * The papers have no such thing; their policy is a program (dyn.c). Its law can be written in
 * rules: scenarios/policies/rules-dyn.json does so.
 */
#include <jansson.h>
#include <stdlib.h>

#include "config/units.h"
#include "engine/guess.h"
#include "gvm/control.h"
#include "gvmd/metrics.h"
#include "gvmd/policies.h"

#define RULES_MAX	  64
#define RULE_WRITES_MAX	  16
#define RULE_SAMPLES_MAX  100000u
#define RULE_COOLDOWN_MAX 86400000000000ull

enum rule_statistic { RULE_MEAN, RULE_MIN, RULE_MAX, RULE_LAST, RULE_CHANGE };

static const char *const statistics[] = { "mean", "min", "max", "last", "change" };

/* A write of a rule. */
struct rule_write {
	char container[GVMD_NAME_MAX];
	char file[GVMD_NAME_MAX];
	char text[GVMD_TEXT_MAX];
	bool no_wait;
};

struct rule {
	char container[GVMD_NAME_MAX];
	enum gvmd_metric metric;
	enum rule_statistic statistic;
	bool above;
	u64 bound; /* fires above, or below */
	u64 until; /* is armed again once the statistic is not above, or not below */
	u64 cooldown_ns;
	bool repeat;
	struct rule_write writes[RULE_WRITES_MAX];
	u32 write_count;

	u64 *samples; /* a ring; owned */
	u32 room;     /* samples of a full window */
	u32 count;
	u32 next;
	bool fired; /* and is not armed again */
	bool ever;  /* has fired: fired_ns is a date */
	u64 fired_ns;
};

struct rules {
	json_t *list; /* the setting "rules" */
	struct rule rules[RULES_MAX];
	u32 count;
};

static const struct gvmd_setting rules_settings[] = {
	GVMD_SETTING("rules", JSON, struct rules, list, 0, 0, NULL, "a list of rules"),
};

/* Where a mistake is: "rules.0.when", and the place for its reason. */
struct rule_place {
	char path[80];
	char *why;
};

static int place_error(const struct rule_place *place, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int place_error(const struct rule_place *place, const char *key, const char *fmt, ...)
{
	va_list args;
	int length = snprintf(place->why, GVMD_WHY_MAX, "%.60s%s%.30s: ", place->path,
			      *key ? "." : "", key);

	va_start(args, fmt);
	vsnprintf(place->why + length, GVMD_WHY_MAX - (size_t)length, fmt, args);
	va_end(args);
	return -EINVAL;
}

/* Check that @object is an object and has no key outside of @known, NULL at the end. */
static int place_check_keys(const struct rule_place *place, json_t *object,
			    const char *const *known)
{
	struct guess guess;
	const char *key;
	json_t *value;

	if (!json_is_object(object))
		return place_error(place, "", "is missing or no object");
	json_object_foreach(object, key, value) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], key) != 0)
			i++;
		if (!known[i]) {
			guess_begin(&guess, key);
			for (i = 0; known[i]; i++)
				guess_offer(&guess, known[i]);
			return *guess.name ? place_error(place, key,
							 "unknown key, did you mean \"%s\"?",
							 guess.name) :
					     place_error(place, key, "unknown key");
		}
	}
	return 0;
}

/* Read a text at @key into @ret_text. Missing is an error unless there is a @fallback. */
static int place_text(const struct rule_place *place, const json_t *object, const char *key,
		      const char *fallback, char *ret_text, size_t size)
{
	const json_t *json = json_object_get(object, key);

	if (json_is_integer(json))
		snprintf(ret_text, size, "%lld", (long long)json_integer_value(json));
	else if (json_is_string(json) && json_string_length(json) < size)
		snprintf(ret_text, size, "%s", json_string_value(json));
	else if (!json && fallback)
		snprintf(ret_text, size, "%s", fallback);
	else
		return place_error(place, key, json ? "is no text or number" : "is missing");
	return 0;
}

static int place_duration(const struct rule_place *place, const json_t *object, const char *key,
			  u64 *ret_ns)
{
	char text[32];

	if (place_text(place, object, key, "0s", text, sizeof(text)))
		return -EINVAL;
	if (units_parse_duration(text, ret_ns) != UNITS_OK || *ret_ns > RULE_COOLDOWN_MAX)
		return place_error(place, key, "allowed: a duration up to 24h such as \"3s\"");
	return 0;
}

static int place_switch(const struct rule_place *place, const json_t *object, const char *key,
			bool *ret_value)
{
	const json_t *json = json_object_get(object, key);

	*ret_value = json_is_true(json);
	if (json && !json_is_boolean(json))
		return place_error(place, key, "allowed: true or false");
	return 0;
}

/* A bound of a condition: a number, or a size such as "6G". */
static int place_bound(const struct rule_place *place, const json_t *object, const char *key,
		       u64 *ret_value)
{
	char text[32];

	if (place_text(place, object, key, NULL, text, sizeof(text)))
		return -EINVAL;
	if (units_parse_size(text, ret_value) != UNITS_OK)
		return place_error(place, key, "allowed: a number or a size such as \"6G\"");
	return 0;
}

static int rule_read_statistic(struct rule *rule, const struct rule_place *place,
			       const json_t *when)
{
	char text[32];

	if (place_text(place, when, "statistic", "mean", text, sizeof(text)))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(statistics) / sizeof(statistics[0]); i++) {
		if (strcmp(statistics[i], text) != 0)
			continue;
		rule->statistic = (enum rule_statistic)i;
		return 0;
	}
	return place_error(place, "statistic", "allowed: mean, min, max, last, change");
}

static int rule_read_bounds(struct rule *rule, const struct rule_place *place,
			    const json_t *when)
{
	bool above = json_object_get(when, "above"), below = json_object_get(when, "below");

	if (above == below)
		return place_error(place, "above", "allowed: one of above, below");
	rule->above = above;
	if (place_bound(place, when, above ? "above" : "below", &rule->bound))
		return -EINVAL;
	rule->until = rule->bound;
	if (json_object_get(when, "until") && place_bound(place, when, "until", &rule->until))
		return -EINVAL;
	if (above ? rule->until > rule->bound : rule->until < rule->bound)
		return place_error(place, "until", "is on the wrong side of \"%s\"",
				   above ? "above" : "below");
	return 0;
}

/* Read "when", and make the ring of its window. */
static int rule_read_when(struct rule *rule, struct rule_place *place, json_t *when,
			  u64 period_ns)
{
	static const char *const known[] = { "container", "metric", "over",  "statistic",
					     "above",	  "below",  "until", NULL };
	char text[GVMD_NAME_MAX];
	struct guess guess;
	u64 over_ns, samples;

	strcat(place->path, ".when");
	if (place_check_keys(place, when, known) ||
	    place_text(place, when, "container", NULL, rule->container,
		       sizeof(rule->container)) ||
	    place_text(place, when, "metric", NULL, text, sizeof(text)))
		return -EINVAL;
	rule->metric = gvmd_metric_find(text);
	if (rule->metric == GVMD_METRICS) {
		guess_begin(&guess, text);
		for (int i = 0; i < GVMD_METRICS; i++)
			guess_offer(&guess, gvmd_metrics[i].name);
		if (*guess.name)
			return place_error(place, "metric",
					   "no metric \"%.30s\", did you mean \"%.30s\"?", text,
					   guess.name);
		return place_error(place, "metric",
				   "no metric \"%.40s\"; \"gvmd policies\" has all", text);
	}
	if (rule_read_statistic(rule, place, when) || rule_read_bounds(rule, place, when) ||
	    place_duration(place, when, "over", &over_ns))
		return -EINVAL;
	samples = over_ns / period_ns + (rule->statistic == RULE_CHANGE);
	if (rule->statistic == RULE_CHANGE && samples < 2)
		return place_error(place, "over",
				   "is less than a period, allowed: for a change a period or "
				   "more");
	if (samples > RULE_SAMPLES_MAX)
		return place_error(place, "over", "is more than %u periods", RULE_SAMPLES_MAX);
	rule->room = samples ? (u32)samples : 1;
	rule->samples = calloc(rule->room, sizeof(*rule->samples));
	return rule->samples ? 0 : place_error(place, "over", "out of memory");
}

/* There is no file @name to write: say the one that is meant, or all that there are. */
static int place_no_file(const struct rule_place *place, const char *name)
{
	char all[GVMD_WHY_MAX];
	size_t length = 0;
	struct guess guess;

	guess_begin(&guess, name);
	for (u32 i = 0; i < gvm_control_count(); i++) {
		const struct gvm_control_file *file = gvm_control_at(i);

		if (!file->store)
			continue;
		guess_offer(&guess, file->name);
		if (length < sizeof(all))
			length += (size_t)snprintf(all + length, sizeof(all) - length, "%s%s",
						   length ? ", " : "", file->name);
	}
	if (*guess.name)
		return place_error(
			place, "file",
			"\"%.40s\" is no control file to write, did you mean \"%s\"?", name,
			guess.name);
	return place_error(place, "file", "allowed: %s", all);
}

static int place_no_value(const struct rule_place *place, const struct gvm_control_file *file,
			  const char *text)
{
	if (file->max == GVM_NO_LIMIT)
		return place_error(place, "value",
				   "\"%.40s\" is not for this file, allowed: bytes such as "
				   "\"6e9\", or \"max\"",
				   text);
	return place_error(place, "value",
			   "\"%.40s\" is not for this file, allowed: %llu to %llu%s", text,
			   file->min, file->max,
			   file->kind == GVM_CONTROL_TIMESLICE ? " us, such as \"2ms\"" : "");
}

/* Read a write of "then", and check it as the driver will. */
static int rule_read_write(struct rule_write *write, const struct rule_place *place,
			   json_t *object)
{
	static int (*const parse[])(const char *, u64 *) = {
		[GVM_CONTROL_BYTES] = gvm_parse_bytes,
		[GVM_CONTROL_TIMESLICE] = gvm_parse_timeslice_us,
		[GVM_CONTROL_NUMBER] = gvm_parse_u64,
	};
	static const char *const known[] = { "container", "file", "value", "no_wait", NULL };
	const struct gvm_control_file *file;
	u64 value;

	if (place_check_keys(place, object, known) ||
	    place_text(place, object, "container", NULL, write->container,
		       sizeof(write->container)) ||
	    place_text(place, object, "file", NULL, write->file, sizeof(write->file)) ||
	    place_text(place, object, "value", NULL, write->text, sizeof(write->text)) ||
	    place_switch(place, object, "no_wait", &write->no_wait))
		return -EINVAL;
	file = gvm_control_find(write->file);
	if (!file || !file->store)
		return place_no_file(place, write->file);
	if (parse[file->kind](write->text, &value) || value < file->min || value > file->max)
		return place_no_value(place, file, write->text);
	return 0;
}

static int rule_read(struct rule *rule, u32 index, json_t *json, u64 period_ns, char *why)
{
	static const char *const known[] = {
		"name", "when", "then", "cooldown", "repeat", NULL
	};
	struct rule_place place = { .why = why };
	json_t *then = json_object_get(json, "then");

	snprintf(place.path, sizeof(place.path), "rules.%u", index);
	if (place_check_keys(&place, json, known) ||
	    place_duration(&place, json, "cooldown", &rule->cooldown_ns) ||
	    place_switch(&place, json, "repeat", &rule->repeat))
		return -EINVAL;
	if (!json_array_size(then) || json_array_size(then) > RULE_WRITES_MAX)
		return place_error(&place, "then", "allowed: a list of 1 to %d writes",
				   RULE_WRITES_MAX);
	if (rule_read_when(rule, &place, json_object_get(json, "when"), period_ns))
		return -EINVAL;
	for (size_t i = 0; i < json_array_size(then); i++) {
		snprintf(place.path, sizeof(place.path), "rules.%u.then.%zu", index, i);
		if (rule_read_write(&rule->writes[rule->write_count++], &place,
				    json_array_get(then, i)))
			return -EINVAL;
	}
	return 0;
}

static int rules_open(void *state, u64 period_ns, char why[GVMD_WHY_MAX])
{
	struct rules *rules = state;
	size_t count = json_array_size(rules->list);

	if (!count || count > RULES_MAX) {
		snprintf(why, GVMD_WHY_MAX, "rules: allowed: a list of 1 to %d rules",
			 RULES_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; i < count; i++) {
		if (rule_read(&rules->rules[rules->count++], (u32)i,
			      json_array_get(rules->list, i), period_ns, why))
			return -EINVAL;
	}
	return 0;
}

/* Say that @name is none of the containers @names. */
static int no_container(const struct rule_place *place, const char *name,
			const char *const *names, size_t count)
{
	struct guess guess;

	guess_begin(&guess, name);
	for (size_t i = 0; i < count; i++)
		guess_offer(&guess, names[i]);
	if (*guess.name)
		return place_error(place, "container",
				   "no container \"%.24s\", did you mean \"%.24s\"?", name,
				   guess.name);
	return place_error(place, "container", "no container \"%s\"", name);
}

static int rules_check(const void *state, const char *const *names, size_t count,
		       char why[GVMD_WHY_MAX])
{
	const struct rules *rules = state;

	for (u32 i = 0; i < rules->count; i++) {
		const struct rule *rule = &rules->rules[i];
		struct rule_place place = { .why = why };

		snprintf(place.path, sizeof(place.path), "rules.%u.when", i);
		if (!gvmd_is_named(names, count, rule->container))
			return no_container(&place, rule->container, names, count);
		for (u32 k = 0; k < rule->write_count; k++) {
			snprintf(place.path, sizeof(place.path), "rules.%u.then.%u", i, k);
			if (!gvmd_is_named(names, count, rule->writes[k].container))
				return no_container(&place, rule->writes[k].container, names,
						    count);
		}
	}
	return 0;
}

static const char *rules_writes(const void *state, u32 index, char place[GVMD_NAME_MAX])
{
	const struct rules *rules = state;

	for (u32 i = 0; i < rules->count; i++) {
		if (index < rules->rules[i].write_count) {
			snprintf(place, GVMD_NAME_MAX, "rules.%u.then.%u", i, index);
			return rules->rules[i].writes[index].file;
		}
		index -= rules->rules[i].write_count;
	}
	return NULL;
}

/* The statistic of a full window. */
static u64 rule_value(const struct rule *rule)
{
	u64 newest = rule->samples[(rule->next + rule->room - 1) % rule->room];
	u64 oldest = rule->samples[rule->next % rule->room];
	u64 least = newest, most = newest;
	unsigned __int128 sum = 0;

	for (u32 i = 0; i < rule->room; i++) {
		sum += rule->samples[i];
		least = rule->samples[i] < least ? rule->samples[i] : least;
		most = rule->samples[i] > most ? rule->samples[i] : most;
	}
	switch (rule->statistic) {
	case RULE_MEAN:
		return (u64)(sum / rule->room);
	case RULE_MIN:
		return least;
	case RULE_MAX:
		return most;
	case RULE_LAST:
		return newest;
	case RULE_CHANGE:
		return newest > oldest ? newest - oldest : 0;
	}
	return newest;
}

/* Take a sample into the window. Returns false: the window is not full. */
static bool rule_sample(struct rule *rule, struct gvmd_step *step)
{
	const struct gvmd_container *container = gvmd_find(step, rule->container);

	if (!container || !gvmd_known(container, rule->metric)) {
		rule->count = 0;
		rule->next = 0;
		return false;
	}
	rule->samples[rule->next] = container->value[rule->metric];
	rule->next = (rule->next + 1) % rule->room;
	rule->count += rule->count < rule->room;
	return rule->count == rule->room;
}

/* A rule waits until all containers that it writes to run. */
static bool rule_can_fire(const struct rule *rule, struct gvmd_step *step)
{
	for (u32 i = 0; i < rule->write_count; i++)
		if (!gvmd_find(step, rule->writes[i].container))
			return false;
	return !rule->ever || step->now_ns - rule->fired_ns >= rule->cooldown_ns;
}

static void rule_fire(struct rule *rule, struct gvmd_step *step)
{
	rule->fired = true;
	rule->ever = true;
	rule->fired_ns = step->now_ns;
	for (u32 i = 0; i < rule->write_count; i++) {
		const struct rule_write *write = &rule->writes[i];

		gvmd_write(step, gvmd_find(step, write->container), write->file, write->text)
			->no_wait = write->no_wait;
	}
}

static int rules_step(void *state, struct gvmd_step *step)
{
	struct rules *rules = state;

	for (u32 i = 0; i < rules->count; i++) {
		struct rule *rule = &rules->rules[i];
		bool holds, stays;
		u64 value;

		if (!rule_sample(rule, step))
			continue;
		value = rule_value(rule);
		holds = rule->above ? value > rule->bound : value < rule->bound;
		stays = rule->above ? value > rule->until : value < rule->until;
		if (!stays)
			rule->fired = false;
		if (holds && (!rule->fired || rule->repeat) && rule_can_fire(rule, step))
			rule_fire(rule, step);
	}
	return 0;
}

static void rules_close(void *state)
{
	struct rules *rules = state;

	for (u32 i = 0; i < rules->count; i++)
		free(rules->rules[i].samples);
}

const struct gvmd_policy policy_rules = {
	.abi = GVMD_ABI,
	.name = "rules",
	.summary = "when METRIC over WINDOW is above or below VALUE, then write files",
	.settings = rules_settings,
	.setting_count = sizeof(rules_settings) / sizeof(rules_settings[0]),
	.bytes = sizeof(struct rules),
	.period_ns = 100000000,
	.open = rules_open,
	.check = rules_check,
	.writes = rules_writes,
	.step = rules_step,
	.close = rules_close,
};
