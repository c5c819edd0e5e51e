#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What a tokenizer costs vLLM's server: a token of a prompt, and a token of an answer.

    tokenizer_cost.py TOKENIZER TEXT >RESULT

TOKENIZER is a tokenizer.json, TEXT a file of plain text. Needs tokenizers 0.21.1 or later, and
transformers, whose class of tokenizers vLLM calls. Medians.
"""
import statistics
import sys
import time


def median(action, times):
    taken = []
    for number in range(times):
        begin = time.perf_counter()
        action(number)
        taken.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(taken)


def encodes(name, encode, tokenizer, ids):
    for length in (16, 64, 256, 1024):
        texts = [tokenizer.decode(ids[start:start + length])
                 for start in range(0, len(ids) - length, max(1, (len(ids) - length) // 50))]
        taken = median(lambda number, texts=texts: encode(texts[number % len(texts)]), 200)
        print(f"encode {name:12} {length:5} {taken:8.1f} {taken / length:6.2f}", flush=True)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    import tokenizers
    from tokenizers.decoders import DecodeStream
    tokenizer = tokenizers.Tokenizer.from_file(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        ids = tokenizer.encode(file.read(), add_special_tokens=False).ids
    print(f"# tokenizers {tokenizers.__version__}, a text of {len(ids)} tokens")
    stream = DecodeStream(skip_special_tokens=True)
    taken = median(lambda number: stream.step(tokenizer, ids[number % len(ids)]), 4000)
    print(f"# decode: us a token of an answer, DecodeStream.step()\ndecode {taken:6.2f}")
    print("# encode: by, prompt tokens; us a prompt, us a token", flush=True)
    encodes("tokenizers", lambda text: tokenizer.encode(text).ids, tokenizer, ids)
    import transformers
    fast = transformers.PreTrainedTokenizerFast(tokenizer_file=sys.argv[1])
    encodes("transformers", lambda text: fast(text, add_special_tokens=True).input_ids, tokenizer,
            ids)



main()
