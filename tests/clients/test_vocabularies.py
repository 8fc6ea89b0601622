"""Vocabularies that llama.cpp carries, with texts and the ids that their publishers' tokenizers give."""
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_texts_become_the_ids_beside_them(llama_cpp):
    folder = llama_cpp / "models"
    with_texts = {path.name[:-4] for path in folder.glob("ggml-vocab-*.gguf.inp")} - {"ggml-vocab-bert-bge.gguf"}
    assert len(with_texts) > 10 and all((folder / name).stat().st_size for name in with_texts)
    done = subprocess.run(
        [ROOT / "build/release/bin/text_tests", "--gtest_filter=ReferenceEncodings.OfPackages"], check=False,
        text=True, stdout=subprocess.PIPE, env={**os.environ, "AUGUR_VOCABULARIES": str(folder)})
    assert done.returncode == 0 and "[  PASSED  ] 1 test" in done.stdout, done.stdout[-20000:]
    assert int(re.search(r"(\d+) vocabularies with texts", done.stdout)[1]) == len(with_texts)
