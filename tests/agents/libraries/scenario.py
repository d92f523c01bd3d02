"""What every library is asked: the weather, for which it has a tool, and a person's fields in a type of its own."""
import json
import sys

from pydantic import BaseModel

BASE_URL, MODEL = sys.argv[1:]
WEATHER = "What is the weather in Zürich?"
EXTRACT = "Extract the person: Ada Lovelace, born in 1815."
calls = []


class Person(BaseModel):
    name: str
    born: int


def get_weather(city: str) -> str:
    """Weather of a city.

    Args:
        city: The city's name.
    """
    calls.append({"city": city})
    return "sunny, 21 degrees"


def report(text, people):
    """Prints what the library gave to its user: calls of the tool, the final text (None if it has no tools) and each way's person."""
    people = [person if isinstance(person, dict) else person.model_dump() for person in people]
    print(json.dumps({"calls": calls, "text": text, "people": people}))
