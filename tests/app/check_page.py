#!/usr/bin/env python3
"""Checks pages that hcube writes: balanced elements, nothing that loads or runs, texts for the blind.

    check_page.py FILE...

Exit code 0 where all is well; else a line for each fault, and 1.
"""
import re
import sys
from html.parser import HTMLParser

VOID = {"meta", "link", "img", "br", "hr"}
LOADS = {"src", "href", "srcset", "data", "poster", "action", "background", "xlink:href"}
FORBIDDEN = {"script", "iframe", "object", "embed", "form", "base", "audio", "video", "frame", "applet"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.faults, self.open, self.ids, self.headings = [], [], set(), []
        self.count, self.text, self.svg, self.links = {}, [], [], []

    def fault(self, text):
        self.faults.append(f"line {self.getpos()[0]}: {text}")

    def handle_starttag(self, tag, attributes):
        self.element(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.element(tag, attributes)
        if tag not in VOID and "svg" not in self.open:
            self.fault(f"<{tag}/> closes itself")

    def element(self, tag, attributes):
        self.count[tag] = self.count.get(tag, 0) + 1
        given = dict(attributes)
        if len(given) != len(attributes):
            self.fault(f"<{tag}> has an attribute twice")
        if tag in FORBIDDEN:
            self.fault(f"<{tag}>")
        for name, value in attributes:
            self.attribute(tag, name, value or "")
        if tag == "img" and not given.get("alt"):
            self.fault("<img> without alt")
        if tag == "svg" and not (given.get("aria-label") or given.get("aria-labelledby")):
            self.svg.append((len(self.open), self.getpos()[0]))
        if tag == "title" and self.svg:
            self.svg.pop()
        if tag == "th" and given.get("scope") not in ("row", "col"):
            self.fault("<th> without scope")
        if re.fullmatch("h[1-6]", tag):
            self.heading(int(tag[1]))
        if tag == "html" and not given.get("lang"):
            self.fault("<html> without lang")

    def attribute(self, tag, name, value):
        if name.startswith("on"):
            self.fault(f"<{tag} {name}>")
        if name == "id" and value in self.ids:
            self.fault(f"id {value} twice")
        if name == "id":
            self.ids.add(value)
        if name == "style" and "url(" in value:
            self.fault(f"<{tag} style> loads something")
        if name in LOADS and tag == "a":
            self.links.append(value)
            if re.match("[a-z]+:|//", value):
                self.fault(f"<a> leads to {value}")
        elif name in LOADS and not value.startswith(("data:image/png;base64,", "#")):
            self.fault(f"<{tag} {name}={value[:60]}>")

    def heading(self, level):
        if level > (self.headings[-1] if self.headings else 0) + 1:
            self.fault(f"<h{level}> behind <h{self.headings[-1] if self.headings else 0}>")
        self.headings.append(level)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.fault(f"</{tag}> closes {self.open[-1:]}")
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        self.text.append(data)


def check(path):
    page = Page()
    with open(path, encoding="utf-8", errors="strict") as file:
        text = file.read()
    page.feed(text)
    page.close()
    if page.open:
        page.faults.append(f"never closed: {page.open}")
    page.faults += [f"line {line}: <svg> without title" for _, line in page.svg]
    if not text.startswith("<!DOCTYPE html>\n"):
        page.faults.append("no <!DOCTYPE html>")
    for tag in ("html", "head", "body", "title", "h1", "main"):
        if page.count.get(tag, 0) - (page.count.get("svg", 0) if tag == "title" else 0) > 1 or not page.count.get(tag):
            page.faults.append(f"{page.count.get(tag, 0)} <{tag}>")
    if re.search(r"@import|url\(", re.sub(r"base64,[^\"]*", "", text)):
        page.faults.append("the style loads something")
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text):
        page.faults.append("a control character")
    for fault in page.faults:
        print(f"{path}: {fault}")
    return not page.faults


if __name__ == "__main__":
    sys.exit(0 if all([check(path) for path in sys.argv[1:]]) else 1)
