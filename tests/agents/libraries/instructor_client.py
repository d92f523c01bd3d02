# /// script
# dependencies = ["instructor==1.17.0"]
# ///
"""Instructor: a model's fields through a forced call, a strict call, a JSON object and a JSON schema."""
import instructor
from openai import OpenAI
from scenario import BASE_URL, EXTRACT, MODEL, Person, report

people = []
for mode in (instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT, instructor.Mode.JSON, instructor.Mode.JSON_SCHEMA):
    client = instructor.from_openai(OpenAI(base_url=BASE_URL, api_key="none", max_retries=0), mode=mode)
    ask = {"model": MODEL, "messages": [{"role": "user", "content": EXTRACT}], "response_model": Person, "max_retries": 0}
    people.append(client.chat.completions.create(**ask))
    people.append(list(client.chat.completions.create_partial(**ask))[-1])
report(None, people)
