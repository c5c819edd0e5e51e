/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Reads logs of applications on a real host into struct app_log.
 *
 * Logs use the host's CLOCK_MONOTONIC, which Python's time.perf_counter() and
 * time.monotonic_ns() read on Linux. Dates are converted to ns since the collection began.
 * Requests and images that begin before or after the collection are left out and counted,
 * because the GPU was not sampled then.
 */
#ifndef SIM_COLLECT_APP_LOGS_H
#define SIM_COLLECT_APP_LOGS_H

#include "apps/app_log.h"

struct sim_error;

/* The time span of a collection. */
struct app_log_window {
	u64 start_ns; /* on CLOCK_MONOTONIC */
	u64 end_ns;
};

/*
 * Read a result of vLLM's benchmark client, as trace/vllm_result.h tells it.
 *
 * Returns 0 or a negative enum sim_exit; *err names file and key of a mistake. *log is all-zero
 * before the call; the caller destroys it in any case. *ret_outside counts the requests that
 * are left out.
 */
int app_logs_read_vllm(struct app_log *log, const char *file,
		       const struct app_log_window *window, u64 *ret_outside,
		       struct sim_error *err);

/*
 * Read images from a CSV file with columns start_ns and end_ns, a row per image. An image with
 * an empty end_ns was not finished. Otherwise as above.
 */
int app_logs_read_images(struct app_log *log, const char *file,
			 const struct app_log_window *window, u64 *ret_outside,
			 struct sim_error *err);

#endif
