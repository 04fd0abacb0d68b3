#!/usr/bin/env python3
"""Uses the page of `hcube view` in headless Chromium as people do: by clicks and keys.

    view_page.py CHROMIUM HCUBE [--picture FILE.png] [--shots FOLDER] [--axe axe.min.js]

In the current folder are scene.hdr, class.hdr, score.tif and library.sli. The numbers that the page shows are compared with
files of the commands that it shows. --picture: the page of docs/view.md. --shots: at both widths, light and dark. --axe: by
the rules of axe-core, too. Exit code 0 where all is well; else the first fault, and 1.
"""
import argparse
import base64
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from browse import Browser

COMMAND = "document.querySelector('#command code').textContent"
LOOK = """(([line, sample]) => {
    const at = toScreen(views[0], line + .5, sample + .5), ratio = devicePixelRatio;
    return [...views[0].canvas.getContext("2d").getImageData(at.x * ratio, at.y * ratio, 1, 1).data].join();
})"""

# The colours of the layers alone at the centres of pixels [line, sample]; -1 where a centre is out of sight.
PIXELS = """((number, places) => {
    const view = views[number], pen = view.canvas.getContext("2d"), { width, height } = view.canvas;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, width, height);
    for (const entry of stackOf(view)) drawLayer(pen, view, entry);
    const data = pen.getImageData(0, 0, width, height).data;
    redraw();
    return places.flatMap(([line, sample]) => {
        const at = toScreen(view, line, sample), x = Math.floor(at.x), y = Math.floor(at.y);
        const inside = at.x >= 1 && at.y >= 1 && at.x < width - 1 && at.y < height - 1;
        return inside ? [...data.slice(4 * (y * width + x), 4 * (y * width + x) + 4)] : [-1, -1, -1, -1];
    });
})"""

FILE = """(async text => {
    const image = await createImageBitmap(new Blob([Uint8Array.from(atob(text), one => one.charCodeAt(0))]));
    const pen = new OffscreenCanvas(image.width, image.height).getContext("2d");
    pen.drawImage(image, 0, 0);
    return [...pen.getImageData(0, 0, image.width, image.height).data];
})"""


class Fault(Exception):
    """What is wrong, in one line."""


def check(good, text):
    if not good:
        raise Fault(text)


class Page:
    def __init__(self, browser, address):
        self.browser, self.address = browser, address
        browser.open_page()

    def size(self, width, height, theme="light"):
        self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                          mobile=False)
        self.browser.call("Emulation.setEmulatedMedia", media="",
                          features=[{"name": "prefers-color-scheme", "value": theme}])

    def load(self):
        self.browser.events.clear()
        self.browser.call("Page.navigate", url=self.address)
        self.browser.wait("Page.loadEventFired")
        self.until("state.layers.length > 0 && running === 0 && !planned", "the first picture")

    def get(self, script):
        got = self.browser.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        check("exceptionDetails" not in got, f"{script}: {got.get('exceptionDetails')}")
        return got["result"].get("value")

    def until(self, script, what):
        for _ in range(300):
            if self.get(f"Boolean({script})"):
                return
            time.sleep(0.05)
        raise Fault(f"{what}: does not come; the page says: {self.get('document.getElementById(`fault`).textContent')}")

    def centre(self, selector):
        """Where an element is, brought into sight."""
        return self.get(f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: "center"}}); const b = e.getBoundingClientRect();
            return [b.x + b.width / 2, b.y + b.height / 2]; }})()""")

    def pixel(self, line, sample, view=0):
        return self.get(f"""(() => {{ const v = views[{view}], b = v.canvas.getBoundingClientRect(),
            at = toScreen(v, {line} + .5, {sample} + .5); return [b.x + at.x, b.y + at.y]; }})()""")

    def mouse(self, kind, place, **more):
        self.browser.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], **more)

    def click(self, place):
        self.drag(place, place)

    def drag(self, start, end, shift=False):
        held = {"button": "left", "buttons": 1, "clickCount": 1, "modifiers": 8 if shift else 0}
        self.mouse("mousePressed", start, **held)
        if start != end:
            self.mouse("mouseMoved", [(a + b) / 2 for a, b in zip(start, end)], **held)
            self.mouse("mouseMoved", end, **held)
        self.mouse("mouseReleased", end, **held)

    def press(self, selector):
        self.click(self.centre(selector))

    def key(self, name, shift=False):
        text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
        words = {"key": name, "modifiers": 8 if shift else 0, **({"text": text} if text else {})}
        self.browser.call("Input.dispatchKeyEvent", type="keyDown", **words)
        self.browser.call("Input.dispatchKeyEvent", type="keyUp", key=name)

    def write(self, selector, text, enter=True):
        self.get(f"(e => {{ e.focus(); e.select(); }})(document.querySelector({json.dumps(selector)}))")
        self.browser.call("Input.insertText", text=text)
        if enter:
            self.key("Enter")

    def table(self, selector):
        return self.get(f"""[...document.querySelectorAll({json.dumps(selector + ' tbody tr')})]
            .map(row => [...row.children].map(cell => cell.textContent))""")

    def shoot(self, path):
        picture = self.browser.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(picture))


class Session:
    """A page, and the program whose commands it shows."""

    def __init__(self, page, program):
        self.page, self.program = page, program

    def repeat(self, output=None):
        """Runs the command line that the page shows; its output: a name that replaces spectra.sli."""
        shown = self.page.get(COMMAND)
        check(shown.startswith("hcube "), f"shows the command {shown!r}")
        words = " && ".join(part.replace("hcube", '"$HCUBE"', 1) + ("" if " identify " in part else " --overwrite")
                            for part in shown.split(" && "))
        if output:
            words = re.sub(r"spectra\.(sli|csv)", output, words)
        done = subprocess.run(["bash", "-c", words], env={"HCUBE": self.program, "PATH": "/usr/bin:/bin"}, text=True,
                              capture_output=True, check=False)
        check(done.returncode == 0, f"{shown}: {done.stderr}")
        return done.stdout

    def same_picture(self, what, wanted, view=0):
        """The command with these words draws the pixels that the view shows; browsers round each layer."""
        page = self.page
        page.until(f"{COMMAND}.match(/{wanted}/) && running === 0 && !planned", f"{what}: a command like {wanted}")
        self.repeat()
        shown = page.get(COMMAND).split(" && ")[-1]
        name = re.search(r" (\w+)\.png", shown)[1]
        text = base64.b64encode(pathlib.Path(f"{name}.png").read_bytes()).decode()
        drawn = page.get(f"{FILE}('{text}')")
        window = re.search(r"--window (\d+),(\d+),(\d+),(\d+)", shown)
        sample0, line0, samples, lines = map(int, window.groups()) if window else (0, 0, 100, 100)
        check(len(drawn) == 4 * lines * samples, f"{what}: {shown}: draws {len(drawn) // 4} pixels")
        places = [[line0 + y + .5, sample0 + x + .5] for y in range(lines) for x in range(samples)]
        seen = page.get(f"{PIXELS}({view}, {places})")
        pairs = [(seen[4 * p:4 * p + 4], drawn[4 * p:4 * p + 4]) for p in range(lines * samples) if seen[4 * p] >= 0]
        check(len(pairs) > .8 * lines * samples, f"{what}: only {len(pairs)} pixels are in sight")
        for one, other in pairs:
            apart = max(abs(a * one[3] - b * other[3]) for a, b in zip(one[:3] + [255], other[:3] + [255])) / 255
            check(apart <= 3, f"{what}: {shown}: draws {other} instead of {one}")

    def columns(self, path):
        rows = [line.split(",") for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()[1:]]
        return [[float(row[c]) if row[c] else None for row in rows] for c in range(1, len(rows[0]))]

    def same_table(self, what, column=0):
        """The values in the table are those that the shown command writes, in five digits."""
        self.repeat("shown.csv")
        expected = self.columns("shown.csv")[column]
        shown = [float(row[1]) for row in self.page.table("#values")]
        check(len(shown) == len(expected) == 64, f"{what}: {len(shown)} values instead of {len(expected)}")
        for band, (one, other) in enumerate(zip(shown, expected)):
            check(abs(one - other) <= 6e-5 * abs(other), f"{what}, band {band + 1}: shows {one} instead of {other}")


def spectrum_of_a_pixel(session):
    page = session.page
    page.click(page.pixel(12, 30))
    page.until("state.spectra.length === 1", "a spectrum")
    page.press("#table > summary")
    check(page.table("#values")[0][0] == "1: 400 nm", "the table has no wavelengths")
    session.same_table("a pixel")
    check("line 12, sample 30" in page.get("document.getElementById('list').textContent"), "the list lacks the place")
    curves, bad = page.get("[document.querySelectorAll('#plot .curve').length, document.querySelectorAll('#plot .bad').length]")
    check(curves == 5 and bad == 5, f"{curves} pieces and {bad} bad bands instead of 5 and 5")
    gaps = "[piecesOf([1, 2, null, 3, 4], at.slice(0, 5)), piecesOf(at, at)].map(pieces => pieces.map(one => one.points.length))"
    gaps = page.get(f"(at => {gaps})([...Array(40).keys()].map(band => band < 30 ? 10 * band : 10 * band + 200))")
    check(gaps == [[2, 2], [30, 10]], f"a missing value and removed bands make the pieces {gaps}")
    page.drag(page.pixel(40, 50), page.pixel(50, 60), shift=True)
    page.until("state.spectra.length === 2", "the mean of a window")
    check("121 pixels" in page.get("document.getElementById('list').textContent"), "the window has not 121 pixels")
    session.same_table("a window")


def kept_spectra(session):
    """A third one by line and sample; the download has the bytes of the shown command; one is removed."""
    page = session.page
    page.write("#line", "70", enter=False)
    page.write("#sample", "20")
    page.until("state.spectra.length === 3", "a spectrum by its line")
    folder = pathlib.Path("downloads").resolve()
    page.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    page.press("[data-format=csv]")
    page.press("[data-format=sli]")
    wanted = [folder / f"spectra.{kind}" for kind in ("csv", "sli", "hdr")]
    for _ in range(200):
        if all(path.exists() for path in wanted):
            break
        time.sleep(0.05)
    check(all(path.exists() for path in wanted), f"downloads: {list(folder.glob('*'))}")
    page.press("#extract")
    session.repeat()
    session.repeat("spectra.csv")
    for path in wanted:
        check(path.read_bytes() == pathlib.Path(path.name).read_bytes(), f"{path.name}: not the bytes of the command")
    page.press("#list li:nth-child(2) .remove")
    page.until("state.spectra.length === 2", "a spectrum removed")
    check(page.get("document.activeElement.className") == "remove", "the focus is lost")


def compare_with_the_library(session):
    page = session.page
    page.press("#fit")
    page.click(page.pixel(12, 30))
    page.until("state.current.line === 12 && document.querySelectorAll('#matches tbody tr').length === 5", "five matches")
    page.press("#matches button")
    lines = session.repeat().splitlines()[1:]
    shown = page.table("#matches")
    for line, row in zip(lines, shown):
        angle, name = re.search(r"([0-9]\.[0-9]+)  (.*)", line).groups()
        check(row[0] == name and abs(float(angle) - float(row[1])) <= 6e-5, f"shows {row} instead of {line}")
    check(len(lines) == len(shown) == 5, f"{len(shown)} matches instead of {len(lines)}")
    before = page.get("document.querySelectorAll('#plot .reference').length")
    page.press("#matches tr:nth-child(2) input")
    check(page.get("document.querySelectorAll('#plot .reference').length") == 2 * before > 0, "no second reference")


def threshold_a_score(session):
    page = session.page
    session.page.press("#layers li:nth-child(2) input")
    page.until("document.querySelector('[type=range][aria-label^=Threshold]')", "the slider of a threshold")
    page.until("running === 0 && !planned", "the score on top")
    places = {"vegetation": [12, 30], "water": [30, 42]}
    plain = {name: page.get(f"{LOOK}({place})") for name, place in places.items()}
    page.write("[type=number][aria-label^=Threshold]", "0.5")
    page.until("running === 0 && !planned && state.layers[1].threshold === 0.5", "the threshold")
    time.sleep(0.4)
    cut = {name: page.get(f"{LOOK}({place})") for name, place in places.items()}
    check(cut["vegetation"] == plain["vegetation"], f"above the threshold {cut} instead of {plain}")
    check(cut["water"] != plain["water"], f"below the threshold {cut} as before")
    ramp = page.get("[state.layers[1].ramp.textContent, getComputedStyle(state.layers[1].ramp.children[1]).backgroundImage]")
    check(re.fullmatch(r"-(0\.8[0-9]+)\1", ramp[0]) and "rgb(0, 18, 97)" in ramp[1] and "rgb(89, 0, 8)" in ramp[1], f"the colours of the score: {ramp}")
    session.same_picture("a score over the scene", "--threshold 0.5 --over picture-1.png --opacity 0.7$")
    for value in (0.25, 1, 0):
        page.get(f"(e => {{ e.value = {value}; e.dispatchEvent(new Event('input')); }})(document.querySelector('[aria-label^=Opacity]'))")
        session.same_picture(f"the opacity {value}", r"--over picture-1.png" + ("$" if value == 1 else f" --opacity {value}$"))
    page.get("(e => { e.value = .7; e.dispatchEvent(new Event('input')); })(document.querySelector('[aria-label^=Opacity]'))")
    page.press("#layers li:nth-child(3) input")
    session.same_picture("two results over the scene", "picture-2.png .* && .* picture-1.png .* && .* --legend none --over picture-1.png --opacity 0.7$")
    page.press("#layers li:nth-child(1) input")
    session.same_picture("results without the scene", "^hcube preview score.tif picture-1.png [^&]* --opacity 0.7 && [^&]*$")
    page.press("#layers li:nth-child(1) input")
    page.press("#layers li:nth-child(3) input")
    page.until(f"{COMMAND}.includes('--threshold 0.5 --over picture-1.png')", "the command of two layers")
    share = float(re.search(r"about ([0-9.]+) %", page.get("document.getElementById('layers').textContent"))[1])
    scores = [row.split()[-1] for row in pathlib.Path("score.txt").read_text(encoding="utf-8").split("\n") if row]
    values = [float(score) for score in scores if score != "nan"]
    exact = 100 * sum(value >= 0.5 for value in values) / len(values)
    check(abs(share - exact) < 1, f"about {share} % instead of {exact} %")
    page.get("document.querySelector('[type=range][aria-label^=Threshold]').focus()")
    page.key("ArrowRight")
    page.until("state.layers[1].threshold > 0.5", "the slider by a key")


def bands_and_stretch(session):
    page = session.page
    page.write("[aria-label='Red: wavelength [nm]']", "2200")
    page.until("scene().shown[0] === 54", "the band at 2200 nm")
    session.same_picture("other bands", "--bands 55,5,3 .* && .* --over picture-1.png")
    page.press("#layers li:nth-child(2) input")
    session.same_picture("bands of the scene alone", "^hcube preview scene.hdr picture.png [^&]*--bands 55,5,3 [^&]*$")
    page.get("(e => { e.value = .3; e.dispatchEvent(new Event('input')); })($('gamma'))")
    session.same_picture("gamma", "--gamma 2$")
    page.press("[name=count][value='1']")
    session.same_picture("one band", "--bands 55 --limits [^&,]*,[^&,]* --gamma 2$")
    page.press("#reset")
    session.same_picture("the default", "--bands 8,5,3 .* --gamma 1.4$")
    page.write("[aria-label='Red: wavelength [nm]']", "2200")
    page.until("scene().shown[0] === 54", "the band at 2200 nm")
    page.get("document.querySelector('[data-limit=\"0\"]').focus()")
    low = page.get("scene().range[0][0]")
    page.key("ArrowRight")
    page.until(f"scene().range[0][0] > {low}", "the low limit by a key")
    start = page.centre("[data-limit='1']")
    high = page.get("scene().range[0][1]")
    page.drag(start, [start[0] - 80, start[1]])
    page.until(f"scene().range[0][1] < {high} * .9", "the high limit by the mouse")
    page.press("#reset")
    page.until("scene().shown[0] === 7", "the default")


def keys_and_gestures(session):
    page = session.page
    count = page.get("state.spectra.length")
    page.get("state.cross = {line: 50, sample: 50}, views[0].canvas.focus()")
    page.key("ArrowRight", shift=True)
    page.key("ArrowDown", shift=True)
    page.until("$('live').textContent.startsWith('Line 51, sample 51')", "the place, aloud")
    page.key("Enter")
    page.until(f"state.spectra.length === {count + 1} && state.current.line === 51", "a spectrum by a key")
    zoom = page.get("state.zoom")
    page.key("+")
    check(page.get("state.zoom") > zoom * 1.4, "+ does not zoom")
    sample = page.get("state.sample")
    page.key("ArrowRight")
    check(page.get("state.sample") > sample, "the arrow does not move")
    page.key("1")
    check(page.get("state.zoom") == 1, "1 does not show pixels")
    for _ in range(8):
        page.key("+")
    session.same_picture("a part of the scene", "--window ")
    page.key("0")
    session.same_picture("the whole scene", "^((?!--window).)*$")
    check(page.get("state.zoom") == zoom, "0 does not show the scene")
    page.key("w")
    page.key("ArrowRight", shift=True)
    page.key("w")
    page.until(f"state.spectra.length === {count + 2} && state.current.count === 2", "a window by keys")
    check(page.get("state.corner") is None, "the corner of the window stays")
    place = page.pixel(20, 20)
    page.mouse("mouseWheel", place, deltaX=0, deltaY=-250)
    page.until(f"state.zoom > {zoom} * 1.9", "the wheel")
    moved = page.pixel(20, 20)
    check(max(abs(a - b) for a, b in zip(place, moved)) < 1.5, "the wheel does not keep the place")
    touch = lambda kind, *points: page.browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=[
        {"x": place[0] + x, "y": place[1], "id": n} for n, x in enumerate(points)])
    touch("touchStart", -20, 20)
    touch("touchMove", -60, 60)
    touch("touchEnd")
    page.until(f"state.zoom > {zoom} * 4", "the pinch")
    page.key("0")


def two_views(session):
    page = session.page
    page.press("#two")
    page.until("!views[1].box.hidden && views[1].width > 100 && running === 0", "the second view")
    page.mouse("mouseWheel", page.pixel(20, 20, 1), deltaX=0, deltaY=-125)
    check(len({tuple(round(page.pixel(20, 20, v)[d] - page.get(f"views[{v}].canvas.getBoundingClientRect().{'xy'[d]}"))
                     for d in (0, 1)) for v in (0, 1)}) == 1, "the views do not show the same place")
    session.same_picture("the second view", "^hcube preview scene.hdr picture.png .* && hcube preview class.hdr second.png --legend none[^&]*$", 1)
    page.press("#two")


def faults_of_the_server(session):
    """A scene that is deleted while it is viewed: one line, and the page goes on."""
    page = session.page
    pathlib.Path("scene.img").rename("away.img")
    page.click(page.pixel(60, 60))
    page.until("!document.getElementById('fault').hidden", "the line of a fault")
    text = page.get("document.querySelector('#fault span').textContent")
    check("scene" in text and "\n" not in text, f"the fault says {text!r}")
    pathlib.Path("away.img").rename("scene.img")
    count = page.get("state.spectra.length")
    page.press("#dismiss")
    page.press("#list li:nth-child(1) .remove")
    page.until(f"state.spectra.length === {count - 1}", "the page going on")
    page.write("#line", "100")
    page.until("document.querySelector('#fault span').textContent.includes('100 lines')", "a line outside")
    page.press("#dismiss")


def picture_of_the_page(page, path):
    page.size(1100, 760)
    page.press("#table > summary")
    page.get("document.querySelector('aside').scrollTo(0, 0)")
    time.sleep(0.5)
    page.shoot(path)
    page.press("#table > summary")
    page.size(1400, 900)
    time.sleep(0.3)


def looks(session, shots, axe):
    """At both widths, light and dark, with a result on top."""
    page = session.page
    for width, height in ((1400, 900), (390, 844)):
        for theme in ("light", "dark"):
            page.size(width, height, theme)
            page.get("scrollTo(0, 0), document.querySelector('aside').scrollTo(0, 0)")
            time.sleep(0.4)
            where = f"{width} pixels, {theme}"
            check(page.get("document.documentElement.scrollWidth") == width, f"{where}: scrolls to the side")
            check(page.get("$('views').clientHeight") > .55 * height, f"{where}: the view is low")
            cut = page.get("[...document.querySelectorAll('input[type=number]')].filter(e => e.scrollWidth > e.clientWidth).length")
            check(not cut, f"{where}: {cut} numbers are cut")
            ground = page.get("getComputedStyle(document.body).backgroundColor")
            dark = sum(int(level) for level in re.findall("[0-9]+", ground)[:3]) < 3 * 128
            check(dark == (theme == "dark"), f"{where}: has the background {ground}")
            if shots:
                page.shoot(pathlib.Path(shots, f"view-{width}-{theme}.png"))
            if axe:
                page.get(pathlib.Path(axe).read_text(encoding="utf-8") + "; 0")
                found = page.get("axe.run().then(r => r.violations.map(v => `${v.impact} ${v.id} ${v.nodes[0].html}`))")
                check(not found, f"{where}: {found}")


def end_of_the_server(page, server):
    server.send_signal(signal.SIGINT)
    server.wait(20)
    check(server.returncode == 130, f"Ctrl-C ends the program with {server.returncode}")
    page.press("#go button")
    page.until("document.querySelector('#fault span').textContent.includes('does not answer')", "the line of a server that ended")


def quiet(page, allowed):
    """Nothing was asked of another server, and the console is empty but for the answers that were refused on purpose."""
    for event in page.browser.events:
        said = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            asked = said["request"]["url"]
            check(asked.startswith((page.address, "data:", "blob:")), f"asks for {asked[:100]}")
        if event.get("method") == "Log.entryAdded" and said["entry"]["level"] == "error":
            check(allowed in said["entry"]["text"], f"console: {said['entry']['text']}")
        check(event.get("method") not in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"), f"a script speaks: {said}")


def use(page, program, words):
    session = Session(page, program)
    page.size(1400, 900)
    page.load()
    for task in (spectrum_of_a_pixel, kept_spectra, compare_with_the_library, threshold_a_score, bands_and_stretch,
                 keys_and_gestures, two_views, faults_of_the_server):
        began = time.monotonic()
        try:
            task(session)
        except Fault as fault:
            raise Fault(f"{task.__name__}: {fault}") from None
        if task is threshold_a_score and words.picture:
            picture_of_the_page(page, words.picture)
        print(f"{task.__name__}: {time.monotonic() - began:.1f} s")
    page.write("#line", "60", enter=False)
    looks(session, words.shots, words.axe)
    quiet(page, "status of 500")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("chromium")
    parser.add_argument("hcube")
    parser.add_argument("--picture")
    parser.add_argument("--shots")
    parser.add_argument("--axe")
    words = parser.parse_args()
    command = [words.hcube, "view", "scene.hdr", "score.tif", "class.hdr", "--library", "library.sli", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server, \
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(words.chromium, folder)
        try:
            page = Page(browser, server.stdout.readline().strip())
            use(page, words.hcube, words)
            end_of_the_server(page, server)
        except Fault as fault:
            print(fault)
            return 1
        finally:
            browser.close()
            server.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
