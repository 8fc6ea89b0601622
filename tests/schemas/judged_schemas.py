"""Random JSON schemas whose keywords stand beside each other, with instances that fit and that don't, as
`augur-lab bench schemas` reads them.

jsonschema and jsonschema-rs (both from PyPI) say which instances fit; those on which the two differ are left out: by
Python's rules alone "b$" fits a text that ends in a line break.
"""
import functools
import json
import multiprocessing
import os
import random

import jsonschema
import jsonschema_rs

DRAFTS = {"http://json-schema.org/draft-04/schema#": 4, "http://json-schema.org/draft-07/schema#": 7,
          "https://json-schema.org/draft/2020-12/schema": 2020}
NAMES = ("a", "b", "ab", "x y", "q\"", "é")
STRINGS = ("", "a", "ab", "abc", "b\n", "\"", "\\", "\t\t", "😀", "é1", "12", "a-b", "red", "zzzzzz")
NUMBERS = (0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 12, 15, 100, -1, -3, 0.5, 1.5, 2.25, -0.5, 10.0, 3.0)
PATTERNS = ("^a", "b$", "^[a-c]*$", "[0-9]", "^.{1,2}$", "^\\S+$", "^(a|b\\n)$", "\"", "^[^a]", "x y|ab", "^(?!ab)", "")
TRIES = 120  # instances drawn for a schema
EACH = 5     # that are kept, of those that fit and of those that don't


def value(pick, depth=2):
    kind = pick.randrange(8 if depth > 0 else 6)
    if kind < 2:
        return pick.choice(STRINGS)
    if kind < 4:
        return pick.choice(NUMBERS)
    if kind < 6:
        return pick.choice((True, False, None))
    if kind == 6:
        return [value(pick, depth - 1) for _ in range(pick.choice((0, 1, 1, 2, 3)))]
    return {name: value(pick, depth - 1) for name in pick.sample(NAMES, pick.choice((0, 1, 2, 2, 3)))}


def keyword(pick, draft, depth):
    inner = lambda: schema(pick, draft, depth - 1)
    some = lambda: [inner() for _ in range(pick.choice((1, 2, 2, 3)))]
    kinds = {
        "type": lambda: pick.choice(("string", "integer", "number", "object", "array", "boolean", "null",
                                     ["string", "null"], ["integer", "object"], ["array", "string", "boolean"])),
        "enum": lambda: [value(pick) for _ in range(pick.randint(1, 4))],
        "minimum": lambda: pick.choice(NUMBERS), "maximum": lambda: pick.choice(NUMBERS),
        "multipleOf": lambda: pick.choice((1, 2, 3, 0.5, 5, 2.5)),
        "minLength": lambda: pick.randrange(4), "maxLength": lambda: pick.randrange(5),
        "pattern": lambda: pick.choice(PATTERNS),
        "minItems": lambda: pick.randrange(3), "maxItems": lambda: pick.randrange(4),
        "minProperties": lambda: pick.randrange(3), "maxProperties": lambda: pick.randrange(4),
        "required": lambda: pick.sample(NAMES, pick.randint(1, 2)),
    }
    if draft > 4:
        kinds.update({"const": lambda: value(pick), "exclusiveMinimum": lambda: pick.choice(NUMBERS),
                      "exclusiveMaximum": lambda: pick.choice(NUMBERS)})
    else:
        kinds["exclusiveMinimum"] = lambda: pick.random() < 0.5
    if depth > 0:
        kinds.update({
            "properties": lambda: {name: inner() for name in pick.sample(NAMES, pick.randint(1, 3))},
            "patternProperties": lambda: {name: inner() for name in pick.sample(PATTERNS, pick.randint(1, 2))},
            "additionalProperties": lambda: pick.choice((False, inner())),
            "items": inner, "anyOf": some, "oneOf": some, "allOf": some, "not": inner,
        })
        if draft > 4:
            kinds.update({"propertyNames": inner, "contains": inner, "if": inner, "then": inner, "else": inner})
        if draft < 2020:
            kinds["dependencies"] = lambda: {pick.choice(NAMES): pick.choice((pick.sample(NAMES, 1), inner()))}
        else:
            kinds.update({"prefixItems": some, "dependentSchemas": lambda: {pick.choice(NAMES): inner()},
                          "dependentRequired": lambda: {pick.choice(NAMES): pick.sample(NAMES, 1)}})
    name = pick.choice(sorted(kinds))
    return name, kinds[name]()


def schema(pick, draft, depth):
    if draft > 4 and pick.random() < 0.05:
        return pick.random() < 0.7
    result = dict(keyword(pick, draft, depth) for _ in range(pick.choice((1, 1, 2, 2, 3))))
    if draft == 4 and "exclusiveMinimum" in result and "minimum" not in result:
        del result["exclusiveMinimum"]
    return result


def constants(part):
    """Values that a schema speaks of, which are likely to fit."""
    if isinstance(part, dict):
        for key, inner in part.items():
            if key == "enum":
                yield from inner
            elif key == "const":
                yield inner
            else:
                yield from constants(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from constants(inner)


def entry(seed, number):
    """A line: a schema with its instances."""
    pick = random.Random(f"{seed}/{number}")
    uri, draft = pick.choice(list(DRAFTS.items()))
    drawn = {"$schema": uri}
    while len(drawn) < 2:
        drawn.update(dict(keyword(pick, draft, 2) for _ in range(pick.randint(1, 4))))
        if draft == 4 and "exclusiveMinimum" in drawn and "minimum" not in drawn:
            del drawn["exclusiveMinimum"]
    judges = [jsonschema.validators.validator_for(drawn)(drawn).is_valid, jsonschema_rs.validator_for(drawn).is_valid]
    kept, seen = {True: [], False: []}, set()
    known = list(constants(drawn))
    if draft == 4:  # where 10.0 is no integer, though 10 is: a value is judged as it is written
        known = [data for data in known if "." not in json.dumps(data)]
    for _ in range(TRIES):
        data = pick.choice(known) if known and pick.random() < 0.2 else value(pick)
        text = json.dumps(data, sort_keys=True)
        if text in seen or (draft == 4 and ".0" in text):
            continue
        seen.add(text)
        verdicts = {judge(data) for judge in judges}
        if len(verdicts) == 1 and len(kept[verdict := verdicts.pop()]) < EACH:
            kept[verdict].append(data)
    tests = [{"valid": valid, "data": data} for valid, found in kept.items() for data in found]
    return json.dumps({"name": f"seed {seed}, number {number}", "schema": drawn, "tests": tests})


def write_judged_schemas(path, count, seed):
    """A line depends on the seed and its number alone, however many processes there are."""
    with multiprocessing.Pool(os.cpu_count()) as pool, path.open("w", encoding="utf-8") as out:
        for line in pool.imap(functools.partial(entry, seed), range(count), chunksize=8):
            out.write(line + "\n")
