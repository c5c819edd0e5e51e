// SPDX-License-Identifier: MIT OR GPL-2.0
/* The file of a figure: its runs, panels and bars in order, and mistakes that name the key. */
#include <math.h>

#include "figures/data.h"
#include "figures_fixture.h"
#include "suite.h"

#define BARS                                                                         \
	"{'title':'T','scenario':'s','defaults':{'seed':1},'set':{'duration':'1s'}," \
	"'runs':[{'label':'a','system':'gvm','set':{'gpu.memory':5}},"               \
	"{'label':'b','points':[{'x':1,'set':{'gpu.memory':1}},{'x':2}]}],"          \
	"'panels':[{'key':'p','value':1},"                                           \
	"{'key':'q','runs':['b'],'parts':[{'key':'k','value':2},{'key':'l','value':3}]}]}"

START_TEST(runs_and_points_stand_in_the_order_of_the_file)
{
	struct figure figure;

	must_read(&figure, BARS);
	ck_assert_uint_eq(figure.run_count, 3);
	ck_assert_str_eq(figure.runs[0].name, "a");
	ck_assert(isnan(figure.runs[0].x));
	ck_assert_str_eq(figure.runs[1].name, "b, 1");
	ck_assert_str_eq(figure.runs[2].name, "b, 2");
	ck_assert_double_eq(figure.runs[2].x, 2);
	figure_destroy(&figure);
}
END_TEST

START_TEST(sets_go_from_the_figure_to_the_point)
{
	struct figure figure;

	must_read(&figure, BARS);
	ck_assert_str_eq(figure.runs[0].defaults[0], "seed=1");
	ck_assert_ptr_null(figure.runs[0].defaults[1]);
	ck_assert_str_eq(figure.runs[0].sets[0], "duration=1s");
	ck_assert_str_eq(figure.runs[0].sets[1], "system.name=gvm");
	ck_assert_str_eq(figure.runs[0].sets[2], "gpu.memory=5");
	ck_assert_ptr_null(figure.runs[0].sets[3]);
	ck_assert_str_eq(figure.runs[1].sets[1], "gpu.memory=1");
	ck_assert_ptr_null(figure.runs[2].sets[1]);
	figure_destroy(&figure);
}
END_TEST

START_TEST(bars_stand_panel_by_panel_run_by_run_part_by_part)
{
	static const struct {
		size_t panel, run, part;
	} expected[] = { { 0, 0, 0 }, { 0, 1, 0 }, { 0, 2, 0 }, { 1, 1, 0 },
			 { 1, 1, 1 }, { 1, 2, 0 }, { 1, 2, 1 } };
	struct figure_data data;
	struct figure figure;

	must_read(&figure, BARS);
	ck_assert_int_eq(figure_data_init(&data, &figure, NULL, &error), 0);
	ck_assert_uint_eq(data.cell_count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		ck_assert_uint_eq(data.cells[i].panel, expected[i].panel);
		ck_assert_uint_eq(data.cells[i].run, expected[i].run);
		ck_assert_uint_eq(data.cells[i].part, expected[i].part);
		ck_assert(isnan(data.cells[i].pair.ours));
	}
	ck_assert_ptr_eq(figure_find_cell(&data, 1, 2, 1), &data.cells[6]);
	ck_assert_ptr_null(figure_find_cell(&data, 1, 0, 0));
	figure_data_destroy(&data);
	figure_destroy(&figure);
}
END_TEST

START_TEST(keys_that_are_left_out_have_their_standard)
{
	struct figure figure;

	must_read(&figure, BARS);
	ck_assert_str_eq(figure.summary, "T");
	ck_assert_str_eq(figure.published_label, "published");
	ck_assert_uint_eq(figure.columns, 3);
	ck_assert_int_eq(figure.panels[0].layout, FIGURE_BARS);
	ck_assert_int_eq(figure.panels[0].digits, 3);
	ck_assert_str_eq(figure.panels[0].title, "p");
	ck_assert_str_eq(figure.panels[0].parts[0].key, "");
	ck_assert_str_eq(figure.panels[1].parts[1].label, "l");
	figure_destroy(&figure);
}
END_TEST

START_TEST(help_may_be_lines)
{
	struct figure figure;

	must_read(&figure, "{'title':'T','scenario':'s','help':['one','two'],"
			   "'runs':[{'label':'a'}],'panels':[{'key':'p','value':1}]}");
	ck_assert_str_eq(figure.help, "one\ntwo");
	figure_destroy(&figure);
}
END_TEST

#define RUNS  "'runs':[{'label':'a'}]"
#define PANEL "'panels':[{'key':'p','value':1}]"
#define CURVE(keys_) \
	",'panels':[{'key':'p','layout':'time','curves':[{'container':'c'," keys_ "}]}]}"
#define PART(key_) "{'key':'" key_ "','value':1},"
#define HEAD	   "'title':'T','scenario':'s',"

static const struct {
	const char *text, *message;
} mistakes[] = {
	{ "[]", " is not an object, allowed: an object with title, subtitle, summary, help, "
		"examples, source, published, notes, scenario, table, defaults, set, seeds, "
		"interval, runs, panels, reference, layout, marks" },
	{ "{'scenario':'s'," RUNS "," PANEL "}", "title: is missing, allowed: a text" },
	{ "{" HEAD PANEL "}", "runs: is missing, allowed: an array that is not empty" },
	{ "{" HEAD RUNS "}", "panels: is missing, allowed: an array that is not empty" },
	{ "{" HEAD RUNS "," PANEL ",'table':'pie'}",
	  "table: is not known, allowed: values, comparison" },
	{ "{" HEAD RUNS "," PANEL ",'layout':{'columns':9}}",
	  "layout.columns: is out of range, allowed: 1 to 8" },
	{ "{" HEAD "'runs':[{'label':'a','x':1}]," PANEL "}",
	  "runs[0].x: unknown key, allowed: label, tick, system, scenario, folder, defaults, "
	  "set, points" },
	{ "{" HEAD "'runs':[{'label':'a,b'}]," PANEL "}",
	  "runs[0].label: has a comma, a quote or a line end, allowed: a text without them" },
	{ "{" HEAD "'runs':[{'label':'a','points':[1]}],"
	  "'panels':[{'key':'p','value':1,'over':'a'}]}",
	  "runs[0].points[0]: is not an object, allowed: an object with x, tick, set" },
	{ "{" HEAD "'runs':[{'label':'a','set':[1]}]," PANEL "}",
	  "runs[0].set: is not an object, allowed: an object of keys and values" },
	{ "{'title':'T'," RUNS "," PANEL "}",
	  "runs[0]: has no scenario, allowed: a scenario here or for the whole figure" },
	{ "{" HEAD "'runs':[{'label':'a','folder':'F'},{'label':'b'}]," PANEL "}",
	  "runs: only some have a folder, allowed: all or none" },
	{ "{" HEAD RUNS "," PANEL ",'table':'comparison'}",
	  "runs: cannot be compared, allowed: two runs that have a folder" },
	{ "{" HEAD RUNS ",'panels':[{'key':'p','value':1,'digits':1e9}]}",
	  "panels[0].digits: is out of range, allowed: 0 to 9" },
	{ "{" HEAD RUNS ",'panels':[{'key':'p','value':1,'digits':1.5}]}",
	  "panels[0].digits: is not a whole number, allowed: 0 to 9" },
	{ "{" HEAD RUNS ",'panels':[{'key':'p'}]}",
	  "panels[0].value: is missing, allowed: a value here or in parts" },
	{ "{" HEAD RUNS ",'panels':[{'key':'p','value':1,'parts':[{'key':'k','value':1}]}]}",
	  "panels[0].value: is given together with parts, allowed: one of them" },
	{ "{" HEAD RUNS ",'panels':[{'key':'p','parts':[{'key':'k'}]}]}",
	  "panels[0].parts[0]: has no value, allowed: an object with key, value" },
	{ "{" HEAD RUNS ",'panels':[{'key':'p','value':1},{'key':'p','value':2}]}",
	  "panels[1].key: \"p\" is the key of two panels, allowed: of one" },
	{ "{" HEAD RUNS ",'panels':[{'key':'p','parts':[{'key':'k','value':1},"
	  "{'key':'k','value':2}]}]}",
	  "panels[0].parts[1].key: \"k\" is the key of two parts, allowed: of one" },
	{ "{" HEAD RUNS ",'panels':[{'key':'p','value':1,'over':'z'}]}",
	  "panels[0].over: no run has the label \"z\", allowed: a" },
	{ "{" HEAD RUNS ",'panels':[{'key':'p','value':1,'runs':['z']}]}",
	  "panels[0].runs: no run has the label \"z\"" },
	{ "{" HEAD RUNS ",'panels':[{'key':'p','value':1,'layout':'pie'}]}",
	  "panels[0].layout: is not known, allowed: bars, stacked, lines, time, table" },
	{ "{" HEAD RUNS ",'panels':[{'key':'p','layout':'time','curves':[{'container':'c'}]}]}",
	  "panels[0].curves[0]: has no y, allowed: a column of timeline.csv" },
	{ "{" HEAD RUNS CURVE("'y':'resident_byte'"),
	  "panels[0].curves[0].y: \"resident_byte\" is no column of timeline.csv, did you mean "
	  "\"resident_bytes\"?" },
	{ "{" HEAD RUNS CURVE("'y':'finish_ns','file':'requests'"),
	  "panels[0].curves[0].x: \"time_ns\" is no column of requests.csv, allowed: "
	  "container, id, kind, arrival_ns, first_ns, finish_ns, prompt_tokens, output_tokens, "
	  "start_ns, preemptions, reason, outcome" },
	{ "{" HEAD "'runs':[{'label':'a'},{'label':'b'}],"
	  "'panels':[{'key':'p','value':1,'layout':'stacked'}]}",
	  "panels[0]: is a stack of 2 runs, allowed: one, named in runs" },
	{ "{" HEAD RUNS ",'panels':[{'key':'p','layout':'stacked','parts':[" PART("1") PART("2")
		  PART("3") PART("4") PART("5") PART("6") "{'key':'k','value':1}]}]}",
	  "panels[0]: is a stack of 7 parts, allowed: up to 6" },
	{ "{" HEAD RUNS "," PANEL ",'marks':[{'label':'m'}]}",
	  "marks[0]: has no \"at\", allowed: an object with label, at" },
	{ "{" HEAD RUNS "," PANEL ",'reference':{'file':'f'}}",
	  "reference.published: is missing, allowed: a text" },
};

START_TEST(a_mistake_names_file_and_key)
{
	struct figure figure;

	ck_assert_int_eq(read_figure(&figure, mistakes[_i].text), -SIM_EXIT_USER);
	expect_error(mistakes[_i].message);
	ck_assert_ptr_null(figure.root);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, runs_and_points_stand_in_the_order_of_the_file);
	tcase_add_test(tests, sets_go_from_the_figure_to_the_point);
	tcase_add_test(tests, bars_stand_panel_by_panel_run_by_run_part_by_part);
	tcase_add_test(tests, keys_that_are_left_out_have_their_standard);
	tcase_add_test(tests, help_may_be_lines);
	tcase_add_loop_test(tests, a_mistake_names_file_and_key, 0, (int)ARRAY_SIZE(mistakes));
}

int main(void)
{
	return suite_run("figure_read", figures_setup, figures_teardown, add_tests);
}
