"""Many prompts in one batch, each answer in the form of a pydantic model (or of a JSON schema where pydantic is not
installed): python batch_with_schema.py MODEL [DRAFT]"""
import json
import sys

import augur

try:
    from pydantic import BaseModel

    class Animal(BaseModel):
        name: str
        legs: int
        wild: bool
except ImportError:
    Animal = {"type": "object", "properties": {"name": {"type": "string"}, "legs": {"type": "integer"},
                                               "wild": {"type": "boolean"}},
              "required": ["name", "legs", "wild"], "additionalProperties": False}

ANIMALS = ["cow", "eagle", "spider", "dog", "snake", "ant"]


def main(model, draft=None):
    requests = ((f"A {animal} as JSON with name, legs, wild: ", {"schema": Animal, "max_tokens": 96})
                for animal in ANIMALS)
    with augur.Engine(model, draft=draft) as engine:
        # errors="return": a request that fails has an error, and the others go on
        for animal, result in zip(ANIMALS, engine.generate_each(requests, errors="return")):
            if result.finish_reason == "stop":
                print(animal, json.loads(result.text))
            else:
                print(animal, "has no answer:", result.error or result.finish_reason)


if __name__ == "__main__":
    main(*sys.argv[1:])
