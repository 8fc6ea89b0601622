"""The laboratory's suite from Python: methods side by side on the same prompts, as pandas' frames with intervals.

>>> from augur import lab
>>> suite = lab.run_suite("model.gguf", prompts=["prompts/gsm8k.jsonl"], methods=["ngram", "eagle3"], limit=8)
>>> suite.methods()[["speedup", "speedup_low", "speedup_high", "tau"]]

It runs ``augur bench suite`` (docs/benchmarks.md), which measures in a process of its own.
"""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from augur.__main__ import program
from augur.errors import Error

if TYPE_CHECKING:
    import pandas as pd

_FIGURES = ["tokens_per_second", "speedup", "speedup_low", "speedup_high", "tau", "tau_low", "tau_high", "different",
            "tokens", "calls", "verified_tokens", "drafted_tokens", "accepted_tokens", "draft_ms", "verify_ms",
            "other_ms"]


def _figures_of(given: dict[str, Any]) -> list[Any]:
    ends = {f"{name}_{end}": value for name in ("speedup", "tau")
            for end, value in zip(("low", "high"), given[f"{name}_interval"], strict=True)}
    return [{**given, **ends}[name] for name in _FIGURES]


@dataclass(frozen=True, slots=True)
class Suite:
    """What a suite has measured.

    Attributes
    ----------
    data : dict
        All that the program writes with ``--json``.
    """

    data: dict[str, Any]

    @property
    def complete(self) -> bool:
        """Every cell has been measured."""
        return bool(self.data["complete"])

    def methods(self) -> pd.DataFrame:
        """The figures of each method over all prompts, by its label.

        `speedup` is a ratio to plain decoding, `tau` the tokens of a call; `_low` and `_high` are the ends of their
        intervals of 95 %. `different` counts texts that are not plain decoding's.
        """
        import pandas as pd

        labels = pd.Index(self._labels(), name="method")
        return pd.DataFrame(map(_figures_of, self.data["overall"]), columns=_FIGURES, index=labels)

    def suites(self) -> pd.DataFrame:
        """The same for each file of prompts, by its name and the method."""
        import pandas as pd

        rows = {(suite["name"], label): _figures_of(figures) for suite in self.data["suites"]
                for label, figures in zip(self._labels(), suite["methods"], strict=True)}
        index = pd.MultiIndex.from_tuples(rows, names=["suite", "method"])
        return pd.DataFrame(rows.values(), columns=_FIGURES, index=index)

    def cells(self) -> pd.DataFrame:
        """Every run of a prompt with a method: `suite`, `prompt`, `category`, `method`, `seed`, `round`, and figures."""
        import pandas as pd

        return pd.DataFrame([{"suite": suite["name"], **cell} for suite in self.data["suites"]
                             for cell in suite["cells"]])

    def _labels(self) -> list[str]:
        return [method["label"] for method in self.data["methods"]]


def read_suite(path: str | os.PathLike[str]) -> Suite:
    """A suite that the program has written with ``--json``.

    Raises
    ------
    ValueError
        The file is not one of these.
    """
    data = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    if not isinstance(data, dict) or data.get("augur_suite") != 1:
        raise ValueError(f"{os.fspath(path)} is not what `augur bench suite --json` of this version writes")
    return Suite(data)


def run_suite(
    model: str | os.PathLike[str],
    *,
    prompts: Sequence[str | os.PathLike[str]],
    methods: Sequence[str] = (),
    draft: str | os.PathLike[str] | None = None,
    max_tokens: int = 128,
    limit: int | None = None,
    rounds: int = 3,
    threads: int = 0,
    folder: str | os.PathLike[str] | None = None,
    flags: Sequence[str] = (),
) -> Suite:
    """Runs methods on the same prompts, interleaved, beside plain decoding.

    Parameters
    ----------
    model : path
    prompts : sequence of path
        Files of prompts, a suite each.
    methods : sequence of str
        As ``--methods`` has them: "ngram", "eagle3:policy=auto"; none: what is at hand.
    draft : path, optional
        A draft model of the same vocabulary.
    max_tokens : int
        Of an answer.
    limit : int, optional
        Only the first prompts of each file.
    rounds : int
        Runs of each prompt and method; medians count.
    threads : int
        0: one for each core.
    folder : path, optional
        Where `suite.json` and what has been measured so far are kept: a run that was cut off goes on there.
    flags : sequence of str
        Further ones of ``augur bench suite``, as the command line has them.

    Raises
    ------
    Error
        The program has failed; the message is its own.
    """
    with tempfile.TemporaryDirectory() as made:
        out = pathlib.Path(made if folder is None else folder) / "suite.json"
        out.parent.mkdir(parents=True, exist_ok=True)
        command = [str(program()), "bench", "suite", "--model", os.fspath(model), "--json", str(out),
                   "--predict", str(max_tokens), "--rounds", str(rounds), "--threads", str(threads),
                   "--prompts", *(os.fspath(path) for path in prompts)]
        if methods:
            command += ["--methods", *methods]
        if draft is not None:
            command += ["--spec-draft-model", os.fspath(draft)]
        if limit is not None:
            command += ["--limit", str(limit)]
        done = subprocess.run([*command, *flags], check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise Error(done.stderr.strip() or f"`augur bench suite` ended with code {done.returncode}")
        return read_suite(out)
