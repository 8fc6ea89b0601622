#!/usr/bin/env python3
"""A Llama of random weights in bf16, to time shapes that no shipped model has. It says nothing sensible.

usage: make_random_model.py CONFIG.json TOKENIZER OUT
  CONFIG.json  of a Hugging Face folder; vocab_size at least the tokenizer's
  TOKENIZER    a folder whose tokenizer files are copied
`augur quantize OUT FILE.gguf TYPE` makes a file of it that other engines read, too. All tensors are in memory at once.
"""
import json
import pathlib
import shutil
import sys

from make_untrained_heads import Head


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    config = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    tokenizer, out = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    c = {"num_key_value_heads": config["num_attention_heads"],
         "head_dim": config["hidden_size"] // config["num_attention_heads"], **config}
    model = Head()
    model.put("model.embed_tokens.weight", c["vocab_size"], c["hidden_size"], scale=0.02)
    for layer in range(c["num_hidden_layers"]):
        model.decoder_layer(f"model.layers.{layer}", c)
    model.norm("model.norm", c["hidden_size"])
    if not c.get("tie_word_embeddings"):
        model.linear("lm_head", c["vocab_size"], c["hidden_size"])
    model.save(out, config)
    for file in ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "generation_config.json"):
        if (tokenizer / file).exists():
            shutil.copy(tokenizer / file, out / file)


main()
