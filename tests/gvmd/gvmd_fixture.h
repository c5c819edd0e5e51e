/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A policy alone: the test sets metrics by hand, and compares the writes of each step with a
 * text. Two containers, "vllm" and "diffusion", run from the start.
 */
#ifndef TESTS_GVMD_FIXTURE_H
#define TESTS_GVMD_FIXTURE_H

#include "engine/error.h"
#include "gvmd/daemon.h"
#include "gvmd/plan.h"
#include "runner.h"

/* The plan of the last load(), and its step. */
extern struct gvmd_plan plan;
extern struct gvmd_step step;
extern struct gvmd_container *const vllm, *const diffusion;

/* Load a policy from a JSON text. It must succeed. The test ends with unload(). */
void load(const char *json);
void unload(void);

/* Loading fails with exactly @message after the file's name: "rules.0.when: ...". */
void assert_bad(const char *json, const char *message);

/*
 * Loading succeeds, but the file names a container that is not one of the two. The message
 * is @message with the list of both after it: "low: no container \"sd\"".
 */
void assert_no_container(const char *json, const char *message);

/* Make a value known. */
void set(struct gvmd_container *container, enum gvmd_metric metric, u64 value);

/*
 * Run a step at @now_ms. It asks for exactly @writes: "diffusion gmem.limit.high max; ...",
 * with " (no wait)" after one that does not wait; "" for none.
 */
void expect(u64 now_ms, const char *writes);

/* The writes of a step that were asked for, in the form of expect(). */
void writes_text(const struct gvmd_step *from, char *text, size_t size);

#endif
