"""`augur serve` as a child that ends with its parent."""
from __future__ import annotations

import http.client
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence

from augur.__main__ import program


class ServerProcess:
    """The program's server at a Unix socket of its own. The constructor waits until it serves.

    Parameters
    ----------
    flags : sequence of str
        Of `augur serve`.
    on_end : callable
        Called from a thread of this object's when the process has ended by itself, if it had served.

    Raises
    ------
    RuntimeError
        Where the process ends before it serves; what it said is on stderr.
    """

    def __init__(self, flags: Sequence[str], on_end: Callable[[], object]) -> None:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="augur-"))
        self.socket = str(folder / "http.sock")
        # The kernel kills the server when the thread that has started it ends, whatever ended that.
        self._command = ["setpriv", "--pdeathsig", "KILL", str(program()), "serve", "--host", self.socket,
                         "--trusted-proxy", "unix", *flags]
        self._on_end = on_end
        self._said = threading.Event()
        self._serves = False
        self._stopped = False
        self._process: subprocess.Popen[str] | None = None
        threading.Thread(target=self._run, name="augur-serve", daemon=True).start()
        self._said.wait()
        if not self._serves:
            raise RuntimeError(f"{' '.join(self._command)}: it has ended before it served; its stderr says why")

    def _run(self) -> None:
        try:
            self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
            assert self._process.stdout is not None
            self._serves = any(re.search("is served at", line) for line in iter(self._process.stdout.readline, ""))
        finally:
            self._said.set()
        if self._serves:
            self._process.wait()
            if not self._stopped:
                self._on_end()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def is_healthy(self, seconds: float = 10.0) -> bool:
        """Whether it says that it serves."""
        connection = _UnixConnection(self.socket, seconds)
        try:
            connection.request("GET", "/health", headers={"Host": "localhost"})
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def stop(self) -> None:
        """Ends it at once; `on_end` is not called."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()
        pathlib.Path(self.socket).unlink(missing_ok=True)
        os.rmdir(pathlib.Path(self.socket).parent)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
