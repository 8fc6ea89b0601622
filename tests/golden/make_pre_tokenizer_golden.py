#!/usr/bin/env python3
"""Makes tests/golden/tokenizers/pre_tokenizers.json: 300 texts, and what Hugging Face's `tokenizers` package (0.23)
encodes of them when it cuts text as each name of tokenizer.ggml.pre says, and in further ways that tokenizer.json knows.
All ways share a vocabulary whose merges cross words, so that another cut gives other ids. Of the ids a hash is kept.
Run once; the file is kept in the repository.

    pip install tokenizers==0.23.3 && python3 tests/golden/make_pre_tokenizer_golden.py
"""

import itertools
import json
import pathlib
import random
import struct
import unicodedata

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/golden/tokenizers/pre_tokenizers.json"
# Whole tokenizers of the repository that the texts are encoded with, too.
FILES = ["tests/data/tokenizers/gpt-2.tokenizer.json", "models/smollm2-draft-11m/tokenizer.json",
         *(f"tests/golden/tokenizers/{name}.tokenizer.json"
           for name in ("llama3", "qwen2", "tekken", "gpt4o", "behaviors", "llama2", "mistral", "unknown"))]

# ---- texts

SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
DIGITS = ["0123456789", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹", "०१२३४५६७८९", "০১২৩৪৫৬৭৮৯", "๐๑๒๓๔๕๖๗๘๙", "０１２３４５６７８９", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗"]

EMOJI = ["👩‍👩‍👧‍👦", "👨🏽‍🚀", "🏳️‍🌈", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "🇩🇪🇫🇷🇯🇵", "1️⃣2️⃣#️⃣*️⃣", "❤️‍🔥", "☺︎☺️", "👍🏿👍🏻👍", "🤷🏼‍♀️", "🧑‍🤝‍🧑", "👁️‍🗨️", "🙂🙂🙂", "a🙂b",
         "🙂 .", "🦙🚀✅", "🫠", "🇦", "‍👩", "👩‍", "️", "🏿 skin", "🎉!!!", "ok👌ok", "👨‍💻: f(x)", "🐈‍⬛🐻‍❄️", "⌚⏰⏳", "♠♥♦♣", "→⇒∀∃∑√∞", "①②③㊗️㊙️"]

MARKS = ["e\u0301", "\u0301e", "re\u0301sume\u0301", "o\u0302\u0323", "Vie\u0323\u0302t Nam", "Tiê\u0301ng Viê\u0323t", "नमस्ते दुनिया", "हिन्दी में क्षत्रिय", "বাংলা ভাষা", "தமிழ் மொழி",
         "ภาษาไทยกำลังเดินทาง", "ກຳລັງ", "ភាសាខ្មែរ", "ကြောင်လေး", "བོད་ཡིག་", "سَلَامٌ عَلَيْكُم", "בְּרֵאשִׁית בָּרָא", "Z\u0351\u036b\u0343a\u0489\u0327l\u0301g\u0336o\u0300", "\u0301\u0302\u0303", "a\u0300" * 9,
         "1\u0301 2\u20e3", " \u0301x", "!\u0301?", "\n\u0301", "A\u030aB\u0308C\u0327", "x\u0305y\u0305", "க்ஷ ஸ்ரீ", "ಕನ್ನಡ తెలుగు", "ⓐ\u0301Ⓑ", "ǅ ǈ ǋ ᾈ"]

CJK = ["中文字符", "日本語のテキスト。", "カタカナとひらがな", "ｶﾀｶﾅ ﾊﾝｶｸ", "한국어 텍스트", "ㄱㄴㄷㅏㅑㅓ", "한글", "ㄅㄆㄇㄈ", "注音ㄓㄨˋㄧㄣ", "，。！？；：", "「引用」『二重』", "（全角）ＡＢＣ１２３",
       "汉字abc漢字", "abc汉字def", "中 文 空 格", "𠀀𠀁𪜀", "豈更車", "々〆〇ヶ", "東京都2024年12月31日", "価格は¥1,234,567円", "人工智能AI模型GPT-4o", "你好，世界！Hello, 世界!", "中文\n換行\n\n段落",
       "한국어와 English 섞기", "我's你'll", "我éa中É", "ー〜・", "第１２３４章", "百二十三", "㍻㌔㌧", "〈〉《》【】", "……——“引号”‘单’", "ᄒᆞᆫ글", "あ゙か゚", "x㋿y"]

RIGHT_TO_LEFT = ["שלום עולם", "مرحبا بالعالم", "שלום, world! 123", "العربية English العربية", "\u200fעברית\u200e", "\u202bembedding\u202c", "\u2066isolate\u2069", "السعر ١٢٣٫٤٥ ريال", "سال ۱۴۰۳ خورشیدی", "می\u200cخواهم",
                 "لا إله إلا الله", "ﷺ ﷲ", "ـــكشيدةـــ", "ירושלים\u05be2024", "אבג'דה\"ו", "¿عربي؟ نعم،", "ܫܠܡܐ", "ދިވެހި", "𐤀𐤁𐤂", "ﻣﺮﺣﺒﺎ", "a\u200fb", "\u061c", "פּ שׁ", "اردو میں", "(עברית)"]

NORMAL_FORMS = ["é É ü Å ñ ç", "Åström", "naïve façade", "ﬁn ﬀ ﬆ", "Å Å Å", "Ω Ω K K", "가각힣", "ẛ̣ ẛ̣", "ǖ ǘ", "Ǆ ǆ ǅ", "½ ⅓ x²", "Ⅷ ⅸ", "ｆｕｌｌ", "ά ά", "й ё", "が ぱ", "ấ ầ ẩ", "İ ı ß ẞ", "\u0344 \u0958 \u2126", "q\u0307\u0323"]

ODD = ["\0", "a\0b", "\x01\x02\x1f", "\x7f", "\x80\x9f", "\ufeffBOM", "x\ufeffy", "\ufffd", "\ufffdx\ufffd", "\ufffe\uffff", "\U0010ffff", "\ue000\uf8ff", "\U000f0000", "\u200b\u200c\u200d", "soft\u00adhyphen", "\u2060word\u2060", "\u180e", "\u115f\u3164",
       "\u034f", "\x1b[31mred\x1b[0m", "\\x00\\u0000", "\r", "\r\r\n", "a\rb", "\x1c\x1d\x1e", "<0x0A><0xFF>", "▁ ▁▁a", "Ġ Ċ ĉ", "\u2800\u2800", "\u0378\u0379"]

TEXT = ["", "Hello, world!", " leading and trailing ", "I'm sure they'LL say it's 'Twas; we'Ve, he'D", "don't DON'T Don'T 's 'S 'ſ", "camelCaseWord HTTPServer XMLHttpRequest iPhone", "ÜBER Éa aÉ ÀÉ éÉé ΑβΓ ПрИвЕт", "ALLCAPS lower Title mIxEd",
        "x=1;\n\n\n  if (y) {\n\treturn -1;\n  }\n", "def f(a, b=None):\n    return a[b] // 2\n", "/path/to//file?q=1&r=%20#frag", "a_b-c.d@e.com", "https://example.org/a/b/?x=y#z", "$100 + 5% = €1.234,56", "!!!???...,,,;;;", "#!/bin/sh\n//\n/*\r\n*/",
        "{\"key\": [1, 2.5e-10, null]}", "<div class=\"a\">text</div>", "a+b=c; a<b>c; a|b; ~a^b`c`", "word  two   three    four     five", "tab\tseparated\tvalues", "line one\nline two\r\nline three\n\nend", "   \n   \n", "\n\n\n", "    indented\n        more\n", "trailing   ",
        "rock'n'roll 'quoted' \"double\"", "it's John's 3's l'été d'accord", "Türkiye'nin Ankara'dan İzmir'de 'stay 'more 'dear 'tis", "<sentinel:12> IMGIMGABCZ IMGIMGABCDEZ", "e.g. U.S.A. 1st 2nd", "xyzzyxyzzy xyzzyxyzzy", "a" * 70, "ab " * 30, " " * 70 + "x", "-" * 60, "A" * 40 + "b" * 40, "Привет, мир! Γειά σου Κόσμε", "ქართული ენა Հայերեն", "ʼn ŉ ʹ ˈstress ᵃᵇ", "𞤀𞤁𞤂𞤣𞤤 𐐔𐐯𐑅 𐓘𐓛 Ꮳꮳ ⲁⲂ ꙀꙄ ﬃﬔ ǄԱა"]


def spaces():
    yield from (f"a{space}b{space}{space}c {space}d" for space in SPACES)
    yield SPACES
    yield from ("x" + " " * count + "y" for count in (2, 3, 7, 16, 33))
    yield from (" \n", "\n ", "  \n  x", "\t\n\t x", "a \u3000\u3000b", "\u2028\u2029 x", "\xa0\xa0x\n\xa0", " \r\n \r\n", "x\n \n y", "a\x85b \x85\n", ".\n.\n\n .\r\n", "!! \n\n")


def numbers():
    rng = random.Random(42)
    for digits in DIGITS:
        yield " ".join("".join(rng.choice(digits) for _ in range(length)) for length in (1, 2, 3, 4, 5, 6, 7, 10))
        yield f"x{digits[1:5]}y {digits[:4]}.{digits[:5]},{digits}-{digits[3:]}{digits[:9]}"
    yield from ("1234567 12345678 123456789 1234567890", "1234abc abc1234 12_345 1234_ 1234é 1234\u0301 1234² ²1234", "1٢३৪", "x² 10³ ½ ¼kg Ⅻ ⅷ ㊿ ⑳ 🄁", "3.14159e-10 0xFF 1,000,000 12:34:56", "  123  4567", "2024-12-31T23:59:59Z", "999" * 20, "$1234.5678 12345%", "v1.2.3-rc4 1st 22nd")


def all_texts():
    texts = [*EMOJI, *MARKS, *spaces(), *numbers(), *CJK, *RIGHT_TO_LEFT, *ODD, *TEXT]
    for text in NORMAL_FORMS:
        texts += [unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)]
    rng = random.Random(20261128)
    while len(texts) < 300:
        texts.append("".join(rng.choice(texts[:250]) + rng.choice(["", " ", "\n", "'s", ", "]) for _ in range(4))[:160])
    assert len(texts) == 300, len(texts)
    return texts


# ---- ways to cut

def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def byte_level(use_regex=False):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def digits(individual):
    return {"type": "Digits", "individual_digits": individual}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def bytes_cut(*patterns):
    return sequence(*map(split, patterns), byte_level())


C, W, N1, N3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"[^\r\n\p{L}\p{N}]?\p{L}+", r"\p{N}", r"\p{N}{1,3}"
P, SLASH, NL = r" ?[^\s\p{L}\p{N}]+[\r\n]*", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+"
END = NL + r"|\s+(?!\S)|\s+"
G2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CJK_RUN = "[一-龥\u3040-ゟ゠-ヿ]+"
MAIN = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+"""
DEEPSEEK = MAIN + r"[\r\n]*|" + END
QWEN2, LLAMA3 = f"{C}|{W}|{N1}|{P}|{END}", f"{C}|{W}|{N3}|{P}|{END}"
CASED = ("A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376"
         "\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556"
         "\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15"
         "\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc"
         "\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107"
         "\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149"
         "\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f"
         "\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f"
         "\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943")


def cased(suffix="", but=""):
    upper, lower = rf"[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}{but}]", rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}{but}]"
    return rf"[^\r\n\p{{L}}\p{{N}}]?{upper}*{lower}+{suffix}|[^\r\n\p{{L}}\p{{N}}]?{upper}+{lower}*{suffix}"


GPT4O = f"{cased(C + '?')}|{N3}|{SLASH}|{END}"
BLOOM = " ?[^(\\s|[.,!?…。，、।۔،])]+"
HALVES = "|".join(rf"\s{{{2**n}}}(?!\S)" for n in range(9, 1, -1)) + r"|\s{1,2}(?!\S)|\s{1}"
NAMES_OF_GPT2 = ("gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de gigachat a.x-4.0 mellum modern-bert exaone4 mpt olmo jais "
                 "trillion granite-docling jina-v1-en jina-v2-code roberta-bpe")

# names of tokenizer.ggml.pre (none: of tokenizer.json alone), how it cuts, and what else it does
DESIGNS = [
    (NAMES_OF_GPT2, byte_level(True), {}),
    ("smollm starcoder refact command-r codeshell exaone minerva-7b mellum2", sequence(digits(True), byte_level(True)), {}),
    ("llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano glm4 glm5", bytes_cut(LLAMA3), {"ignore_merges": True}),
    ("dbrx smaug-bpe chatglm-bpe", bytes_cut(LLAMA3), {}),
    ("gpt-4o llama4 kanana2 talkie minimax-m2", bytes_cut(GPT4O), {}),
    ("granite-embed-multi-97m", bytes_cut(GPT4O), {"ignore_merges": True}),
    ("qwen2", bytes_cut(QWEN2), {"normalizer": {"type": "NFC"}}),
    ("deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2", bytes_cut(QWEN2), {}),
    ("qwen35", bytes_cut(rf"{C}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|{N1}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{END}"), {"normalizer": {"type": "NFC"}}),
    ("tekken", bytes_cut(f"{cased()}|{N1}|{SLASH}|{END}"), {"ignore_merges": True}),
    ("deepseek-v3 hunyuan-dense joyai-llm hy_v4", bytes_cut(N3, CJK_RUN, DEEPSEEK), {}),
    ("deepseek-llm", sequence(split("[\r\n]"), split(rf"\s?[{CASED}]+"), split(r"\s?[!-/:-~！-／：-～‘-‟\u3000-。]+"), split(r"\s+$"),
                              split("[一-龥ࠀ-一가-\ud7ff]+"), digits(False), byte_level()), {}),
    ("deepseek-coder", sequence(split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split("[一-龥ࠀ-一가-\ud7ff]+"), digits(True), byte_level()), {}),
    ("kimi-k2", bytes_cut(rf"[\p{{Han}}]+|{cased(C + '?', '&&[^' + chr(92) + 'p{Han}]')}|{N3}|{P}|{END}"), {}),
    ("seed-coder", bytes_cut(rf"{C}|{W}|\p{{N}}{{1}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{END}"), {}),
    ("bailingmoe bailingmoe2 llada-moe", bytes_cut(r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"), {}),
    ("exaone-moe", bytes_cut(rf"{C}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"), {}),
    ("minicpm5", bytes_cut(N3, rf"{C}|{W}|\p{{N}}+|{P}|{END}"), {"ignore_merges": True}),
    ("tiny_aya cohere2moe", bytes_cut(r"\d{1,3}(?=(?:\d{3})*\b)", GPT4O), {}),
    ("youtu", bytes_cut("[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|" + CJK_RUN, f"{cased(C + '?')}|{N1}|{SLASH}|{END}"), {"ignore_merges": True}),
    ("spark2_5", bytes_cut(N3, CJK_RUN, MAIN + r"|[\r\n]|\s+(?!\S)|\s+", N1), {}),
    ("afmoe", bytes_cut(r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))",
                        "[一-鿿㐀-䶿\uf900-\ufaff\u3040-ゟ゠-ヿ･-ﾟ⼀-\u2fdfเ-\u0e7f\u0e80-\u0effក-\u17ffက-႟ꩠ-ꩿꧠ-\ua9ff가-\ud7afᄀ-ᇿ]+", DEEPSEEK), {}),
    ("laguna", bytes_cut(r"[^\n]+|[\n]+", QWEN2), {}),
    ("ufakzeka", bytes_cut(f"{W}|{N1}|{P}|{END}"), {}),
    ("jais-2", bytes_cut(f"{C}|{W}|{N3}|{P}|{NL}|{HALVES}"), {}),
    ("superbpe", bytes_cut(r"\p{N}+", r"(?=(\d{3})+(?!\d))"), {}),
    ("poro-chat bloom gpt3-finnish", bytes_cut(BLOOM), {}),
    ("viking", bytes_cut(BLOOM, N1), {}),
    ("chameleon", sequence(split("<sentinel:[0-9]+>"), split("(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"), split(r"([\t\n]|    |  )"), digits(True),
                           {"type": "Punctuation", "behavior": "Isolated"}, byte_level(True)), {}),
    ("falcon", sequence({"type": "Punctuation", "behavior": "Contiguous"}, byte_level(True), split("[0-9][0-9][0-9]")), {}),
    ("default", sequence(split(r"[\p{P}\$\+<=>\^~\|]+"), split(G2), digits(False), split("[0-9][0-9][0-9]"), byte_level()), {}),
    ("gemma4 granite-embed-multi-311m sarvam-moe", split(" ", "MergedWithPrevious", kind="String"),
     {"characters": True, "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}}),
    ("whitespace", split(r"\S+"), {"characters": True}),
    # Falcon's as published: digits are looked for among letters of the byte alphabet.
    ("", sequence({"type": "Punctuation", "behavior": "Contiguous"}, byte_level(True), digits(False), split("[0-9][0-9][0-9]")), {}),
    ("", sequence({"type": "WhitespaceSplit"}, {"type": "Punctuation"}, byte_level()), {}),
    ("", sequence({"type": "Whitespace"}, byte_level()), {}),
    ("", sequence({"type": "BertPreTokenizer"}, byte_level()), {}),
    ("", sequence({"type": "CharDelimiterSplit", "delimiter": "-"}, byte_level()), {}),
    # OpenAI's cl100k: an interval with a plus behind it repeats.
    ("", bytes_cut(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"), {}),
    ("", bytes_cut(r"\b\w+\b|\B.", r"[\w&&[^\d_]]+|[^\S\n]+", r"\h{2}|[^\W\h]"), {}),
    ("", bytes_cut(r"^.|.$", r"(?m:a.)|\u4e2d|x{,2}y", r"[[a-f][^\p{L}]&&[^\p{P}]]+"), {}),
]


# ---- vocabularies

def trained(texts, normalizer, characters):
    special = ["<unk>"] + [f"<0x{byte:02X}>" for byte in range(256)] if characters else []
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True) if characters else models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    # No merge of Gemma's crosses a line's end, where llama.cpp cuts.
    tokenizer.pre_tokenizer = (pre_tokenizers.Split(Regex(r"[^\n]+|[\n]+"), "isolated") if characters else
                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
    trainer = trainers.BpeTrainer(vocab_size=1100 if characters else 2400, special_tokens=special, limit_alphabet=300, max_token_length=12, show_progress=False,
                                  initial_alphabet=[] if characters else sorted(pre_tokenizers.ByteLevel.alphabet()))
    lines = [line for line in (ROOT / "LICENSE").read_text(encoding="utf-8").splitlines(keepends=True) if line.strip()]
    tokenizer.train_from_iterator([*texts, *texts, *lines[:60]], trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens, merges = sorted(model["vocab"], key=model["vocab"].get), [" ".join(merge) for merge in model["merges"]]
    made = {left + right for left, right in model["merges"]}
    base = [token for token in tokens if token not in made]
    # Words of bytes that no merge gives: only ignore_merges finds them.
    more = [] if characters else ["Hello", "Ġxyzzyxyzzy", "xyzzyxyzzy", "123", "ä¸Ń", "ðŁĻĤ"]
    vocabulary = {"base": base, "merges": merges, "more": [word for word in more if word not in made]}
    assert tokens_of(vocabulary)[:len(tokens)] == tokens and (characters or len(vocabulary["more"]) > 1)
    return vocabulary


def tokens_of(vocabulary):
    """By id: what merges begin with, what they give, and further words."""
    made = (merge.replace(" ", "") for merge in vocabulary["merges"])
    return list(dict.fromkeys([*vocabulary["base"], *made, *vocabulary["more"]]))


def spec_of(vocabulary, pre_tokenizer, ignore_merges=False, normalizer=None, characters=False):
    return {"version": "1.0", "added_tokens": [], "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
            "model": {"type": "BPE", "unk_token": "<unk>" if characters else None, "byte_fallback": characters, "ignore_merges": ignore_merges,
                      "vocab": {token: id for id, token in enumerate(tokens_of(vocabulary))}, "merges": vocabulary["merges"]}}


def hashes(tokenizer, texts):
    """Of each text's ids, as 32-bit words, the lowest 16 bits of FNV-1a."""
    out = []
    for text in texts:
        value = 0xcbf29ce484222325
        for byte in b"".join(struct.pack("<i", id) for id in tokenizer.encode(text, add_special_tokens=False).ids):
            value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
        out.append(f"{value & 0xffff:04x}")
    return out


def main():
    texts = all_texts()
    vocabularies = {"bytes": trained(texts, None, False), "characters": trained(texts, normalizers.Replace(" ", "▁"), True)}
    designs = []
    for names, pre_tokenizer, more in DESIGNS:
        vocabulary = vocabularies["characters" if more.get("characters") else "bytes"]
        tokenizer = Tokenizer.from_str(json.dumps(spec_of(vocabulary, pre_tokenizer, **more)))
        designs.append({"names": names.split(), "pre_tokenizer": pre_tokenizer, **more, "hashes": hashes(tokenizer, texts)})
    for one, other in itertools.combinations(designs, 2):  # each of which must be told from the others, or cut alike
        if one["hashes"] == other["hashes"]:
            print("alike:", one["names"][:1], other["names"][:1])
    files = {name: hashes(Tokenizer.from_file(str(ROOT / name)), texts) for name in FILES}
    for entry in designs:
        entry["hashes"] = "".join(entry["hashes"])
    files = {name: "".join(value) for name, value in files.items()}
    parts = [f'"texts":[\n{",".join(chr(10) * (i % 10 == 0) + json.dumps(text) for i, text in enumerate(texts))}]']
    parts += [f'"{name}":{json.dumps(value, separators=(",", ":"))}' for name, value in vocabularies.items()]
    parts += ['"designs":[\n' + ",\n".join(json.dumps(design, separators=(",", ":")) for design in designs) + "]"]
    parts += ['"files":' + json.dumps(files, indent=0, separators=(",", ":"))]
    OUT.write_text("{" + ",\n".join(parts) + "}\n", encoding="ascii")
    print(OUT.name, OUT.stat().st_size, "bytes,", len(designs), "designs")


if __name__ == "__main__":
    main()
