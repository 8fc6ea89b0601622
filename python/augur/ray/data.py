"""A stage of Ray Data that generates a text for each row, and keeps what is finished."""
from __future__ import annotations

import hashlib
import json
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any, Unpack

import pyarrow
import pyarrow.parquet
from ray.data import ActorPoolStrategy, Dataset

from augur.engine import Engine
from augur.engine_settings import EngineSettings
from augur.requests import Prompt, RequestOptions

_COLUMNS = pyarrow.schema([("text", pyarrow.string()), ("ids", pyarrow.list_(pyarrow.int32())),
                           ("finish_reason", pyarrow.string()), ("error", pyarrow.string())])

# Of an engine, what ids do not depend on; the model has its fingerprint.
_NEVER_IN_IDS = frozenset({"model", "draft", "spec", "threads"})


def generate(
    dataset: Dataset,
    model: str | os.PathLike[str],
    *,
    prompt: str = "prompt",
    options: RequestOptions | None = None,
    replicas: int | tuple[int, int] = 1,
    threads: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_rows: int = 256,
    draft: str | os.PathLike[str] | None = None,
    spec: str | None = None,
    **settings: Unpack[EngineSettings],
) -> Dataset:
    """Generates for the prompts of a dataset, lazily, by a pool of engines.

    Parameters
    ----------
    dataset : ray.data.Dataset
    model : path
        A Hugging Face folder or a GGUF file, which every node has at this place.
    prompt : str
        The column of prompts: texts, lists of ids, or conversations.
    options : RequestOptions, optional
        Of all requests, one `seed` included: a row's ids depend on it and on the row alone.
    replicas : int or (int, int)
        Engines; or the fewest and the most.
    threads : int
        Threads of an engine, and the CPUs that Ray counts for it.
    checkpoint : path, optional
        A folder that all nodes share, where what is finished is kept. A run that was killed resumes with it: rows that
        are there are read, not generated. What is kept under other options, or of another model, is left alone.
    checkpoint_rows : int
        Rows of a block that are kept, and so lost by a kill, together; the last of a block may be fewer.
    draft, spec, **settings
        Of `augur.Engine`.

    Returns
    -------
    ray.data.Dataset
        The rows with the columns `text`, `ids`, `finish_reason`, and `error`, which is null but where the row's request
        failed.
    """
    engine = {"model": os.fspath(model), "draft": None if draft is None else os.fspath(draft), "spec": spec,
              "threads": threads, **settings}
    least, most = replicas if isinstance(replicas, tuple) else (replicas, replicas)
    return dataset.map_batches(
        _Generator,
        fn_constructor_kwargs={"engine": engine, "column": prompt, "options": dict(options or {}),
                               "checkpoint": None if checkpoint is None else os.fspath(checkpoint),
                               "rows": checkpoint_rows},
        batch_size=None,  # blocks as they are, which another run has, too
        batch_format="pyarrow",
        compute=ActorPoolStrategy(min_size=least, max_size=most),
        num_cpus=threads,
    )


class _Generator:
    """An engine of the pool."""

    def __init__(self, engine: dict[str, Any], column: str, options: RequestOptions, checkpoint: str | None,
                 rows: int) -> None:
        self._engine = Engine(**engine)
        self._settings = {name: value for name, value in engine.items() if name not in _NEVER_IN_IDS}
        self._column = column
        self._options = options
        self._rows = rows
        self._folder = None if checkpoint is None else pathlib.Path(checkpoint)
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, block: pyarrow.Table) -> Iterator[pyarrow.Table]:
        for begin in range(0, len(block), self._rows):
            part = block.slice(begin, self._rows)
            prompts = [_prompt_of(value) for value in part[self._column].to_pylist()]
            texts = self._kept(prompts)
            for name in texts.column_names:
                part = part.append_column(name, texts[name])
            yield part

    def _kept(self, prompts: list[Prompt]) -> pyarrow.Table:
        """The texts of prompts, read where they are finished."""
        if self._folder is None:
            return self._generated(prompts)
        file = self._folder / f"{self._key_of(prompts)}.parquet"
        if file.exists():
            return pyarrow.parquet.read_table(file)
        texts = self._generated(prompts)
        unfinished = file.with_suffix(f".{os.getpid()}.tmp")
        pyarrow.parquet.write_table(texts, unfinished)
        unfinished.rename(file)
        return texts

    def _key_of(self, prompts: list[Prompt]) -> str:
        """Names what texts depend on: model, options and prompts, and nothing that speculates."""
        options = {name: value for name, value in self._options.items() if name != "speculation"}
        told = json.dumps([self._engine.info.fingerprint, self._settings, options, prompts], sort_keys=True, default=str)
        return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()

    def _generated(self, prompts: list[Prompt]) -> pyarrow.Table:
        results = self._engine.generate_each(((prompt, self._options) for prompt in prompts), errors="return")
        rows = [{"text": result.text, "ids": list(result.ids), "finish_reason": result.finish_reason,
                 "error": None if result.error is None else str(result.error)} for result in results]
        return pyarrow.Table.from_pylist(rows, schema=_COLUMNS)


def _prompt_of(value: Any) -> Prompt:
    """A prompt as its column has it; Arrow fills in fields that messages do not have."""
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return [{name: field for name, field in message.items() if field is not None} for message in value]
    return value
