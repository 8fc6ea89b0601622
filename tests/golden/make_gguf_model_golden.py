#!/usr/bin/env python3
"""Writes gguf_models/NAME.gguf: models of models/NAME as llama.cpp's own converter writes them, without a vocabulary.

    pip install torch transformers sentencepiece
    pip download --no-deps --no-binary :all: llama_cpp_python==0.3.36     # has llama.cpp's sources in vendor/llama.cpp
    python3 make_gguf_model_golden.py LLAMA_CPP_FOLDER [NAME...]          # default: those that are there

Matrices are BF16, which they are exactly, vectors F32. Run once; the files are kept.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
OUT = HERE / "gguf_models"

llama_cpp = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(llama_cpp), str(llama_cpp / "gguf-py")]
import torch  # noqa: E402
import conversion  # noqa: E402
from conversion.base import gguf  # noqa: E402


def without_vocabulary(cls):
    """Tiny random models have none, and converters fail without."""
    for each in (cls, *(v for v in vars(cls).values() if isinstance(v, type))):
        each.set_vocab = lambda self: self._set_vocab_none()
    return cls


OUT.mkdir(exist_ok=True)
for name in sys.argv[2:] or sorted(path.stem for path in OUT.glob("*.gguf")):
    folder = HERE / "models" / name
    config = json.loads((folder / "config.json").read_text())
    architecture = config["architectures"][0]
    drafts = b'"mtp.fc.weight"' in (folder / "model.safetensors").read_bytes()
    target = OUT / f"{name}.gguf"
    with torch.inference_mode():
        converter = without_vocabulary(conversion.get_model_class(architecture))
        converter.no_mtp = not drafts
        # The converter reads the older pattern of Nemotron-H's layers, which transformers' class replaces.
        older = {"hparams": config} if "hybrid_override_pattern" in config else {}
        converter(folder, gguf.LlamaFileType.MOSTLY_BF16, target, **older).write()
    print(name, target.stat().st_size, "bytes")
