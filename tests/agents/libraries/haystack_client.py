# /// script
# dependencies = ["haystack-ai==3.4.1"]
# ///
"""Haystack: its agent over Chat Completions and over the Responses API, and a JSON schema."""
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator, OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from haystack.utils import Secret
from scenario import BASE_URL, EXTRACT, MODEL, Person, WEATHER, get_weather, report

server = {"api_key": Secret.from_token("none"), "model": MODEL, "api_base_url": BASE_URL, "max_retries": 0}
tool = create_tool_from_function(get_weather)
for kind in (OpenAIChatGenerator, OpenAIResponsesChatGenerator):
    agent = Agent(chat_generator=kind(**server), tools=[tool])
    text = agent.run(messages=[ChatMessage.from_user(WEATHER)])["last_message"].text
typed = OpenAIChatGenerator(**server, generation_kwargs={"response_format": Person})
answer = typed.run(messages=[ChatMessage.from_user(EXTRACT)])["replies"][0].text
report(text, [Person.model_validate_json(answer)])
