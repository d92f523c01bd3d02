# /// script
# dependencies = ["crewai==1.15.30"]
# ///
"""CrewAI: an agent with a tool, and with a typed answer."""
import os

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}

from crewai import Agent, LLM
from crewai.tools import tool
from scenario import BASE_URL, EXTRACT, MODEL, Person, WEATHER, get_weather, report

model = LLM(model=f"openai/{MODEL}", base_url=BASE_URL, api_key="none")
role = {"role": "guide", "goal": "Answer.", "backstory": "You answer.", "llm": model}
text = Agent(**role, tools=[tool(get_weather)]).kickoff(WEATHER).raw
report(text, [Agent(**role).kickoff(EXTRACT, response_format=Person).pydantic])
