"""A task of lm-eval, here one of our own made from a file of lines, so that nothing is downloaded:
python lm_eval_scores.py MODEL TEXT. The command `lm_eval --model augur --model_args model=MODEL --tasks ...` is the
same for lm-eval's tasks."""
import json
import pathlib
import sys
import tempfile

import lm_eval
from lm_eval.tasks import TaskManager

from augur.lm_eval import AugurLM

TASK = """
task: lines
dataset_path: json
dataset_kwargs: {{data_files: {{test: {items}}}}}
test_split: test
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{{{text}}}}"
metric_list: [{{metric: byte_perplexity}}, {{metric: word_perplexity}}]
"""


def main(model, text):
    lines = [line for line in pathlib.Path(text).read_text(encoding="utf-8").splitlines() if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        items = pathlib.Path(folder) / "items.jsonl"
        items.write_text("".join(json.dumps({"text": line}) + "\n" for line in lines), encoding="utf-8")
        pathlib.Path(folder, "lines.yaml").write_text(TASK.format(items=items), encoding="utf-8")
        results = lm_eval.simple_evaluate(AugurLM(model), tasks=["lines"], bootstrap_iters=0,
                                          task_manager=TaskManager(include_path=folder, include_defaults=False))
    for metric, value in results["results"]["lines"].items():
        if isinstance(value, float):
            print(f"{metric}: {value:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
