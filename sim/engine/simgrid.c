// SPDX-License-Identifier: MIT OR GPL-2.0
/* SimGrid, loaded on demand; see simgrid.h. */
#include "engine/simgrid.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>

#define NODE_STACK_KIB "1024"

/* SimGrid's functions that gvmsim calls, with the types of SimGrid's headers. */
static struct {
	__typeof__(&simgrid_init) init;
	__typeof__(&simgrid_load_platform) load_platform;
	__typeof__(&simgrid_run) run;
	__typeof__(&sg_host_by_name) host_by_name;
	__typeof__(&sg_actor_init) actor_init;
	__typeof__(&sg_actor_set_data) actor_set_data;
	__typeof__(&sg_actor_self_get_data) actor_self_get_data;
	__typeof__(&sg_actor_start_) actor_start;
} simgrid;

static int simgrid_load(void)
{
	const struct {
		const char *name;
		void *place;
	} functions[] = {
		{ "simgrid_init", &simgrid.init },
		{ "simgrid_load_platform", &simgrid.load_platform },
		{ "simgrid_run", &simgrid.run },
		{ "sg_host_by_name", &simgrid.host_by_name },
		{ "sg_actor_init", &simgrid.actor_init },
		{ "sg_actor_set_data", &simgrid.actor_set_data },
		{ "sg_actor_self_get_data", &simgrid.actor_self_get_data },
		{ "sg_actor_start_", &simgrid.actor_start },
	};
	void *library = dlopen(ENG_SIMGRID_SONAME, RTLD_NOW);

	if (!library)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		*(void **)functions[i].place = dlsym(library, functions[i].name);
		if (!*(void **)functions[i].place)
			return -ENOENT;
	}
	return 0;
}

static void write_platform(FILE *file, u32 count)
{
	fputs("<?xml version='1.0'?>\n"
	      "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
	      "<platform version=\"4.1\"><zone id=\"nodes\" routing=\"Full\">\n",
	      file);
	for (u32 i = 0; i < count; i++)
		fprintf(file, "<host id=\"node%u\" speed=\"1Gf\"/>\n", i);
	fputs("</zone></platform>\n", file);
}

/* SimGrid reads a platform from a file only. This file is in memory. */
static int load_platform(u32 count)
{
	char path[64];
	int fd = memfd_create("gvmsim-platform.xml", 0);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	int status = -EIO;

	if (!file) {
		if (fd >= 0)
			close(fd);
		return -EIO;
	}
	write_platform(file, count);
	if (fflush(file) == 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		simgrid.load_platform(path);
		status = 0;
	}
	fclose(file);
	return status;
}

int eng_simgrid_init(u32 count)
{
	char program[] = "gvmsim";
	char quiet[] = "--log=root.threshold:critical";
	char precision[] = "--cfg=surf/precision:1e-12";
	char stack[] = "--cfg=contexts/stack-size:" NODE_STACK_KIB;
	char threads[] = "--cfg=contexts/nthreads:1";
	char *argv[] = { program, quiet, precision, stack, threads, NULL };
	int argc = 5;

	if (simgrid_load())
		return -ENOENT;
	simgrid.init(&argc, argv);
	return load_platform(count);
}

static void (*run_node)(void *node);

static void actor_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	run_node(simgrid.actor_self_get_data());
}

void eng_simgrid_run(void (*node_main)(void *node), void *const *nodes, u32 count)
{
	run_node = node_main;
	for (u32 i = 0; i < count; i++) {
		char name[16];
		sg_actor_t actor;

		snprintf(name, sizeof(name), "node%u", i);
		actor = simgrid.actor_init(name, simgrid.host_by_name(name));
		simgrid.actor_set_data(actor, nodes[i]);
		simgrid.actor_start(actor, actor_main, 0, NULL);
	}
	simgrid.run();
}
