#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""Wrap the prose of Markdown documents at 96 columns.

    tools/wrap.py FILE...            rewrite paragraphs and list items that are too wide
    tools/wrap.py --check FILE...    name them instead, and end with 1

Tables, code, headings, pictures, quotes and comments stay as they are. So do paragraphs that fit,
however they are broken. A code span is never broken, since tools/ and tests look for commands
within a line.
Only the standard library is used.
"""

import argparse
import re
import sys

WIDTH = 96
FENCE = re.compile(r"\s*(```|~~~)")
ITEM = re.compile(r"(\s*)([-*]|\d+\.)( +)(?=\S)")
KEPT = ("|", "#", "<", "![", ">", "```", "~~~")
# A word that would begin something else at the beginning of a line
BEGINS = re.compile(r"([-+*]|#+|=+|\d+[.)]|[>|].*|```.*|~~~.*)$")
SPAN = re.compile(r"(`+).+?(?<!`)\1(?!`)")


def words(text):
    """The words of a paragraph. A code span is a part of one word."""
    found, word, i = [], "", 0
    while i < len(text):
        span = SPAN.match(text, i) if text[i] == "`" else None
        if span:
            word += span.group(0)
            i = span.end()
            continue
        if text[i] != " ":
            word += text[i]
        elif word:
            found.append(word)
            word = ""
        i += 1
    return found + [word] if word else found


def wrap(first, rest, text):
    """The lines of a paragraph: the first begins with first, the others with rest."""
    lines, line, start = [], [], first
    for word in words(text):
        if line and len(start + " ".join(line + [word])) > WIDTH:
            carried = []
            while len(line) > 1 and BEGINS.match((carried + [word])[0]):
                carried.insert(0, line.pop())
            lines.append(start + " ".join(line))
            line, start = carried, rest
        line.append(word)
    return lines + [start + " ".join(line)]


def paragraphs(lines):
    """Parts of a document: (number of the first line, lines, prefixes of a paragraph or None)."""
    fence, indents, i = None, [], 0
    while i < len(lines):
        line, begin = lines[i], i
        i += 1
        mark = FENCE.match(line)
        if fence:
            if mark and line.strip().startswith(fence):
                fence = None
            yield begin, [line], None
            continue
        if mark:
            fence = mark.group(1)
        if mark or not line.strip():
            yield begin, [line], None
            continue
        indent = len(line) - len(line.lstrip(" "))
        while indents and indent < indents[-1]:
            indents.pop()
        code = indent >= (indents[-1] if indents else 0) + 4 or line.startswith("\t")
        if code or line.lstrip().startswith(KEPT):
            yield begin, [line], None
            continue
        item = ITEM.match(line)
        first = item.group(0) if item else " " * indent
        if item:
            indents.append(len(first))
        while i < len(lines) and lines[i].strip() and not lines[i].startswith("\t") \
                and not ITEM.match(lines[i]) and not lines[i].lstrip().startswith(KEPT):
            i += 1
        yield begin, lines[begin:i], (first, " " * len(first))


def wrapped(text):
    """The document with wide paragraphs wrapped, and the numbers of the lines where they begin."""
    out, wide = [], []
    for begin, part, prefixes in paragraphs(text.split("\n")):
        if prefixes and any(len(line) > WIDTH for line in part):
            body = " ".join([part[0][len(prefixes[0]):]] + [line.strip() for line in part[1:]])
            anew = wrap(*prefixes, body)
            if anew != part:
                wide.append(begin + 1)
                part = anew
        out += part
    return "\n".join(out), wide


def main():
    """Wrap or check each file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if a line is too wide")
    options = parser.parse_args()
    status = 0
    for name in options.files:
        with open(name, encoding="utf-8") as file:
            before = file.read()
        after, wide = wrapped(before)
        if options.check:
            for line in wide:
                print(f"{name}:{line}: a paragraph is wider than {WIDTH} columns; run tools/wrap.py")
                status = 1
        elif after != before:
            with open(name, "w", encoding="utf-8") as file:
                file.write(after)
    sys.exit(status)


if __name__ == "__main__":
    main()
