#!/usr/bin/env python3
"""Writes mtp_models/qwen3_5_mtp/: a tiny random Qwen3.5 with its built-in MTP layer, and what both must compute.

    pip install numpy safetensors
    pip download --no-deps --no-binary :all: llama_cpp_python==0.3.36     # has `gguf` in vendor/llama.cpp/gguf-py
    python3 make_mtp_golden.py GGUF_PY_FOLDER [--tied] [--flat] [--out FOLDER]

--tied: the head is the embedding; folder qwen3_5_mtp_tied. --flat: config.json and tensor names of the text model
alone (`qwen3_5_text`, `model.layers.`), not those of the published files (`text_config`,
`model.language_model.layers.`); folder qwen3_5_mtp_flat.
check_mtp_golden.py compares the reference below with transformers and the GGUF file with llama.cpp's converter.
Run once; the files are kept.

The model: 4 layers, every 4th full attention (4 heads of 16, 2 KV heads, 4 rotary dimensions), the others gated delta
rule with 3 key heads and 6 value heads of 8: with 3 key heads the order of value heads in GGUF files is not its own
inverse. Hidden size 28, feed-forward size 36, vocabulary 288. All weights F32; the zero-centred norm weights are
multiples of 2^-12, so that 1 + w in the GGUF file is exact (there, ssm_a = -exp(A_log) is rounded to F32).

Files: config.json, generation_config.json, model.safetensors, tokenizer.json, tokenizer_config.json, model.gguf (the
same model and tokenizer), expected.json, expected.safetensors.

What is expected
----------------
The reference is float64; values are stored as F32. A float32 implementation is within 1e-4 of every number here
(transformers and llama.cpp: 3e-5); the mistakes that are easily made change logits by more than 0.05.
T = 24 is the length of the prompt.

A *row* of the MTP layer at position p is a pair (h_p, t_{p+1}): the hidden state of position p and the token after it.
**The pair (h_p, t_{p+1}) has rotary position p.** RoPE is relative and the MTP layer has its own keys and values, so
p + 1 for all rows (llama.cpp) gives the same numbers up to rounding; what must hold is that neighbours are one apart,
and that siblings have one position. A row attends to the rows that it follows and to itself. In each row
    x = fc([norm_e(embedding(t_{p+1})) ; norm_h(h_p)]),  m_p = mtp.norm(block(x)),  logits = head(m_p), of token p + 2
and h_p is the target's hidden state *after* its final norm in rows of the text, the parent row's m in drafted rows.

expected.json:
  prompt    [T] token ids at positions 0..T-1
  root      the id at position T: the target's greedy choice after the prompt, which the target has not run
  chain     the greedy draft. `tokens` [4]: the tokens fed, the root first; `positions` [4]: their rows', T-1..T+2;
            `drafted` [4]: the argmax of each row's logits: drafted[d-1] is depth d's token, and is tokens[d]
  tree      forced tokens. Node 0 is the root, 1 and 2 its children, 3 the child of 1, 4 the child of 2; 3 and 4 have
            the same token. `tokens`, `parents` (-1: none), `depths` (0, 1, 1, 2, 2), `positions` (T-1 + depth) by node
  accepted  the next round when the target accepts node 1: `text` [T+2] = prompt, root, node 1's token; `root`: the
            target's greedy choice after it; `chain` as above, from position T+1. All rows of the text have the
            target's own h: row T is no longer the drafted one of node 1
expected.safetensors, all F32, h = 28, V = 288:
  trunk.hidden [T, h]     the target's hidden states after its final norm, by position
  trunk.logits [T, V]     row p: of the token at p + 1
  mtp.hidden [T, h]       m of the text's rows 0..T-1; row T-1 is the root's
  mtp.logits [T, V]       row p: of the token at p + 2; row T-1 is depth 1 of chain and tree
  chain.hidden [4, h], chain.logits [4, V]    row d-1 is depth d
  tree.hidden [5, h], tree.logits [5, V]      by node: the logits of the node's children
  accepted.trunk.hidden, accepted.mtp.hidden [T+2, h], accepted.trunk.logits, accepted.mtp.logits [T+2, V],
  accepted.chain.hidden [4, h], accepted.chain.logits [4, V]    as above, of the longer text
Choices that these depend on (root, drafted) are at least 0.05 ahead of the next best logit.
"""
import argparse
import json
import pathlib
import sys

import numpy as np
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).resolve().parent

LAYERS, HIDDEN, FF, VOCAB, EPS = 4, 28, 36, 288, 1e-6
HEADS, KV_HEADS, HEAD_DIM, ROTARY, THETA = 4, 2, 16, 4, 100.0
K_HEADS, V_HEADS, GDN_DIM, KERNEL = 3, 6, 8, 4
KEYS, VALUES = K_HEADS * GDN_DIM, V_HEADS * GDN_DIM
LAYER_TYPES = ["full_attention" if (i + 1) % 4 == 0 else "linear_attention" for i in range(LAYERS)]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
END_OF_TEXT, IM_END = VOCAB - 3, VOCAB - 1
PROMPT, DEPTH, MARGIN = 24, 4, 0.05


# ---- weights, named `embed_tokens.weight`, `layers.N.…`, `norm.weight`, `lm_head.weight`, `mtp.…` ----

def attention_shapes(p):
    return {f"{p}.self_attn.q_proj.weight": (HEADS * 2 * HEAD_DIM, HIDDEN),
            f"{p}.self_attn.k_proj.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
            f"{p}.self_attn.v_proj.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
            f"{p}.self_attn.o_proj.weight": (HIDDEN, HEADS * HEAD_DIM),
            f"{p}.self_attn.q_norm.weight": (HEAD_DIM,), f"{p}.self_attn.k_norm.weight": (HEAD_DIM,)}


def gdn_shapes(p):
    return {f"{p}.linear_attn.in_proj_qkv.weight": (2 * KEYS + VALUES, HIDDEN),
            f"{p}.linear_attn.in_proj_z.weight": (VALUES, HIDDEN),
            f"{p}.linear_attn.in_proj_b.weight": (V_HEADS, HIDDEN),
            f"{p}.linear_attn.in_proj_a.weight": (V_HEADS, HIDDEN),
            f"{p}.linear_attn.conv1d.weight": (2 * KEYS + VALUES, 1, KERNEL),
            f"{p}.linear_attn.A_log": (V_HEADS,), f"{p}.linear_attn.dt_bias": (V_HEADS,),
            f"{p}.linear_attn.norm.weight": (GDN_DIM,),
            f"{p}.linear_attn.out_proj.weight": (HIDDEN, VALUES)}


def layer_shapes(p, full):
    return {f"{p}.input_layernorm.weight": (HIDDEN,), f"{p}.post_attention_layernorm.weight": (HIDDEN,),
            **(attention_shapes(p) if full else gdn_shapes(p)),
            f"{p}.mlp.gate_proj.weight": (FF, HIDDEN), f"{p}.mlp.up_proj.weight": (FF, HIDDEN),
            f"{p}.mlp.down_proj.weight": (HIDDEN, FF)}


def shapes(tied):
    out = {"embed_tokens.weight": (VOCAB, HIDDEN), "norm.weight": (HIDDEN,)}
    if not tied:
        out["lm_head.weight"] = (VOCAB, HIDDEN)
    for i, kind in enumerate(LAYER_TYPES):
        out.update(layer_shapes(f"layers.{i}", kind == "full_attention"))
    out.update({"mtp.fc.weight": (HIDDEN, 2 * HIDDEN), "mtp.pre_fc_norm_embedding.weight": (HIDDEN,),
                "mtp.pre_fc_norm_hidden.weight": (HIDDEN,), "mtp.norm.weight": (HIDDEN,)})
    out.update(layer_shapes("mtp.layers.0", full=True))
    return out


def make_weights(tied, rng):
    weights = {}
    for name, shape in shapes(tied).items():
        x = rng.standard_normal(shape)
        if name.endswith("linear_attn.norm.weight"):
            x = 1 + 0.2 * x
        elif name.endswith("norm.weight") or "pre_fc_norm" in name:
            x = np.round(0.2 * x * 4096) / 4096
        elif name.endswith("A_log"):
            x = rng.uniform(-2.5, 0.5, shape)
        elif name.endswith("dt_bias"):
            x = 0.5 * x
        else:  # large enough that attention and activations are far from linear
            x = x * 1.3 / shape[-1] ** 0.5
        weights[name] = x.astype(np.float32)
    return weights


# ---- the reference: one row at a time, float64 ----

def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def rms(x):
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + EPS)


def norm(x, weight):
    return (1 + weight) * rms(x)


def rotate(x, position):
    """Rotates the first ROTARY dimensions of every head, x [heads, HEAD_DIM], as halves."""
    half = ROTARY // 2
    angle = position * THETA ** (-2.0 * np.arange(half) / ROTARY)
    first, second = x[:, :half], x[:, half:ROTARY]
    return np.concatenate([first * np.cos(angle) - second * np.sin(angle),
                           second * np.cos(angle) + first * np.sin(angle), x[:, ROTARY:]], -1)


def attention(w, p, x, position, past):
    """`past`: keys and values of the rows that this one follows, a tuple of pairs [KV_HEADS, HEAD_DIM]. Returns the
    output [HIDDEN] and `past` with this row's pair."""
    query_and_gate = (w[f"{p}.q_proj.weight"] @ x).reshape(HEADS, 2, HEAD_DIM)
    query, gate = query_and_gate[:, 0], query_and_gate[:, 1]
    key = (w[f"{p}.k_proj.weight"] @ x).reshape(KV_HEADS, HEAD_DIM)
    value = (w[f"{p}.v_proj.weight"] @ x).reshape(KV_HEADS, HEAD_DIM)
    query = rotate(norm(query, w[f"{p}.q_norm.weight"]), position)
    key = rotate(norm(key, w[f"{p}.k_norm.weight"]), position)
    past = (*past, (key, value))
    out = np.empty((HEADS, HEAD_DIM))
    for head in range(HEADS):
        kv_head = head // (HEADS // KV_HEADS)
        scores = np.array([query[head] @ k[kv_head] for k, _ in past]) / HEAD_DIM ** 0.5
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        out[head] = sum(c * v[kv_head] for c, (_, v) in zip(chances, past))
    return w[f"{p}.o_proj.weight"] @ (out * sigmoid(gate)).reshape(-1), past


def delta_rule(w, p, x, state):
    """`state`: the last KERNEL - 1 inputs of the convolution, and S [V_HEADS, key, value]; None at the start."""
    window, s = state or (np.zeros((KERNEL - 1, 2 * KEYS + VALUES)), np.zeros((V_HEADS, GDN_DIM, GDN_DIM)))
    window = np.vstack([window, w[f"{p}.in_proj_qkv.weight"] @ x])
    mixed = silu(np.sum(w[f"{p}.conv1d.weight"][:, 0, :].T * window, 0))
    q, k, v = np.split(mixed, [KEYS, 2 * KEYS])
    q, k, v = q.reshape(K_HEADS, GDN_DIM), k.reshape(K_HEADS, GDN_DIM), v.reshape(V_HEADS, GDN_DIM)
    q = q / np.sqrt(np.sum(q * q, -1, keepdims=True) + 1e-6) / GDN_DIM ** 0.5
    k = k / np.sqrt(np.sum(k * k, -1, keepdims=True) + 1e-6)
    z = (w[f"{p}.in_proj_z.weight"] @ x).reshape(V_HEADS, GDN_DIM)
    beta = sigmoid(w[f"{p}.in_proj_b.weight"] @ x)
    decay = np.exp(-np.exp(w[f"{p}.A_log"]) * np.log1p(np.exp(w[f"{p}.in_proj_a.weight"] @ x + w[f"{p}.dt_bias"])))
    s, out = s.copy(), np.empty((V_HEADS, GDN_DIM))
    for head in range(V_HEADS):
        key_head = head // (V_HEADS // K_HEADS)
        s[head] *= decay[head]
        delta = (v[head] - k[key_head] @ s[head]) * beta[head]
        s[head] += np.outer(k[key_head], delta)
        out[head] = q[key_head] @ s[head]
    y = w[f"{p}.norm.weight"] * rms(out) * silu(z)
    return w[f"{p}.out_proj.weight"] @ y.reshape(-1), (window[1:], s)


def layer(w, p, x, position, state):
    """One decoder layer. `state`: what `attention` or `delta_rule` keep; None at the start."""
    normed = norm(x, w[f"{p}.input_layernorm.weight"])
    if f"{p}.self_attn.q_proj.weight" in w:
        mixed, state = attention(w, f"{p}.self_attn", normed, position, state or ())
    else:
        mixed, state = delta_rule(w, f"{p}.linear_attn", normed, state)
    x = x + mixed
    normed = norm(x, w[f"{p}.post_attention_layernorm.weight"])
    gated = silu(w[f"{p}.mlp.gate_proj.weight"] @ normed) * (w[f"{p}.mlp.up_proj.weight"] @ normed)
    return x + w[f"{p}.mlp.down_proj.weight"] @ gated, state


def head(w, hidden):
    return hidden @ w.get("lm_head.weight", w["embed_tokens.weight"]).T


def trunk(w, tokens):
    """Hidden states after the final norm, [tokens, HIDDEN]."""
    states, rows = [None] * LAYERS, []
    for position, token in enumerate(tokens):
        x = w["embed_tokens.weight"][token]
        for i in range(LAYERS):
            x, states[i] = layer(w, f"layers.{i}", x, position, states[i])
        rows.append(norm(x, w["norm.weight"]))
    return np.array(rows)


def mtp_input(w, h, token):
    return w["mtp.fc.weight"] @ np.concatenate([
        norm(w["embed_tokens.weight"][token], w["mtp.pre_fc_norm_embedding.weight"]),
        norm(h, w["mtp.pre_fc_norm_hidden.weight"])])


def mtp(w, h, token, position, past):
    """One row of the MTP layer after those of `past`: its m, [HIDDEN], and `past` with it."""
    x, past = layer(w, "mtp.layers.0", mtp_input(w, h, token), position, past)
    return norm(x, w["mtp.norm.weight"]), past


# ---- what is expected ----

def best(logits):
    """The best token; and by how much."""
    order = np.argsort(-logits)
    return int(order[0]), float(logits[order[0]] - logits[order[1]])


def round_of(w, text, shift=0):
    """The target on `text`, the MTP layer on its rows, and the greedy chain: (tensors, ids, smallest margin, the text's
    `past` of the MTP layer). All rotary positions of MTP rows are `shift` more."""
    hidden = trunk(w, text)
    root, margin = best(head(w, hidden[-1]))
    rows, past = [], ()
    for p, (h, token) in enumerate(zip(hidden, [*text[1:], root])):
        m, past = mtp(w, h, token, p + shift, past)
        rows.append(m)
    last, text_past = len(text) - 1, past
    chain, fed, drafted = [rows[-1]], [root], []
    while True:
        token, ahead = best(head(w, chain[-1]))
        drafted.append(token)
        margin = min(margin, ahead)
        if len(chain) == DEPTH:
            break
        m, past = mtp(w, chain[-1], token, last + len(chain) + shift, past)
        chain.append(m)
        fed.append(token)
    rows, chain = np.array(rows), np.array(chain)
    tensors = {"trunk.hidden": hidden, "trunk.logits": head(w, hidden), "mtp.hidden": rows, "mtp.logits": head(w, rows),
               "chain.hidden": chain, "chain.logits": head(w, chain)}
    ids = {"root": root, "chain": {"tokens": fed, "positions": [last + d for d in range(DEPTH)], "drafted": drafted}}
    return tensors, ids, margin, text_past


def tree_of(w, text, root_row, past, tokens, parents, depths):
    """m of the nodes; node 0 is `root_row`, the last of the text's, and `past` ends with its."""
    nodes = [(root_row, past)]
    for token, parent, depth in list(zip(tokens, parents, depths))[1:]:
        nodes.append(mtp(w, nodes[parent][0], token, len(text) - 1 + depth, nodes[parent][1]))
    return np.array([m for m, _ in nodes])


def expected(weights):
    w = {name: x.astype(np.float64) for name, x in weights.items()}
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        prompt = rng.integers(0, VOCAB - len(SPECIAL), PROMPT).tolist()
        tensors, ids, margin, past = round_of(w, prompt)
        if margin < MARGIN or len(set(ids["chain"]["drafted"])) < 3:
            continue
        others = [t for t in rng.permutation(VOCAB - len(SPECIAL)).tolist() if t not in ids["chain"]["drafted"]]
        tokens, parents, depths = [ids["root"], *others[:3], others[2]], [-1, 0, 0, 1, 2], [0, 1, 1, 2, 2]
        text = [*prompt, ids["root"], tokens[1]]
        next_tensors, next_ids, next_margin, _ = round_of(w, text)
        if next_margin < MARGIN:
            continue
        nodes = tree_of(w, prompt, tensors["mtp.hidden"][-1], past, tokens, parents, depths)
        tensors |= {"tree.hidden": nodes, "tree.logits": head(w, nodes)}
        tensors |= {f"accepted.{name}": x for name, x in next_tensors.items()}
        return tensors, {"prompt": prompt, **ids,
                         "tree": {"tokens": tokens, "parents": parents, "depths": depths,
                                  "positions": [PROMPT - 1 + d for d in depths]},
                         "accepted": {"text": text, **next_ids}}
    sys.exit("no prompt's choices are clear")


# ---- files ----

CHAT_TEMPLATE = ("{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
                 "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def tokenizer():
    """tokenizers/qwen2.tokenizer.json with fewer merges, and with Qwen3.5's pattern and special tokens."""
    it = json.loads((HERE / "tokenizers/qwen2.tokenizer.json").read_text())
    merges = VOCAB - 256 - len(SPECIAL)
    it["model"]["merges"] = it["model"]["merges"][:merges]
    it["model"]["vocab"] = {t: i for t, i in it["model"]["vocab"].items() if i < 256 + merges}
    for merge in it["model"]["merges"]:
        assert ("".join(merge) if isinstance(merge, list) else merge.replace(" ", "")) in it["model"]["vocab"]
    split = it["pre_tokenizer"]["pretokenizers"][0]
    split["pattern"]["Regex"] = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
                                 r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    it["added_tokens"] = [{"id": END_OF_TEXT + i, "content": t, "single_word": False, "lstrip": False, "rstrip": False,
                           "normalized": False, "special": True} for i, t in enumerate(SPECIAL)]
    it["post_processor"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return it


def config(tied, flat):
    text = {"attention_bias": False, "attention_dropout": 0.0, "attn_output_gate": True, "dtype": "float32",
            "eos_token_id": END_OF_TEXT, "full_attention_interval": 4, "head_dim": HEAD_DIM, "hidden_act": "silu",
            "hidden_size": HIDDEN, "initializer_range": 0.02, "intermediate_size": FF, "layer_types": LAYER_TYPES,
            "linear_conv_kernel_dim": KERNEL, "linear_key_head_dim": GDN_DIM, "linear_num_key_heads": K_HEADS,
            "linear_num_value_heads": V_HEADS, "linear_value_head_dim": GDN_DIM, "mamba_ssm_dtype": "float32",
            "max_position_embeddings": 1024, "mlp_only_layers": [], "model_type": "qwen3_5_text",
            "mtp_num_hidden_layers": 1, "mtp_use_dedicated_embeddings": False, "num_attention_heads": HEADS,
            "num_hidden_layers": LAYERS, "num_key_value_heads": KV_HEADS, "rms_norm_eps": EPS,
            "rope_parameters": {"mrope_interleaved": True, "mrope_section": [1, 1, 0],
                                "partial_rotary_factor": ROTARY / HEAD_DIM, "rope_theta": THETA,
                                "rope_type": "default"},
            "tie_word_embeddings": tied, "use_cache": True, "vocab_size": VOCAB}
    if flat:
        return {"architectures": ["Qwen3_5ForCausalLM"], **text}
    return {"architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5", "text_config": text,
            "tie_word_embeddings": tied,
            "vision_config": {"depth": 1, "hidden_act": "gelu_pytorch_tanh", "hidden_size": 8, "in_channels": 3,
                              "intermediate_size": 16, "model_type": "qwen3_5", "num_heads": 1,
                              "num_position_embeddings": 16, "out_hidden_size": HIDDEN, "patch_size": 4,
                              "spatial_merge_size": 2, "temporal_patch_size": 2}}


def checkpoint_name(name, flat):
    return name if name.startswith(("mtp.", "lm_head.")) else f"model.{'' if flat else 'language_model.'}{name}"


def write_hf(folder, weights, tied, flat):
    save_file({checkpoint_name(name, flat): x for name, x in weights.items()}, folder / "model.safetensors",
              metadata={"format": "pt"})
    for file, value, indent in (
            ("config.json", config(tied, flat), 1),
            ("generation_config.json", {"eos_token_id": [IM_END, END_OF_TEXT], "pad_token_id": END_OF_TEXT}, 1),
            ("tokenizer.json", tokenizer(), None),
            ("tokenizer_config.json", {"add_bos_token": False, "add_prefix_space": False, "bos_token": None,
                                       "chat_template": CHAT_TEMPLATE, "eos_token": SPECIAL[2], "pad_token": SPECIAL[0],
                                       "tokenizer_class": "Qwen2Tokenizer", "unk_token": None}, 1)):
        separators = None if indent else (",", ":")
        (folder / file).write_text(json.dumps(value, indent=indent, separators=separators, ensure_ascii=False) + "\n")


GGUF_NAMES = {
    "input_layernorm.weight": "attn_norm.weight", "post_attention_layernorm.weight": "post_attention_norm.weight",
    "self_attn.q_proj.weight": "attn_q.weight", "self_attn.k_proj.weight": "attn_k.weight",
    "self_attn.v_proj.weight": "attn_v.weight", "self_attn.o_proj.weight": "attn_output.weight",
    "self_attn.q_norm.weight": "attn_q_norm.weight", "self_attn.k_norm.weight": "attn_k_norm.weight",
    "linear_attn.in_proj_qkv.weight": "attn_qkv.weight", "linear_attn.in_proj_z.weight": "attn_gate.weight",
    "linear_attn.in_proj_b.weight": "ssm_beta.weight", "linear_attn.in_proj_a.weight": "ssm_alpha.weight",
    "linear_attn.conv1d.weight": "ssm_conv1d.weight", "linear_attn.A_log": "ssm_a",
    "linear_attn.dt_bias": "ssm_dt.bias",
    "linear_attn.norm.weight": "ssm_norm.weight", "linear_attn.out_proj.weight": "ssm_out.weight",
    "mlp.gate_proj.weight": "ffn_gate.weight", "mlp.up_proj.weight": "ffn_up.weight",
    "mlp.down_proj.weight": "ffn_down.weight"}
GGUF_OTHERS = {"embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight",
               "lm_head.weight": "output.weight", "mtp.fc.weight": f"blk.{LAYERS}.nextn.eh_proj.weight",
               "mtp.pre_fc_norm_embedding.weight": f"blk.{LAYERS}.nextn.enorm.weight",
               "mtp.pre_fc_norm_hidden.weight": f"blk.{LAYERS}.nextn.hnorm.weight",
               "mtp.norm.weight": f"blk.{LAYERS}.nextn.shared_head_norm.weight"}


def gguf_name(name):
    if name in GGUF_OTHERS:
        return GGUF_OTHERS[name]
    _, index, rest = name.removeprefix("mtp.").split(".", 2)
    return f"blk.{int(index) + (LAYERS if name.startswith('mtp.') else 0)}.{GGUF_NAMES[rest]}"


def tiled(x, axis, width, before=0):
    """Value heads of `width` along `axis`, after `before` other entries, in GGUF's order: the one at j is the one at
    (j mod K_HEADS) * (V_HEADS / K_HEADS) + floor(j / K_HEADS) of the checkpoint."""
    heads = [(j % K_HEADS) * (V_HEADS // K_HEADS) + j // K_HEADS for j in range(V_HEADS)]
    order = [*range(before), *(before + h * width + i for h in heads for i in range(width))]
    return np.take(x, order, axis)


def gguf_values(name, x):
    part = name.rsplit("linear_attn.", 1)[-1]
    if part == "in_proj_qkv.weight":
        return tiled(x, 0, GDN_DIM, 2 * KEYS)
    if part == "conv1d.weight":
        return tiled(x[:, 0, :], 0, GDN_DIM, 2 * KEYS)
    if part == "in_proj_z.weight":
        return tiled(x, 0, GDN_DIM)
    if part == "out_proj.weight":
        return tiled(x, 1, GDN_DIM)
    if part in ("in_proj_b.weight", "in_proj_a.weight", "dt_bias"):
        return tiled(x, 0, 1)
    if part == "A_log":
        return tiled(-np.exp(x), 0, 1)
    zero_centred = x.ndim == 1 and "linear_attn" not in name
    return x + np.float32(1) if zero_centred else x


def write_gguf(path, weights, gguf):
    out = gguf.GGUFWriter(path, "qwen35")
    out.add_type(gguf.GGUFType.MODEL)
    out.add_name(path.parent.name)
    out.add_file_type(gguf.LlamaFileType.ALL_F32)
    out.add_quantization_version(gguf.GGML_QUANT_VERSION)
    out.add_block_count(LAYERS + 1)
    out.add_nextn_predict_layers(1)
    out.add_context_length(1024)
    out.add_embedding_length(HIDDEN)
    out.add_feed_forward_length(FF)
    out.add_head_count(HEADS)
    out.add_head_count_kv(KV_HEADS)
    out.add_key_length(HEAD_DIM)
    out.add_value_length(HEAD_DIM)
    out.add_layer_norm_rms_eps(EPS)
    out.add_rope_freq_base(THETA)
    out.add_rope_dimension_count(ROTARY)
    out.add_rope_dimension_sections([1, 1, 0, 0])
    out.add_full_attention_interval(4)
    out.add_recurrent_layers([t == "linear_attention" for t in LAYER_TYPES] + [False])
    out.add_ssm_conv_kernel(KERNEL)
    out.add_ssm_state_size(GDN_DIM)
    out.add_ssm_group_count(K_HEADS)
    out.add_ssm_time_step_rank(V_HEADS)
    out.add_ssm_inner_size(VALUES)

    words = tokenizer()
    tokens = sorted([*words["model"]["vocab"].items(), *((t["content"], t["id"]) for t in words["added_tokens"])],
                    key=lambda each: each[1])
    assert [i for _, i in tokens] == list(range(VOCAB))
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("qwen35")
    out.add_token_list([t for t, _ in tokens])
    out.add_token_types([gguf.TokenType.CONTROL if t in SPECIAL else gguf.TokenType.NORMAL for t, _ in tokens])
    out.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in words["model"]["merges"]])
    out.add_eos_token_id(IM_END)
    out.add_pad_token_id(END_OF_TEXT)
    out.add_add_bos_token(False)
    out.add_chat_template(CHAT_TEMPLATE)
    for name, x in weights.items():
        out.add_tensor(gguf_name(name), np.ascontiguousarray(gguf_values(name, x), dtype=np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def main():
    arguments = argparse.ArgumentParser(description="Writes mtp_models/; the text at the top says what.")
    arguments.add_argument("gguf_py", type=pathlib.Path, help="llama.cpp's gguf-py folder")
    arguments.add_argument("--tied", action="store_true")
    arguments.add_argument("--flat", action="store_true")
    arguments.add_argument("--out", type=pathlib.Path)
    options = arguments.parse_args()
    sys.path.insert(0, str(options.gguf_py))
    import gguf

    folder = options.out or HERE / "mtp_models" / ("qwen3_5_mtp" + "_tied" * options.tied + "_flat" * options.flat)
    folder.mkdir(parents=True, exist_ok=True)
    weights = make_weights(options.tied, np.random.default_rng(35))
    write_hf(folder, weights, options.tied, options.flat)
    write_gguf(folder / "model.gguf", weights, gguf)
    tensors, ids = expected(weights)
    save_file({name: x.astype(np.float32) for name, x in tensors.items()}, folder / "expected.safetensors")
    (folder / "expected.json").write_text(
        "{\n" + ",\n".join(f' "{key}": {json.dumps(value)}' for key, value in ids.items()) + "\n}\n")
    for file in sorted(folder.iterdir()):
        print(file.stat().st_size, file)


if __name__ == "__main__":
    main()
