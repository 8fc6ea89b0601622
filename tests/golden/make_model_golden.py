#!/usr/bin/env python3
"""Writes models/<name>/{config.json,model.safetensors,expected.json}: tiny random models of every supported family and
what Hugging Face's transformers makes of them in float32.

    pip install torch transformers safetensors && python3 make_model_golden.py [NAME...]     default: all of them

expected.json holds `tokens`, the input, and `logits`, [position][vocabulary] of the positions in `positions`. Weights
are rounded to bf16 before the reference runs and stored as BF16, which keeps the files small and makes them exact.
Run once; the files are kept. Made with transformers 5.23 / torch 2.15.
"""
import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file
from transformers import Gemma2Config, Gemma3TextConfig, LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config

HERE = pathlib.Path(__file__).parent / "models"
BASE = dict(hidden_size=40, intermediate_size=72, num_hidden_layers=2, num_attention_heads=4, vocab_size=144,
            max_position_embeddings=64, rms_norm_eps=1e-5)
LENGTH = 40
WINDOW = 24          # of models with sliding windows,
WINDOWED_LENGTH = 160  # whose inputs are longer than two of them, and than a page of the cache
WINDOWED = {**BASE, "max_position_embeddings": 256, "num_key_value_heads": 2, "sliding_window": WINDOW}

MODELS = {
    "llama": LlamaConfig(**BASE),
    "llama_gqa_tied": LlamaConfig(**BASE, num_key_value_heads=2, tie_word_embeddings=True),
    "llama_head_dim": LlamaConfig(**BASE, num_key_value_heads=1, head_dim=18),
    "llama_bias": LlamaConfig(**BASE, num_key_value_heads=2, attention_bias=True, mlp_bias=True),
    "llama3_rope": LlamaConfig(**{**BASE, "max_position_embeddings": 256}, num_key_value_heads=2, rope_parameters={
        "rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32}),
    "linear_rope": LlamaConfig(**BASE, rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}),
    "dynamic_rope": LlamaConfig(**{**BASE, "max_position_embeddings": 16}, rope_parameters={
        "rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}),
    "yarn_rope": LlamaConfig(**{**BASE, "max_position_embeddings": 128}, rope_parameters={
        "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 32}),
    "mistral": MistralConfig(**BASE, num_key_value_heads=2, sliding_window=None),
    "qwen2": Qwen2Config(**BASE, num_key_value_heads=2, rope_parameters={"rope_type": "default", "rope_theta": 1e6}),
    "qwen3": Qwen3Config(**BASE, num_key_value_heads=2, head_dim=16, tie_word_embeddings=True),
    "mistral_window": MistralConfig(**WINDOWED, head_dim=12),
    "qwen3_window": Qwen3Config(**{**WINDOWED, "num_hidden_layers": 3}, head_dim=16, use_sliding_window=True,
                                max_window_layers=1),
    "gemma2": Gemma2Config(**{**WINDOWED, "num_hidden_layers": 3}, head_dim=12, query_pre_attn_scalar=20,
                           attn_logit_softcapping=3.0, final_logit_softcapping=5.0),
    "gemma3": Gemma3TextConfig(**{**WINDOWED, "num_hidden_layers": 7}, head_dim=12, query_pre_attn_scalar=20,
                               rope_parameters={
        "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}),
    "gemma3_older_keys": Gemma3TextConfig(**WINDOWED, head_dim=12, query_pre_attn_scalar=12),
}
# These keep the newer form of the rotation's keys.
NEWER = ("yarn_rope", "qwen3", "gemma3")
# Keys that tell nothing about the model.
NOISE = {"transformers_version", "initializer_range", "use_cache", "pretraining_tp", "pad_token_id", "dtype", "torch_dtype",
         "attention_dropout"}
KEPT = ("architectures", "model_type", *BASE, "num_key_value_heads", "head_dim", "hidden_act", "hidden_activation",
        "attention_bias", "mlp_bias", "tie_word_embeddings", "rope_parameters", "sliding_window", "use_sliding_window",
        "query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping")


def older_rope_keys(config):
    """As files written before transformers 5 have it: rope_theta, and rope_scaling with `type` in the oldest."""
    rope = config.pop("rope_parameters")
    if "full_attention" in rope:
        config["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        rope = rope["full_attention"]
    config["rope_theta"] = rope.pop("rope_theta")
    kind = rope.pop("rope_type")
    if kind != "default":
        config["rope_scaling"] = {("type" if kind in ("linear", "dynamic") else "rope_type"): kind, **rope}


def make(name, config, seed):
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    with torch.no_grad():
        for key, p in model.named_parameters():
            if "norm" in key:
                p.copy_((0 if name.startswith("gemma") else 1) + 0.2 * torch.randn_like(p))
            elif key.endswith("bias"):
                p.copy_(0.3 * torch.randn_like(p))
            else:  # large enough that attention and activations are far from linear
                p.copy_(torch.randn_like(p) * 1.3 / p.shape[-1] ** 0.5)
            p.copy_(p.bfloat16().float())
        length = WINDOWED_LENGTH if getattr(config, "sliding_window", None) == WINDOW else LENGTH
        tokens = torch.randint(0, config.vocab_size, (1, length))
        logits = model(tokens, use_cache=False).logits[0].double()
    folder = HERE / name
    folder.mkdir(parents=True, exist_ok=True)
    tied = config.tie_word_embeddings
    tensors = {k: v.bfloat16().contiguous() for k, v in model.state_dict().items()
               if "inv_freq" not in k and not (tied and k == "lm_head.weight")}
    save_file(tensors, folder / "model.safetensors")
    fields = {k: v for k, v in json.loads(config.to_json_string(use_diff=False)).items() if k not in NOISE}
    newer = ("layer_types",) if name in NEWER and length == WINDOWED_LENGTH else ("max_window_layers",)
    fields = {k: fields[k] for k in (*KEPT, *newer) if k in fields}
    fields["architectures"] = [type(model).__name__]
    if name not in NEWER:
        older_rope_keys(fields)
    (folder / "config.json").write_text(json.dumps(fields, indent=1) + "\n")
    positions = [0, 1, 7, 15, 16, 31, *([WINDOW, 2 * WINDOW + 1, 100] if length > LENGTH else []), length - 1]
    (folder / "expected.json").write_text(json.dumps({
        "tokens": tokens[0].tolist(),
        "positions": positions,
        "logits": [[round(v, 6) for v in logits[p].tolist()] for p in positions],
    }, separators=(",", ":")) + "\n")
    print(name, sum(f.stat().st_size for f in folder.iterdir()), "bytes, largest logit", float(logits.abs().max()))


if unknown := set(sys.argv[1:]) - MODELS.keys():
    sys.exit(f"no such model: {', '.join(sorted(unknown))}; known: {', '.join(MODELS)}")
for index, (model_name, model_config) in enumerate(MODELS.items()):
    if model_name in (sys.argv[1:] or MODELS):
        make(model_name, model_config, index)
