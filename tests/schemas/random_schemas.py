"""Schemas of all keywords that Augur supports, drawn at random (test_answers.py)."""
import random

FORMATS = ("date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference",
           "uri-template", "uuid", "json-pointer", "relative-json-pointer")
PATTERNS = ("^[a-z]{2,5}$", "[0-9]+", "^(ab|c.d)*$", "^x", "\\d$", "^\\S{1,4}$", "^[^a-z]{3}$", "^\\w+-\\w+$")
WORDS = ("name", "id", "größe", "a b", "k\"q", "x", "list")


def bounds(pick, least, most, digits=0):
    low, high = sorted(round(pick.uniform(least, most), digits) for _ in range(2))
    if digits == 0:
        low, high = int(low), int(high)
    if high == low:
        high += 1
    found = {}
    if pick.random() < 0.8:
        found[pick.choice(("minimum", "exclusiveMinimum"))] = low
    if pick.random() < 0.8:
        found[pick.choice(("maximum", "exclusiveMaximum"))] = high + (1 if digits == 0 else 0)
    return found


def counts(pick, what, most=4):
    low = pick.randrange(most)
    found = {}
    if pick.random() < 0.5:
        found["min" + what] = low
    if pick.random() < 0.7:
        found["max" + what] = low + pick.randrange(1, 3)
    return found


def of_string(pick):
    kind = pick.random()
    if kind < 0.4:
        return {"type": "string", **counts(pick, "Length", 8)}
    return {"type": "string", "format": pick.choice(FORMATS)} if kind < 0.8 else \
        {"type": "string", "pattern": pick.choice(PATTERNS)}


def of_object(pick, depth):
    kind = pick.random()
    schema = {"type": "object"}
    if kind < 0.6:
        names = pick.sample(WORDS, pick.randint(1, 3))
        schema["properties"] = {name: schema_of(pick, depth - 1) for name in names}
        schema["required"] = [name for name in names if pick.random() < 0.6]
        rest = pick.choice((None, False, True, {"type": "boolean"}))
        if rest is not None:
            schema[pick.choice(("additionalProperties", "unevaluatedProperties"))] = rest
        if pick.random() < 0.2:
            schema["required"].append("more")
    elif kind < 0.75:
        schema["patternProperties"] = {pick.choice(PATTERNS[:2]): schema_of(pick, depth - 1)}
    elif kind < 0.9:
        schema["propertyNames"] = {"type": "string", "pattern": pick.choice(PATTERNS[:2])}
        schema["additionalProperties"] = schema_of(pick, depth - 1)
    if pick.random() < 0.3:
        schema.update(counts(pick, "Properties", 2))
    return schema


def of_array(pick, depth):
    schema = {"type": "array", **counts(pick, "Items")}
    if pick.random() < 0.3:
        schema["prefixItems"] = [schema_of(pick, depth - 1) for _ in range(pick.randint(1, 2))]
        schema["items"] = pick.choice((False, {"type": "null"}))
    elif pick.random() < 0.9:
        schema["items"] = schema_of(pick, depth - 1)
    return schema


def schema_of(pick, depth):
    kind = pick.random()
    if depth > 0 and kind < 0.3:
        return of_object(pick, depth)
    if depth > 0 and kind < 0.45:
        return of_array(pick, depth)
    if kind < 0.6:
        return of_string(pick)
    if kind < 0.75:
        schema = {"type": "integer", **bounds(pick, *pick.choice(((-20, 20), (-9, 2000), (100, 99999999))))}
        return {"type": "integer", "multipleOf": pick.randint(2, 30)} if pick.random() < 0.2 else schema
    if kind < 0.85:
        return {"type": "number", **bounds(pick, *pick.choice(((-1, 1), (-300, 300), (0, 1e6))), pick.randint(1, 4))}
    if kind < 0.9:
        return {"enum": pick.sample([1, -2.5, "a", None, True, [1], {"b": "c"}, "ü\n"], 3)}
    if kind < 0.95:
        return {"anyOf": [schema_of(pick, depth - 1), {"type": "null"}]}
    return {"type": pick.choice(("boolean", "null", ["integer", "null"], ["string", "boolean"]))}


def random_schemas(count, seed):
    pick = random.Random(seed)
    return [schema_of(pick, 2) for _ in range(count)]
