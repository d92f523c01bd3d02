# /// script
# dependencies = ["llama-index-llms-openai-like==0.8.1", "llama-index-core==0.14.25"]
# ///
"""LlamaIndex: its agent with a tool, streamed, and a structured model."""
import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from scenario import BASE_URL, EXTRACT, MODEL, Person, WEATHER, get_weather, report

model = OpenAILike(
    model=MODEL, api_base=BASE_URL, api_key="none", is_chat_model=True, is_function_calling_model=True, max_retries=0
)


async def main():
    agent = FunctionAgent(llm=model, tools=[FunctionTool.from_defaults(get_weather)])
    text = str(await agent.run(WEATHER))
    report(text, [model.as_structured_llm(Person).chat([ChatMessage(EXTRACT)]).raw])


asyncio.run(main())
