# /// script
# dependencies = ["autogen-agentchat==0.7.5", "autogen-ext[openai]==0.7.5"]
# ///
"""AutoGen: its assistant with a tool, streamed, and with a typed output."""
import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from scenario import BASE_URL, EXTRACT, MODEL, Person, WEATHER, get_weather, report


async def main():
    abilities = {"vision": False, "function_calling": True, "json_output": True, "structured_output": True, "family": "unknown"}
    client = OpenAIChatCompletionClient(model=MODEL, base_url=BASE_URL, api_key="none", model_info=abilities, max_retries=0)
    async def weather(city: str) -> str:
        """Weather of a city."""
        return get_weather(city)

    weather.__name__ = "get_weather"
    agent = AssistantAgent("guide", client, tools=[weather], model_client_stream=True, reflect_on_tool_use=True)
    text = (await agent.run(task=WEATHER)).messages[-1].content
    typed = AssistantAgent("reader", client, output_content_type=Person)
    report(text, [(await typed.run(task=EXTRACT)).messages[-1].content])


asyncio.run(main())
