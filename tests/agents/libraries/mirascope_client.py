# /// script
# dependencies = ["mirascope[openai]==2.8.2"]
# ///
"""Mirascope: a tool's call, its result and the answer; a typed format by a forced call, a schema and a JSON object."""
from mirascope import llm
from scenario import BASE_URL, EXTRACT, MODEL, Person, WEATHER, get_weather, report

llm.register_provider("openai:completions", scope="openai/", base_url=BASE_URL, api_key="none")
model = llm.Model(f"openai/{MODEL}")
people = [model.call(EXTRACT, format=llm.format(Person, mode=mode)).parse() for mode in ("tool", "strict", "json")]
response = model.call(WEATHER, tools=[llm.tool(get_weather)])
while response.tool_calls:
    response = response.resume(response.execute_tools())
report("".join(text.text for text in response.texts), people)
