"""Makes tests/golden/heads: a tiny Llama target, every kind of draft head in its published layout with random
weights, and what each head drafts over several rounds. tests/golden/heads/README.md explains the files.

Run once (`pip install torch safetensors`): python3 tests/golden/make_heads_golden.py
"""

import json
import pathlib
import random
import shutil

import torch
from safetensors.torch import save_file

import heads_reference as ref

OUT = pathlib.Path(__file__).parent / "heads"
H, LAYERS, FF, VOCAB = 64, 8, 80, 192
DRAFT_VOCAB = 96
TARGET = {"layers": LAYERS, "vocab": VOCAB, "heads": 4, "kv_heads": 2, "head_dim": 16, "theta": 10000.0}

# Shapes as rank paths, and the paths that are accepted, one per round; the last round only drafts.
DEEP = {(0,), (1,), (0, 0), (0, 1), (1, 0), (0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0, 0)}
DEEP_ACCEPTED = [(0, 0, 0), (), (1, 0), (0, 0, 0, 0, 0), (0, 1)]
SHALLOW = {(0,), (1,), (2,), (0, 0), (0, 1), (1, 0), (0, 0, 0), (1, 0, 0)}
SHALLOW_ACCEPTED = [(0, 0, 0), (), (1, 0), (2,)]


class Maker:
    """Random weights, exactly representable in the type in which they are stored."""

    def __init__(self, seed, dtype, branch=3.0):
        """`branch` scales what attention and MLP add to the residual stream: large enough in the heads for tokens
        and positions to matter beside it."""
        self.generator = torch.Generator().manual_seed(seed)
        self.dtype = dtype
        self.branch = branch
        self.w = {}

    def put(self, name, *shape, scale=1.0, shift=0.0):
        value = torch.randn(*shape, generator=self.generator) * scale + shift
        self.w[name] = value.to(self.dtype)

    def linear(self, name, outputs, inputs, bias=False, scale=1.0):
        self.put(f"{name}.weight", outputs, inputs, scale=scale * inputs**-0.5)
        if bias:
            self.put(f"{name}.bias", outputs, scale=0.3)

    def norm(self, name, size, mean=1.0):
        self.put(f"{name}.weight", size, scale=0.2, shift=mean)

    def attention(self, p, hidden, inputs, heads, kv_heads, d, bias=False, qk_norm=False):
        self.linear(f"{p}.q_proj", heads * d, inputs, bias, scale=1.5)
        self.linear(f"{p}.k_proj", kv_heads * d, inputs, bias, scale=1.5)
        self.linear(f"{p}.v_proj", kv_heads * d, inputs, bias)
        self.linear(f"{p}.o_proj", hidden, heads * d, scale=self.branch)
        if qk_norm:
            self.norm(f"{p}.q_norm", d, 2.0)
            self.norm(f"{p}.k_norm", d, 2.0)

    def mlp(self, p, hidden, ff=FF):
        self.linear(f"{p}.gate_proj", ff, hidden)
        self.linear(f"{p}.up_proj", ff, hidden)
        self.linear(f"{p}.down_proj", hidden, ff, scale=self.branch)

    def decoder_layer(self, p, hidden=H, heads=4, kv_heads=2, d=16, **options):
        self.norm(f"{p}.input_layernorm", hidden)
        self.attention(f"{p}.self_attn", hidden, hidden, heads, kv_heads, d, **options)
        self.norm(f"{p}.post_attention_layernorm", hidden)
        self.mlp(f"{p}.mlp", hidden)

    def head(self, name, vocab, hidden=H):
        self.linear(name, vocab, hidden, scale=2.0)

    def vocabulary_map(self, vocab=VOCAB, size=DRAFT_VOCAB):
        ids = torch.randperm(vocab, generator=self.generator)[:size].sort().values
        self.w["d2t"] = ids - torch.arange(size)  # an offset
        self.w["t2d"] = torch.zeros(vocab, dtype=torch.bool).index_fill(0, ids, True)

    def exact(self):
        return {name: value.double() if value.is_floating_point() else value for name, value in self.w.items()}


def llama_config(**changes):
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": H,
              "intermediate_size": FF, "max_position_embeddings": 512, "num_attention_heads": 4,
              "num_hidden_layers": 1, "num_key_value_heads": 2, "rms_norm_eps": ref.EPS, "rope_theta": 10000.0,
              "torch_dtype": "bfloat16", "vocab_size": VOCAB}
    config.update(changes)
    return {key: value for key, value in config.items() if value is not None}


def make_target():
    m = Maker(1, torch.bfloat16, branch=1.0)
    m.put("model.embed_tokens.weight", VOCAB, H)
    for i in range(LAYERS):
        m.decoder_layer(f"model.layers.{i}")
    m.norm("model.norm", H)
    m.head("lm_head", VOCAB)
    target = ref.Target(m.exact(), TARGET)
    folder = OUT / "target"
    folder.mkdir(parents=True)
    save_file(m.w, folder / "model.safetensors", metadata={"format": "pt"})
    write_json(folder / "config.json", llama_config(num_hidden_layers=LAYERS, tie_word_embeddings=False))
    tokens = random.Random(1).choices(range(VOCAB), k=12)
    states = target.stream(tokens)
    save_file({"logits": target.head(target.norm(states[-1])).float(),
               "stream": torch.stack(states).float()}, folder / "expected.safetensors")
    write_json(folder / "expected.json", {"tokens": tokens})
    return target


def write_json(path, value):
    """One line per field, one per round."""
    def line(item):
        if isinstance(item, list) and item and isinstance(item[0], dict):
            return "[\n  " + ",\n  ".join(json.dumps(i) for i in item) + "\n ]"
        return json.dumps(item)

    path.write_text("{\n" + ",\n".join(f" {json.dumps(k)}: {line(v)}" for k, v in value.items()) + "\n}\n")


def features_of(target, head, tokens):
    """What the target hands to the drafter for these rows: the streams entering the taps."""
    states = target.stream(tokens)
    stream = torch.cat([states[tap] for tap in head["taps"]], -1) if head["taps"] else torch.zeros(len(tokens), 0)
    return stream, target.norm(stream) if head["drafter"].features == "normed" else stream


def run_rounds(target, head, seed):
    """Rounds of drafting, accepting a given path, and going on with a token of our own."""
    rng = random.Random(seed)
    tokens = rng.choices(range(VOCAB), k=8)  # seven of prompt, then the root
    shape, accepted = (SHALLOW, SHALLOW_ACCEPTED) if head.get("shallow") else (DEEP, DEEP_ACCEPTED)
    rounds, tensors = [], {}
    for r in range(len(accepted) + 1):
        _, features = features_of(target, head, tokens[:-1])
        nodes = head["drafter"].draft(tokens, features, shape)
        with_logits = [i for i, node in enumerate(nodes) if node.logits is not None]
        # The depth-first order of ranks tells which node a path ends at.
        ends = {(): 0}
        for i, node in enumerate(nodes[1:], 1):
            path = next(p for p, end in ends.items() if end == node.parent)
            ends[path + (node.rank,)] = i
        entry = {"committed": len(tokens) - 1, "tokens": [n.token for n in nodes], "parents": [n.parent for n in nodes],
                 "ranks": [n.rank for n in nodes], "depths": [n.depth for n in nodes], "with_logits": with_logits}
        tensors[f"round{r}.logits"] = torch.stack([nodes[i].logits for i in with_logits])
        tensors[f"round{r}.hidden"] = torch.stack([nodes[i].hidden for i in with_logits])
        if nodes[0].confidence is not None:
            tensors[f"round{r}.confidence"] = torch.cat([nodes[i].confidence for i in with_logits])
        for name, value in getattr(head["drafter"], "block", {}).items():
            tensors[f"round{r}.{name}"] = value
        if r < len(accepted):
            path = [ends[accepted[r][: i + 1]] for i in range(len(accepted[r]))]
            last = path[-1] if path else 0
            children = {n.token for n in nodes if n.parent == last}
            following = rng.choice([t for t in range(VOCAB) if t not in children])
            tokens = tokens + [nodes[i].token for i in path] + [following]
            entry |= {"accepted": path, "next": following}
        rounds.append(entry)
    stream, normed = features_of(target, head, tokens[:-1])
    if stream.numel():
        tensors["features"] = stream
    if head["drafter"].features == "normed":
        tensors["normed_features"] = normed
    return tokens, rounds, {name: value.float().contiguous() for name, value in tensors.items()}


def store(target, name, kind, drafter_class, m, cfg, config, taps, file, config_name="config.json", **options):
    folder = OUT / name
    folder.mkdir()
    cfg = {"heads": 4, "kv_heads": 2, "head_dim": 16, "theta": 10000.0} | cfg
    drafter = drafter_class(m.exact() if m else {}, cfg, target)
    head = {"taps": taps, "drafter": drafter, **options}
    for seed in range(100):
        try:
            tokens, rounds, tensors = run_rounds(target, head, seed)
            break
        except AssertionError:
            continue
    else:
        raise RuntimeError(f"{name}: no text with clear ranks")
    if config is not None:
        write_json(folder / config_name, config)
    if m and file.endswith(".safetensors"):
        save_file({k: v.contiguous() for k, v in m.w.items()}, folder / file, metadata={"format": "pt"})
    elif m:
        torch.save(m.w, folder / file)
    save_file(tensors, folder / "expected.safetensors")
    write_json(folder / "expected.json",
               {"type": kind, "taps": taps, "draft_to_target": drafter.ids.tolist() if "d2t" in drafter.w else None,
                "text": tokens, "rounds": rounds})
    print(f"{name}: seed {seed}, {sum(f.stat().st_size for f in folder.iterdir()):,} bytes")


# --- EAGLE-1/2 ---


def make_eagle(target):
    # As the first heads were published: multi-head attention (no num_key_value_heads), `bias` absent = fc has
    # one, and the target's embedding stored along.
    m = Maker(10, torch.float16, branch=1.0)
    m.put("embed_tokens.weight", VOCAB, H)  # not the target's values: to be ignored
    m.linear("fc", H, 2 * H, bias=True, scale=0.5)
    m.attention("layers.0.self_attn", H, H, 4, 4, 16)
    m.mlp("layers.0.mlp", H)
    m.norm("layers.0.post_attention_layernorm", H)
    store(target, "eagle", "eagle", ref.Eagle1, m, {"kv_heads": 4},
          llama_config(num_key_value_heads=None, rope_theta=None, torch_dtype="float16"), [LAYERS], "pytorch_model.bin")

    m = Maker(11, torch.bfloat16, branch=1.0)
    m.linear("fc", H, 2 * H, scale=0.5)
    m.attention("layers.0.self_attn", H, H, 4, 2, 16)
    for part, size in (("q", H), ("k", H // 2), ("v", H // 2)):
        m.put(f"layers.0.self_attn.{part}_proj.bias", size, scale=0.3)
    m.mlp("layers.0.mlp", H)
    m.norm("layers.0.post_attention_layernorm", H)
    store(target, "eagle_qkv_bias", "eagle", ref.Eagle1, m, {"theta": 500000.0},
          llama_config(bias=False, qkv_bias=True, rope_theta=500000.0), [LAYERS], "model.safetensors")


# --- EAGLE-3 ---


def eagle3_weights(m, first="midlayer", hidden=H, taps=3, heads=4, kv_heads=2, d=16, bias=False):
    m.linear("fc", hidden, taps * H, scale=0.3)
    m.norm(f"{first}.hidden_norm", hidden)
    m.norm(f"{first}.input_layernorm", hidden)
    m.norm(f"{first}.post_attention_layernorm", hidden)
    m.attention(f"{first}.self_attn", hidden, 2 * hidden, heads, kv_heads, d, bias)
    m.mlp(f"{first}.mlp", hidden)
    m.norm("norm", hidden)


def speculators_config(kind, layer, **fields):
    return {"architectures": [f"{kind.capitalize()}Speculator"], "speculators_model_type": kind,
            "speculators_version": "0.3.0", **fields, "transformer_layer_config": layer,
            "speculators_config": {"algorithm": kind, "default_proposal_method": "greedy", "proposal_methods": [
                {"proposal_type": "greedy", "speculative_tokens": 5}],
                "verifier": {"architectures": ["LlamaForCausalLM"], "name_or_path": "target"}}}


DEFAULT_TAPS = [2, LAYERS // 2, LAYERS - 3]


def make_eagle3(target):
    eagle3 = {"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": DRAFT_VOCAB}

    m = Maker(20, torch.float16)
    eagle3_weights(m)
    m.head("lm_head", DRAFT_VOCAB)
    m.vocabulary_map()
    store(target, "eagle3_official", "eagle3", ref.Eagle3, m, {},  # the layer count is wrong, as in a published file
          llama_config(**eagle3, num_hidden_layers=40, torch_dtype="float16"), DEFAULT_TAPS, "pytorch_model.bin")

    m = Maker(21, torch.bfloat16)
    eagle3_weights(m, "layers.0")
    m.put("embed_tokens.weight", VOCAB, H)  # its own
    m.head("lm_head", DRAFT_VOCAB)
    m.vocabulary_map()
    store(target, "eagle3_speculators", "eagle3", ref.Eagle3, m, {"norm_before_residual": True},
          speculators_config("eagle3", llama_config(architectures=None), draft_vocab_size=DRAFT_VOCAB,
                             norm_before_residual=True, target_hidden_size=None,
                             eagle_aux_hidden_state_layer_ids=[1, 3, LAYERS]),
          [1, 3, LAYERS], "model.safetensors")

    m = Maker(22, torch.bfloat16)
    eagle3_weights(m)
    store(target, "eagle3_target_head", "eagle3", ref.Eagle3, m, {},  # no lm_head, no maps; ids are layer outputs
          llama_config(architectures=["LlamaForCausalLMEagle3"], eagle_config={
              "eagle_aux_hidden_state_layer_ids": [0, 4, 6], "use_aux_hidden_state": True}) | {"draft_vocab_size": None},
          [1, 5, 7], "model.safetensors")

    m = Maker(23, torch.float32)
    eagle3_weights(m, bias=True)
    m.head("lm_head", VOCAB)
    m.w["d2t"] = torch.zeros(VOCAB, dtype=torch.int64)
    m.w["t2d"] = torch.ones(VOCAB, dtype=torch.bool)
    store(target, "eagle3_full_vocab", "eagle3", ref.Eagle3, m, {"theta": 1000000.0},
          llama_config(**eagle3 | {"draft_vocab_size": VOCAB}, attention_bias=True, rope_theta=1000000.0,
                       torch_dtype="float32"), DEFAULT_TAPS, "model.safetensors")

    m = Maker(24, torch.bfloat16)
    small = 48
    eagle3_weights(m, hidden=small, heads=4, kv_heads=1, d=16)
    m.put("embed_tokens.weight", VOCAB, small)
    m.head("lm_head", DRAFT_VOCAB, small)
    m.vocabulary_map()
    store(target, "eagle3_own_width", "eagle3", ref.Eagle3, m, {"kv_heads": 1},
          llama_config(**eagle3, hidden_size=small, target_hidden_size=H, num_key_value_heads=1, head_dim=16),
          DEFAULT_TAPS, "model.safetensors")

    m = Maker(25, torch.bfloat16)
    eagle3_weights(m, "layers.0")
    m.norm("input_norm", 3 * H)
    m.head("lm_head", DRAFT_VOCAB)
    m.vocabulary_map()
    store(target, "eagle3_norm_before_fc", "eagle3", ref.Eagle3, m, {"norm_before_fc": True},
          speculators_config("eagle3", llama_config(architectures=None), draft_vocab_size=DRAFT_VOCAB,
                             norm_before_residual=False, norm_before_fc=True, target_hidden_size=None,
                             eagle_aux_hidden_state_layer_ids=DEFAULT_TAPS),
          DEFAULT_TAPS, "model.safetensors")

    m = Maker(26, torch.bfloat16)
    eagle3_weights(m)
    for i in range(3):
        m.norm(f"fc_norm.{i}", H)
    m.head("lm_head", DRAFT_VOCAB)
    m.vocabulary_map()
    store(target, "eagle31", "eagle3", ref.Eagle3, m, {"fc_norm": True, "norm_output": True},
          llama_config(**eagle3, fc_norm=True, norm_output=True), DEFAULT_TAPS, "model.safetensors")

    m = Maker(27, torch.bfloat16)
    eagle3_weights(m, "layers.0")
    m.decoder_layer("layers.1")
    m.head("lm_head", DRAFT_VOCAB)
    m.vocabulary_map()
    store(target, "eagle3_two_layers", "eagle3", ref.Eagle3, m, {"head_layers": 2},
          speculators_config("eagle3", llama_config(architectures=None, num_hidden_layers=2),
                             draft_vocab_size=DRAFT_VOCAB, norm_before_residual=False, target_hidden_size=None),
          DEFAULT_TAPS, "model.safetensors")

    m = Maker(28, torch.bfloat16)
    eagle3_weights(m, "layers.0")
    m.decoder_layer("layers.1")
    m.put("mask_hidden", 1, 1, 3 * H)
    m.put("embed_tokens.weight", VOCAB, H)
    m.head("lm_head", DRAFT_VOCAB)
    m.vocabulary_map()
    store(target, "peagle", "peagle", ref.ParallelEagle, m, {"head_layers": 2, "mask_token_id": 190},
          speculators_config("peagle", llama_config(architectures=None, num_hidden_layers=2),
                             draft_vocab_size=DRAFT_VOCAB, norm_before_residual=False, target_hidden_size=None,
                             mask_token_id=190, eagle_aux_hidden_state_layer_ids=DEFAULT_TAPS),
          DEFAULT_TAPS, "model.safetensors")


# --- multi-token prediction layers ---


def make_mtp(target):
    m = Maker(30, torch.bfloat16)
    p = f"model.layers.{LAYERS}"
    m.put(f"{p}.embed_tokens.weight", VOCAB, H)
    m.norm(f"{p}.enorm", H)
    m.norm(f"{p}.hnorm", H)
    m.linear(f"{p}.eh_proj", H, 2 * H)
    m.decoder_layer(p)
    m.norm(f"{p}.shared_head.norm", H)
    m.head(f"{p}.shared_head.head", VOCAB)
    store(target, "mtp_deepseek", "mtp", ref.DeepSeekMtp, m, {},
          llama_config(num_hidden_layers=LAYERS, num_nextn_predict_layers=1), [LAYERS], "model.safetensors")

    def fast(seed, p, **options):
        maker = Maker(seed, torch.bfloat16)
        maker.norm(f"{p}.token_layernorm", H)
        maker.norm(f"{p}.hidden_layernorm", H)
        maker.linear(f"{p}.input_proj", H, 2 * H)
        maker.decoder_layer(p, **options)
        maker.norm(f"{p}.final_layernorm", H)
        return maker

    p = "mtp_layers.0"
    store(target, "mtp_fastmtp", "mtp", ref.FastMtp, fast(31, p, qk_norm=True), {"prefix": p},
          speculators_config("mtp", llama_config(architectures=None, model_type="qwen3", head_dim=16),
                             num_speculative_steps=3), [LAYERS], "model.safetensors")
    p = "model.mtp_layers.0"
    store(target, "mtp_mimo", "mtp", ref.FastMtp, fast(32, p, bias=True), {"prefix": p, "hidden_first": True},
          llama_config(architectures=["MiMoForCausalLM"], model_type="mimo", num_hidden_layers=LAYERS,
                       num_nextn_predict_layers=1, attention_bias=True), [LAYERS], "model.safetensors")


# --- Medusa, Hydra ---


def make_medusa_hydra(target):
    def medusa(seed, prefix, layers):
        m = Maker(seed, torch.float16)
        for i in range(3):
            m.linear(f"{prefix}{i}.0.linear", H, H, bias=True)
            for layer in range(1, layers):  # one block, repeated: the same tensors under several names
                for part in ("weight", "bias"):
                    m.w[f"{prefix}{i}.{layer}.linear.{part}"] = m.w[f"{prefix}{i}.0.linear.{part}"]
            m.head(f"{prefix}{i}.{layers}", VOCAB)
        return m

    for name, seed, prefix, layers in (("medusa", 40, "", 1), ("medusa_two_layers", 41, "medusa_head.", 2)):
        fields = {"medusa_num_heads": 3, "medusa_num_layers": layers}
        store(target, name, "medusa", ref.Medusa, medusa(seed, prefix, layers), fields | {"key_prefix": prefix},
              {"base_model_name_or_path": "target", **fields}, [LAYERS], "medusa_lm_head.pt", shallow=True)

    def hydra(seed, layers, step, lead, head_suffix):
        m = Maker(seed, torch.float16)
        for i in range(3):
            p = f"hydra_mlp.{i}"
            m.linear(f"{p}.{lead}.linear", H, (i + 2) * H, bias=True)
            m.linear(f"{p}.{lead}.res_connection", H, (i + 2) * H, bias=True)
            for layer in range(1, layers):
                name = f"{p}.{lead + step * layer}.linear"
                if layer == 1:
                    m.linear(name, H, H, bias=True)
                for part in ("weight", "bias"):
                    m.w[f"{name}.{part}"] = m.w[f"{p}.{lead + step}.linear.{part}"]
            m.linear(f"hydra_lm_head.{i}{head_suffix}", VOCAB, H, bias=True, scale=2.0)
        return m

    fields = {"hydra_num_heads": 3, "hydra_num_layers": 2, "hydra_head_arch": "mlp", "grounded_heads": True,
              "hidden_state_offset": 0}
    store(target, "hydra", "hydra", ref.Hydra, hydra(42, 2, 1, 0, ""), fields,
          {"base_model_name_or_path": "target", **fields}, [LAYERS], "hydra_lm_head.pt", shallow=True)

    m = hydra(43, 4, 2, 1, ".1")
    p = "prefix_embeding_layer"
    m.put(f"{p}.embed_tokens.weight", VOCAB, H)  # a whole LlamaModel is stored; its embedding is never used
    m.decoder_layer(f"{p}.layers.0")
    m.w[f"{p}.layers.0.self_attn.rotary_emb.inv_freq"] = 10000.0 ** (-torch.arange(0, 16, 2) / 16)
    m.norm(f"{p}.norm", H)
    fields = fields | {"hydra_num_layers": 4, "hydra_head_arch": "prefix-mlp"}
    store(target, "hydra_plus_plus", "hydra", ref.Hydra, m, fields, {"base_model_name_or_path": "target", **fields},
          [LAYERS], "hydra_lm_head.pt", shallow=True)


# --- DFlash, DSpark ---


def dflash_weights(m, layers=2, taps=3):
    m.linear("fc", H, taps * H)
    m.norm("hidden_norm", H)
    for i in range(layers):
        m.decoder_layer(f"layers.{i}", qk_norm=True)
    m.norm("norm", H)


def make_block_drafters(target):
    def qwen(layer_types, **fields):
        return llama_config(architectures=None, model_type="qwen3", head_dim=16, num_hidden_layers=len(layer_types),
                            layer_types=layer_types, attention_bias=False, tie_word_embeddings=False, **fields)

    full, sliding = ["full_attention"] * 2, ["sliding_attention", "full_attention"]
    block, mask_token = 6, 191
    common = {"head_layers": 2, "block_size": block, "mask_token_id": mask_token}

    m = Maker(50, torch.bfloat16)
    dflash_weights(m)
    store(target, "dflash", "dflash", ref.DFlash, m, common | {"layer_types": full},
          qwen(full) | {"architectures": ["DFlashDraftModel"], "block_size": block, "num_target_layers": LAYERS,
                        "dflash_config": {"target_layer_ids": [1, 4, 6], "mask_token_id": mask_token}},
          [2, 5, 7], "model.safetensors")

    # What some tools store beside the weights: the placeholder's embedding, here the target's own.
    (OUT / "mask_embedding").mkdir()
    row = target.w["model.embed_tokens.weight"][mask_token].to(torch.bfloat16)
    torch.save({"mask_token_id": mask_token, "embedding": row}, OUT / "mask_embedding" / "mask_embedding.pt")

    # Reduced vocabulary; layer 0 slides (and is causal), with a window that ends inside the context.
    for name, seed, bidirectional in (("dflash_sliding", 51, False), ("dflash_sliding_bidirectional", 52, True)):
        m = Maker(seed, torch.bfloat16)
        dflash_weights(m)
        m.head("lm_head", DRAFT_VOCAB)
        m.vocabulary_map()
        flag = {"sliding_window_non_causal": bidirectional}
        store(target, name, "dflash", ref.DFlash, m,
              common | {"layer_types": sliding, "window": 8} | flag,
              speculators_config("dflash", qwen(sliding, sliding_window=8, use_sliding_window=True),
                                 draft_vocab_size=DRAFT_VOCAB, block_size=block, mask_token_id=mask_token,
                                 aux_hidden_state_layer_ids=DEFAULT_TAPS, sample_from_anchor=False, **flag),
              DEFAULT_TAPS, "model.safetensors")

    rank = 16
    for name, seed, kind, anchor, confidence in (("dspark", 53, "vanilla", True, True),
                                                 ("dspark_gated", 54, "gated", False, False),
                                                 ("dspark_rnn", 55, "rnn", True, None)):
        m = Maker(seed, torch.bfloat16)
        dflash_weights(m)
        draft_vocab = DRAFT_VOCAB if kind == "vanilla" else VOCAB
        if kind == "vanilla":
            m.head("lm_head", DRAFT_VOCAB)
            m.vocabulary_map()
        m.put("markov_head.markov_w1.weight", VOCAB, rank)
        m.linear("markov_head.markov_w2", draft_vocab, rank)
        if kind == "gated":
            m.linear("markov_head.gate_proj", rank, H + rank, bias=True)
        if kind == "rnn":
            m.linear("markov_head.joint_proj", 3 * rank, 2 * rank + H, bias=True)
        if confidence is not None:
            m.linear("confidence_head.proj", 1, H + (rank if confidence else 0), bias=True)
        fields = {"markov_rank": rank, "markov_head_type": kind, "sample_from_anchor": anchor,
                  "enable_confidence_head": confidence is not None, "confidence_head_with_markov": bool(confidence)}
        store(target, name, "dspark", ref.DSpark, m, common | {"layer_types": full} | fields,
              speculators_config("dspark", qwen(full), draft_vocab_size=draft_vocab, block_size=block,
                                 mask_token_id=mask_token, aux_hidden_state_layer_ids=DEFAULT_TAPS,
                                 sliding_window_non_causal=False, **fields),
              DEFAULT_TAPS, "model.safetensors")


def main():
    for entry in OUT.iterdir() if OUT.exists() else []:
        if entry.is_dir():
            shutil.rmtree(entry)
    target = make_target()
    make_eagle(target)
    make_eagle3(target)
    make_mtp(target)
    make_medusa_hydra(target)
    store(target, "layerskip", "layerskip", ref.LayerSkip, None, {"exit_layer": 3}, {"exit_layer": 3}, [], "")
    make_block_drafters(target)
    print(f"{sum(f.stat().st_size for f in OUT.rglob('*') if f.is_file()):,} bytes in all")


if __name__ == "__main__":
    main()
