"""Texts for a table of prompts by a pool of engines on a cluster of Ray: python ray_data_batch.py MODEL IN OUT, with IN
JSON lines that have "prompt". Killed and started again, it goes on with what is not in OUT.finished yet."""
import sys

import ray

from augur.ray import generate


def main(model, source, out):
    ray.init(include_dashboard=False, log_to_driver=False)
    rows = generate(ray.data.read_json(source), model, options={"max_tokens": 64, "temperature": 0.8, "seed": 7},
                    replicas=(1, 4), checkpoint=f"{out}.finished")
    rows.write_json(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
