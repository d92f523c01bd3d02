# /// script
# dependencies = ["pydantic-ai-slim[openai]==2.38.0"]
# ///
"""Pydantic AI: a tool beside a typed output, which is a forced call, a JSON schema, or a JSON object with the schema in the prompt."""
from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from scenario import BASE_URL, EXTRACT, MODEL, Person, WEATHER, get_weather, report

provider = OpenAIProvider(base_url=BASE_URL, api_key="none")
people = []
for kind in (OpenAIChatModel, OpenAIResponsesModel):
    model = kind(MODEL, provider=provider)
    for output in (ToolOutput(Person, name="Person"), NativeOutput(Person), PromptedOutput(Person)):
        people.append(Agent(model, output_type=output, retries=0).run_sync(EXTRACT).output)
text = Agent(OpenAIChatModel(MODEL, provider=provider), tools=[get_weather]).run_sync(WEATHER).output
report(text, people)
