// SPDX-License-Identifier: MIT OR GPL-2.0
//
// The prompts of the GVM paper's replay, as the server counted them.
//
//	npm install llama3-tokenizer-js
//	node served_prompts.mjs burstgpt1_gvm3256_arrivals.csv >served.csv
//	gvmsim trace import served.csv burstgpt1_gvm3256_served.trace
//
// BurstGPT has lengths and no text. The replaying client (vLLM's benchmark, and the authors' one after it) makes
// the prompt of request i, which has n tokens, by decoding the tokens i, i + 1 ... i + n - 1 of the vocabulary.
// The server gets this text and encodes it anew. Neighbours in the vocabulary merge, and tokens below 256 are
// bytes that no text has: so the server's prompt is shorter or longer than BurstGPT's.
//
// As Hugging Face's tokenizer of Llama 3 does it: decode() cleans spaces in front of punctuation, and encode()
// puts the token that begins a text in front.

import fs from 'fs';
import tokenizer from 'llama3-tokenizer-js';

const VOCABULARY = 128000;
const CLEANED = [' .', ' ?', ' !', ' ,', " n't", " 'm", " 's", " 've", " 're"];

function served(index, tokens) {
	const ids = Array.from({ length: tokens }, (_, i) => (index + i) % VOCABULARY);
	let text = tokenizer.decode(ids, { bos: false, eos: false });

	text = text.replaceAll(" ' ", "'");
	for (const spaced of CLEANED)
		text = text.replaceAll(spaced, spaced.slice(1));
	return tokenizer.encode(text, { bos: true, eos: false }).length;
}

const [header, ...rows] = fs.readFileSync(process.argv[2], 'utf8').trim().split('\n');
const prompt = header.split(',').indexOf('request_tokens');

console.log(header);
rows.forEach((row, index) => {
	const cells = row.split(',');

	cells[prompt] = served(index, Number(cells[prompt]));
	console.log(cells.join(','));
});
