# /// script
# dependencies = ["agno==3.1.10", "openai"]
# ///
"""Agno: its agent with a tool, and an output schema, over Chat Completions and the Responses API."""
from agno.agent import Agent
from agno.models.openai import OpenAILike, OpenAIResponses
from scenario import BASE_URL, EXTRACT, MODEL, Person, WEATHER, get_weather, report

people = []
for kind in (OpenAILike, OpenAIResponses):
    make = lambda: kind(id=MODEL, api_key="none", base_url=BASE_URL, max_retries=0)
    people.append(Agent(model=make(), output_schema=Person, telemetry=False).run(EXTRACT).content)
    text = Agent(model=make(), tools=[get_weather], telemetry=False).run(WEATHER).content
report(text, people)
