#!/usr/bin/env python3
"""Holds answers under JSON schemas against jsonschema: every one that ends must validate.

  scripts/check_schemas.py -m MODEL [-md DRAFT] [--spec-type TYPES] [--suite FOLDER] [--own FILE.jsonl...]

The schemas are those of the draft 2020-12 groups of JSON-Schema-Test-Suite (scripts/get_schema_suite.sh fetches them
where --suite names no folder), those of files with one a line, and --random ones. Each is asked for --samples times,
greedy and at rising temperatures, the later ones with a bias towards what closes a string, list or object. A schema
without the type that its keywords belong to is refused, and then asked for with that type, too. What is refused must be
a 400. Answers that reach --tokens are counted as cut off: they can't be held against anything. Prints a table by group
of the suite; exits with 1 where an answer does not validate, a schema of --own is refused or never ends, or a status is
neither 200 nor 400. Needs jsonschema[format-nongpl] (tests/clients/requirements.txt).
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

import jsonschema

from random_schemas import random_schemas
from server_process import Server, add_arguments, drafting

HERE = pathlib.Path(__file__).resolve().parent
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


def suite_schemas(folder):
    for file in sorted((folder / "draft2020-12").glob("*.json")):
        for group in json.loads(file.read_text(encoding="utf-8")):
            schema = group["schema"]
            yield file.stem, group["description"], schema
            if typed(schema) != schema:
                yield file.stem + ", typed", group["description"], typed(schema)


def own_schemas(files):
    for name in files:
        for number, line in enumerate(pathlib.Path(name).read_text(encoding="utf-8").splitlines(), 1):
            yield pathlib.Path(name).name, f"line {number}", json.loads(line)


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


def check(server, schema, args):
    result = Result()
    validator = jsonschema.Draft202012Validator(schema, format_checker=format_checker())
    for sample in range(args.samples):
        body = {"prompt": "An example of such a value, as JSON:\n", "max_tokens": args.tokens, "seed": sample,
                "temperature": 0.5 * sample, "structured_outputs": {"json": schema}}
        if sample % 2:
            body["speculative"] = {"type": "none"}
        if sample > 1:
            body["logit_bias"] = server.closing
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


def reason(message):
    """A refusal without the place and the particular word."""
    found = re.search(r"JSON schema: \S+?([^/\s]*) (is .*|.*)$", message)
    return f"{found.group(1)} {found.group(2)}" if found else message


def main():
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    parser.add_argument("--suite", type=pathlib.Path)
    parser.add_argument("--own", nargs="*", default=[str(HERE.parent / "tests/clients/schemas.jsonl")])
    parser.add_argument("--random", type=int, default=200, help="schemas drawn at random")
    parser.add_argument("--only", help="only groups whose name has this")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=160)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--verbose", action="store_true", help="why schemas were refused")
    args = parser.parse_args()
    if args.suite is None:
        args.suite = pathlib.Path(subprocess.run([HERE / "get_schema_suite.sh"], stdout=subprocess.PIPE, text=True,
                                                 check=True).stdout.strip())
    own = {pathlib.Path(name).name for name in args.own}
    schemas = list(own_schemas(args.own)) + list(suite_schemas(args.suite))
    schemas += [("random", f"number {i}", schema) for i, schema in enumerate(random_schemas(args.random))]
    if args.only:
        schemas = [entry for entry in schemas if args.only in entry[0]]
    if not schemas:
        sys.exit("there are no schemas to ask for")

    server = Server([args.augur, "serve", "-m", args.model, "--port", "0", "--parallel", str(args.clients),
                     "--no-log-requests"] + drafting(args))
    # Makes it likely that strings and lists are closed, so that more answers end.
    tokens = [server.post("/tokenize", {"content": text})[1]["tokens"] for text in ('"', "]", "}", '"]', '"}')]
    server.closing = {str(ids[0]): 4 for ids in tokens if len(ids) == 1}
    with concurrent.futures.ThreadPoolExecutor(args.clients) as pool:
        results = list(pool.map(lambda entry: check(server, entry[2], args), schemas))
    server.close()

    groups, refusals, faults = {}, collections.Counter(), 0
    for (group, description, schema), result in zip(schemas, results):
        counts = groups.setdefault(group, collections.Counter())
        counts["schemas"] += 1
        counts["refused"] += result.refused is not None
        counts["answers"] += result.answers
        counts["cut off"] += result.cut_off
        counts["never ended"] += result.refused is None and result.answers == 0
        if group in own and (result.refused or result.answers == 0):
            result.faults.append(result.refused or "no answer ended")
        counts["faults"] += len(result.faults)
        faults += len(result.faults)
        for fault in result.faults:
            print(f"{group}, {description}: {fault}\n  {json.dumps(schema)[:400]}")
        if result.refused:
            refusals[reason(result.refused)] += 1
            if args.verbose:
                print(f"refused: {group}, {description}: {result.refused}")
    columns = ("schemas", "refused", "answers", "cut off", "never ended", "faults")
    print(f"| {'group':<34} | " + " | ".join(columns) + " |")
    print("| --- |" + " --- |" * len(columns))
    for group, counts in groups.items():
        print(f"| {group:<34} | " + " | ".join(f"{counts[c]:>{len(c)}}" for c in columns) + " |")
    total = sum(groups.values(), collections.Counter())
    print(f"| {'all':<34} | " + " | ".join(f"{total[c]:>{len(c)}}" for c in columns) + " |")
    if args.verbose:
        for why, count in refusals.most_common():
            print(f"{count:>4} refused: {why}")
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
