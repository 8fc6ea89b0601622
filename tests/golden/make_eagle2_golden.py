"""Makes tests/golden/eagle2_trees.json: EAGLE-2's dynamic tree on random log-probabilities, many of them equal,
by a direct transcription of the paper's two phases in numpy.

Run once (`pip install numpy`): python3 tests/golden/make_eagle2_golden.py

A case has `top_k` (k), `levels` (the deepest candidate's depth), `size` (nodes kept, the root included) and
`levels` tables of log-probabilities in units of 1/8: the first has one row (the root's k children), the others k
rows, one for each beam in the order of expansion, each sorted from best to worst. Candidates are numbered in the
order in which they arise: the root's children, then beam by beam. `parents` gives each candidate's parent by that
number (-1: the root), `beams` the candidates expanded for each further table, `kept` the survivors.
"""

import json
import pathlib

import numpy as np


def best(scores, count):
    """Indices of the best, the lower index first among equals."""
    return np.argsort(-np.asarray(scores), kind="stable")[:count]


def case(rng):
    k, levels = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    candidates = k + (levels - 1) * k * k
    size = int(rng.integers(1, candidates + 3))
    spread = int(rng.choice([2, 6, 40]))  # few distinct values: many ties
    tables, parents, scores, beams = [], [], [], []
    frontier = [(-1, 0)]
    for _ in range(levels):
        rows = np.sort(-rng.integers(0, spread, (len(frontier), k)), axis=1)[:, ::-1]
        tables.append(rows.tolist())
        first = len(scores)
        for (number, score), row in zip(frontier, rows.tolist()):
            for value in row:
                parents.append(number)
                scores.append(score + value)
        chosen = [first + int(i) for i in best(scores[first:], k)]
        frontier = [(i, scores[i]) for i in chosen]
        beams.append(chosen)
    kept = sorted(int(i) for i in best(scores, size - 1))
    assert all(parents[i] == -1 or parents[i] in kept for i in kept)
    return {"top_k": k, "levels": levels, "size": size, "tables": tables, "parents": parents, "beams": beams[:-1],
            "kept": kept}


def main():
    rng = np.random.default_rng(1)
    lines = [json.dumps(case(rng), separators=(",", ":")) for _ in range(200)]
    path = pathlib.Path(__file__).parent / "eagle2_trees.json"
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
