#!/usr/bin/env python3
"""Writes the seeds of the tokenizer and chat template targets: small well-formed files to start from.

    pip install gguf && python3 make_text_seeds.py
"""
import json
import pathlib
import struct

import gguf

CORPUS = pathlib.Path(__file__).parent / "corpus"
LLAMA3 = (r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def folder(name):
    (CORPUS / name).mkdir(parents=True, exist_ok=True)
    return CORPUS / name


def added(token_id, content, **flags):
    return {"id": token_id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": True, **flags}


def tokenizer_json():
    out = folder("tokenizer_json")
    vocab = {c: i for i, c in enumerate(["h", "e", "l", "o", "Ġ", "1", "he", "ll", "Ġhe", "Ċ"])}
    byte_level = {
        "added_tokens": [added(10, "<s>"), added(11, "</s>", rstrip=True, lstrip=True), added(12, "it", single_word=True, normalized=True, special=False)],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": "x+"}, "content": "y"}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": LLAMA3}, "behavior": "Isolated", "invert": False},
            {"type": "Split", "pattern": {"String": "l"}, "behavior": "MergedWithNext", "invert": True},
            {"type": "Digits", "individual_digits": True},
            {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}]},
        "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}]},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "ignore_merges": True, "vocab": vocab, "merges": ["h e", "l l", ["Ġ", "he"]]},
        "bos_token": "<s>", "eos_token": {"content": "</s>"}, "add_bos_token": True,
        "added_tokens_decoder": {"13": {"content": "<x>", "special": True}}}
    (out / "byte_level.json").write_text(json.dumps(byte_level, ensure_ascii=False))
    byte_level["pre_tokenizer"]["pretokenizers"] = [
        {"type": "Split", "pattern": {"Regex": r"\d{1,3}(?=(?:\d{3})*\b)"}, "behavior": "Isolated", "invert": False},
        {"type": "Split", "pattern": {"Regex": r"[\p{L}&&[^\p{Han}a-f[x-z]]]+|[^\S\w]{1,2}+|^\h$|\b(?m:.){,2}|\u00e9|[[:alpha:]-]"},
         "behavior": "Isolated", "invert": False},
        {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "Whitespace"}, {"type": "CharDelimiterSplit", "delimiter": "_"},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        {"type": "Digits", "individual_digits": False}]
    (out / "expressions.json").write_text(json.dumps(byte_level, ensure_ascii=False))
    vocab = {c: i for i, c in enumerate(["<unk>", "<s>", "</s>", "<0x0A>", "<0xC3>", "<0xB6>", "▁", "h", "e", "l", "o", "he", "▁he", "ll"])}
    characters = {
        "added_tokens": [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
        "pre_tokenizer": None,
        "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                                                     {"type": "ByteFallback"}, {"type": "Fuse"},
                                                     {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "vocab": vocab,
                  "merges": ["h e", "▁ he", "l l"]}}
    (out / "characters.json").write_text(json.dumps(characters, ensure_ascii=False))
    characters["normalizer"], characters["decoder"] = None, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}
    characters["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    (out / "metaspace.json").write_text(json.dumps(characters, ensure_ascii=False))


def field(number, value):
    """One protocol buffer field: bytes, int or float."""
    if isinstance(value, float):
        return bytes([number << 3 | 5]) + struct.pack("<f", value)
    if isinstance(value, int):
        return bytes([number << 3, value])
    length = len(value)
    size = bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])
    return bytes([number << 3 | 2]) + size + value


def sentencepiece():
    out = folder("sentencepiece")
    normal, unknown, control, user, byte = 1, 2, 3, 4, 6
    words = [("<unk>", unknown), ("<s>", control), ("</s>", control), ("▁", normal), ("h", normal), ("e", normal), ("l", normal),
             ("o", normal), ("he", normal), ("▁he", normal), ("ll", normal), ("<x>", user)]
    for name, model_type, fallback in (("bpe.model", 2, 0), ("bytes.model", 2, 1), ("unigram.model", 1, 0)):
        pieces = words + [(f"<0x{b:02X}>", byte) for b in range(256 if fallback else 0)]
        model = b"".join(field(1, field(1, text.encode()) + field(2, -float(i)) + field(3, kind)) for i, (text, kind) in enumerate(pieces))
        model += field(2, field(3, model_type) + (bytes([35 << 3 & 127 | 128, 35 << 3 >> 7, 1]) if fallback else b""))
        model += field(3, field(1, b"identity") + field(3, 1) + field(4, 0) + field(5, 1))
        (out / name).write_bytes(model)


def gguf_vocabulary():
    out = folder("gguf_vocabulary")
    for name, model, pre in (("spm", "llama", "default"), ("llama3", "gpt2", "llama-bpe"), ("qwen2", "gpt2", "qwen2"), ("default", "gpt2", "default"),
                             ("gemma4", "gemma4", "gemma4"), ("kimi", "gpt2", "kimi-k2"), ("afmoe", "gpt2", "afmoe"), ("superbpe", "gpt2", "superbpe")):
        w = gguf.GGUFWriter(out / f"{name}.gguf", "llama")
        w.add_tokenizer_model(model)
        w.add_tokenizer_pre(pre)
        if model == "llama":
            tokens = ["<unk>", "<s>", "</s>", "<0x41>", "▁", "h", "e", "he", "▁he", "<x>", "xy"]
            types = [2, 3, 3, 6, 1, 1, 1, 1, 1, 4, 1]
            w.add_token_scores([-float(i) for i in range(len(tokens))])
        else:
            tokens = ["<s>", "</s>", "h", "e", "he", "Ġ", "Ġhe", "1", "<x>", "Ċ"]
            types = [3, 3, 1, 1, 1, 1, 1, 1, 4, 1]
            w.add_token_merges(["h e", "Ġ he"])
        w.add_token_list(tokens)
        w.add_token_types(types)
        w.add_bos_token_id(1)
        w.add_eos_token_id(2)
        w.add_add_bos_token(True)
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.close()


def chat_template():
    out = folder("chat_template")
    seeds = {
        "chatml": "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m.content|trim ~ '<|im_end|>\\n' }}{% endfor %}",
        "tools": "{%- if tools is not none %}{%- for t in tools %}{{ t | tojson(indent=2) }}{%- endfor %}{%- elif messages[0].role == 'system' %}{% set messages = messages[1:] %}{% endif %}",
        "namespace": "{% set ns = namespace(i=0, f=false) %}{% for a, b in {'x': 1}.items() if a != 'y' %}{% set ns.i = ns.i + b %}{% if loop.last %}{% break %}{% endif %}{% else %}e{% endfor %}{{ ns.i }}",
        "macro": "{% macro f(a, b=[1, 2][::-1]) -%}\n  {{ a }}{{ b | join(',') }}{{ caller() if caller is defined }}\n{%- endmacro %}{{ f('x') }}{% call f(1) %}c{% endcall %}",
        "filters": "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | list | sort | first | default('d', true) | upper | replace('A', 'b') | length }}",
        "strings": "{{ 'a</think>b'.split('</think>')[-1].strip('b').startswith(('x', 'y')) }}{# c #}{% raw %}{{ }}{% endraw %}{% set x %} y {% endset %}{{ x ~ 1.5 ** 2 // 1 % 3 }}{{ raise_exception('e') if not x }}",
    }
    for name, source in seeds.items():
        (out / f"{name}.jinja").write_text(source)


if __name__ == "__main__":
    tokenizer_json()
    sentencepiece()
    gguf_vocabulary()
    chat_template()
