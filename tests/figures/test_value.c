// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Values of a figure: mistakes in expressions name the key, and arithmetic over hand-made
 * results.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "figures/data.h"
#include "figures/value.h"
#include "figures_fixture.h"
#include "suite.h"

#define FIGURE(value_)                                       \
	"{'title':'T','scenario':'s','runs':[{'label':'a'}," \
	"{'label':'b','points':[{'x':1},{'x':2}]}],'panels':[{'key':'p','value':" value_ "}]}"

static const struct {
	const char *value, *message;
} mistakes[] = {
	{ "true",
	  ": is not an expression, allowed: a number, a path, of, config, add, subtract, "
	  "multiply, divide, when, covered, rows, curve" },
	{ "{'power':[1,2]}",
	  ": is not an expression, allowed: a number, a path, of, config, add, "
	  "subtract, multiply, divide, when, covered, rows, curve" },
	{ "'vllm'", ": is not a path, allowed: CONTAINER.PATH, such as "
		    "\"diffusion.latency_s.mean\"" },
	{ "{'add':[1]}", ".add: is wrong, allowed: an array of 2 to 16 values" },
	{ "{'divide':[1,2,3]}", ".divide: is wrong, allowed: an array of 2 to 2 values" },
	{ "{'add':[1,{'subtract':[1,'x']}]}",
	  ".add[1].subtract[1]: is not a path, allowed: CONTAINER.PATH, such as "
	  "\"diffusion.latency_s.mean\"" },
	{ "{'of':'a.b','run':'z'}", ".run: no run has this label and x" },
	{ "{'of':'a.b','run':'b','x':3}", ".run: no run has this label and x" },
	{ "{'of':'a.b','why':1}", ".why: unknown key, allowed: of, run, x" },
	{ "{'config':1}", ".config: is not a text, allowed: a text" },
	{ "{'covered':{'container':'c'}}", ".covered.outcome: is missing, allowed: a text" },
	{ "{'rows':{'container':'c','outcome':'o'}}",
	  ".rows.value: is missing, allowed: a text" },
	{ "{'rows':{'container':'c','outcome':'o','value':'finish'}}",
	  ".rows.value: \"finish\" is no column of requests.csv, did you mean \"finish_ns\"?" },
	{ "{'covered':{'container':'c','outcome':'o','begin':'arrival_ns','end':'time_ns',"
	  "'from':0,'to':1}}",
	  ".covered.end: \"time_ns\" is no column of requests.csv, allowed: container, id, "
	  "kind, arrival_ns, first_ns, finish_ns, prompt_tokens, output_tokens, start_ns, "
	  "preemptions, reason, outcome" },
	{ "{'rows':{'container':'c','outcome':'o','value':'id','take':'slope'}}",
	  ".rows.by: is missing, allowed: a column of requests.csv" },
	{ "{'curve':{'panels':[1]}}",
	  ".curve.panels[0]: is not a text, allowed: the key of a panel" },
	{ "{'curve':{'panels':['p'],'take':'widest'}}",
	  ".curve.take: is not known, allowed: mean, least, last, most" },
	{ "{'add':[1,{'add':[1,{'add':[1,{'add':[1,{'add':[1,{'add':[1,{'add':[1,{'add':[1,"
	  "2]}]}]}]}]}]}]}]}",
	  ".add[1].add[1].add[1].add[1].add[1].add[1].add[1].add[0]: is nested too deep, "
	  "allowed: 8 "
	  "levels" },
};

START_TEST(a_wrong_expression_names_its_key)
{
	char text[1024], message[512];
	struct figure wrong;

	snprintf(text, sizeof(text), FIGURE("%s"), mistakes[_i].value);
	ck_assert_int_eq(read_figure(&wrong, text), -SIM_EXIT_USER);
	snprintf(message, sizeof(message), "panels[0].value%s", mistakes[_i].message);
	expect_error(message);
}
END_TEST

/* Results of the three runs of FIGURE(). */
static const char *const summaries[] = {
	"{'sim_seconds':10,'containers':{'vllm':{'type':'llm-server','images':null,"
	"'ttft_ms':{'mean':40,'p50':0}},'sd':{'type':'diffusion','images':6}}}",
	"{'sim_seconds':10,'containers':{'vllm':{'type':'llm-server','ttft_ms':{'mean':8}}}}",
	"{'sim_seconds':10,'containers':{'vllm':{'type':'llm-server','ttft_ms':{'mean':5}},"
	"'one':{'images':1},'two':{'images':2}}}",
};

static struct figure figure;
static struct figure_data data;
static struct cached_run runs[3];

static void set_up(void)
{
	figures_setup();
	must_read(&figure, FIGURE("1"));
	ck_assert_int_eq(figure_data_init(&data, &figure, runs, &error), 0);
	for (size_t i = 0; i < ARRAY_SIZE(summaries); i++)
		data.summaries[i] = parse(summaries[i]);
	data.configs[0] = parse("{'gpu':{'memory':40},'duration':'640s','scale':'2.5',"
				"'limit':'max','name':'4x4',"
				"'containers':{'sd':{'app':{'steps':20}}}}");
}

static void tear_down(void)
{
	figure_data_destroy(&data);
	figure_destroy(&figure);
	figures_teardown();
}

/* The value of an expression in @run. */
static double value(size_t run, const char *text)
{
	json_t *json = parse(text);
	double result = value_of(&data, run, json, false);

	json_decref(json);
	return result;
}

START_TEST(operators_go_from_left_to_right)
{
	ck_assert_double_eq(value(0, "12.5"), 12.5);
	ck_assert_double_eq(value(0, "{'add':[1,2,4]}"), 7);
	ck_assert_double_eq(value(0, "{'multiply':[2,3,4]}"), 24);
	ck_assert_double_eq(value(0, "{'subtract':[2,5]}"), -3);
	ck_assert_double_eq(value(0, "{'divide':[6,4]}"), 1.5);
	ck_assert_double_eq(value(0, "{'when':[0.1,9]}"), 9);
	ck_assert_double_eq(value(0, "{'subtract':[{'multiply':[2,10]},{'add':[1,2]}]}"), 17);
}
END_TEST

START_TEST(a_value_that_is_not_known_is_no_number)
{
	static const char *const unknown[] = {
		"{'divide':[1,0]}",
		"{'when':[0,9]}",
		"'vllm.images'",
		"'nobody.images'",
		"{'add':[1,'vllm.images']}",
		"'vllm.type'",
		"{'config':'none'}",
		"{'config':'limit'}",
		"{'config':'name'}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		ck_assert_msg(isnan(value(0, unknown[i])), "%s is %g", unknown[i],
			      value(0, unknown[i]));
}
END_TEST

START_TEST(statistics_are_found_by_name_type_and_sum)
{
	ck_assert_double_eq(value(0, "'vllm.ttft_ms.mean'"), 40);
	ck_assert_double_eq(value(0, "'llm-server.ttft_ms.mean'"), 40);
	ck_assert_double_eq(value(0, "'*.images'"), 6);
	ck_assert_double_eq(value(2, "'*.images'"), 3);
}
END_TEST

START_TEST(another_run_is_named_by_label_and_x)
{
	ck_assert_double_eq(value(2, "{'of':'vllm.ttft_ms.mean'}"), 5);
	ck_assert_double_eq(value(2, "{'of':'vllm.ttft_ms.mean','x':1}"), 8);
	ck_assert_double_eq(value(0, "{'of':'vllm.ttft_ms.mean','run':'b','x':2}"), 5);
	ck_assert_double_eq(value(0, "{'divide':['vllm.ttft_ms.mean',"
				     "{'of':'vllm.ttft_ms.mean','run':'b','x':1}]}"),
			    5);
}
END_TEST

START_TEST(keys_of_the_configuration_are_numbers_and_seconds)
{
	ck_assert_double_eq(value(0, "{'config':'gpu.memory'}"), 40);
	ck_assert_double_eq(value(0, "{'config':'duration'}"), 640);
	ck_assert_double_eq(value(0, "{'config':'scale'}"), 2.5);
	ck_assert_double_eq(value(0, "{'config':'diffusion.app.steps'}"), 20);
}
END_TEST

/* Rows of 2, 4 and 4 s; one of them failed, one is of another container. */
START_TEST(a_row_that_lies_there_in_part_counts_in_part)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/requests.csv", folder);
	suite_put_file(path, "container,outcome,start_ns,end_ns\n"
			     "sd,completed,0,2000000000\n"
			     "sd,completed,4000000000,8000000000\n"
			     "sd,failed,4000000000,8000000000\n"
			     "vllm,completed,4000000000,8000000000\n");
	strcpy(runs[0].path, folder);
#define COVERED(from_, to_)                                                             \
	"{'covered':{'container':'diffusion','outcome':'completed','begin':'start_ns'," \
	"'end':'end_ns','from':" from_ ",'to':" to_ "}}"
	ck_assert_double_eq(value(0, COVERED("0", "10")), 2);
	ck_assert_double_eq(value(0, COVERED("1", "5")), 0.75);
	ck_assert(isnan(value(0, COVERED("5", "5"))));
	ck_assert(isnan(value(0, COVERED("5", "11"))));
}
END_TEST

START_TEST(rows_have_statistics_quotients_and_a_straight_line)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/requests.csv", folder);
	suite_put_file(path, "container,id,outcome,start,end,tokens\n"
			     "sd,0,completed,1,11,5\n"
			     "sd,1,completed,2,22,10\n"
			     "sd,2,completed,3,63,25\n"
			     "sd,3,completed,4,4,1\n"
			     "sd,4,failed,0,900,9\n"
			     "vllm,5,completed,0,900,9\n"
			     "sd,6,completed,5,,9\n");
	strcpy(runs[0].path, folder);
#define ROWS(rest_) \
	"{'rows':{'container':'diffusion','outcome':'completed','value':'end'" rest_ "}}"
	ck_assert_double_eq(value(0, ROWS("")), 25);
	ck_assert_double_eq(value(0, ROWS(",'minus':'start','take':'mean'")), 22.5);
	ck_assert_double_eq(value(0, ROWS(",'minus':'start','take':'median'")), 15);
	ck_assert_double_eq_tol(value(0, ROWS(",'minus':'start','take':'p99'")), 58.8, 1e-9);
	ck_assert_double_eq(value(0, ROWS(",'minus':'start','take':'least'")), 0);
	ck_assert_double_eq(value(0, ROWS(",'minus':'start','take':'most'")), 60);
	ck_assert_double_eq(value(0, ROWS(",'take':'sum'")), 100);
	ck_assert_double_eq(value(0, ROWS(",'take':'count'")), 4);
	ck_assert_double_eq(value(0, ROWS(",'take':'count','first':1,'last':2")), 2);
	/* 10/4, 20/9 and 60/24; the row of one token has no quotient. */
	ck_assert_double_eq(value(0, ROWS(",'minus':'start','over':'tokens','over_minus':1,"
					  "'take':'count'")),
			    3);
	ck_assert_double_eq(value(0, ROWS(",'minus':'start','over':'tokens','over_minus':1,"
					  "'take':'most'")),
			    2.5);
	/* Through (5, 11) and (10, 22). */
	ck_assert_double_eq_tol(value(0, ROWS(",'by':'tokens','last':1,'take':'slope'")), 2.2,
				1e-12);
	ck_assert_double_eq_tol(value(0, ROWS(",'by':'tokens','last':1,'take':'at_zero'")), 0,
				1e-9);
	ck_assert(isnan(value(0, ROWS(",'first':9"))));
	ck_assert(isnan(value(0, ROWS(",'minus':'none'"))));
	ck_assert(isnan(value(0, ROWS(",'by':'tokens','last':0,'take':'slope'"))));
}
END_TEST

START_TEST(curves_are_read_off_in_a_span_and_summed_at_common_moments)
{
	static struct figure_point first[] = {
		{ 0, 1, 0 }, { 1, 2, 0 }, { 2, 6, 0 }, { 3, 4, 0 }
	};
	static struct figure_point second[] = { { 1, 10, 0 }, { 3, 20, 0 } };
	static struct figure_panel panels[] = { { .key = "p" }, { .key = "q" } };
	static struct figure_curve curve;
	static struct figure_line lines[] = {
		{ .panel = 0, .curve = &curve, .points = first, .count = 4 },
		{ .panel = 1, .curve = &curve, .points = second, .count = 2 },
	};
	struct figure two = { .panels = panels, .panel_count = 2 };
	struct figure_data read = { .figure = &two, .lines = lines, .line_count = 2 };
	static const struct {
		const char *text;
		double value;
	} cases[] = {
		{ "{'curve':{'panels':['p']}}", 3.25 },
		{ "{'curve':{'panels':['p'],'from_s':1,'to_s':2}}", 4 },
		{ "{'curve':{'panels':['p'],'take':'least','from_s':1}}", 2 },
		{ "{'curve':{'panels':['p'],'take':'most'}}", 6 },
		{ "{'curve':{'panels':['p'],'take':'last'}}", 4 },
		{ "{'curve':{'panels':['p','q'],'take':'last'}}", 24 },
		{ "{'curve':{'panels':['p','q']}}", 18 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *json = parse(cases[i].text);

		ck_assert_double_eq(value_of(&read, 0, json, false), cases[i].value);
		/* There is no published curve. */
		ck_assert(isnan(value_of(&read, 0, json, true)));
		json_decref(json);
	}
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_loop_test(tests, a_wrong_expression_names_its_key, 0,
			    (int)ARRAY_SIZE(mistakes));
	tcase_add_test(tests, operators_go_from_left_to_right);
	tcase_add_test(tests, a_value_that_is_not_known_is_no_number);
	tcase_add_test(tests, statistics_are_found_by_name_type_and_sum);
	tcase_add_test(tests, another_run_is_named_by_label_and_x);
	tcase_add_test(tests, keys_of_the_configuration_are_numbers_and_seconds);
	tcase_add_test(tests, a_row_that_lies_there_in_part_counts_in_part);
	tcase_add_test(tests, rows_have_statistics_quotients_and_a_straight_line);
	tcase_add_test(tests, curves_are_read_off_in_a_span_and_summed_at_common_moments);
}

int main(void)
{
	return suite_run("value", set_up, tear_down, add_tests);
}
