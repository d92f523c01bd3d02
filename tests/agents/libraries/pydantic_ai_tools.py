# /// script
# dependencies = ["pydantic-ai-slim[openai]==2.38.0"]
# ///
"""Pydantic AI with sixty deferred tools: searched by the server, by the client in the protocol's own items, and by a function of the library."""
import json
import sys

from pydantic_ai import Agent, Tool
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.profiles.openai import openai_model_profile
from pydantic_ai.providers.openai import OpenAIProvider

BASE_URL, MODEL = sys.argv[1:]
provider = OpenAIProvider(base_url=BASE_URL, api_key="none")
called = []


def add(a: int, b: int) -> str:
    """Adds two numbers."""
    called.append([a, b])
    return f"The sum is {a + b}."


def note(number):
    def write(text: str) -> str:
        return text

    return Tool(write, name=f"note_{number}", description=f"Writes a note into drawer {number}.", defer_loading=True)


tools = [Tool(add, defer_loading=True), *map(note, range(59))]
# A model that has the protocol's own search, by its profile.
searches = openai_model_profile("gpt-5.4")
ways = {
    "server": (OpenAIResponsesModel(MODEL, provider=provider, profile=searches), None),
    "client": (OpenAIResponsesModel(MODEL, provider=provider, profile=searches), "keywords"),
    "function": (OpenAIChatModel(MODEL, provider=provider), "keywords"),
}
way = sys.stdin.read().strip()
model, strategy = ways[way]
agent = Agent(model, tools=tools, capabilities=[ToolSearch(strategy=strategy)])
print(json.dumps({"text": agent.run_sync(f"What is 2 and 3? Search by the {way}.").output, "called": called}))
