"""deploy/'s units for systemd."""
import grp
import json
import os
import re
import stat
import subprocess

from augur_server import PROGRAM, ROOT, STORIES, Server, eventually, is_answered

UNIT = ROOT / "deploy/augur.service"
MOST_EXPOSED = 30  # of 100


def installed(file, to):
    """A copy of a unit that starts this program."""
    to.write_text(file.read_text(encoding="utf-8").replace("/usr/local/bin/augur", os.path.realpath(PROGRAM)))
    return to


def verify(need, unit):
    done = subprocess.run([need("systemd-analyze", "systemd"), "verify", "--man=no", unit], check=False,
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_unit_is_well_formed_and_little_exposed(need, tmp_path, say):
    unit = installed(UNIT, tmp_path / "augur.service")
    verify(need, unit)
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSED}", unit],
                          check=False, capture_output=True, text=True)
    verdict = done.stdout.strip().splitlines()[-1]
    assert done.returncode == 0, verdict
    say(verdict)


def test_drop_in_makes_it_one_of_several(need, tmp_path):
    (tmp_path / "augur@.service.d").mkdir()
    installed(UNIT, tmp_path / "augur@.service")
    installed(ROOT / "deploy/augur@.service.d/replica.conf", tmp_path / "augur@.service.d/replica.conf")
    verify(need, tmp_path / "augur@a.service")


def system_calls(name):
    """Of a name in SystemCallFilter=, which may be a group of them."""
    if not name.startswith("@"):
        return {name}
    said = subprocess.run(["systemd-analyze", "syscall-filter", name], check=True, capture_output=True, text=True)
    lines = [line.strip() for line in said.stdout.splitlines()[1:]]
    return set().union(*(system_calls(line) for line in lines if not line.startswith("#")))


def allowed_calls():
    allowed = set()
    for value in re.findall(r"^SystemCallFilter=(.*)", UNIT.read_text(encoding="utf-8"), re.MULTILINE):
        named = set().union(*map(system_calls, value.lstrip("~").split()))
        allowed = allowed - named if value.startswith("~") else allowed | named
    return allowed


def test_filter_lets_all_calls_through(need, tmp_path, say):
    """All system calls that the program makes: at a socket with a group, pinned, asked, and ended."""
    need("systemd-analyze", "systemd")
    calls, place, saved = tmp_path / "calls", tmp_path / "a.sock", tmp_path / "saved"
    saved.mkdir()
    flags = ["--pin", "--slot-save-path", saved, "--host", place, "--socket-mode", "0660", "--socket-group",
             grp.getgrgid(os.getgid()).gr_name, "--admin-listen", "127.0.0.1:0"]
    # -D: the program is this process's child, and strace is not between them.
    with Server(STORIES, *flags, before=[need("strace", "strace"), "-D", "-f", "-q", "-o", calls, "-e", "signal=none"]
                ) as server:
        admin = server.line(r"are at (\S+)")
        assert stat.S_IMODE(place.stat().st_mode) == 0o660
        for path, body in (("/v1/completions", {"prompt": "Once upon a time", "max_tokens": 64, "ignore_eos": True}),
                           ("/slots/0?action=save", {"filename": "one"})):
            subprocess.run([need("curl", "curl"), "-sf", "--unix-socket", place, f"http://localhost{path}", "-d",
                            json.dumps(body)], check=True, stdout=subprocess.DEVNULL)
        assert is_answered(admin + "/metrics")
        server.close()
    ended = re.compile(rf"^{server.process.pid} +\+\+\+ exited with 0 \+\+\+$", re.MULTILINE)
    eventually(lambda: ended.search(calls.read_text()), "strace's last line")
    trace = calls.read_text()
    made = set(re.findall(r"^\d+ +([a-z_0-9]+)\(", trace, re.MULTILINE))
    allowed = allowed_calls()
    say(f"{len(made)} system calls, {len(allowed)} allowed")
    assert len(made) >= 20 and made <= allowed, made - allowed
    if re.search("^MemoryDenyWriteExecute=yes", UNIT.read_text(encoding="utf-8"), re.MULTILINE):
        assert "PROT_WRITE|PROT_EXEC" not in trace, "the program makes machine code, and the unit forbids it"
