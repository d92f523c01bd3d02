"""openai-agents: the library's own agent loop, streamed. Arguments: base URL, model, `responses` or `chat`."""
import asyncio
import json
import sys

from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

base_url, model, api = sys.argv[1:]
set_tracing_disabled(True)
calls = []


@function_tool
def get_weather(city: str) -> str:
    """Weather of a city."""
    calls.append({"city": city})
    return "sunny, 21 degrees"


async def main():
    client = AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0)
    kind = OpenAIResponsesModel if api == "responses" else OpenAIChatCompletionsModel
    agent = Agent(name="guide", instructions="Use the tools.", model=kind(model, client), tools=[get_weather])
    run = Runner.run_streamed(agent, "What is the weather in Zürich?")
    items = [event.item.type async for event in run.stream_events() if event.type == "run_item_stream_event"]
    assert items.count("tool_call_output_item") == 1, items
    print(json.dumps({"calls": calls, "text": run.final_output}))


asyncio.run(main())
