#!/usr/bin/env python3
"""Untrained draft heads of every type for a target model, in their published layouts.

They draft badly, and that is their use: whatever they propose, the output must not change
(scripts/check_lossless.sh with HEADS=OUT). Needs nothing but Python.

usage: make_untrained_heads.py CONFIG.json OUT
  CONFIG.json  of a Hugging Face folder (for a GGUF file: `augur convert FILE FOLDER` writes one)
"""
import json
import math
import pathlib
import random
import struct
import sys

# A stretch of Gaussian bf16 numbers, cut into tensors one after another; its length is a prime, so that rows of no
# tensor repeat each other.
STRETCH = 1_000_003


class Gaussians:
    def __init__(self):
        draw = random.Random(7)
        values = [draw.gauss(0.0, 1.0) for _ in range(20_011)]
        self.values = (values * (STRETCH // len(values) + 1))[:STRETCH]
        self.scaled = {}

    def bytes(self, count, scale, shift=0.0):
        key = (scale, shift)
        if key not in self.scaled:
            floats = struct.pack(f"<{STRETCH}f", *(v * scale + shift for v in self.values))
            self.scaled[key] = b"".join(floats[i + 2:i + 4] for i in range(0, len(floats), 4))
        stretch = self.scaled[key]
        return (stretch * (2 * count // len(stretch) + 1))[:2 * count]


class Head:
    gaussians = Gaussians()

    def __init__(self):
        self.tensors = {}

    def put(self, name, *shape, scale=1.0, shift=0.0):
        self.tensors[name] = ("BF16", shape, self.gaussians.bytes(math.prod(shape), scale, shift))

    def linear(self, name, outputs, inputs, bias=False):
        self.put(f"{name}.weight", outputs, inputs, scale=round(inputs**-0.5, 3))
        if bias:
            self.put(f"{name}.bias", outputs, scale=0.1)

    def norm(self, name, size):
        self.put(f"{name}.weight", size, scale=0.1, shift=1.0)

    def attention(self, prefix, c, inputs=None, qk_norm=False):
        inputs = inputs or c["hidden_size"]
        d = c["head_dim"]
        self.linear(f"{prefix}.q_proj", c["num_attention_heads"] * d, inputs)
        self.linear(f"{prefix}.k_proj", c["num_key_value_heads"] * d, inputs)
        self.linear(f"{prefix}.v_proj", c["num_key_value_heads"] * d, inputs)
        self.linear(f"{prefix}.o_proj", c["hidden_size"], c["num_attention_heads"] * d)
        if qk_norm:
            self.norm(f"{prefix}.q_norm", d)
            self.norm(f"{prefix}.k_norm", d)

    def mlp(self, prefix, c):
        self.linear(f"{prefix}.gate_proj", c["intermediate_size"], c["hidden_size"])
        self.linear(f"{prefix}.up_proj", c["intermediate_size"], c["hidden_size"])
        self.linear(f"{prefix}.down_proj", c["hidden_size"], c["intermediate_size"])

    def decoder_layer(self, prefix, c, **options):
        self.norm(f"{prefix}.input_layernorm", c["hidden_size"])
        self.attention(f"{prefix}.self_attn", c, **options)
        self.norm(f"{prefix}.post_attention_layernorm", c["hidden_size"])
        self.mlp(f"{prefix}.mlp", c)

    def vocabulary_map(self, vocab, size):
        ids = range(size)  # the most frequent tokens come first in most vocabularies
        self.tensors["d2t"] = ("I64", (size,), struct.pack(f"<{size}q", *(0 for _ in ids)))
        self.tensors["t2d"] = ("BOOL", (vocab,), b"\1" * size + b"\0" * (vocab - size))

    def save(self, folder, config):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        if not self.tensors:
            return
        header, offset = {"__metadata__": {"format": "pt"}}, 0
        for name, (dtype, shape, data) in self.tensors.items():
            header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + len(data)]}
            offset += len(data)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(folder / "model.safetensors", "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for _, _, data in self.tensors.values():
                file.write(data)


def eagle(c):
    h = Head()
    h.linear("fc", c["hidden_size"], 2 * c["hidden_size"])
    h.attention("layers.0.self_attn", c)
    h.norm("layers.0.post_attention_layernorm", c["hidden_size"])
    h.mlp("layers.0.mlp", c)
    return h, c | {"num_hidden_layers": 1, "bias": False}


def eagle3(c):
    h, hidden, vocab = Head(), c["hidden_size"], c["vocab_size"] // 4
    h.linear("fc", hidden, 3 * hidden)
    for norm in ("hidden_norm", "input_layernorm", "post_attention_layernorm"):
        h.norm(f"midlayer.{norm}", hidden)
    h.attention("midlayer.self_attn", c, inputs=2 * hidden)
    h.mlp("midlayer.mlp", c)
    h.norm("norm", hidden)
    h.linear("lm_head", vocab, hidden)
    h.vocabulary_map(c["vocab_size"], vocab)
    return h, c | {"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "draft_vocab_size": vocab}


def mtp(c):
    h, hidden, prefix = Head(), c["hidden_size"], f"model.layers.{c['num_hidden_layers']}"
    h.put(f"{prefix}.embed_tokens.weight", c["vocab_size"], hidden)
    h.norm(f"{prefix}.enorm", hidden)
    h.norm(f"{prefix}.hnorm", hidden)
    h.linear(f"{prefix}.eh_proj", hidden, 2 * hidden)
    h.decoder_layer(prefix, c)
    h.norm(f"{prefix}.shared_head.norm", hidden)
    h.linear(f"{prefix}.shared_head.head", c["vocab_size"], hidden)
    return h, c | {"num_nextn_predict_layers": 1}


def medusa(c):
    h, heads = Head(), 3
    for i in range(heads):
        h.linear(f"{i}.0.linear", c["hidden_size"], c["hidden_size"], bias=True)
        h.linear(f"{i}.1", c["vocab_size"], c["hidden_size"])
    return h, {"medusa_num_heads": heads, "medusa_num_layers": 1, "base_model_name_or_path": "target"}


def hydra(c):
    h, heads, hidden = Head(), 3, c["hidden_size"]
    for i in range(heads):
        h.linear(f"hydra_mlp.{i}.0.linear", hidden, (i + 2) * hidden, bias=True)
        h.linear(f"hydra_mlp.{i}.0.res_connection", hidden, (i + 2) * hidden, bias=True)
        h.linear(f"hydra_lm_head.{i}", c["vocab_size"], hidden, bias=True)
    return h, {"hydra_num_heads": heads, "hydra_num_layers": 1, "hydra_head_arch": "mlp", "grounded_heads": True,
               "hidden_state_offset": 0, "base_model_name_or_path": "target"}


def block_config(c, layers):
    """A DFlash head's own layers are Qwen3's."""
    return c | {"architectures": None, "model_type": "qwen3", "num_hidden_layers": layers, "attention_bias": False,
                "layer_types": ["full_attention"] * layers, "tie_word_embeddings": False}


def block_head(c, layers):
    h, hidden = Head(), c["hidden_size"]
    h.linear("fc", hidden, 3 * hidden)
    h.norm("hidden_norm", hidden)
    for i in range(layers):
        h.decoder_layer(f"layers.{i}", c, qk_norm=True)
    h.norm("norm", hidden)
    return h


def dflash(c):
    n = c["num_hidden_layers"]
    return block_head(c, 2), block_config(c, 2) | {
        "architectures": ["DFlashDraftModel"], "block_size": 8, "num_target_layers": n,
        "dflash_config": {"target_layer_ids": [1, n // 2, n - 3], "mask_token_id": 3}}


def dspark(c):
    n, rank = c["num_hidden_layers"], 32
    h = block_head(c, 2)
    h.put("markov_head.markov_w1.weight", c["vocab_size"], rank)
    h.linear("markov_head.markov_w2", c["vocab_size"], rank)
    h.linear("confidence_head.proj", 1, c["hidden_size"] + rank, bias=True)
    return h, {
        "architectures": ["DsparkSpeculator"], "speculators_model_type": "dspark", "speculators_version": "0.3.0",
        "transformer_layer_config": block_config(c, 2), "draft_vocab_size": c["vocab_size"], "block_size": 8,
        "mask_token_id": 3, "aux_hidden_state_layer_ids": [2, n // 2, n - 3], "sliding_window_non_causal": False,
        "markov_rank": rank, "markov_head_type": "vanilla", "sample_from_anchor": True,
        "enable_confidence_head": True, "confidence_head_with_markov": True}


def layerskip(c):
    return Head(), {"exit_layer": max(1, c["num_hidden_layers"] // 4)}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    config = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    config.setdefault("num_key_value_heads", config["num_attention_heads"])
    config.setdefault("head_dim", config["hidden_size"] // config["num_attention_heads"])
    for make in (eagle, eagle3, mtp, medusa, hydra, dflash, dspark, layerskip):
        head, head_config = make(config)
        head.save(pathlib.Path(sys.argv[2]) / make.__name__, {k: v for k, v in head_config.items() if v is not None})
        print(f"{sys.argv[2]}/{make.__name__}")


if __name__ == "__main__":
    main()
