# /// script
# dependencies = ["semantic-kernel==1.45.0"]
# ///
"""Semantic Kernel: its agent with a function, and a typed answer."""
import asyncio

from openai import AsyncOpenAI
from scenario import BASE_URL, EXTRACT, MODEL, Person, WEATHER, get_weather, report
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion, OpenAIChatPromptExecutionSettings
from semantic_kernel.functions import KernelArguments, kernel_function

client = AsyncOpenAI(base_url=BASE_URL, api_key="none", max_retries=0)
service = OpenAIChatCompletion(ai_model_id=MODEL, async_client=client)


class Guide:
    @kernel_function(name="get_weather", description="Weather of a city.")
    def weather(self, city: str) -> str:
        return get_weather(city)


async def main():
    agent = ChatCompletionAgent(service=service, name="guide", plugins=[Guide()])
    text = str(await agent.get_response(messages=WEATHER))
    settings = OpenAIChatPromptExecutionSettings(response_format=Person)
    typed = ChatCompletionAgent(service=service, name="reader", arguments=KernelArguments(settings=settings))
    report(text, [Person.model_validate_json(str(await typed.get_response(messages=EXTRACT)))])


asyncio.run(main())
