"""Does the image of deploy/Dockerfile have all that the program needs to run? Without Docker: a folder gets the packages
that its last stage installs, and what they depend on; the program runs in there as the image's user: a text, and a
server, asked by the image's health check, that leaves what it has measured in the image's volume."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import NamedTuple

import pytest

from augur_server import PROGRAM, ROOT, STORIES, Server, eventually, free_port

# What debian:12-slim has of itself is a shell and the C library, of what matters here.
SLIM = ["bash", "coreutils", "base-files", "libc-bin"]
LEFT_OUT = ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"]


class Image(NamedTuple):
    packages: list
    user: str
    volume: str
    environment: list
    health: str


def read_dockerfile():
    """Of its last stage."""
    stage = (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8").rsplit("\nFROM ", 1)[1].replace("\\\n", " ")
    def only(pattern):
        return re.search(pattern, stage, re.MULTILINE).group(1)
    return Image(only(r"--no-install-recommends ([^&]*)&&").split(), only(r"^USER (\S+)"), only(r"^VOLUME (\S+)"),
                 re.findall(r"^ENV (\S+)", stage, re.MULTILINE), only(r'^HEALTHCHECK.* CMD \["(.*)"\]$'))


def unpack(packages, root):
    """These and all that they depend on, from the mirror."""
    said = subprocess.run(["apt-cache", "depends", "--recurse", *(f"--no-{kind}" for kind in LEFT_OUT), *packages],
                          check=True, capture_output=True, text=True).stdout
    names = sorted(set(re.findall(r"^[a-z0-9]\S*", said, re.MULTILINE)))
    # Some of the names are virtual.
    subprocess.run(["apt-get", "download", "-q", *names], cwd=root, check=False, capture_output=True)
    archives = list(root.glob("*.deb"))
    if not archives:
        pytest.skip("no packages from the mirror")
    for archive in archives:
        files = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", root, "--keep-directory-symlink"], stdin=files.stdout, check=True)
        assert files.wait() == 0
        archive.unlink()


@pytest.fixture
def root():
    """A folder to be the root of a file system."""
    if os.geteuid() != 0:
        pytest.skip("not root")
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


def test_program_runs_in_the_image(root, say):
    image = read_dockerfile()
    unpack(image.packages + SLIM, root)
    (root / "usr/local/bin").mkdir(parents=True, exist_ok=True)
    shutil.copy(PROGRAM, root / "usr/local/bin/augur")
    shutil.copy(ROOT / "deploy/healthcheck.sh", root / "usr/local/bin" / image.health)
    volume = root / image.volume.lstrip("/")
    volume.mkdir()
    os.chown(volume, *map(int, image.user.split(":")))
    shutil.copytree(STORIES, root / "stories260k")
    for folder, _, _ in os.walk(root / "stories260k"):
        os.chmod(folder, 0o755)
    subprocess.run(["chroot", root, "ldconfig"], check=True)

    port = str(free_port())
    inside = ["chroot", f"--userspec={image.user}", root, "env", *image.environment, f"AUGUR_PORT={port}"]
    def run(*command):
        return subprocess.run([*inside, *command], check=False, capture_output=True, text=True)
    for command in (["augur", "--version"],
                    ["augur", "generate", "-m", "/stories260k", "-p", "Once upon a time", "-n", "20", "--temp", "0"]):
        done = run(*command)
        assert done.returncode == 0 and done.stdout, done.stderr
    assert run(image.health).returncode != 0, "nobody serves, and the health check has found somebody"
    with Server("/stories260k", "--port", port, program="augur", before=inside) as server:
        eventually(lambda: run(image.health).returncode == 0, "the health check", of=server.process)
        server.close()
    kept = [file for file in volume.rglob("*") if file.is_file()]
    say(f"ready by its health check, as user {image.user}; kept in {image.volume}: {len(kept)} files")
    assert kept, f"nothing was kept in {image.volume}"
