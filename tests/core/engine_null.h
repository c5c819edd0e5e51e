/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a test sees of engine_null.c. The benchmarks use it, too, on hosts
 * without the package check.
 */
#ifndef TESTS_ENGINE_NULL_H
#define TESTS_ENGINE_NULL_H

/*
 * engine_null.c: called where a thread gives way, as another thread would run there; or NULL.
 */
extern void (*null_on_give_way)(void);

/* The body of the newest worker and its argument. No worker runs by itself. */
extern void (*null_body)(void *data);
extern void *null_body_data;

#endif
