#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""Is a report's page whole, alone and accessible? Prints each fault; exit code 1 if there is one.

Usage: page.py PAGE
"""
import re
import sys
import xml.etree.ElementTree as tree

HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"]
faults = []


def fault(text):
    faults.append(text)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a, b):
    a, b = sorted((luminance(a), luminance(b)), reverse=True)
    return (a + 0.05) / (b + 0.05)


def check_colours(style):
    """Texts have a contrast of 4.5 on page and cards, shapes one of 3 (WCAG 2.1, AA)."""
    schemes = [dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{(.*?)\}", style, re.S)]
    if len(schemes) != 2:
        fault("%d schemes of colours, expected light and dark" % len(schemes))
    for name, scheme in zip(("light", "dark"), schemes):
        for ground in ("page", "card"):
            for text in ("text", "dim", "link"):
                if contrast(scheme[text], scheme[ground]) < 4.5:
                    fault("%s: %s on %s has too little contrast" % (name, text, ground))
            for shape in ["ours", "pub-edge"] + ["s%d" % i for i in range(6)]:
                if contrast(scheme[shape], scheme[ground]) < 3:
                    fault("%s: %s on %s has too little contrast" % (name, shape, ground))


def check_headings(elements):
    last = 0
    for element in elements:
        if element.tag not in HEADINGS:
            continue
        level = HEADINGS.index(element.tag) + 1
        if level > last + 1:
            fault("h%d follows h%d: %s" % (level, last, element.text))
        last = level
    if [e.tag for e in elements].count("h1") != 1:
        fault("not exactly one h1")


def check_links(elements):
    ids = [e.get("id") for e in elements if e.get("id")]
    for name in set(ids):
        if ids.count(name) > 1:
            fault("the id %s is there %d times" % (name, ids.count(name)))
    for element in elements:
        target = element.get("href")
        if target is not None and (target[:1] != "#" or target[1:] not in ids):
            fault("a link leads nowhere in the page: %s" % target)
        label = element.get("aria-labelledby")
        if label and label not in ids:
            fault("aria-labelledby names nothing: %s" % label)
        if element.tag in ("script", "img", "link", "iframe", "object") or element.get("src"):
            fault("the page needs another file: <%s>" % element.tag)


def check_pictures(root):
    for svg in root.iter("svg"):
        if svg.get("role") != "img" or not svg.get("aria-label"):
            fault("a picture has no name for people who do not see it")
        for shape in list(svg.iter("rect")) + list(svg.iter("circle")):
            title = shape.find("title")
            if title is None or not title.text:
                fault("a bar, point or strip does not say its value")
        if not any(True for _ in svg.iter("title")):
            fault("a picture has no value: %s" % svg.get("aria-label"))
        view = [float(v) for v in svg.get("viewBox").split()]
        for text in svg.iter("text"):
            if not 0 <= float(text.get("x")) <= view[2] or not 0 <= float(text.get("y")) <= view[3]:
                fault("a text is outside of its picture: %s" % text.text)
    for figure in root.iter("figure"):
        if figure.find("figcaption") is None:
            fault("a figure has no caption")
    for table in root.iter("table"):
        if any(not th.get("scope") for th in table.iter("th")):
            fault("a head of a table does not say its scope")


page = open(sys.argv[1], encoding="utf-8").read()
root = tree.fromstring(page)
everything = list(root.iter())
if not root.get("lang"):
    fault("the page has no language")
if "http:" in page or "https:" in page or "url(" in page or "@import" in page:
    fault("the page names an address outside")
if "{{" in page:
    fault("a part of the template was not replaced")
if "nan" in re.sub(r"<style>.*?</style>", "", page, flags=re.S).lower().split() or "inf" in page.split():
    fault("a number is none")
style = root.find("head/style").text
for wanted in ("prefers-color-scheme: dark", "@media print", "@page"):
    if wanted not in style:
        fault("the style has no %s" % wanted)
check_colours(style)
check_headings(everything)
check_links(everything)
check_pictures(root)
sys.stdout.writelines(text + "\n" for text in faults)
sys.exit(bool(faults))
