"""/openapi.json is valid, and the server is as it says: no 500, no status that is not described."""
import json
import subprocess
import sys
import urllib.request

import openapi_spec_validator


def test_description_is_valid(server):
    with urllib.request.urlopen(server.url + "/openapi.json") as answer:
        openapi_spec_validator.validate(json.load(answer))


def run(url, checks, *args):
    subprocess.run([sys.executable, "-m", "schemathesis.cli", "run", url + "/openapi.json", "--checks", checks,
                    "--max-examples", "30", "--seed", "1", "--phases", "examples,coverage,fuzzing",
                    "--request-timeout", "120", *args], check=True)


CONFORMANCE = "status_code_conformance,content_type_conformance,response_schema_conformance"


def test_schemathesis(server):
    run(server.url, "not_a_server_error," + CONFORMANCE, "--exclude-path", "/infill")


def test_schemathesis_where_501_is_an_answer(server):
    run(server.url, CONFORMANCE, "--include-path", "/infill")
