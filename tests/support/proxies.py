"""HAProxy and nginx with the files that deploy/ has for them, at addresses of a run."""
import contextlib
import pathlib
import subprocess
import tempfile

from augur_server import ROOT, eventually, free_port, is_answered

PACKAGES = {"haproxy": "haproxy", "nginx": "nginx-light"}  # Debian's


def configured(name, addresses):
    """A file of deploy/: in place of its own port and the two replicas' these."""
    text = (ROOT / "deploy" / name).read_text(encoding="utf-8")
    for written, here in zip((8000, 8081, 8082), addresses):
        assert text.count(f"127.0.0.1:{written}") == 1, f"deploy/{name}: expected 127.0.0.1:{written} once"
        text = text.replace(f"127.0.0.1:{written}", here)
    return text


@contextlib.contextmanager
def running(command, url, headers=None, **popen):
    """The address, once it is answered; the process is ended with the body."""
    process = subprocess.Popen([str(part) for part in command], **popen)
    try:
        eventually(lambda: is_answered(url + "/v1/models", headers), f"{command[0]} at {url}", of=process)
        yield url
    finally:
        process.terminate()
        process.wait(30)


@contextlib.contextmanager
def proxy(kind, need, replicas, headers=None):
    """A running() of that kind before two servers' addresses (host:port)."""
    program = need(kind, PACKAGES[kind])
    here = f"127.0.0.1:{free_port()}"
    # A folder of its own, not one of pytest's, since nginx's workers are nobody.
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        if kind == "haproxy":
            (folder / "haproxy.cfg").write_text(configured("haproxy/haproxy.cfg", (here, *replicas)))
            command = [program, "-db", "-f", folder / "haproxy.cfg"]
        else:
            (folder / "augur.conf").write_text(configured("nginx/augur.conf", (here, *replicas)))
            (folder / "nginx.conf").write_text(
                f"daemon off; pid {folder}/pid; error_log {folder}/error.log;\n"
                f"events {{}}\nhttp {{ access_log off; client_body_temp_path {folder}/bodies; include augur.conf; }}\n")
            command = [program, "-p", folder, "-c", folder / "nginx.conf"]
        with running(command, f"http://{here}", headers) as url:
            yield url
