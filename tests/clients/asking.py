"""What the clients' checks ask alike."""
import typing

import pydantic

from augur_server import Server

QUESTION = "Once upon a time"
PARAMETERS = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 99},
                                               "unit": {"enum": ["m", "km"]}},
              "required": ["a", "unit"], "additionalProperties": False}


class Distance(pydantic.BaseModel):
    """What PARAMETERS describe."""
    model_config = pydantic.ConfigDict(extra="forbid")
    a: int = pydantic.Field(ge=0, le=99)
    unit: typing.Literal["m", "km"]


def measure(arguments):
    """The tool: its result is another number in each of three turns."""
    return str(Distance.model_validate(arguments).a + 1)


def serve(model, *flags):
    """A server that goes by the name that the checks ask for."""
    return Server(model, "--alias", "stories", "--strict-model", *flags)
