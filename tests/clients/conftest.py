"""A server of the little stories model, with a chat template that knows tools, for all checks of a run."""
import re
import tarfile

import pytest

from asking import serve


@pytest.fixture(scope="session")
def llama_cpp(fetched, tmp_path_factory):
    """llama.cpp's folder in the source archive of llama_cpp_python: grammars, vocabularies, templates, and Python
    examples."""
    folder = tmp_path_factory.mktemp("llama_cpp")
    with tarfile.open(fetched("llama-cpp-python")) as archive:
        for member in archive:
            found = re.search(r"/vendor/llama\.cpp/(grammars|models|models/templates|examples)/([\w.-]+)$", member.name)
            if found and member.isfile():
                (folder / found[1]).mkdir(parents=True, exist_ok=True)
                (folder / found[1] / found[2]).write_bytes(archive.extractfile(member).read())
    return folder


@pytest.fixture(scope="session")
def model(chat_stories):
    return chat_stories


@pytest.fixture(scope="session")
def server(model):
    with serve(model) as running:
        yield running
        running.close()
