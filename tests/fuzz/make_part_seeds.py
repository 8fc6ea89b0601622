#!/usr/bin/env python3
"""Writes the seeds of the targets that read learned parts: corpus/policy_part, draft_vocabulary, head, model,
datastore and trace. Heads and models are those of tests/golden, their shapes without their values (see part_folder.h).

    python3 make_part_seeds.py
"""
import json
import pathlib
import pickle
import struct
import zipfile

HERE = pathlib.Path(__file__).parent
CORPUS = HERE / "corpus"
GOLDEN = HERE.parent / "golden"
TARGET = {"family": "llama", "hidden": 64, "layers": 4, "vocab": 32, "digest": "0"}


def folder(name):
    (CORPUS / name).mkdir(parents=True, exist_ok=True)
    return CORPUS / name


def part(config, tensors=()):
    """A part as one text; tensors: (name, type, shape, values...)."""
    lines = [" ".join([name, kind, ",".join(map(str, shape)), *map(str, values)])
             for name, kind, shape, *values in tensors]
    return "\n".join([json.dumps(config), "---", *lines, ""] if lines else [json.dumps(config)])


def policy_parts():
    out = folder("policy_part")
    head = {"format": 1, "target": TARGET}
    (out / "c2t").write_text(part(
        {"augur_part": "c2t", **head, "features": ["logP", "H", "d"], "scale": [0.1, 0.5, 0.1], "hidden": 4},
        [("fc1.weight", "F32", [4, 3]), ("fc1.bias", "F32", [4]), ("fc2.weight", "F32", [1, 4]),
         ("fc2.bias", "F32", [1], 0.2)]))
    (out / "acceptance").write_text(part(
        {"augur_part": "acceptance", **head, "hidden": 8, "blocks": 2, "rms_norm_eps": 1e-6, "log_prob_weight": 0.5,
         "entropy_weight": -0.25},
        [(f"blocks.{b}.{part_name}", "F32", shape) for b in range(2)
         for part_name, shape in (("weight", [8, 8]), ("bias", [8]))]
        + [("head.weight", "BF16", [1, 8]), ("head.bias", "F32", [1], 1)]))
    bins = [{"low": 0, "high": 9, "count": 3, "mean_length": length} for length in (2.5, 1.5, 0.5)]
    (out / "hetero").write_text(part(
        {"augur_part": "hetero", **head, "levels": 2, "thresholds": [1.5, 4], "bins": bins, "top_k": 10, "depth": 3}))
    (out / "tree").write_text("[[0], [1], [0, 0], [0, 1], [0, 0, 0], [2, 4]]")


def draft_vocabularies():
    out = folder("draft_vocabulary")
    vocab = {"format": 1, "vocab": 40}
    (out / "order").write_text(part({"augur_part": "frspec", **vocab}, [("order", "I32", [40], *range(39, -1, -1))]))
    (out / "frequencies").write_text(part({"augur_part": "frspec", **vocab}, [("frequencies", "I64", [40], 5, 0, 9)]))
    for name, inputs in (("previous", 32), ("state", 16)):
        (out / name).write_text(part(
            {"augur_part": "dynaspec", **vocab, "hidden": 16, "clusters": 5, "router_hidden": 8, "router_input": name,
             "budget": {"first": 3, "second": 2, "position_aware": name == "state"}},
            [("cluster_of", "I32", [40], 0, 1, 2, 3, 4), ("router.fc1.weight", "BF16", [8, inputs]),
             ("router.fc1.bias", "F32", [8]), ("router.fc2.weight", "F16", [5, 8]),
             ("router.fc2.bias", "F32", [5], 10000, 0, 0, 0.5, 0)]))
    with zipfile.ZipFile(out / "freq.pt", "w") as archive:
        archive.writestr("freq/data.pkl", pickle.dumps(list(range(30)), 2))
        archive.writestr("freq/version", "3\n")


class Unpickler(pickle.Unpickler):
    """The shapes of a state_dict, without torch."""

    TYPES = {"FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16", "LongStorage": "I64",
             "IntStorage": "I32", "BoolStorage": "BOOL"}

    def persistent_load(self, pid):
        return pid[1]

    def find_class(self, module, name):
        if name in self.TYPES:
            return self.TYPES[name]
        if name == "_rebuild_tensor_v2":
            return lambda storage, offset, size, *rest: (storage, list(size))
        return dict


def shapes(head):
    """{tensor: (type, shape)} of a golden head's weights."""
    for file in head.iterdir():
        if file.name == "model.safetensors":
            data = file.read_bytes()
            header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
            return {n: (t["dtype"], t["shape"]) for n, t in header.items() if n != "__metadata__"}
        if file.name in ("pytorch_model.bin", "medusa_lm_head.pt", "hydra_lm_head.pt"):
            with zipfile.ZipFile(file) as archive:
                entry = next(n for n in archive.namelist() if n.endswith("/data.pkl"))
                return Unpickler(archive.open(entry)).load()
    return {}


def heads():
    out = folder("head")
    for config in sorted(GOLDEN.glob("heads/*/config.json")):
        tensors = [(name, kind, shape) for name, (kind, shape) in sorted(shapes(config.parent).items())]
        (out / config.parent.name).write_text(part(json.loads(config.read_text()), tensors))
    (out / "layerskip_adapter").write_text(part(
        {"exit_layer": 2, "adapter_blocks": 1}, [("adapter.0.weight", "BF16", [64, 64]), ("adapter.0.bias", "F32", [64])]))


def models():
    out = folder("model")
    for config in sorted(GOLDEN.glob("models/*/config.json")):
        tensors = [(name, kind, shape) for name, (kind, shape) in sorted(shapes(config.parent).items())]
        (out / config.parent.name).write_text(part(json.loads(config.read_text()), tensors))


def fnv1a(data):
    state = 0xcbf29ce484222325
    for byte in data:
        state = (state ^ byte) * 0x100000001b3 % 2**64
    return state


def datastores():
    out = folder("datastore")
    tokens = [1, 2, 3, 1, 2, 3, 4, 16, 1, 2, 5, 1, 2, 3, 9, 16]
    suffixes = sorted(range(len(tokens)), key=lambda i: tokens[i:])
    (out / "wrapped").write_bytes(bytes(tokens + suffixes))
    vocabulary = b"".join(bytes([ord("a") + i]) + struct.pack("<I", 1) for i in range(16))
    (out / "whole").write_bytes(b"AUGRSTO1" + struct.pack("<IIQQ", 16, 0, len(tokens), fnv1a(vocabulary))
                                + struct.pack(f"<{2 * len(tokens)}I", *tokens, *suffixes))


def array(code, values):
    return struct.pack(f"<I{len(values)}{code}", len(values), *values)


def traces():
    out = folder("trace")
    header = json.dumps({"target": TARGET, "target_name": "t", "drafter": "draft", "top_k": 2, "depth": 2, "size": 5,
                         "entropy_top_k": 10, "hidden": 2, "temperature": 0.0}).encode()
    text = [1, 2, 3, 4, 5, 6, 7, 8]
    rounds = b""
    for root in (2, 4):
        tokens = [text[root], text[root + 1], 9, text[root + 2], 10]
        rounds += struct.pack("<i", root) + array("i", tokens) + array("i", [-1, 0, 0, 1, 1])
        rounds += array("f", [0, -0.5, -1, -0.25, -2]) + array("f", [1, 0.5, 0.25, 0.5, 0.5])
        rounds += array("f", [1, 0.5, 0.25, 0.5, 0.5]) + array("i", [0, 1]) + array("f", [0.5, -0.5, 1, 2])
        rounds += struct.pack("<ifff", 5, 1, 2, 0.5)
    sequence = struct.pack("<i", 3) + array("i", text) + struct.pack("<I", 2) + rounds
    (out / "wrapped").write_bytes(header + b"\0" + sequence)
    (out / "whole").write_bytes(b"AUGTRACE" + struct.pack("<II", 1, len(header)) + header
                                + struct.pack("<QQ", len(sequence), fnv1a(sequence)) + sequence
                                + struct.pack("<QQ", 0, 1))


if __name__ == "__main__":
    policy_parts()
    draft_vocabularies()
    heads()
    models()
    datastores()
    traces()
