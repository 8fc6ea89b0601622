"""Chat templates that llama.cpp carries (of some seventy published models) write the same as in jinja2, with which
models' publishers try theirs."""
import datetime
import importlib.util
import json
import os
import pathlib
import subprocess

import jinja2.sandbox

ROOT = pathlib.Path(__file__).resolve().parents[2]


def golden():
    spec = importlib.util.spec_from_file_location("golden", ROOT / "tests/golden/make_chat_template_golden.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_render_as_in_jinja2(llama_cpp):
    make, folder = golden(), llama_cpp / "models/templates"
    now = datetime.datetime.now()
    renderings = make.rendered(
        sorted(folder.glob("*.jinja")), folder, {**make.CONVERSATIONS, **make.FAMILY_CONVERSATIONS},
        sandbox=jinja2.sandbox.SandboxedEnvironment, strftime_now=now.strftime)
    (folder / "renderings.json").write_text(json.dumps(renderings, ensure_ascii=False), encoding="utf-8")
    done = subprocess.run(
        [ROOT / "build/release/bin/text_tests", "--gtest_filter=ChatTemplateGolden.TemplatesOfPackages"], check=False,
        text=True, stdout=subprocess.PIPE, env={**os.environ, "AUGUR_TEMPLATES": str(folder)})
    assert done.returncode == 0 and "[  PASSED  ] 1 test" in done.stdout, done.stdout[-20000:]
