#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""Wrap the prose of Markdown documents at 96 columns.

    tools/wrap.py FILE...            rewrite paragraphs and list items that are too wide
    tools/wrap.py --all FILE...      rewrite all of them
    tools/wrap.py --check FILE...    name those that are too wide, and end with 1

Tables, code, headings, pictures, quotes and comments stay as they are. A code span is never
broken, since tests look for commands within a line, nor is a number parted from its unit.
Only the standard library is used.
"""

import argparse
import contextlib
import os
import re
import shutil
import sys

WIDTH = 96
FENCE = re.compile(r"\s*(```|~~~)")
ITEM = re.compile(r"(\s*)([-*]|\d+\.)( +)(?=\S)")
KEPT = ("|", "#", "<", "![", ">", "```", "~~~")
# A word that would begin something else at the beginning of a line
BEGINS = re.compile(r"([-+*]|#+|=+|\d+[.)]|[>|].*|```.*|~~~.*)$")
NUMBER, UNIT = re.compile(r"\W*[\d.,]+$"), re.compile(r"(%|[mun]?s|[KMGT]?i?B)\W*$")
SPAN = re.compile(r"(`+).+?(?<!`)\1(?!`)")


def words(text):
    """The words of a paragraph. A code span is never parted, nor is a number from its unit."""
    found, word, i = [], "", 0
    text += " "
    while i < len(text):
        span = SPAN.match(text, i) if text[i] == "`" else None
        if span:
            word += span.group(0)
            i = span.end()
            continue
        if text[i] != " ":
            word += text[i]
        elif word:
            if found and NUMBER.match(found[-1]) and UNIT.match(word):
                word = found.pop() + " " + word
            found.append(word)
            word = ""
        i += 1
    return found


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
    """Parts of a document: (number of the first line, lines, its prefixes or None)."""
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


def wrapped(text, everything=False):
    """The document with wide paragraphs or all wrapped, and the lines where these begin."""
    out, wide = [], []
    for begin, part, prefixes in paragraphs(text.split("\n")):
        if prefixes and (everything or any(len(line) > WIDTH for line in part)):
            body = " ".join([part[0][len(prefixes[0]):]] + [line.strip() for line in part[1:]])
            anew = wrap(*prefixes, body)
            if anew != part:
                wide.append(begin + 1)
                part = anew
        out += part
    return "\n".join(out), wide


def write_whole(name, text):
    """Replace a document, all or nothing."""
    new = name + ".new"
    try:
        with open(new, "w", encoding="utf-8") as file:
            file.write(text)
        shutil.copymode(name, new)
        os.replace(new, name)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise


def main():
    """Wrap or check each file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--all", action="store_true", help="paragraphs that fit, too")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if any is wide")
    options = parser.parse_args()
    status = 0
    for name in options.files:
        try:
            with open(name, encoding="utf-8") as file:
                before = file.read()
            after, wide = wrapped(before, options.all and not options.check)
            if options.check:
                for line in wide:
                    print(f"{name}:{line}: wider than {WIDTH} columns; run tools/wrap.py {name}")
                    status = 1
            elif after != before:
                write_whole(name, after)
        except (OSError, UnicodeDecodeError) as error:
            sys.exit(f"wrap.py: {name}: {getattr(error, 'strerror', None) or error}")
    sys.exit(status)


if __name__ == "__main__":
    main()
