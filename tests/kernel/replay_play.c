// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Scenarios of the simulator, played on the GPU under test; see replay.h. Each step ends with
 * lines of its effects:
 *
 * trace: SCRIPT STEP evicted CONTAINER VA CHUNK PAGES - in the order of gvm:gvm_evict
 * trace: SCRIPT STEP CONTAINER FILE VALUE - for each control file that has changed
 *
 * Of a GPU that does not tell its evictions, what is copied out tells them:
 *
 * trace: SCRIPT STEP left CONTAINER BLOCK
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replay.h"

#define TENANTS_MAX 8u
#define TRACE_MAX   (256u << 10)
#define WORDS_MAX   65536u
#define SMALL_PAGE  4096u

/* All control files, in the order of sim/core/service/control.c. */
static const char *const files[] = {
	"gmem.limit.high",   "gmem.limit.low",	  "gmem.current",	"gmem.peak",
	"gmem.events",	     "gmem.swap.current", "gmem.clean.current", "hmem.limit",
	"compute.timeslice", "compute.priority",  "compute.weight",	"compute.freeze",
	"gcgroup.stat",
};
#define FILES (sizeof(files) / sizeof(files[0]))

static struct {
	const char *script;
	unsigned long step;
	struct replay_tenant tenants[TENANTS_MAX];
	char last[TENANTS_MAX][FILES][256]; /* the last texts of their files */
	uint32_t tenant_count;
	int evictions; /* /sys/kernel/debug/tracing/trace_pipe */
	uint32_t wrong;
} replay;

static struct replay_tenant *find_tenant(const char *name)
{
	for (uint32_t i = 0; i < replay.tenant_count; i++)
		if (strcmp(replay.tenants[i].name, name) == 0)
			return &replay.tenants[i];
	return NULL;
}

static const char *name_of(unsigned int tgid)
{
	for (uint32_t i = 0; i < replay.tenant_count; i++)
		if (replay.tenants[i].pid == (pid_t)tgid)
			return replay.tenants[i].name;
	return "?";
}

/* Log the eviction of one line of trace_pipe. */
static void tell_eviction(const char *line)
{
	const char *fields = strstr(line, "gvm_evict: ");
	unsigned int tgid, chunk, pages;
	unsigned long long va;

	if (fields && sscanf(fields, "gvm_evict: gpu=%*s tgid=%u va=%llx chunk=%u pages=%u",
			     &tgid, &va, &chunk, &pages) == 4)
		guest_log("trace: %s %lu evicted %s 0x%llx %u %u", replay.script, replay.step,
			  name_of(tgid), va, chunk, pages);
	else
		guest_check(false, "a line of trace_pipe: %s", line);
}

/* Which block of 2 MB of a tenant holds that word in second place of one of its pages? */
static bool find_word(uint64_t word, const struct replay_tenant **ret_tenant,
		      uint32_t *ret_block)
{
	for (uint32_t i = 0; i < replay.tenant_count; i++) {
		const struct replay_tenant *tenant = &replay.tenants[i];
		uint64_t va = tenant->va ? *tenant->va : 0;

		for (uint64_t at = 0; va && at < REPLAY_BYTES_MAX; at += SMALL_PAGE)
			if (gvm_fakegpu_word(tenant->seed, va + at + sizeof(word)) == word) {
				*ret_tenant = tenant;
				*ret_block = (uint32_t)(at / CHUNK);
				return true;
			}
	}
	return false;
}

/* Log which blocks were copied out. One that goes in pieces has left once. */
static void tell_copies(void)
{
	static uint64_t words[WORDS_MAX];
	size_t count = gpu_words_out(words, WORDS_MAX);
	const struct replay_tenant *tenant, *last_tenant = NULL;
	uint32_t block, last_block = 0;

	for (size_t i = 0; i < count; i++) {
		if (!find_word(words[i], &tenant, &block)) {
			guest_log("# a word of nobody left: %llx",
				  (unsigned long long)words[i]);
			continue;
		}
		if (tenant != last_tenant || block != last_block)
			guest_log("trace: %s %lu left %s %u", replay.script, replay.step,
				  tenant->name, block);
		last_tenant = tenant;
		last_block = block;
	}
}

/* Log all evictions since the last call. */
static void tell_evictions(void)
{
	static char text[TRACE_MAX];
	size_t length = 0;
	ssize_t got;
	char *rest = text, *line;

	while ((got = read(replay.evictions, text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
	while ((line = strsep(&rest, "\n")))
		if (*line)
			tell_eviction(line);
}

/* Read a control file. Its lines are joined by blanks. */
static int read_file(const struct replay_tenant *tenant, const char *file, char *text,
		     size_t size)
{
	char path[64];
	int error;

	snprintf(path, sizeof(path), "gvm/%d/0/%s", tenant->pid, file);
	error = guest_read(path, text, size);
	for (size_t length = strlen(text); length && text[length - 1] == '\n';)
		text[--length] = '\0';
	for (; *text; text++)
		if (*text == '\n')
			*text = ' ';
	return error;
}

static void tell_changes(uint32_t index)
{
	const struct replay_tenant *tenant = &replay.tenants[index];
	char text[sizeof(replay.last[0][0])];

	for (size_t i = 0; i < FILES; i++) {
		if (read_file(tenant, files[i], text, sizeof(text)) ||
		    strcmp(text, replay.last[index][i]) == 0)
			continue;
		strcpy(replay.last[index][i], text);
		guest_log("trace: %s %lu %s %s %s", replay.script, replay.step, tenant->name,
			  files[i], text);
	}
}

static void end_step(void)
{
	replay_settle();
	if (gpu_can(GPU_TELLS_EVICTIONS))
		tell_evictions();
	else
		tell_copies();
	for (uint32_t i = 0; i < replay.tenant_count; i++)
		if (replay.tenants[i].pid)
			tell_changes(i);
}

static bool do_write(struct replay_tenant *tenant, const char *file, const char *text)
{
	bool fine = control_set(tenant->pid, file, text) == 0;

	if (strcmp(file, "compute.freeze") == 0 && strcmp(text, "0") == 0)
		fine &= replay_tenant_catch_up(tenant);
	return fine;
}

static bool do_exit(struct replay_tenant *tenant)
{
	struct replay_order order = { .verb = REPLAY_EXIT };
	char path[64];

	snprintf(path, sizeof(path), GUEST_DEBUGFS "/gvm/%d", tenant->pid);
	return access(path, F_OK) == 0 && replay_tenant_tell(tenant, &order) &&
	       access(path, F_OK) != 0;
}

static uint32_t number(const char *word)
{
	return (uint32_t)strtoul(word, NULL, 10);
}

/* Carry out a line from its second word on: VERB CONTAINER... */
static bool do_words(char *const *words)
{
	struct replay_tenant *tenant = words[1] ? find_tenant(words[1]) : NULL;
	struct replay_order order = { 0 };

	if (!tenant)
		return false;
	if (strcmp(words[0], "start") == 0)
		return replay_tenant_start(tenant);
	if (strcmp(words[0], "exit") == 0)
		return do_exit(tenant);
	if (!words[2] || !words[3])
		return false;
	if (strcmp(words[0], "write") == 0)
		return do_write(tenant, words[2], words[3]);
	if (strcmp(words[0], "map") == 0) {
		order.verb = REPLAY_MAP;
		order.bytes = strtoull(words[2], NULL, 10);
		order.on_host = strcmp(words[3], "host") == 0;
		return replay_tenant_tell(tenant, &order);
	}
	order.verb = REPLAY_TOUCH;
	order.first = number(words[2]);
	order.last = number(words[3]);
	order.writes = tenant->writes;
	return strcmp(words[0], "touch") == 0 && replay_tenant_tell(tenant, &order);
}

static void add_tenant(const char *name, const char *kernels)
{
	struct replay_tenant *tenant = &replay.tenants[replay.tenant_count];

	snprintf(tenant->name, sizeof(tenant->name), "%s", name);
	tenant->writes = strcmp(kernels, "fill") == 0;
	tenant->seed = 0x9e7ull + replay.tenant_count++;
	tenant->va = shared_alloc(sizeof(*tenant->va));
}

/* Carry out a line: "gpu PARAMETERS", "container NAME KERNELS", "STEP VERB CONTAINER...". */
static void do_line(char *line)
{
	char *words[REPLAY_WORDS_MAX + 1] = { 0 };
	char copy[512];
	unsigned long step;

	snprintf(copy, sizeof(copy), "%s", line);
	if (strncmp(line, "gpu ", 4) == 0) {
		gpu_load(line + 4);
		return;
	}
	for (uint32_t i = 0; i < REPLAY_WORDS_MAX && line; i++)
		words[i] = strsep(&line, " ");
	if (strcmp(words[0], "container") == 0 && replay.tenant_count < TENANTS_MAX) {
		add_tenant(words[1], words[2]);
		return;
	}
	step = strtoul(words[0], NULL, 10);
	if (step != replay.step && replay.step)
		end_step();
	replay.step = step;
	if (!words[1] || !do_words(words + 1)) {
		guest_log("# cannot do: %s", copy);
		replay.wrong++;
	}
}

/* One counter orders the events of all CPUs. */
static void trace_evictions(void)
{
	if (!gpu_can(GPU_TELLS_EVICTIONS))
		return;
	guest_expect_write("tracing/trace_clock", "counter", 0);
	guest_expect_write("tracing/events/gvm/gvm_evict/enable", "1", 0);
	replay.evictions =
		open(GUEST_DEBUGFS "/tracing/trace_pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	guest_check(replay.evictions >= 0, "trace_pipe can be read");
}

static void end_tenants(void)
{
	for (uint32_t i = 0; i < replay.tenant_count; i++)
		if (replay.tenants[i].pid)
			guest_check(do_exit(&replay.tenants[i]), "%s exits at the end",
				    replay.tenants[i].name);
}

static void play(const char *script)
{
	FILE *file = fopen(script, "re");
	char line[256];

	memset(&replay, 0, sizeof(replay));
	replay.script = strrchr(script, '/') + 1;
	trace_evictions();
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		do_line(line);
	}
	end_step();
	guest_check(file && replay.wrong == 0, "%s: %lu steps, %u went wrong", replay.script,
		    replay.step, replay.wrong);
	end_tenants();
	for (uint32_t i = 0; i < replay.tenant_count; i++)
		munmap(replay.tenants[i].va, sizeof(*replay.tenants[i].va));
	if (gpu_can(GPU_TELLS_EVICTIONS)) {
		close(replay.evictions);
		guest_expect_write("tracing/events/gvm/gvm_evict/enable", "0", 0);
	}
	guest_check(gpu_check(), "the books are in order");
	gpu_unload();
	if (file)
		fclose(file);
}

void replay_all(void)
{
	glob_t scripts;

	guest_check(glob("/scripts/*", 0, NULL, &scripts) == 0, "there are scripts");
	for (size_t i = 0; i < scripts.gl_pathc; i++)
		play(scripts.gl_pathv[i]);
	globfree(&scripts);
}
