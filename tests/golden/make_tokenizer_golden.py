#!/usr/bin/env python3
"""Makes tests/golden/tokenizers/: tiny tokenizers of the published families' designs, and what Hugging Face's
`tokenizers` package (0.21 or later) encodes with them; and what the `sentencepiece` package encodes with the SentencePiece models of the repository. Run
once; the files are kept in the repository.

    pip install tokenizers sentencepiece && python3 tests/golden/make_tokenizer_golden.py
"""

import json
import pathlib
import random

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/golden/tokenizers"

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")

CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + CONTRACTION +
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + CONTRACTION +
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")

SENTENCEPIECE_MODELS = {"llama-spm.model": "tests/data/tokenizers/llama-spm.tokenizer.model",
                        "stories260k.model": "models/stories260k/tokenizer.model",
                        "seed.model": "tests/fuzz/corpus/sentencepiece/bpe.model"}

TEXTS = [
    "", " ", "  ", "\n", "\r\n\r\n", "\t\t x", "Hello, world!", " leading and trailing ",
    "I'm sure they'LL say it's 'Twas; we'Ve, he'D, 'ſ",
    "numbers 1 12 123 1234 12345 ١٢٣ ½ Ⅷ 3.14159e-10", "x=1;\n\n\n  if (y) {\n\treturn -1;\n  }\n",
    "camelCaseWord HTTPServer ÜBER naïve façade", "e\u0301 vs \u00e9, A\u030a\u0323, \u1e9b\u0323, \uac00 \u1100\u1161",
    "中文字符和日本語のテキスト、한국어", "Привет, мир! Γειά σου Κόσμε", "नमस्ते दुनिया ကြောင်", "שלום עולם مرحبا بالعالم",
    "🦙🚀👩‍👩‍👧 emoji ✅ zero\u200bwidth nb\u00a0sp \u3000wide\u2028line\u0085next \u180e mongol",
    "<|begin|>system\n\nYou are<|end|> <|end|>\n<tool>x</tool> <mask> here xyzzyxyzzy", "foo<|begin|><|begin|> bar <|end|>",
    "word wordy sword word! a_word word", "a" * 100, " " * 70 + "x", "ab" * 60 + "\n" * 60, "\x00\x01\x7f control",
    "▁underline ▁ ▁▁ done", "don't stop believin' /path/to//file?q=1&r=%20#frag", "xyzzy plugh",
]


def random_texts(count):
    rng = random.Random(20240607)
    ranges = [(0x20, 0x7E), (0x20, 0x7E), (0x09, 0x0D), (0x20, 0x20), (0xA0, 0x17F), (0x300, 0x36F), (0x370, 0x52F),
              (0x5D0, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F), (0x1100, 0x11FF), (0x1E00, 0x20CF), (0x2100, 0x2BFF),
              (0x3000, 0x30FF), (0x4E00, 0x4FFF), (0xAC00, 0xAFFF), (0xFF00, 0xFFEF), (0x1F300, 0x1F6FF), (0x1D400, 0x1D7FF)]
    for _ in range(count):
        text = ""
        while len(text) < rng.randint(1, 60):
            low, high = rng.choice(ranges)
            text += "".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 6)))
        yield text


def corpus():
    for path in [ROOT / "LICENSE", ROOT / "tests/data/tokenizers/smollm2.inp"]:
        yield from path.read_text(encoding="utf-8").splitlines(keepends=True)
    yield from TEXTS * 3


def byte_level(split, vocab_size=640, normalizer=None, byte_level_regex=False):
    tokenizer = Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    steps = [*split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=byte_level_regex)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def isolated(pattern, invert=False):
    return pre_tokenizers.Split(Regex(pattern), "removed" if invert else "isolated", invert=invert)


def llama3():
    tokenizer = byte_level([isolated(LLAMA3)])
    tokenizer.add_special_tokens([AddedToken("<|begin|>", special=True), AddedToken("<|end|>", special=True)])
    begin = tokenizer.token_to_id("<|begin|>")
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|begin|> $A", pair="<|begin|> $A <|begin|>:1 $B:1",
                                      special_tokens=[("<|begin|>", begin)])])
    spec = json.loads(tokenizer.to_str())
    # A word that merging does not reach: only ignore_merges finds it. It takes the first added token's id.
    spec["model"]["vocab"]["xyzzyxyzzy"] = begin
    for token in spec["added_tokens"]:
        token["id"] += 1
    spec["post_processor"]["processors"][1]["special_tokens"]["<|begin|>"]["ids"] = [begin + 1]
    spec["model"]["ignore_merges"] = True
    spec["model"]["merges"] = [m if isinstance(m, str) else " ".join(m) for m in spec["model"]["merges"]]
    return spec


def qwen2():
    tokenizer = byte_level([isolated(QWEN2)], normalizer=normalizers.NFC())
    tokenizer.add_special_tokens([AddedToken("<|begin|>", special=True, normalized=False),
                                  AddedToken("<|end|>", special=True, normalized=False)])
    tokenizer.add_tokens([AddedToken("<tool>", special=False, normalized=False)])
    return json.loads(tokenizer.to_str())


def tekken():
    # Also: matches kept by removing what lies between them, and merges written as pairs.
    tokenizer = byte_level([isolated(TEKKEN, invert=True)])
    tokenizer.add_special_tokens([AddedToken("<|begin|>", special=True)])
    spec = json.loads(tokenizer.to_str())
    spec["model"]["merges"] = [m.split(" ") if isinstance(m, str) else m for m in spec["model"]["merges"]]
    return spec


def gpt4o():
    """gpt-oss's and Phi-4-mini's."""
    tokenizer = byte_level([isolated(GPT4O)])
    tokenizer.add_special_tokens([AddedToken(t, special=True) for t in ("<|begin|>", "<|end|>")])
    return json.loads(tokenizer.to_str())


def behaviors():
    """Pre-tokenisers and added-token flags that no published tokenizer here combines."""
    split = [pre_tokenizers.Split(Regex(r"_"), "merged_with_previous"),
             pre_tokenizers.Split(Regex(r"[A-Z]"), "merged_with_next"),
             pre_tokenizers.Split("/", "contiguous"), pre_tokenizers.Digits(individual_digits=False)]
    tokenizer = byte_level(split, byte_level_regex=True)
    tokenizer.add_special_tokens([AddedToken("<|end|>", special=True, rstrip=True),
                                  AddedToken("<mask>", special=True, lstrip=True, rstrip=True)])
    tokenizer.add_tokens([AddedToken("word", single_word=True, normalized=True), AddedToken("<|", normalized=False)])
    return json.loads(tokenizer.to_str())


def character_bpe(pre_tokenizer, normalizer, decoder, byte_fallback=True):
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256 if byte_fallback else 0)]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=byte_fallback, fuse_unk=True))
    # Training needs words; the files published for Llama have none.
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=special, limit_alphabet=150, show_progress=False)
    tokenizer.train_from_iterator(corpus(), trainer)
    spec = json.loads(tokenizer.to_str())
    spec["added_tokens"] = [t for t in spec["added_tokens"] if t["id"] < 3]
    spec["pre_tokenizer"], spec["normalizer"], spec["decoder"] = pre_tokenizer, normalizer, decoder
    return spec


STRIP = {"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}


def llama2():
    normalizer = {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}
    spec = character_bpe(None, normalizer, STRIP)
    spec["added_tokens"].append({"id": len(spec["model"]["vocab"]), "content": "<tool>", "single_word": False,
                                 "lstrip": False, "rstrip": False, "normalized": True, "special": False})
    return spec


def mistral():
    pre_tokenizer = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    return character_bpe(pre_tokenizer, None, STRIP)


def unknown():
    """No bytes to fall back on: unknown characters, fused."""
    pre_tokenizer = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    decoder = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    return character_bpe(pre_tokenizer, None, decoder, byte_fallback=False)


def main():
    OUT.mkdir(exist_ok=True)
    texts = TEXTS + list(random_texts(60))
    for make in (llama3, qwen2, tekken, gpt4o, behaviors, llama2, mistral, unknown):
        spec = make()
        path = OUT / f"{make.__name__}.tokenizer.json"
        path.write_text(json.dumps(spec, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
        tokenizer = Tokenizer.from_file(str(path))
        cases = []
        for text in texts:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            cases.append({"text": text, "ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=True)})
        write_cases(make.__name__, cases)
        print(path.name, len(spec["model"]["vocab"]), sum(len(case["ids"]) for case in cases), "ids")
    for name, path in SENTENCEPIECE_MODELS.items():
        processor = sentencepiece.SentencePieceProcessor(str(ROOT / path))
        plain = [text for text in texts if "\0" not in text]
        cases = [{"text": text, "ids": processor.encode(text), "decoded": processor.decode(processor.encode(text))} for text in plain]
        write_cases(name, cases)


def write_cases(name, cases):
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    (OUT / f"{name}.cases.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
