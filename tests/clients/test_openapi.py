"""/openapi.json is valid, and the server is as it says: no 500, no status that is not described."""
import json
import pathlib
import subprocess
import sys
import urllib.request

import openapi_spec_validator

CONFIG = pathlib.Path(__file__).parent / "schemathesis.toml"


def test_description_is_valid(server):
    with urllib.request.urlopen(server.url + "/openapi.json") as answer:
        openapi_spec_validator.validate(json.load(answer))


def test_schemathesis(server):
    subprocess.run([sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG), "run",
                    server.url + "/openapi.json", "--checks",
                    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
                    "--max-examples", "30", "--seed", "1", "--phases", "examples,coverage,fuzzing",
                    "--request-timeout", "120"], check=True)
