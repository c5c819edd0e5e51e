// SPDX-License-Identifier: MIT OR GPL-2.0
/* Writes the application profile of a LoRA trainer; see lora_app.h. */
#include "import/lora_app.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <string.h>

#include "apps/hf_config.h"
#include "engine/error.h"

/* The profile whose estimates and settings are taken over. */
#define BASE "lora-llama-3.2-3b.json"

/* Of the host and of eager kernels, not of the model: as there. */
#define EFFICIENCY	  0.615
#define MEMORY_EFFICIENCY 0.89
#define KERNEL_LAUNCH	  "199us"

struct number {
	char text[32];
};

/* A number with its thousands apart: "3,212,749,824". */
static struct number grouped(u64 value)
{
	struct number plain, number;
	size_t length, to = 0;

	snprintf(plain.text, sizeof(plain.text), "%llu", value);
	length = strlen(plain.text);
	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			number.text[to++] = ',';
		number.text[to++] = plain.text[i];
	}
	number.text[to] = '\0';
	return number;
}

/* Takes @value. */
__attribute__((format(printf, 2, 3))) static json_t *leaf(json_t *value, const char *fmt, ...)
{
	va_list args;
	json_t *source;

	va_start(args, fmt);
	source = json_vsprintf(fmt, args);
	va_end(args);
	return json_pack("{soso}", "value", value, "source", source);
}

static json_t *number(u64 value)
{
	return json_integer((json_int_t)value);
}

/* Activations of a token: all that is kept, or with the layers computed again. */
static json_t *activations_leaf(const struct lora_app *app, bool kept)
{
	const struct hf_config *config = app->config;
	const struct lora *lora = app->lora;

	if (kept)
		return leaf(
			number(lora->activations_kept_per_token),
			"Estimate, no checkpointing: each of %llu layers keeps %s B, in "
			"proportion to %llu + %llu values as in lora-llama-3.2-3b-remat.json; "
			"logits and their gradient, %llu x 10 B. Kernels that keep less would "
			"need less.",
			config->num_hidden_layers, grouped(lora->layer_per_token).text,
			config->hidden_size, config->intermediate_size, config->vocab_size);
	return leaf(number(lora->activations_per_token),
		    "Arithmetic, gradient checkpointing: inputs of %llu layers (%llu x %llu B "
		    "each), logits and their gradient (%llu x 10 B). Within a layer %s B, an "
		    "estimate in proportion to %llu + %llu values as in " BASE ".",
		    config->num_hidden_layers, config->hidden_size, config->width,
		    config->vocab_size, grouped(lora->within_per_token).text,
		    config->hidden_size, config->intermediate_size);
}

static json_t *tensors_json(const struct lora_app *app)
{
	const struct lora_options *options = app->options;
	const struct lora *lora = app->lora;
	json_t *weights =
		leaf(number(lora->weights), "Arithmetic: %s parameters of %s in %llu B each.",
		     grouped(lora->parameters).text, app->model, app->config->width);
	json_t *adapters = leaf(
		number(lora->adapters),
		"Arithmetic: LoRA of rank %llu on all linear layers, %s parameters (%llu "
		"layers, whose seven matrices have sides of %s together): 4 B each of weight "
		"and gradient, 8 B of AdamW's moments.",
		options->rank, grouped(lora->adapter_parameters).text,
		app->config->num_hidden_layers, grouped(lora->sides).text);
	json_t *activations =
		leaf(number(lora->activations),
		     "Arithmetic: the longest micro-batch of %s, %llu x %llu tokens, at %s B a "
		     "token; PyTorch's allocator keeps it.",
		     app->trace, options->micro_batch, options->longest,
		     grouped(options->remat ? lora->activations_kept_per_token :
					      lora->activations_per_token)
			     .text);
	json_t *kept = json_pack("{so}", "bytes", activations);

	if (options->remat)
		json_object_set_new(kept, "life", json_string("recomputed"));
	return json_pack("{s{sosb}s{so}so}", "weights", "bytes", weights, "on_host", 1,
			 "adapters", "bytes", adapters, "activations", kept);
}

/* What LoRA's own parameters add to FLOP, as a sentence. */
static json_t *own_flops(const struct lora_app *app, u64 flops)
{
	const struct lora *lora = app->lora;
	struct number own = grouped(lora->adapter_parameters);

	if (lora->adapters_count)
		return json_sprintf("LoRA's own: %llu for each of %s parameters.", flops,
				    own.text);
	return json_sprintf("LoRA's own %s parameters are less than 1 %%.", own.text);
}

static json_t *forward_flops(const struct lora_app *app)
{
	const struct lora *lora = app->lora;
	json_t *own = own_flops(app, 2);
	json_t *flops = leaf(
		number(lora->forward.flops_per_token),
		"Arithmetic: 2 FLOP for each of %s parameters; the table of embeddings is "
		"%s. %s Attention at these lengths is little, too.",
		grouped(lora->used_parameters).text,
		app->config->tie_word_embeddings ? "the head" : "not the head and left out",
		json_string_value(own));

	json_decref(own);
	return flops;
}

/* Gradients of activations; unless @kept, the layers again. */
static json_t *backward_flops(const struct lora_app *app, bool kept)
{
	const struct lora *lora = app->lora;
	const struct lora_pass *pass = kept ? &lora->backward_kept : &lora->backward;
	struct number gradients = grouped(2 * lora->used_parameters);
	json_t *own = own_flops(app, kept ? 4 : 6);
	json_t *flops;

	if (kept)
		flops = leaf(
			number(pass->flops_per_token),
			"Arithmetic: gradients of activations alone, %s; nothing is computed "
			"again. Frozen weights need no gradients. %s",
			gradients.text, json_string_value(own));
	else
		flops = leaf(
			number(pass->flops_per_token),
			"Arithmetic: the layers again, %s, and gradients of activations, %s. "
			"Frozen weights need no gradients. %s",
			grouped(2 * lora->layer_parameters).text, gradients.text,
			json_string_value(own));
	json_decref(own);
	return flops;
}

/* {"tensor": "activations", "bytes_per_token": ...} */
static json_t *activations_access(const struct lora_app *app, bool kept)
{
	return json_pack("{ssso}", "tensor", "activations", "bytes_per_token",
			 activations_leaf(app, kept));
}

static json_t *forward_json(const struct lora_app *app)
{
	const struct hf_config *config = app->config;
	const struct lora_pass *pass = &app->lora->forward;
	bool remat = app->options->remat;
	json_t *phase = json_pack("{ssss}", "name", "forward", "tokens", "padded");

	json_object_set_new(
		phase, "kernels",
		leaf(number(pass->kernels),
		     "Estimate, as in " BASE ": %llu layers of %llu eager kernels with LoRA "
		     "branches, 8 for each of %llu norms among them, and 20 of loss.",
		     config->num_hidden_layers, app->lora->layer_kernels,
		     app->lora->layer_norms));
	json_object_set_new(phase, "flops_per_token", forward_flops(app));
	json_object_set_new(
		phase, "traffic_per_token",
		leaf(number(pass->traffic_per_token),
		     "Estimate, as in " BASE ": %llu x %llu eager kernels that read and write "
		     "the mean of %llu and %llu values of a token, of %llu B; two digits.",
		     config->num_hidden_layers, app->lora->layer_kernels, config->hidden_size,
		     config->intermediate_size, config->width));
	json_object_set_new(phase, "reads", json_pack("[ss]", "weights", "adapters"));
	json_object_set_new(phase, "writes", json_pack("[o]", activations_access(app, remat)));
	if (remat)
		json_object_set_new(phase, "small",
				    json_pack("{s[o]}", "writes",
					      activations_access(app, false)));
	return phase;
}

/* Set what the backward pass does, with what the forward pass kept or with the layers again. */
static void set_backward(json_t *phase, const struct lora_app *app, bool kept)
{
	const struct lora_pass *pass = kept ? &app->lora->backward_kept : &app->lora->backward;

	json_object_set_new(
		phase, "kernels",
		leaf(number(pass->kernels),
		     "Estimate: %stwo kernels backward for each one forward of %llu in each "
		     "layer, and 20 of loss.",
		     kept ? "" : "the forward pass of each layer again, ",
		     app->lora->layer_kernels));
	json_object_set_new(phase, "flops_per_token", backward_flops(app, kept));
	json_object_set_new(phase, "traffic_per_token",
			    leaf(number(pass->traffic_per_token),
				 "Estimate: %s the forward pass.",
				 kept ? "twice" : "three times"));
	json_object_set_new(phase, "reads",
			    json_pack("[so]", "weights", activations_access(app, kept)));
}

static json_t *backward_json(const struct lora_app *app)
{
	bool remat = app->options->remat;
	json_t *phase = json_pack("{ssss}", "name", "backward", "tokens", "padded");
	json_t *small;

	set_backward(phase, app, remat);
	json_object_set_new(phase, "writes", json_pack("[s]", "adapters"));
	if (!remat)
		return phase;
	small = json_object();
	set_backward(small, app, false);
	json_object_set_new(phase, "small", small);
	return phase;
}

static json_t *optimizer_json(const struct lora_app *app)
{
	const struct lora *lora = app->lora;
	json_t *kernels = leaf(
		number(lora->optimizer_kernels),
		"Estimate: AdamW over %llu tensors in groups (foreach), as the 60 kernels for "
		"392 tensors of " BASE ".",
		lora->adapter_tensors);
	json_t *traffic =
		leaf(number(lora->optimizer_traffic),
		     "Arithmetic: 40 bytes for each of %s LoRA parameters: AdamW reads 16 and "
		     "writes 12, and gradients are clipped and cleared.",
		     grouped(lora->adapter_parameters).text);

	return json_pack("{sssosos[s]s[s]}", "name", "optimizer", "kernels", kernels, "traffic",
			 traffic, "reads", "adapters", "writes", "adapters");
}

/* A setting of the trainer: the one of the experiments, or another one. */
static json_t *setting(u64 value, u64 usual, const char *name, const char *option)
{
	if (value == usual)
		return leaf(
			number(value),
			"Published: LlamaFactory's settings in the GVM experiments, %s %llu.",
			name, value);
	return leaf(number(value), "Assumption: gvmsim app lora --%s %llu.", option, value);
}

static json_t *phases_json(const struct lora_app *app)
{
	const struct lora_options *options = app->options;
	json_t *batch = json_pack("{sssosos[oo]}", "name", "micro-batch", "repeat",
				  setting(options->accumulate, LORA_ACCUMULATE,
					  "gradient_accumulation_steps", "accumulate"),
				  "samples",
				  setting(options->micro_batch, LORA_MICRO_BATCH,
					  "per_device_train_batch_size", "micro-batch"),
				  "phases", forward_json(app), backward_json(app));

	return json_pack("[oo]", batch, optimizer_json(app));
}

/* What is not the model's. */
static void set_costs(json_t *keys)
{
	json_object_set_new(keys, "efficiency",
			    leaf(json_real(EFFICIENCY),
				 "Fitted, as in " BASE
				 ": to an exclusive run of vLLM on a 40 GB "
				 "A100."));
	json_object_set_new(keys, "memory_efficiency",
			    leaf(json_real(MEMORY_EFFICIENCY),
				 "Measured on an H200, as in " BASE ", with vLLM."));
	json_object_set_new(keys, "overlap",
			    leaf(json_false(),
				 "Assumption: eager kernels of PyTorch, as in " BASE "."));
	json_object_set_new(keys, "kernel_launch",
			    leaf(json_string(KERNEL_LAUNCH),
				 "Fitted, as in " BASE
				 ": to a step of Llama-3.2-3B alone on the 40 GB "
				 "machine of the GVM experiments. It is the host's: a step "
				 "measured on yours "
				 "says what it is there."));
}

/* The whole profile. NULL: no memory. */
static json_t *app_json(const struct lora_app *app)
{
	static const char kinds[] = "Arithmetic and estimates, each with its source, by gvmsim "
				    "app lora.";
	json_t *keys = json_object();

	json_object_set_new(keys, "tensors", leaf(tensors_json(app), "%s", kinds));
	json_object_set_new(keys, "phases", leaf(phases_json(app), "%s", kinds));
	set_costs(keys);
	json_object_set_new(
		keys, "trace.file",
		!strcmp(app->trace, LORA_TRACE) ?
			leaf(json_string(app->trace),
			     "Published: the examples of alpaca_en_demo, as the GVM "
			     "experiments train on, without the 91 of identity.") :
			leaf(json_string(app->trace), "Assumption: gvmsim app lora --trace %s.",
			     app->trace));
	return json_pack("{so}", "app", keys);
}

/* Jansson takes no other text. */
static bool is_utf8(const char *text)
{
	json_t *string = json_string(text);

	json_decref(string);
	return string != NULL;
}

int lora_app_write(const struct lora_app *app, FILE *stream, struct sim_error *err)
{
	json_t *json;
	int status = 0;

	if (!is_utf8(app->model) || !is_utf8(app->trace))
		return sim_user_error(err, "the name of the model or of the trace is not in "
					   "UTF-8, allowed: a profile can have no other");
	json = app_json(app);
	errno = 0;
	if (!json || json_dumpf(json, stream, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) ||
	    fputc('\n', stream) == EOF)
		status = sim_runtime_error(err, "%s: cannot write a trainer of it: %s",
					   app->model,
					   errno ? strerror(errno) : "out of memory");
	json_decref(json);
	return status;
}
