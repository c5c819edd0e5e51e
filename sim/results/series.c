// SPDX-License-Identifier: MIT OR GPL-2.0
/* Curves over time; see series.h. Binned in integers, divided once. */
#include "results/series.h"

#include <stdlib.h>

#include "engine/error.h"
#include "gvm/port.h"
#include "results/fixed.h"

#define SERIES_BINS   128 /* about as many as one can tell apart in a picture */
#define SERIES_NS_MIN 1000ull

/* What a bin of one run adds up to. */
struct load_bin {
	u64 arrivals;
	u64 open_ns; /* time that requests were in flight, all of them together */
};

/* The smallest of 1, 2, 5, 10, 20, ... microseconds that is not below @ns. */
static u64 round_width(u64 ns)
{
	u64 width = SERIES_NS_MIN;

	for (;; width *= 10) {
		if (width >= ns)
			return width;
		if (2 * width >= ns)
			return 2 * width;
		if (5 * width >= ns)
			return 5 * width;
	}
}

/* How often the timeline was sampled: bins are a multiple of that. */
static u64 sample_interval(const struct folder *folder)
{
	return folder->sample_count && folder->samples[0].time_ns ? folder->samples[0].time_ns :
								    1;
}

static size_t namesake(const struct folder *other, const struct folder *folder,
		       size_t container)
{
	if (container == SIZE_MAX)
		return SIZE_MAX;
	return folder_find_name(other, folder->summary.containers[container].name);
}

void series_init(struct series *series, const struct folder *alone, const struct folder *shared)
{
	u64 interval = sample_interval(shared);

	*series = (struct series){ .runs = { alone, shared } };
	series->llm[SERIES_SHARED] = folder_find_type(shared, "llm-server");
	series->diffusion[SERIES_SHARED] = folder_find_type(shared, "diffusion");
	series->llm[SERIES_ALONE] = namesake(alone, shared, series->llm[SERIES_SHARED]);
	series->diffusion[SERIES_ALONE] =
		namesake(alone, shared, series->diffusion[SERIES_SHARED]);
	series->end_ns = max(alone->end_ns, shared->end_ns);
	series->end_ns = max(series->end_ns, 1ull);
	interval = min(interval, series->end_ns);
	series->bin_ns = round_width((series->end_ns + SERIES_BINS - 1) / SERIES_BINS);
	series->bin_ns = (series->bin_ns + interval - 1) / interval * interval;
	series->bin_count = (size_t)((series->end_ns + series->bin_ns - 1) / series->bin_ns);
}

/* The last bin takes what rounding leaves beyond it. */
static size_t bin_of(const struct series *series, u64 ns)
{
	return min((size_t)(ns / series->bin_ns), series->bin_count - 1);
}

static u64 bin_start(const struct series *series, size_t bin)
{
	return bin * series->bin_ns;
}

static u64 bin_end(const struct series *series, size_t bin)
{
	return min((bin + 1) * series->bin_ns, (u64)series->end_ns);
}

static u64 bin_width(const struct series *series, size_t bin)
{
	return bin_end(series, bin) - bin_start(series, bin);
}

static void bin_middle(const struct series *series, size_t bin, char ret_text[FIXED_MAX])
{
	fixed_seconds(bin_start(series, bin) + bin_width(series, bin) / 2, ret_text);
}

/* When a request left: one that was dropped was open to the end, a failed one never. */
static u64 record_end(const struct folder *folder, const struct app_record *record)
{
	if (record->finish_ns)
		return record->finish_ns;
	return record->outcome == APP_DROPPED ? folder->end_ns : record->arrival_ns;
}

static void add_request(const struct series *series, const struct folder *folder,
			const struct app_record *record, struct load_bin *bins)
{
	u64 end_ns = min(record_end(folder, record), (u64)series->end_ns);
	size_t bin = bin_of(series, record->arrival_ns);

	bins[bin].arrivals++;
	for (; bin < series->bin_count && bin_start(series, bin) < end_ns; bin++) {
		u64 from_ns = max(record->arrival_ns, bin_start(series, bin));
		u64 to_ns = min(end_ns, bin_end(series, bin));

		if (to_ns > from_ns)
			bins[bin].open_ns += to_ns - from_ns;
	}
}

static void add_requests(const struct series *series, enum series_run run,
			 struct load_bin *bins)
{
	const struct folder *folder = series->runs[run];

	for (size_t i = 0; i < folder->record_count; i++)
		if (folder->records[i].container == series->llm[run])
			add_request(series, folder, &folder->records[i].record, bins);
}

/* Arrivals per second of a bin. */
static void format_rate(const struct series *series, size_t bin, u64 count,
			char ret_text[FIXED_MAX])
{
	fixed_format((unsigned __int128)count * FIXED_NS_PER_S, bin_width(series, bin),
		     ret_text);
}

static void write_load_row(const struct series *series, struct writer *writer, size_t bin,
			   struct load_bin *const bins[SERIES_RUNS])
{
	char middle[FIXED_MAX], rates[SERIES_RUNS][FIXED_MAX], open[SERIES_RUNS][FIXED_MAX];

	bin_middle(series, bin, middle);
	for (int run = 0; run < SERIES_RUNS; run++) {
		rates[run][0] = '\0';
		open[run][0] = '\0';
		if (series->llm[run] == SIZE_MAX)
			continue;
		format_rate(series, bin, bins[run][bin].arrivals, rates[run]);
		fixed_format(bins[run][bin].open_ns, bin_width(series, bin), open[run]);
	}
	writer_printf(writer, "%s,%s,%s,%s,%s\n", middle, rates[SERIES_ALONE],
		      rates[SERIES_SHARED], open[SERIES_ALONE], open[SERIES_SHARED]);
}

int series_write_load(const struct series *series, struct writer *writer, const char *name,
		      struct sim_error *err)
{
	struct load_bin *both = calloc(SERIES_RUNS * series->bin_count, sizeof(*both));
	struct load_bin *const bins[SERIES_RUNS] = { both, both + series->bin_count };
	int rc = both ? writer_begin(writer, name, err) :
			sim_runtime_error(err, "out of memory for %s", name);

	if (!rc) {
		add_requests(series, SERIES_ALONE, bins[SERIES_ALONE]);
		add_requests(series, SERIES_SHARED, bins[SERIES_SHARED]);
		writer_printf(writer, "time_s,arrivals_alone_per_s,arrivals_shared_per_s,"
				      "in_flight_alone,in_flight_shared\n");
		for (size_t bin = 0; bin < series->bin_count; bin++)
			write_load_row(series, writer, bin, bins);
		rc = writer_end(writer, err);
	}
	free(both);
	return rc;
}

static bool has_ttft(const struct app_record *record)
{
	return record->outcome == APP_COMPLETED && record->first_ns;
}

static bool has_failed(const struct app_record *record)
{
	return record->outcome == APP_FAILED;
}

static bool has_latency(const struct app_record *record)
{
	return record->outcome == APP_COMPLETED && record->finish_ns;
}

static size_t count_records(const struct folder *folder, size_t container,
			    bool (*wanted)(const struct app_record *record))
{
	size_t count = 0;

	for (size_t i = 0; i < folder->record_count; i++)
		count += folder->records[i].container == container &&
			 wanted(&folder->records[i].record);
	return count;
}

size_t series_count_ttft(const struct series *series, enum series_run run)
{
	return count_records(series->runs[run], series->llm[run], has_ttft);
}

size_t series_count_failed(const struct series *series, enum series_run run)
{
	return count_records(series->runs[run], series->llm[run], has_failed);
}

size_t series_count_images(const struct series *series, enum series_run run)
{
	return count_records(series->runs[run], series->diffusion[run], has_latency);
}

static void write_ttft_row(struct writer *writer, enum series_run run,
			   const struct app_record *record)
{
	const char *const before = run == SERIES_ALONE ? "" : ",";
	const char *const behind = run == SERIES_ALONE ? "," : "";
	char time[FIXED_MAX], ttft[FIXED_MAX] = "";

	fixed_seconds(record->arrival_ns, time);
	if (has_ttft(record))
		fixed_seconds(record->first_ns - record->arrival_ns, ttft);
	writer_printf(writer, "%s,%s%s%s,%s%s%s\n", time, before, ttft, behind, before,
		      has_failed(record) ? "1" : "", behind);
}

int series_write_ttft(const struct series *series, struct writer *writer, const char *name,
		      struct sim_error *err)
{
	int rc = writer_begin(writer, name, err);

	if (rc)
		return rc;
	writer_printf(writer, "time_s,ttft_alone_s,ttft_shared_s,failed_alone,failed_shared\n");
	for (int run = 0; run < SERIES_RUNS; run++) {
		const struct folder *folder = series->runs[run];

		for (size_t i = 0; i < folder->record_count; i++) {
			const struct app_record *record = &folder->records[i].record;

			if (folder->records[i].container == series->llm[run] &&
			    (has_ttft(record) || has_failed(record)))
				write_ttft_row(writer, (enum series_run)run, record);
		}
	}
	return writer_end(writer, err);
}

bool series_knows_share(const struct series *series)
{
	const struct folder *folder = series->runs[SERIES_SHARED];

	for (size_t i = 0; i < folder->sample_count; i++)
		if (folder->samples[i].busy_known)
			return true;
	return !folder->summary.measured;
}

/* GPU time by bin and container of the shared run. A sample lies in the bin that it ends in. */
static void add_samples(const struct series *series, u64 *busy_ns)
{
	const struct folder *folder = series->runs[SERIES_SHARED];
	size_t containers = folder->summary.container_count;

	for (size_t i = 0; i < folder->sample_count; i++) {
		const struct folder_sample *sample = &folder->samples[i];
		size_t bin = bin_of(series, sample->time_ns ? sample->time_ns - 1 : 0);

		busy_ns[bin * containers + sample->container] += sample->busy_ns;
	}
}

static void write_share_row(const struct series *series, struct writer *writer, size_t bin,
			    const u64 *busy_ns)
{
	size_t containers = series->runs[SERIES_SHARED]->summary.container_count;
	bool known = series_knows_share(series);
	char text[FIXED_MAX];

	bin_middle(series, bin, text);
	writer_printf(writer, "%s", text);
	for (size_t i = 0; i < containers; i++) {
		*text = '\0';
		if (known)
			fixed_format(busy_ns[bin * containers + i], bin_width(series, bin),
				     text);
		writer_printf(writer, ",%s", text);
	}
	writer_printf(writer, "\n");
}

int series_write_share(const struct series *series, struct writer *writer, const char *name,
		       struct sim_error *err)
{
	const struct summary *summary = &series->runs[SERIES_SHARED]->summary;
	u64 *busy_ns =
		calloc(series->bin_count * summary->container_count + 1, sizeof(*busy_ns));
	int rc = busy_ns ? writer_begin(writer, name, err) :
			   sim_runtime_error(err, "out of memory for %s", name);

	if (!rc) {
		add_samples(series, busy_ns);
		writer_printf(writer, "time_s");
		for (size_t i = 0; i < summary->container_count; i++)
			writer_printf(writer, ",%s", summary->containers[i].name);
		writer_printf(writer, "\n");
		for (size_t bin = 0; bin < series->bin_count; bin++)
			write_share_row(series, writer, bin, busy_ns);
		rc = writer_end(writer, err);
	}
	free(busy_ns);
	return rc;
}

int series_write_images(const struct series *series, struct writer *writer, const char *name,
			struct sim_error *err)
{
	int rc = writer_begin(writer, name, err);

	if (rc)
		return rc;
	writer_printf(writer, "time_s,latency_alone_s,latency_shared_s\n");
	for (int run = 0; run < SERIES_RUNS; run++) {
		const struct folder *folder = series->runs[run];

		for (size_t i = 0; i < folder->record_count; i++) {
			const struct app_record *record = &folder->records[i].record;
			char time[FIXED_MAX], latency[FIXED_MAX];

			if (folder->records[i].container != series->diffusion[run] ||
			    !has_latency(record))
				continue;
			fixed_seconds(record->finish_ns, time);
			fixed_seconds(record->finish_ns - record->arrival_ns, latency);
			writer_printf(writer, "%s,%s%s%s\n", time,
				      run == SERIES_ALONE ? "" : ",", latency,
				      run == SERIES_ALONE ? "," : "");
		}
	}
	return writer_end(writer, err);
}
