# /// script
# dependencies = ["google-adk==2.13.0", "litellm"]
# ///
"""Google's Agent Development Kit: its agent with a tool, and with an output schema, through LiteLLM."""
import asyncio
import json

from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from scenario import BASE_URL, EXTRACT, MODEL, Person, WEATHER, get_weather, report


async def ask(question, **options):
    model = LiteLlm(model=f"openai/{MODEL}", api_base=BASE_URL, api_key="none", num_retries=0)
    runner = InMemoryRunner(agent=LlmAgent(name="guide", model=model, instruction="Answer.", **options))
    events = await runner.run_debug(question, quiet=True)
    return "".join(part.text for part in events[-1].content.parts if part.text and not part.thought)


async def main():
    text = await ask(WEATHER, tools=[get_weather])
    report(text, [json.loads(await ask(EXTRACT, output_schema=Person))])


asyncio.run(main())
