// SPDX-License-Identifier: MIT OR GPL-2.0
#include "gvmd_fixture.h"

#include <unistd.h>

struct gvmd_plan plan;
struct gvmd_step step;
struct gvmd_container *const vllm = &step.containers[0], *const diffusion = &step.containers[1];

static char path[64];

static int load_text(const char *json, struct sim_error *err)
{
	int status, fd;

	snprintf(path, sizeof(path), "/tmp/gvmd-XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, json, strlen(json)), (ssize_t)strlen(json));
	close(fd);
	status = gvmd_plan_load(&plan, path, err);
	unlink(path);
	return status;
}

void load(const char *json)
{
	struct sim_error err = { 0 };

	ck_assert_msg(load_text(json, &err) == 0, "%s", err.text);
	memset(&step, 0, sizeof(step));
	step.container_count = 2;
	strcpy(vllm->name, "vllm");
	strcpy(diffusion->name, "diffusion");
	vllm->running = diffusion->running = true;
}

void unload(void)
{
	gvmd_plan_destroy(&plan);
}

void assert_bad(const char *json, const char *message)
{
	struct sim_error err = { 0 };
	char wanted[600];

	ck_assert_int_eq(load_text(json, &err), -SIM_EXIT_USER);
	snprintf(wanted, sizeof(wanted), "%s:%s", path, message);
	ck_assert_str_eq(err.text, wanted);
	ck_assert_ptr_null(plan.state);
}

void assert_no_container(const char *json, const char *message)
{
	const char *const names[] = { "vllm", "diffusion" };
	struct sim_error err = { 0 };
	char wanted[600];

	load(json);
	ck_assert_int_eq(gvmd_plan_check_containers(&plan, names, 2, &err), -SIM_EXIT_USER);
	snprintf(wanted, sizeof(wanted), "%s:%s", path, message);
	ck_assert_str_eq(err.text, wanted);
	unload();
}

void set(struct gvmd_container *container, enum gvmd_metric metric, u64 value)
{
	container->known |= 1ull << metric;
	container->value[metric] = value;
}

void writes_text(const struct gvmd_step *from, char *text, size_t size)
{
	size_t length = 0;

	*text = '\0';
	for (u32 i = 0; i < from->write_count && length < size; i++) {
		const struct gvmd_write *write = &from->writes[i];

		length += (size_t)snprintf(text + length, size - length, "%s%s %s %s%s",
					   i ? "; " : "",
					   from->containers[write->container].name, write->file,
					   write->text, write->no_wait ? " (no wait)" : "");
	}
}

void expect(u64 now_ms, const char *writes)
{
	char text[2048];

	step.now_ns = now_ms * 1000000;
	step.write_count = 0;
	ck_assert_int_eq(plan.policy->step(plan.state, &step), 0);
	writes_text(&step, text, sizeof(text));
	ck_assert_msg(!strcmp(text, writes), "at %llu ms: \"%s\", expected \"%s\"", now_ms,
		      text, writes);
}
