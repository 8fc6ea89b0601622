#!/usr/bin/env python3
"""Checks make_mtp_golden.py's reference and files. Prints the largest differences; exits with 1 if one is too large.

    pip install torch transformers safetensors numpy sentencepiece
    python3 check_mtp_golden.py LLAMA_CPP_FOLDER [FOLDER...]          default: mtp_models/*

- the trunk against transformers' Qwen3_5ForCausalLM, in float32 and with every float32 in it made float64
- the MTP layer's block and its norms against transformers' decoder layer and norm, likewise, on all rows of the text,
  on the greedy chain and on the tree, each path run from its start without a cache
- the MTP's positions: p and p + 1 must agree
- model.gguf against llama.cpp's own converter: the same keys, types and values of tensors, apart from its general keys
- every tensor matters: without it (0 instead) the drafts are others
Made with transformers 5.24 / torch 2.15 / llama.cpp of llama_cpp_python 0.3.36.
"""
import json
import pathlib
import sys
import tempfile

LLAMA_CPP = pathlib.Path(sys.argv[1]).resolve()
sys.path[:0] = [str(LLAMA_CPP / "gguf-py"), str(LLAMA_CPP)]
import numpy as np  # noqa: E402
import torch  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402
from transformers import AutoTokenizer, Qwen3_5TextConfig  # noqa: E402
from transformers.models.qwen3_5 import modeling_qwen3_5 as hf  # noqa: E402
import make_mtp_golden as ref  # noqa: E402

torch.set_num_threads(1)
failed = False


def report(what, difference, limit):
    global failed
    failed |= not difference <= limit
    print(f"  {what}: {difference:.2e}{'' if difference <= limit else f'  TOO LARGE, at most {limit:.0e}'}")


def apart(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape, (a.shape, b.shape)
    return float(np.abs(a - b).max())


class Double:
    """torch, with float64 in the place of float32."""
    float32 = float = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


class AllDouble:
    """transformers' classes compute in float32 inside, whatever they are given: not within this."""
    def __enter__(self):
        self.float = torch.Tensor.float
        hf.torch, torch.Tensor.float = Double(), torch.Tensor.double
        torch.set_default_dtype(torch.float64)

    def __exit__(self, *_):
        hf.torch, torch.Tensor.float = torch, self.float
        torch.set_default_dtype(torch.float32)


def text_config(folder):
    it = json.loads((folder / "config.json").read_text())
    return Qwen3_5TextConfig(**it.get("text_config", it), attn_implementation="eager")


def load(folder):
    """The checkpoint's tensors under the reference's names."""
    return {name.removeprefix("model.").removeprefix("language_model."): x
            for name, x in load_file(folder / "model.safetensors").items()}


def hf_trunk(config, weights, tokens, dtype):
    model = hf.Qwen3_5ForCausalLM(config).to(dtype).eval()
    state = {name if name.startswith("lm_head") else f"model.{name}": torch.tensor(x).to(dtype)
             for name, x in weights.items() if not name.startswith("mtp.")}
    if config.tie_word_embeddings:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state, strict=True)
    with torch.no_grad():
        hidden = model.model(torch.tensor([tokens]), use_cache=False).last_hidden_state
        return hidden[0].double().numpy(), model.lm_head(hidden)[0].double().numpy()


class HfMtp:
    """The MTP layer from transformers' own classes: a path of rows at a time, causal, without a cache."""
    def __init__(self, config, weights, dtype):
        full = config.layer_types.index("full_attention")
        self.dtype, self.rope = dtype, hf.Qwen3_5TextRotaryEmbedding(config)
        self.block = hf.Qwen3_5DecoderLayer(config, full).to(dtype).eval()
        self.block.load_state_dict({name.removeprefix("mtp.layers.0."): torch.tensor(x).to(dtype)
                                    for name, x in weights.items() if name.startswith("mtp.layers.0.")}, strict=True)
        self.norms = {}
        for name in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"):
            self.norms[name] = hf.Qwen3_5RMSNorm(config.hidden_size, config.rms_norm_eps).to(dtype)
            self.norms[name].load_state_dict({"weight": torch.tensor(weights[f"mtp.{name}.weight"]).to(dtype)})
        self.embedding = torch.tensor(weights["embed_tokens.weight"]).to(dtype)
        self.head = torch.tensor(weights.get("lm_head.weight", weights["embed_tokens.weight"])).to(dtype)
        self.fc = torch.tensor(weights["mtp.fc.weight"]).to(dtype)

    def __call__(self, hidden, tokens, first=0):
        """m and logits of rows (hidden[i], tokens[i]) at positions first + i; numpy in and out."""
        with torch.no_grad():
            hidden = torch.tensor(np.array(hidden)).to(self.dtype)
            x = torch.cat([self.norms["pre_fc_norm_embedding"](self.embedding[tokens]),
                           self.norms["pre_fc_norm_hidden"](hidden)], -1) @ self.fc.T
            n = len(tokens)
            positions = torch.arange(first, first + n)[None]
            mask = torch.full((n, n), float("-inf"), dtype=self.dtype).triu(1)[None, None]
            m = self.norms["norm"](self.block(x[None], position_embeddings=self.rope(x[None], positions),
                                              attention_mask=mask))[0]
            return m.double().numpy(), (m @ self.head.T).double().numpy()


def check_mtp(mtp, tensors, ids, label, limit):
    """Of the prompt's rows, the chain and the tree: the reference's trunk, and in drafted rows the classes' own m."""
    hidden, fed = list(tensors["trunk.hidden"]), [*ids["prompt"][1:], ids["root"]]
    m, logits = mtp(hidden, fed)
    report(f"MTP, rows of the text, {label}",
           max(apart(m, tensors["mtp.hidden"]), apart(logits, tensors["mtp.logits"])), limit)
    chain = ids["chain"]["tokens"]
    path_h, path_t, worst = list(hidden), list(fed), 0.0
    for d in range(len(chain)):
        if d > 0:
            path_h, path_t = [*path_h, m[-1]], [*path_t, chain[d]]
        m, logits = mtp(path_h, path_t)
        worst = max(worst, apart(m[-1], tensors["chain.hidden"][d]), apart(logits[-1], tensors["chain.logits"][d]))
        assert int(logits[-1].argmax()) == ids["chain"]["drafted"][d]
    report(f"MTP, chain, {label}", worst, limit)
    tree, worst = ids["tree"], 0.0
    paths = {}
    for node, (token, parent) in enumerate(zip(tree["tokens"], tree["parents"])):
        path_h, path_t = (hidden, fed) if parent < 0 else ([*paths[parent][0], paths[parent][2]],
                                                           [*paths[parent][1], token])
        assert len(path_t) - 1 == tree["positions"][node]
        m, logits = mtp(path_h, path_t)
        paths[node] = path_h, path_t, m[-1]
        worst = max(worst, apart(m[-1], tensors["tree.hidden"][node]), apart(logits[-1], tensors["tree.logits"][node]))
    report(f"MTP, tree, {label}", worst, limit)


def check_gguf(folder):
    import gguf
    import conversion
    ours = gguf.GGUFReader(folder / "model.gguf")
    with tempfile.TemporaryDirectory() as out, torch.inference_mode():
        path = pathlib.Path(out) / "converted.gguf"
        architecture = json.loads((folder / "config.json").read_text())["architectures"][0]
        converter = conversion.get_model_class(architecture)
        converter.get_vocab_base_pre = lambda self, tokenizer: "qwen35"  # it knows published vocabularies only
        converter(folder, gguf.LlamaFileType.ALL_F32, path).write()
        theirs = gguf.GGUFReader(path)
        keys = [{k: f.contents() for k, f in each.fields.items() if not k.startswith(("GGUF.", "general."))}
                for each in (ours, theirs)]
        for key in sorted(keys[0].keys() | keys[1].keys()):
            if keys[0].get(key) != keys[1].get(key):
                print(f"  key {key}: ours {str(keys[0].get(key))[:60]!r}, llama.cpp's {str(keys[1].get(key))[:60]!r}")
        assert ours.fields["general.architecture"].contents() == theirs.fields["general.architecture"].contents()
        a, b = ({t.name: t for t in each.tensors} for each in (ours, theirs))
        assert a.keys() == b.keys(), a.keys() ^ b.keys()
        assert all(a[n].tensor_type == b[n].tensor_type for n in a)
        different = {n: apart(a[n].data, b[n].data) for n in a if not np.array_equal(a[n].data, b[n].data)}
        print(f"  GGUF: {len(a)} tensors, {len(a) - len(different)} equal to the bit, others: {different}")
        report("GGUF, values", max(different.values(), default=0.0), 2e-7)


def check_every_tensor(weights, tensors, ids):
    global failed
    w = {n: x.astype(np.float64) for n, x in weights.items()}
    least = (np.inf, None)
    for name in w:
        changed, _, _, _ = ref.round_of({**w, name: np.zeros_like(w[name])}, ids["prompt"])
        difference = apart(changed["mtp.logits"][-1], tensors["mtp.logits"][-1])
        least = min(least, (difference, name))
    print(f"  every tensor matters: least change of depth 1's logits {least[0]:.3f}, of {least[1]}")
    failed |= least[0] < 0.01


for folder in map(pathlib.Path, sys.argv[2:] or sorted(ref.HERE.glob("mtp_models/*"))):
    print(folder.name)
    config, weights = text_config(folder), load(folder)
    ids = json.loads((folder / "expected.json").read_text())
    tensors, again = ref.expected(weights)
    stored = load_file(folder / "expected.safetensors")
    assert again == ids and stored.keys() == tensors.keys()
    assert all(x.dtype == np.float32 for x in stored.values())
    report("stored values against the reference", max(apart(stored[n], tensors[n]) for n in tensors), 1e-6)

    w = {n: x.astype(np.float64) for n, x in weights.items()}
    text = ids["accepted"]["text"]
    for dtype, limit in ((torch.float32, 5e-5), (torch.float64, 1e-9)):
        label = str(dtype).removeprefix("torch.")
        with AllDouble() if dtype == torch.float64 else torch.no_grad():
            hidden, logits = hf_trunk(config, weights, text, dtype)
            report(f"trunk, hidden, {label}", apart(hidden, tensors["accepted.trunk.hidden"]), limit)
            report(f"trunk, logits, {label}", apart(logits, tensors["accepted.trunk.logits"]), limit)
            mtp = HfMtp(config, weights, dtype)
            check_mtp(mtp, tensors, ids, label, limit)
            m, logits = mtp(tensors["accepted.trunk.hidden"], [*text[1:], ids["accepted"]["root"]])
            report(f"MTP, rows after acceptance, {label}",
                   max(apart(m, tensors["accepted.mtp.hidden"]), apart(logits, tensors["accepted.mtp.logits"])), limit)
    shifted, _, _, _ = ref.round_of(w, ids["prompt"], shift=1)
    report("MTP at positions p + 1", max(apart(shifted[n], tensors[n]) for n in shifted), 1e-9)
    print(f"  node 1's drafted m against the row of the target's own h: "
          f"{apart(tensors['tree.hidden'][1], tensors['accepted.mtp.hidden'][ref.PROMPT]):.2f} apart; "
          f"nodes 3 and 4, of one token: {apart(tensors['tree.logits'][3], tensors['tree.logits'][4]):.2f}")
    check_every_tensor(weights, tensors, ids)
    check_gguf(folder)
    words = AutoTokenizer.from_pretrained(folder)
    sample = "Hello, wörld! 123<|im_end|>\n"
    assert words.decode(words.encode(sample)) == sample and len(words) == ref.VOCAB
sys.exit(failed)
