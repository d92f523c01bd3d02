"""LangChain: a bound tool; the first answer is streamed, the second isn't. Arguments: base URL, model, `responses` or `chat`."""
import json
import sys

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

base_url, model, api = sys.argv[1:]
calls = []


@tool
def get_weather(city: str) -> str:
    """Weather of a city."""
    calls.append({"city": city})
    return "sunny, 21 degrees"


chat = ChatOpenAI(base_url=base_url, api_key="none", model=model, max_retries=0, use_responses_api=api == "responses")
bound = chat.bind_tools([get_weather])
messages = [HumanMessage("What is the weather in Zürich?")]
answer = None
for piece in bound.stream(messages):
    answer = piece if answer is None else answer + piece
messages.append(answer)
messages += [get_weather.invoke(call) for call in answer.tool_calls]
print(json.dumps({"calls": calls, "text": str(bound.invoke(messages).text)}))
