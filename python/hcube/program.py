"""Runs of the program: a chain or a command, its progress, its outputs."""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from .envi import FileError, read_raster
from .files import read_record
from .scene import Exchange, Scene, as_scene

Words = Union[str, Sequence[Union[str, "os.PathLike[str]", float]]]
Event = dict[str, Any]


class Error(Exception):
    """The program refused or failed. str() is its one line.

    code: its exit code (docs/command-line.md), or -N where signal N ended it. result: what there was by then.
    """

    def __init__(self, code: int, line: str, result: Result) -> None:
        super().__init__(line)
        self.code = code
        self.result = result


@dataclass
class Result:
    """What a run left behind.

    words: the command line, the program first. outputs: main output of each step, as absolute paths; of a batch, of
    each scene that it did. record: that of the run (docs/files.md), None where it has none. notes: remarks of the
    program. text: what it printed on standard output. scene: the result of a scene in memory.
    """

    words: list[str]
    outputs: list[Path] = field(default_factory=list)
    record: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)
    text: str = ""
    scene: Optional[Scene] = None
    _written: list[Path] = field(default_factory=list, repr=False)

    def array(self, output: str | os.PathLike[str] | None = None) -> np.ndarray:
        """A raster that the run wrote as ENVI, as an array [line][sample][band] that is mapped from its file.

        output: its path or file name; may be left out where there is one `write`, and of a scene in memory.
        """
        if output is None and self.scene is not None:
            return self.scene.values
        if output is not None:
            named = [path for path in self.outputs if str(output) in (path.name, str(path))]
            named = named or [path for path in self.outputs if path == Path(output).absolute()]
        else:
            named = self._written
        if len(named) != 1:
            names = ", ".join(path.name for path in self.outputs) or "none"
            raise FileError(f"{output or 'array()'}: {len(named)} rasters of that name; outputs are: {names}")
        return read_raster(named[0])


def program() -> str:
    """The path of the program: what HCUBE_PROGRAM names, else `hcube` of the path."""
    named = os.environ.get("HCUBE_PROGRAM") or "hcube"
    found = shutil.which(named)
    if found is None:
        raise FileNotFoundError(f"{named}: the program was not found; install hcube, or name it in HCUBE_PROGRAM")
    return found


@functools.lru_cache(maxsize=None)
def _arguments(path: str, word: str) -> list[dict[str, Any]]:
    """The arguments of a command or stage of the program; none where it knows no such word."""
    asked = subprocess.run(
        [path, word, "--json-usage"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        described = json.loads(asked.stdout)
    except ValueError:
        return []
    found: list[dict[str, Any]] = described.get("input_arguments", [])
    return found


def is_stage(name: str) -> bool:
    """Whether the program has a stage of that name."""
    return any(a["name"] == "path" and a["metadata"].get("positional") and a["category"] != "Base"
               for a in _arguments(program(), name))


def _has_progress(path: str, word: str) -> bool:
    return any(argument["name"] == "progress" for argument in _arguments(path, word))


def _makes_raster(path: str, stage: str) -> bool:
    """Whether a stage hands on what it computes, and writes no file by itself."""
    return any(a["type"] == "dataset" and a["metadata"].get("file") == "written" for a in _arguments(path, stage))


def _word(value: Any) -> str:
    return os.fspath(value) if hasattr(value, "__fspath__") else str(value)


def _without_comments(text: str) -> str:
    """A chain may have comments: from # at the beginning of a word to the end of the line, but for those in quotes."""
    kept = r"""('[^']*'|"(?:\\[\s\S]|[^"\\])*"|\\[\s\S])"""
    return re.sub(rf"(?m){kept}|(^|\s)#.*$", lambda found: found[1] or " ", text)


def _is_chain(parts: list[str]) -> bool:
    return "!" in parts and parts[0] in ("read", "!")


def _split(words: Words) -> list[str]:
    """The words after `hcube`. A chain gets `run` in front; as one text it stays one, and the program splits it."""
    if isinstance(words, str):
        parts = ["run", words] if _is_chain(_without_comments(words).split()) else shlex.split(words)
    else:
        parts = [_word(word) for word in words]
        parts = ["run", *parts] if _is_chain(parts) else parts
    if not parts:
        raise ValueError("no chain and no command")
    return ["run", *parts] if parts[0].endswith(".hcube") else parts


def _with_scene(path: str, words: Words, exchange: Exchange, fit_only: bool) -> list[str]:
    """The words after `hcube` for a scene in memory: steps that lack `read`, and perhaps a last one that writes."""
    source, result = str(exchange.scene), str(exchange.result)
    text = _without_comments(words) if isinstance(words, str) else None
    parts = [_word(word) for word in words] if text is None else text.split()
    if not parts:
        raise ValueError("no chain and no command")
    if "!" not in parts and parts[0] != "read":
        given = parts if text is None else shlex.split(text)
        fit_only = fit_only or "--fit-only" in given
        return [given[0], source, *given[1:], *([result] if _makes_raster(path, given[0]) and not fit_only else [])]
    last = "".join(part + " " for part in parts).split(" ! ")[-1].split()
    is_open = last[0] != "write" and "--fit-only" not in last and _makes_raster(path, last[0])
    ending = ["!", "write", result] if is_open else []
    reads = parts[0] == "read"
    if text is not None:
        rest = text.split("read", 1)[1] if reads else "! " + text
        return ["run", f"read {source} {rest} {' '.join(ending)}"]
    return ["run", "read", source, *(parts[1:] if reads else ["!", *parts]), *ending]


def _as_words(options: Mapping[str, Any]) -> list[str]:
    """overwrite=True, threads=4, mask=["a", "b"], set={"scene": path} as words of the command line."""
    words = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")  # lambda_: a keyword of Python
        if isinstance(value, Mapping):
            words += [f"{option}={key}={_word(part)}" for key, part in value.items()]
        elif isinstance(value, (list, tuple)):
            words += [f"{option}={_word(part)}" for part in value]
        elif value is True:
            words.append(option)
        elif value is not None and value is not False:
            words.append(f"{option}={_word(value)}")
    return words


# Runs that Python ends when it ends itself, while all of its modules are still there.
_running: weakref.WeakSet[Run] = weakref.WeakSet()


@atexit.register
def _cancel_running() -> None:
    for run in list(_running):
        run.cancel()


class Run:
    """A run that has been started; iterating over it yields its events until it ends.

    Events are dicts: {"event": "progress", ...} and others of `--progress json` (docs/command-line.md), and
    {"event": "note", "text": ...} for remarks. The end of a run that failed raises `Error`. A run is ended, as by
    Ctrl-C, and leaves no output, when its iteration is interrupted, its `with` block is left, `cancel` is called, or
    nothing refers to it any more.
    """

    def __init__(
        self, words: Words, cwd: str | os.PathLike[str] | None, options: Mapping[str, Any], scene: Any = None
    ) -> None:
        path = program()
        self._exchange = None if scene is None else Exchange(as_scene(scene))
        try:
            self._start(path, words, cwd, options)
        except BaseException:
            self._release()
            raise

    def _start(self, path: str, words: Words, cwd: Any, options: Mapping[str, Any]) -> None:
        exchange = self._exchange
        given = _split(words) if exchange is None else _with_scene(path, words, exchange, bool(options.get("fit_only")))
        head, rest = given[:1], given[1:]
        if head == ["solve"]:
            head, rest = given[:2], given[2:]
        extra = _as_words(options)
        if not any(w.startswith("--progress") for w in given + extra) and _has_progress(path, head[0]):
            extra.append("--progress=json")
        self._folder = Path(cwd or ".").absolute()
        self.result = Result([path, *head, *extra, *rest])
        self._errors: list[str] = []
        self._done = False
        self._owner = os.getpid()
        # What is printed goes to a file: a thread that reads a pipe would keep Python from ending.
        self._printed = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        # A session of its own: the terminal's Ctrl-C reaches Python alone, which hands it on once. A second one
        # would end the program before it has cleaned up.
        self._process = subprocess.Popen(
            self.result.words,
            stdin=subprocess.DEVNULL,
            stdout=self._printed,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            cwd=cwd,
            start_new_session=True,
            pass_fds=() if exchange is None else exchange.descriptors,
        )
        assert self._process.stderr is not None
        self._said = self._process.stderr
        _running.add(self)

    def __iter__(self) -> Iterator[Event]:
        return self

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    def __del__(self) -> None:
        if getattr(self, "_process", None) is not None:
            self.cancel()

    def __next__(self) -> Event:
        if self._done:
            raise StopIteration
        try:
            for line in self._said:
                event = self._event(line.rstrip("\n"))
                if event is not None:
                    return event
        except BaseException:
            self.cancel()
            raise
        self._end()
        self._check()
        raise StopIteration

    def _event(self, line: str) -> Event | None:
        """A line of standard error as an event; None: there is none in it."""
        if line.startswith("hcube: "):
            self._errors.append(line[len("hcube: "):])
            return None
        if line.startswith("note: "):
            self.result.notes.append(line[len("note: "):])
            return {"event": "note", "text": self.result.notes[-1]}
        try:
            event = json.loads(line) if line.startswith("{") else None
        except ValueError:
            event = None
        if not isinstance(event, dict) or "event" not in event:
            return None
        if event["event"] == "outputs":
            self._take_outputs(event["outputs"])
        elif event["event"] == "done" and "output" in event:  # a scene of a batch
            self._add_output(event["output"], True)
        return event

    def _add_output(self, file: str, raster: bool) -> None:
        path = self._folder / file
        self.result.outputs.append(path)
        if raster:
            self.result._written.append(path)

    def _take_outputs(self, outputs: list[dict[str, str]]) -> None:
        for output in outputs:
            if self._exchange is None or output["file"] != str(self._exchange.result):
                self._add_output(output["file"], output["stage"] == "write")
        records = [self._folder / output["record"] for output in outputs if "record" in output]
        if records and records[0].is_file():
            self.result.record = read_record(records[0])

    def _end(self) -> None:
        self._process.wait()
        self._said.close()
        self._printed.seek(0)
        self.result.text = self._printed.read()
        self._printed.close()
        if self._exchange is not None and self._process.returncode == 0:
            self.result.scene = self._exchange.take()
        self._release()
        self._done = True

    def _release(self) -> None:
        if self._exchange is not None:
            self._exchange.close()
            self._exchange = None

    def _check(self) -> None:
        code = self._process.wait()
        if code != 0:
            line = "; ".join(self._errors) or f"hcube ended with exit code {code}"
            raise Error(code, line, self.result)

    def wait(self) -> Result:
        """Waits for the end, and hands back the result. Raises `Error` where the run failed or was cancelled."""
        for _ in self:
            pass
        self._check()
        return self.result

    def cancel(self) -> None:
        """Ends the run as Ctrl-C does, and waits until it has cleaned up. Nothing happens where it has ended, and in
        a process that was forked from the one that started it."""
        if self._done or self._owner != os.getpid():
            return
        self._done = True
        self._process.send_signal(signal.SIGINT)
        for line in self._said:
            self._event(line.rstrip("\n"))
        self._end()


def start(
    words: Words, *, scene: Any = None, cwd: str | os.PathLike[str] | None = None, **options: Any
) -> Run:
    """Starts a chain or a command, and hands back the run, an iterator over its events.

        for event in hcube.start("read scene.hdr ! mnf ! write out.img"):
            if event["event"] == "progress":
                print(event["what"], event["lines_done"], "of", event["lines"])

    The arguments are those of `run`.
    """
    return Run(words, cwd, options, scene)


def run(
    words: Words,
    *,
    scene: Any = None,
    cwd: str | os.PathLike[str] | None = None,
    progress: Callable[[float, str], object] | str | None = None,
    **options: Any,
) -> Result:
    """Runs a chain or a command to its end.

        hcube.run("read scene.hdr ! mnf --components 5 ! write out.img")
        hcube.run("read {scene} ! pca ! write {out}", set={"scene": scene, "out": out}, overwrite=True)
        hcube.run(["mnf", scene, out], components=5)
        hcube.run("mnf --components 5", scene=array).array()

    words: a chain (its first step is `read`), the name of a chain file (.hcube), or a command as it stands after
    `hcube`. A text is split into words as by a shell, and no shell sees it; a list holds the words. scene: an array
    [line][sample][band], a `Scene` or an xarray.DataArray in place of a file; the words are then a stage or a chain
    without their scene and output, and the result is in `Result.scene`. cwd: the folder in which the program runs.
    progress: called with the part done (0 to 1) and the name of the step. Options become options of the command:
    threads=2 is --threads=2, True a flag, a list a repeated option, a dict NAME=VALUE.

    Raises `Error` with exit code and message where the program fails. Ctrl-C ends the program, too.
    """
    if not callable(progress):
        return Run(words, cwd, {**options, "progress": progress}, scene).wait()
    with Run(words, cwd, options, scene) as started:
        for event in started:
            if event["event"] == "progress":
                progress(event["bytes_done"] / max(event["bytes"], 1), event["what"])
        return started.wait()


def map_blocks(array: Any, words: Words, bands: int, *, like: Any = None, dtype: Any = "f4", **options: Any) -> Any:
    """A stage over each block of a Dask array [line][sample][band]; the result has `bands` bands of `dtype`.

    Blocks are runs of their own: the stage must work pixel by pixel, as `mnf --model model.json` does. like: a `Scene`
    with the wavelengths and nodata value of the blocks.
    """
    if array.ndim != 3 or array.numblocks[2] != 1:
        raise ValueError("array: bands must be one chunk of three dimensions: array.rechunk({2: -1})")

    def one(block: np.ndarray) -> np.ndarray:
        scene = Scene(block) if like is None else replace(like, values=block)
        found = run(words, scene=scene, **options).array()
        if found.shape[2] != bands or found.dtype != dtype:
            raise ValueError(f"bands, dtype: the result has {found.shape[2]} of {found.dtype}")
        return found

    chunks = (*array.chunks[:2], (bands,))
    return array.map_blocks(one, dtype=dtype, chunks=chunks, meta=np.empty((0, 0, 0), dtype))


def info(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a scene or a spectral library holds: `hcube info PATH --json` as a dict."""
    found: dict[str, Any] = json.loads(run(["info", path, "--json"]).text)
    return found


def version() -> str:
    """The version of the program, like "0.1.0"."""
    return run(["--version"]).text.split()[-1]
