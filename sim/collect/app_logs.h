/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Logs of applications on a real host, as struct app_log.
 *
 * Dates in logs are of the host's CLOCK_MONOTONIC, which Python's time.perf_counter() and
 * time.monotonic_ns() read on Linux. They become ns since the collection began. Requests and images from
 * before its begin or after its end are left out and counted: the GPU was not sampled then.
 */
#ifndef SIM_COLLECT_APP_LOGS_H
#define SIM_COLLECT_APP_LOGS_H

#include "apps/app_log.h"

struct sim_error;

/* When a collection was. */
struct app_log_window {
	u64 start_ns; /* on CLOCK_MONOTONIC */
	u64 end_ns;
};

/*
 * Read a result of vLLM's benchmark client: "vllm bench serve --save-result --save-detailed".
 * Needed are start_times, ttfts, itls, input_lens, output_lens and errors, an element per request
 * and in seconds; vLLM writes start_times since January 2026 (its pull request 32667). Without
 * them the arrival of a request is not known. A request with an error text, or without a first
 * token, has failed.
 *
 * Returns 0 or a negative enum sim_exit, with the file and key of a mistake; *log (all-zero
 * before) is the caller's to destroy in any case. *ret_outside: requests that were left out.
 */
int app_logs_read_vllm(struct app_log *log, const char *file,
		       const struct app_log_window *window, u64 *ret_outside,
		       struct sim_error *err);

/*
 * The same for images: a CSV file with columns start_ns and end_ns, a row per image; an empty
 * end_ns is an image that was never finished.
 */
int app_logs_read_images(struct app_log *log, const char *file,
			 const struct app_log_window *window, u64 *ret_outside,
			 struct sim_error *err);

#endif
