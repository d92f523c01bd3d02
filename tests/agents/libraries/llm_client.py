# /// script
# dependencies = ["llm==0.36", "pydantic"]
# ///
"""`llm`, the command line program: a tool given as Python, and a schema, from a model of its own configuration."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from scenario import BASE_URL, EXTRACT, MODEL, Person, WEATHER, calls, report

TOOL = """
def get_weather(city: str) -> str:
    "Weather of a city."
    open("calls", "a").write(city + "\\n")
    return "sunny, 21 degrees"
"""

with tempfile.TemporaryDirectory() as folder:
    home = pathlib.Path(folder)
    model = {"model_id": "ours", "model_name": MODEL, "api_base": BASE_URL, "supports_tools": True, "supports_schema": True}
    (home / "extra-openai-models.yaml").write_text(json.dumps([model]))  # JSON is YAML

    def llm(*arguments):
        env = os.environ | {"LLM_USER_PATH": folder, "OPENAI_API_KEY": "none"}
        command = [pathlib.Path(sys.executable).with_name("llm"), "-m", "ours", *arguments]
        return subprocess.run(command, cwd=folder, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    text = llm("--functions", TOOL, WEATHER)
    calls += [{"city": city} for city in (home / "calls").read_text().split()]
    report(text, [json.loads(llm("--schema", json.dumps(Person.model_json_schema()), EXTRACT))])
