# /// script
# dependencies = ["smolagents[openai]==1.26.0"]
# ///
"""smolagents: its agent, which demands a call in every step and ends by calling `final_answer`."""
from scenario import BASE_URL, MODEL, WEATHER, get_weather, report
from smolagents import OpenAIModel, ToolCallingAgent, tool

model = OpenAIModel(model_id=MODEL, api_base=BASE_URL, api_key="none")
report(ToolCallingAgent(tools=[tool(get_weather)], model=model, max_steps=3).run(WEATHER), [])
