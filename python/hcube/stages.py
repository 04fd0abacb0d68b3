"""Stages as methods: `scene.mnf(components=20)`. Their options are in stages.pyi, which scripts/python-types writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Raster = TypeVar("Raster")


class Stages(Generic[Raster]):
    """What has a `run(words, **options)` has a method for each stage of the program."""

    def run(self, words: Any, **options: Any) -> Any:
        raise NotImplementedError

    def __getattr__(self, stage: str) -> Callable[..., Any]:
        from .program import is_stage

        if stage.startswith("_") or not is_stage(stage):
            raise AttributeError(f"hcube has no stage {stage}")
        return lambda *words, **options: self.run([stage, *words], **options)
