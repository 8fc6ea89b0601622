"""The Ray Data stage: its ids are the engine's, and a run that was killed resumes without repeating."""
import signal
import subprocess
import sys

import pytest

pytest.importorskip("ray.data")

import ray  # noqa: E402

import augur  # noqa: E402
from augur.ray import generate  # noqa: E402
from augur_server import PATIENCE  # noqa: E402
from ray_load import cluster  # noqa: E402

ROWS, ROWS_OF_A_BLOCK, TOKENS = 240, 8, 100
OPTIONS = {"max_tokens": TOKENS, "temperature": 0.9, "seed": 11}
KILLED = f"""
import os, signal, sys, ray
from augur.ray import generate
ray.init(address=sys.argv[3], log_to_driver=False)
rows = ray.data.from_items([{{"number": n, "prompt": f"Once upon a time {{n}}"}} for n in range({ROWS})],
                           override_num_blocks=6)
done = generate(rows, sys.argv[1], options={OPTIONS}, checkpoint=sys.argv[2], checkpoint_rows={ROWS_OF_A_BLOCK})
for _ in done.iter_batches(batch_size={ROWS_OF_A_BLOCK}):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def address():
    with cluster():
        yield ray.get_runtime_context().gcs_address


def rows():
    return ray.data.from_items([{"number": n, "prompt": f"Once upon a time {n}"} for n in range(ROWS)],
                               override_num_blocks=6)


def finished(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.parquet")}


def test_a_killed_run_resumes_without_repeating_finished_blocks(address, engine, stories, tmp_path):
    run = subprocess.run([sys.executable, "-c", KILLED, stories, tmp_path, address], check=False, timeout=2 * PATIENCE)
    assert run.returncode == -signal.SIGKILL
    before = finished(tmp_path)
    assert 1 <= len(before) < ROWS // ROWS_OF_A_BLOCK
    done = generate(rows(), stories, options=OPTIONS, checkpoint=tmp_path, checkpoint_rows=ROWS_OF_A_BLOCK,
                    spec="ngram").take_all()
    after = finished(tmp_path)
    assert len(after) == ROWS // ROWS_OF_A_BLOCK and before.items() <= after.items()
    wanted = engine.generate([f"Once upon a time {n}" for n in range(ROWS)], **OPTIONS)
    got = {row["number"]: row for row in done}
    assert [tuple(got[n]["ids"]) for n in range(ROWS)] == [result.ids for result in wanted]
    assert [got[n]["text"] for n in range(ROWS)] == [result.text for result in wanted]


def test_a_row_that_fails_has_an_error_and_others_go_on(address, stories):
    table = ray.data.from_items([{"q": [1, 2, 3]}, {"q": [1, 99999]}])
    good, bad = generate(table, stories, prompt="q", options={"max_tokens": 4}).take_all()
    assert good["error"] is None and len(good["ids"]) == 4
    assert bad["finish_reason"] == "error" and "99999" in bad["error"]


def test_conversations_are_prompts(address, stories):
    template = "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ m.name }} {% endfor %}"
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello!", "name": "Ann"}]
    table = ray.data.from_items([{"prompt": said}])
    (row,) = generate(table, stories, options={"max_tokens": 8}, chat_template=template).take_all()
    with augur.Engine(stories, threads=1, chat_template=template) as engine:
        assert tuple(row["ids"]) == engine.generate(said, max_tokens=8).ids
