"""`augur serve` as a process of its own, for the checks that ask it over HTTP."""
import http.client
import json
import re
import subprocess
import sys


class Server:
    def __init__(self, args, **popen):
        self.process = subprocess.Popen(args, stdout=subprocess.PIPE, text=True,
                                        **{"stderr": subprocess.DEVNULL, **popen})
        line = self.process.stdout.readline()
        match = re.search(r"http://([\w.]+):(\d+)", line)
        if not match:
            sys.exit(f"{' '.join(args)}: it did not start")
        self.host, self.port = match.group(1), int(match.group(2))

    def close(self):
        self.process.terminate()
        if self.process.wait() != 0:
            sys.exit(f"the server ended with {self.process.returncode}")

    def connect(self, timeout=600):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def post(self, path, body, timeout=600):
        """(status, the answer's JSON)"""
        connection = self.connect(timeout)
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()


def add_arguments(parser):
    """The program, and what it serves."""
    parser.add_argument("--augur", default="build/release/augur")
    parser.add_argument("-m", dest="model", required=True)
    parser.add_argument("-md", dest="draft")
    parser.add_argument("--spec-type", default=None)


def drafting(args):
    """The flags of `augur serve` for what drafts."""
    return (["-md", args.draft] if args.draft else []) + (["--spec-type", args.spec_type] if args.spec_type else [])
