"""lm-eval, unchanged: its tokens and log-probabilities come from the server, and its scores don't depend on drafts."""
import json
import pathlib
import subprocess
import sys

import pytest

from asking import serve

TASKS = pathlib.Path(__file__).parent / "tasks"


def scores(server, folder):
    out = folder / "out"
    subprocess.run(
        [sys.executable, "-m", "lm_eval", "run", "--model", "local-completions", "--model_args",
         f"model=stories,base_url={server.url}/v1/completions,num_concurrent=4", "--tasks",
         "augur_stories,augur_stories_written", "--include_path", str(TASKS), "--output_path", str(out), "--log_samples"],
        cwd=TASKS, check=True, timeout=600,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "none"})
    results = json.loads(next(out.rglob("results_*.json")).read_text())["results"]
    answers = {}
    for file in out.rglob("samples_*.jsonl"):
        for line in file.read_text().splitlines():
            sample = json.loads(line)
            answers[file.name.rsplit("_", 1)[0], sample["doc_id"]] = sample["resps"]
    return results, answers


# Fixed shapes: `auto` may find that drafts don't pay.
@pytest.mark.parametrize("flags", [("--spec-type", "ngram", "--spec-draft-n-max", "4"),
                                   ("--spec-type", "suffix", "--spec-draft-n-max", "4", "--parallel", "3")])
def test_scores_are_those_without_speculation(model, tmp_path, flags):
    found, drafted = [], []
    for which, more in (("plain", ("--spec-type", "none")), ("drafted", flags)):
        (tmp_path / which).mkdir()
        with serve(model, *more) as server:
            found.append(scores(server, tmp_path / which))
            drafted.append(server.load()["num_draft_tokens"])
            server.close()
    assert found[0] == found[1]
    assert drafted[0] == 0 and drafted[1] > 0
    results, answers = found[0]
    assert results["augur_stories"]["acc,none"] > 0.5
    assert len(answers) == 24
