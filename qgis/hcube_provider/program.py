"""The program hcube: where it is, what it describes, and a run of it with progress."""

import json
import os
import shutil
import signal
import subprocess
import threading

SETTING = "HCUBE_PROGRAM"


class ProgramError(Exception):
    pass


def program():
    """The setting of Processing, else the environment variable HCUBE, else the path."""
    from processing.core.ProcessingConfig import ProcessingConfig

    named = ProcessingConfig.getSetting(SETTING) or os.environ.get("HCUBE") or "hcube"
    found = shutil.which(named)
    if found is None:
        raise ProgramError(f"{named}: the program was not found; name it in the options of Processing, or in HCUBE")
    return found


def usage():
    path = program()
    try:
        done = subprocess.run([path, "--json-usage"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        return json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise ProgramError(f"{path}: --json-usage failed: {error}") from error


def part_done(event):
    """Percent of the run: passes are taken as equally long."""
    lines, passes = event.get("lines", 0), max(event.get("passes", 1), 1)
    within = event.get("lines_done", 0) / lines if lines else 0
    return 100 * min((max(event.get("pass", 1), 1) - 1 + within) / passes, 1)


def told(line, feedback, failures):
    """A line of standard error: progress moves the bar, everything else goes into the log."""
    if line.startswith("{"):
        try:
            event = json.loads(line)
        except ValueError:
            event = {}
        if event.get("event") == "progress":
            feedback.setProgress(part_done(event))
        if event.get("event") in ("progress", "outputs"):
            return
    if line.startswith("hcube: "):
        failures.append(line[len("hcube: "):])
    elif line.startswith("note: "):
        feedback.pushWarning(line)
    else:
        feedback.pushInfo(line)


def run(words, feedback):
    """Runs it to its end, or stops it as Ctrl-C does when the user cancels; returns standard output."""
    path, failures, printed = program(), [], []
    feedback.pushCommandInfo(" ".join([path, *words]))
    process = subprocess.Popen(
        [path, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        encoding="utf-8", errors="replace",
    )

    def read_output():
        for line in process.stdout:
            printed.append(line)
            feedback.pushConsoleInfo(line.rstrip("\n"))

    def watch():
        while not ended.wait(0.1):
            if feedback.isCanceled():
                process.send_signal(signal.SIGINT)
                return

    ended = threading.Event()
    threads = [threading.Thread(target=work, daemon=True) for work in (read_output, watch)]
    for thread in threads:
        thread.start()
    for line in process.stderr:
        told(line.rstrip("\n"), feedback, failures)
    status = process.wait()
    ended.set()
    for thread in threads:
        thread.join()
    process.stdout.close()
    process.stderr.close()
    said = "; ".join(failures) or f"{path} ended with code {status}"
    if status != 0 and not feedback.isCanceled():
        raise ProgramError(said)
    if status != 0:
        feedback.pushInfo(said)
    return "".join(printed)
