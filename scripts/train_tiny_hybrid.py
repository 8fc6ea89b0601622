#!/usr/bin/env python3
r"""Trains models/stories-hybrid: a tiny Qwen3.5 (three gated delta rules, one full attention) with its own layer that
drafts, on stories of models/stories260k, whose vocabulary it has.

    pip install torch transformers safetensors sentencepiece        # made with torch 2.15, transformers 5.24
    scripts/train_tiny_hybrid.py STORIES --prompts
    for seed in 1 2 3 4 5 6 7; do
      augur generate -m models/stories260k --prompts STORIES/prompts.jsonl --parallel 64 -n 240 --temp 0.7 \
        --seed $seed > STORIES/s$seed.jsonl
    done
    scripts/train_tiny_hybrid.py STORIES OUT --minutes 28

The model and its layer learn together: the model the next token; the layer, which is fed what it is fed when drafting,
the model's own distribution of the token after it, at the first depth and, on its own states, at the second. A tenth of
the prompts is held out.
"""
import argparse
import json
import math
import pathlib
import random
import sys
import time

import sentencepiece
import torch
from safetensors.torch import save_file
from torch.nn import functional
from transformers import Qwen3_5TextConfig
from transformers.models.qwen3_5 import modeling_qwen3_5 as hf

HERE = pathlib.Path(__file__).resolve().parent
VOCABULARY = HERE.parent / "models" / "stories260k" / "tokenizer.model"
LAYERS = ["linear_attention"] * 3 + ["full_attention"]
LENGTH, BATCH = 128, 8

WHO = ["little girl", "little boy", "big dog", "small cat", "brave mouse", "happy bird", "red fox", "old man",
       "kind woman", "tiny frog", "funny bear", "sad rabbit"]
NAMES = ["Lily", "Tom", "Max", "Mia", "Ben", "Sue", "Sam", "Anna", "Tim", "Lucy", "Jack", "Amy"]
OPENINGS = ["Once upon a time, there was a {who} named {name}.", "One day, {name} the {who} went to the park.",
            "{name} was a {who} who liked to play with a ball.",
            "There was a {who}. The name was {name}. Every day"]


def configuration():
    return {"architectures": ["Qwen3_5ForCausalLM"], "model_type": "qwen3_5_text", "vocab_size": 512, "hidden_size": 96,
            "intermediate_size": 256, "num_hidden_layers": 4, "layer_types": LAYERS, "full_attention_interval": 4,
            "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "attn_output_gate": True,
            "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 32,
            "linear_value_head_dim": 32, "linear_conv_kernel_dim": 4, "hidden_act": "silu", "rms_norm_eps": 1e-6,
            "max_position_embeddings": 1024, "tie_word_embeddings": True, "mtp_num_hidden_layers": 1,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25,
                                "mrope_interleaved": True, "mrope_section": [2, 1, 1]},
            "bos_token_id": 1, "eos_token_id": 2, "dtype": "bfloat16"}


class Layer(torch.nn.Module):
    """The layer that drafts, of transformers' own classes."""

    def __init__(self, config):
        super().__init__()
        width = config.hidden_size
        self.pre_fc_norm_embedding = hf.Qwen3_5RMSNorm(width, eps=config.rms_norm_eps)
        self.pre_fc_norm_hidden = hf.Qwen3_5RMSNorm(width, eps=config.rms_norm_eps)
        self.fc = torch.nn.Linear(2 * width, width, bias=False)
        self.layers = torch.nn.ModuleList([hf.Qwen3_5DecoderLayer(config, config.layer_types.index("full_attention"))])
        self.norm = hf.Qwen3_5RMSNorm(width, eps=config.rms_norm_eps)

    def forward(self, embedded, hidden, rotation, mask):
        x = self.fc(torch.cat([self.pre_fc_norm_embedding(embedded), self.pre_fc_norm_hidden(hidden)], -1))
        return self.norm(self.layers[0](x, position_embeddings=rotation, attention_mask=mask))


def stories(path):
    """Of each line: BOS, the prompt, what was written. A tenth of the prompts' are held out."""
    pieces = sentencepiece.SentencePieceProcessor(str(VOCABULARY))
    prompts = [json.loads(line)["prompt"] for line in open(path / "prompts.jsonl")]
    kept, held = [], []
    for file in sorted(path.glob("s*.jsonl")):
        for line in open(file):
            story = json.loads(line)
            text = [1, *pieces.encode(prompts[story["id"] - 1]), *story["tokens"]]
            (held if story["id"] % 10 == 0 else kept).append(text)
    return kept, held


def write_prompts(folder):
    prompts = [opening.format(who=who, name=name) for who in WHO for name in NAMES for opening in OPENINGS]
    random.Random(1).shuffle(prompts)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prompts.jsonl").write_text("".join(json.dumps({"prompt": each}) + "\n" for each in prompts))


def batch_of(texts, rng):
    rows = []
    for _ in range(BATCH):
        text = rng.choice(texts)
        while len(text) < LENGTH + 1:
            text = text + rng.choice(texts)
        rows.append(text[:LENGTH + 1])
    return torch.tensor(rows)


def losses(model, layer, ids):
    hidden = model.model(ids[:, :-1], use_cache=False).last_hidden_state
    logits = model.lm_head(hidden)
    loss = functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    # Row p: the state of position p and the token after it, about what the model holds of p + 2.
    rows = LENGTH - 1
    wanted = logits[:, 1:].detach().softmax(-1)
    embedded = model.model.embed_tokens(ids[:, 1:-1])
    rotation = model.model.rotary_emb(embedded, torch.arange(rows)[None].expand(len(ids), -1))
    mask = torch.full((rows, rows), float("-inf")).triu(1)[None, None]
    states, found = hidden[:, :-1].detach(), []
    for depth in range(2):
        states = layer(embedded, states, rotation, mask)
        drafted = model.lm_head(states)
        found.append((-(wanted * drafted.log_softmax(-1)).sum(-1).mean(),
                      (drafted.argmax(-1) == wanted.argmax(-1)).float().mean()))
        states = torch.cat([torch.zeros_like(states[:, :1]), states[:, :-1]], 1)
    return loss, found


def save(model, layer, out):
    tensors = {name: x for name, x in model.state_dict().items() if name != "lm_head.weight"}
    tensors |= {f"mtp.{name}": x for name, x in layer.state_dict().items()}
    out.mkdir(parents=True, exist_ok=True)
    save_file({name: x.to(torch.bfloat16).contiguous() for name, x in tensors.items()}, out / "model.safetensors",
              metadata={"format": "pt"})
    (out / "model.safetensors").chmod(0o644)
    (out / "config.json").write_text(json.dumps(configuration(), indent=1) + "\n")
    (out / "tokenizer.model").write_bytes(VOCABULARY.read_bytes())


def main():
    arguments = argparse.ArgumentParser(description="The text at the top says what.")
    arguments.add_argument("stories", type=pathlib.Path)
    arguments.add_argument("out", type=pathlib.Path, nargs="?")
    arguments.add_argument("--prompts", action="store_true", help="write STORIES/prompts.jsonl, and no more")
    arguments.add_argument("--minutes", type=float, default=10)
    arguments.add_argument("--threads", type=int, default=1)
    options = arguments.parse_args()
    if options.prompts:
        return write_prompts(options.stories)
    if options.out is None:
        arguments.error("OUT is missing")
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    kept, held = stories(options.stories)
    print(f"{len(kept)} stories, {sum(map(len, kept))} tokens; {len(held)} held out", flush=True)
    config = Qwen3_5TextConfig(**configuration(), attn_implementation="eager")
    model, layer = hf.Qwen3_5ForCausalLM(config).float(), Layer(config)
    for matrix in layer.parameters():
        if matrix.ndim == 2:
            torch.nn.init.normal_(matrix, std=0.02)
    parameters = [*model.parameters(), *layer.parameters()]
    print(f"{sum(p.numel() for p in parameters)} parameters", flush=True)
    optimizer = torch.optim.AdamW(parameters, lr=3e-3, betas=(0.9, 0.95), weight_decay=0.01)
    rng, begin, step = random.Random(1), time.time(), 0
    while (done := (time.time() - begin) / 60 / options.minutes) < 1:
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1, (step + 1) / 50) * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * done)))
        loss, drafts = losses(model, layer, batch_of(kept, rng))
        optimizer.zero_grad()
        (loss + drafts[0][0] + 0.5 * drafts[1][0]).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        if step % 25 == 0:
            model.eval()
            with torch.no_grad():
                test, tested = losses(model, layer, batch_of(held, random.Random(2)))
            model.train()
            print(f"{step}: loss {loss.item():.3f}, held out {test.item():.3f}; drafts "
                  + ", ".join(f"{d.item():.3f} ({a.item():.3f})" for d, a in tested)
                  + f"; {(time.time() - begin) / (step + 1):.2f} s a step", flush=True)
            save(model, layer, options.out)
        step += 1
    print(f"{step} steps of {BATCH * LENGTH} tokens")
    save(model, layer, options.out)


if __name__ == "__main__":
    sys.exit(main())
