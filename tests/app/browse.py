#!/usr/bin/env python3
"""Opens pages in headless Chromium: no console message, no request, no horizontal scrolling, no picture that fails.

    browse.py CHROMIUM FILE... [--shots FOLDER]

At 360, 1,200 and 1,920 pixels, light and dark, and on paper, where nothing scrolls. Exit code 0 where all is well; else a line for each fault, and 1.
"""
import argparse
import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

WIDTHS = (360, 1200, 1920)
PAPER = {"portrait": 718, "landscape": 1047}  # A4 at 96 pixels an inch, without margins of 1 cm
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
         "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"]
MEASURE = """JSON.stringify({
    wide: document.documentElement.scrollWidth,
    broken: [...document.images].filter(i => !i.complete || i.naturalWidth == 0).length,
    back: getComputedStyle(document.body).backgroundColor,
    ink: getComputedStyle(document.body).color})"""


class Browser:
    """Speaks with Chromium over two pipes, whose messages end with a 0."""

    def __init__(self, program, folder):
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()

        def place():
            kept = os.dup(to_read), os.dup(to_write)
            os.dup2(kept[0], 3)
            os.dup2(kept[1], 4)

        self.process = subprocess.Popen([program, *FLAGS, f"--user-data-dir={folder}", "about:blank"], pass_fds=(3, 4),
                                        preexec_fn=place, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number, self.buffer, self.events, self.session = 0, b"", [], None

    def message(self):
        while b"\0" not in self.buffer:
            part = os.read(self.back, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        said = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            said["sessionId"] = self.session
        os.write(self.to, json.dumps(said).encode() + b"\0")
        while True:
            got = self.message()
            if got.get("id") == self.number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]
            self.events.append(got)

    def wait(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.message())

    def open_page(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Network", "Log", "Runtime"):
            self.call(part + ".enable")

    def close(self):
        os.close(self.to)
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.back)


def visit(browser, path, width, theme, shots):
    """The faults of one page at one width; theme: light, dark or print."""
    url = pathlib.Path(path).resolve().as_uri()
    browser.events.clear()
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    paper = theme == "print"
    browser.call("Emulation.setEmulatedMedia", media="print" if paper else "",
                 features=[{"name": "prefers-color-scheme", "value": "light" if paper else theme}])
    browser.call("Page.navigate", url=url)
    browser.wait("Page.loadEventFired")
    seen = json.loads(browser.call("Runtime.evaluate", expression=MEASURE)["result"]["value"])
    if shots:
        picture = browser.call("Page.captureScreenshot", captureBeyondViewport=True, format="png")["data"]
        name = f"{pathlib.Path(path).stem}-{width}-{theme}.png"
        pathlib.Path(shots, name).write_bytes(base64.b64decode(picture))
    faults = []
    for event in browser.events:
        said = event.get("params", {})
        if event.get("method") == "Log.entryAdded":
            faults.append(f"console: {said['entry']['text']}")
        if event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            faults.append("a script speaks")
        if event.get("method") == "Network.requestWillBeSent":
            asked = said["request"]["url"]
            if asked != url and not asked.startswith("data:"):
                faults.append(f"asks for {asked[:100]}")
    if seen["wide"] > width:
        faults.append(f"is {seen['wide']} pixels wide")
    if seen["broken"]:
        faults.append(f"{seen['broken']} pictures fail")
    dark = sum(int(level) for level in re.findall("[0-9]+", seen["back"])[:3]) < 3 * 128
    if dark != (theme == "dark"):
        faults.append(f"has the background {seen['back']}")
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("pages", nargs="+")
    parser.add_argument("--shots")
    words = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(words.program, folder)
        try:
            browser.open_page()
            for path in words.pages:
                way = "landscape" if "size: landscape" in pathlib.Path(path).read_text(encoding="utf-8") else "portrait"
                ways = [(width, theme) for width in WIDTHS for theme in ("light", "dark")] + [(PAPER[way], "print")]
                for width, theme in ways:
                    for fault in visit(browser, path, width, theme, words.shots):
                        print(f"{path} at {width} pixels, {theme}: {fault}")
                        good = False
        finally:
            browser.close()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
