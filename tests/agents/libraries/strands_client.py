# /// script
# dependencies = ["strands-agents[openai]==1.62.0"]
# ///
"""Strands Agents: its agent with a tool, streamed, and with a typed output."""
from scenario import BASE_URL, EXTRACT, MODEL, Person, WEATHER, get_weather, report
from strands import Agent, tool
from strands.models.openai import OpenAIModel

model = OpenAIModel(client_args={"base_url": BASE_URL, "api_key": "none", "max_retries": 0}, model_id=MODEL)
answer = Agent(model=model, tools=[tool(get_weather)], callback_handler=None)(WEATHER)
typed = Agent(model=model, callback_handler=None)(EXTRACT, structured_output_model=Person)
report(str(answer).strip(), [typed.structured_output])
