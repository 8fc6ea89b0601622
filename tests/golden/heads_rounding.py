"""How much of a golden head's error is float32 rounding: the reference implementation, with the same weights and
trees, in float32 and with its sums taken in random orders, against itself in float64.

    python3 tests/golden/heads_rounding.py [HEAD...]

Prints the largest difference of a log-probability over all nodes of all rounds: the least, the median and the largest
of 25 orders. An implementation in float32 cannot be asked for less than that.
"""

import copy
import json
import pathlib
import sys
import tempfile

import torch

import heads_reference as ref
import make_heads_golden as golden

ORDERS = 25
HEADS = golden.OUT
heads = []
shuffle = None  # generator of the orders; None: PyTorch's own
plain_linear, plain_rotate = ref.linear, ref.rotate


def linear(w, name, x):
    if shuffle is None:
        return plain_linear(w, name, x)
    weight, rows = w[name + ".weight"], x if x.dim() > 1 else x[None]
    y = torch.zeros(len(rows), len(weight))
    for k in torch.randperm(weight.shape[1], generator=shuffle).tolist():
        y = y + rows[:, k : k + 1] * weight[:, k]
    y = y + w[name + ".bias"] if name + ".bias" in w else y
    return y if x.dim() > 1 else y[0]


def to_float(value):
    if isinstance(value, torch.Tensor):
        return value.float() if value.is_floating_point() else value
    if isinstance(value, dict):
        return {k: to_float(v) for k, v in value.items()}
    return [to_float(v) for v in value] if isinstance(value, list) else value


def log_probs(drafter, taps, name, target, convert):
    expected, rows = json.loads((HEADS / name / "expected.json").read_text()), []
    for r in expected["rounds"]:
        tokens = expected["text"][: r["committed"] + 1]
        _, features = golden.features_of(target, {"taps": taps, "drafter": drafter}, tokens[:-1])

        def grow(_tokens, _shape, expand):  # the stored tree, whatever the logits say
            nodes = [ref.Node(*n) for n in zip(r["tokens"], r["parents"], r["ranks"], r["depths"])]
            for depth in range(drafter.max_depth):
                level = [i for i, n in enumerate(nodes) if n.depth == depth]
                if not level:
                    break
                expand(nodes, level)
            return nodes

        drafter.grow = grow
        nodes = drafter.draft(tokens, convert(features), {tuple([0] * d) for d in set(r["depths"]) if d})
        rows += [n.logits for n in nodes if n.logits is not None]
    return torch.log_softmax(torch.stack(rows).double(), -1)


def main():
    global shuffle
    torch.set_num_threads(1)
    golden.OUT = pathlib.Path(tempfile.mkdtemp())
    golden.store = lambda _target, name, _kind, cls, maker, cfg, _config, taps, _file, **_: heads.append(
        (name, cls, maker, {"heads": 4, "kv_heads": 2, "head_dim": 16, "theta": 10000.0} | cfg, taps))
    target = golden.make_target()
    for make in (golden.make_eagle, golden.make_eagle3, golden.make_mtp):
        make(target)
    target32 = copy.copy(target)
    target32.w = to_float(target.w)
    ref.linear = linear
    ref.rotate = lambda x, positions, theta: plain_rotate(x, positions, theta).to(x.dtype)
    for name, cls, maker, cfg, taps in heads:
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        weights, errors = maker.exact(), []
        shuffle = None
        exact = log_probs(cls(weights, cfg, target), taps, name, target, lambda f: f)
        for seed in range(ORDERS):
            shuffle = torch.Generator().manual_seed(seed)
            rounded = log_probs(cls(to_float(weights), cfg, target32), taps, name, target, to_float)
            errors.append(float((exact - rounded).abs().max()))
        errors.sort()
        above = sum(e > 1e-4 for e in errors)
        print(f"{name:24s} {errors[0]:.2e} {errors[ORDERS // 2]:.2e} {errors[-1]:.2e}   above 1e-4: {above} of {ORDERS}")


if __name__ == "__main__":
    main()
