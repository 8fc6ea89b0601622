"""Answers under JSON schemas, held against jsonschema: every one that ends must validate.

The schemas are those of the draft 2020-12 groups of JSON-Schema-Test-Suite, which jsonschema's source archive carries,
those of schemas.jsonl, and random ones (--schemas, --seed). Each is asked for SAMPLES times, greedy and at rising
temperatures, the later ones with a bias towards what closes a string, list or object. A schema without the type that its
keywords belong to is refused, and then asked for with that type, too. What is refused must be a 400. Answers that reach
TOKENS are cut off: they can't be held against anything. At the end of the run stands a table by group of the suite. A
schema of schemas.jsonl is not refused, and where a real model is asked (--model), it ends: the little one goes on with
digits.
"""
import collections
import concurrent.futures
import json
import pathlib
import re
import tarfile

import jsonschema

from augur_server import STORIES, Server
from random_schemas import random_schemas

SAMPLES, TOKENS, CLIENTS = 4, 160, 16
OWN = pathlib.Path(__file__).with_name("schemas.jsonl")
DECIDING = ("$ref", "const", "enum", "anyOf", "oneOf", "allOf", "type")
TYPES = {"number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), "integer": ("multipleOf",),
         "string": ("minLength", "maxLength", "pattern", "format"), "array": ("minItems", "maxItems"),
         "object": ("required", "patternProperties", "propertyNames", "minProperties", "maxProperties")}
OF_SCHEMAS = ("properties", "patternProperties", "$defs", "definitions")
OF_SCHEMA_LISTS = ("prefixItems", "anyOf", "oneOf", "allOf")
OF_SCHEMA = ("items", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "propertyNames")


def typed(schema):
    """The schema with the type that its keywords belong to, wherever none is named."""
    if not isinstance(schema, dict):
        return schema
    schema = dict(schema)
    for key, value in schema.items():
        if key in OF_SCHEMAS and isinstance(value, dict):
            schema[key] = {name: typed(inner) for name, inner in value.items()}
        elif key in OF_SCHEMA_LISTS and isinstance(value, list):
            schema[key] = [typed(inner) for inner in value]
        elif key in OF_SCHEMA:
            schema[key] = typed(value)
    if not any(key in schema for key in DECIDING):
        for name, keywords in TYPES.items():
            if any(key in schema for key in keywords):
                schema["type"] = name
                break
    return schema


def suite_schemas(archive):
    """(group, description, schema) of a source archive of jsonschema."""
    with tarfile.open(archive) as files:
        members = {pathlib.PurePath(m.name).stem: m for m in files
                   if re.search(r"/json/tests/draft2020-12/[\w-]+\.json$", m.name)}
        assert members, f"{archive}: expected json/tests/draft2020-12"
        for stem, member in sorted(members.items()):
            for group in json.load(files.extractfile(member)):
                schema = group["schema"]
                yield stem, group["description"], schema
                if typed(schema) != schema:
                    yield stem + ", typed", group["description"], typed(schema)


def own_schemas():
    for number, line in enumerate(OWN.read_text(encoding="utf-8").splitlines(), 1):
        yield OWN.name, f"line {number}", json.loads(line)


def format_checker():
    """jsonschema's, but for a mistake of it: it takes 100 for a number with a leading zero."""
    checker = jsonschema.FormatChecker()
    checker.checkers = dict(jsonschema.Draft202012Validator.FORMAT_CHECKER.checkers)
    pointer = r"(0|[1-9][0-9]*)(#|(/([^/~]|~[01])*)*)"
    checker.checks("relative-json-pointer")(lambda text: re.fullmatch(pointer, text) is not None)
    return checker


class Result:
    def __init__(self):
        self.refused = None    # why
        self.answers = 0       # that ended
        self.cut_off = 0
        self.faults = []


def ask_for(server, closing, schema):
    result = Result()
    validator = jsonschema.Draft202012Validator(schema, format_checker=format_checker())
    for sample in range(SAMPLES):
        body = {"prompt": "An example of such a value, as JSON:\n", "max_tokens": TOKENS, "seed": sample,
                "temperature": 0.5 * sample, "structured_outputs": {"json": schema}}
        if sample % 2:
            body["speculative"] = {"type": "none"}
        if sample > 1:
            body["logit_bias"] = closing
        status, answer = server.post("/v1/completions", body)
        if status == 400 and sample == 0:
            result.refused = answer["error"]["message"]
            return result
        if status != 200:
            result.faults.append(f"status {status}: {answer}")
            return result
        choice = answer["choices"][0]
        if choice["finish_reason"] != "stop":
            result.cut_off += 1
            continue
        result.answers += 1
        try:
            validator.validate(json.loads(choice["text"]))
        except (ValueError, jsonschema.ValidationError) as fault:
            message = fault.message if isinstance(fault, jsonschema.ValidationError) else str(fault)
            result.faults.append(f"{choice['text']!r}: {message}")
    return result


def table(groups):
    columns = ("schemas", "refused", "answers", "cut off", "never ended", "faults")
    yield f"| {'group':<34} | " + " | ".join(columns) + " |"
    yield "| --- |" + " --- |" * len(columns)
    for group, counts in [*groups.items(), ("all", sum(groups.values(), collections.Counter()))]:
        yield f"| {group:<34} | " + " | ".join(f"{counts[c]:>{len(c)}}" for c in columns) + " |"


def test_answers_validate(request, fetched, drafting, say):
    option = request.config.getoption
    schemas = [*own_schemas(), *suite_schemas(fetched("jsonschema"))]
    schemas += [("random", f"number {i}", schema)
                for i, schema in enumerate(random_schemas(option("--schemas") or 200, option("--seed")))]
    with Server(option("--model"), "--parallel", str(CLIENTS), "--no-log-requests", *drafting) as server:
        # Makes it likely that strings and lists are closed, so that more answers end.
        tokens = [server.post("/tokenize", {"content": text})[1]["tokens"] for text in ('"', "]", "}", '"]', '"}')]
        closing = {str(ids[0]): 4 for ids in tokens if len(ids) == 1}
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            results = list(pool.map(lambda entry: ask_for(server, closing, entry[2]), schemas))
        server.close()

    groups, faults = {}, []
    for (group, description, schema), result in zip(schemas, results):
        if group == OWN.name and (result.refused or (result.answers == 0 and option("--model") != STORIES)):
            result.faults.append(result.refused or "no answer ended")
        groups.setdefault(group, collections.Counter()).update({
            "schemas": 1, "refused": result.refused is not None, "answers": result.answers, "cut off": result.cut_off,
            "never ended": result.refused is None and result.answers == 0, "faults": len(result.faults)})
        faults += [f"{group}, {description}: {fault}\n  {json.dumps(schema)[:400]}" for fault in result.faults]
    for line in table(groups):
        say(line)
    assert sum(counts["answers"] for counts in groups.values()) > len(schemas), "hardly an answer ended"
    assert not faults, "\n".join(faults)
