# /// script
# dependencies = ["outlines==1.3.3", "openai"]
# ///
"""Outlines: a JSON schema through the OpenAI client."""
import outlines
from openai import OpenAI
from scenario import BASE_URL, EXTRACT, MODEL, Person, report

model = outlines.from_openai(OpenAI(base_url=BASE_URL, api_key="none", max_retries=0), MODEL)
report(None, [Person.model_validate_json(model(EXTRACT, Person))])
