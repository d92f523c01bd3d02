# /// script
# dependencies = ["langchain==1.5.2", "langchain-openai==1.7.3"]
# ///
"""LangChain: its agent, and structured output by a forced call, a schema and a JSON object, over both protocols."""
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from scenario import BASE_URL, EXTRACT, MODEL, Person, WEATHER, get_weather, report

people = []
for responses in (False, True):
    chat = ChatOpenAI(base_url=BASE_URL, api_key="none", model=MODEL, max_retries=0, use_responses_api=responses)
    for method in ("function_calling", "json_schema", "json_mode"):
        people.append(chat.with_structured_output(Person, method=method).invoke(EXTRACT))
    agent = create_agent(chat, [get_weather])
    text = agent.invoke({"messages": [("user", WEATHER)]})["messages"][-1].text
report(text, people)
