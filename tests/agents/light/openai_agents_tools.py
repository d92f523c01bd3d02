"""openai-agents: a shell, a patch and a tool that is found by a search, streamed. Arguments: base URL, model, folder to work in."""
import asyncio
import json
import pathlib
import subprocess
import sys

from agents import (
    Agent,
    ApplyPatchTool,
    OpenAIResponsesModel,
    Runner,
    ShellTool,
    ToolSearchTool,
    apply_diff,
    function_tool,
    set_tracing_disabled,
)
from agents.tool import ShellCallOutcome, ShellCommandOutput, ShellResult
from openai import AsyncOpenAI

base_url, model, folder = sys.argv[1:]
set_tracing_disabled(True)
calls = []


def run(request):
    outputs = []
    for command in request.data.action.commands:
        calls.append(command)
        done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
        outcome = ShellCallOutcome(type="exit", exit_code=done.returncode)
        outputs.append(ShellCommandOutput(command=command, stdout=done.stdout, stderr=done.stderr, outcome=outcome))
    return ShellResult(output=outputs)


class Editor:
    def create_file(self, operation):
        calls.append(operation.path)
        (pathlib.Path(folder) / operation.path).write_text(apply_diff("", operation.diff, mode="create"))
        return "created"

    def update_file(self, operation):
        calls.append(operation.path)
        file = pathlib.Path(folder) / operation.path
        file.write_text(apply_diff(file.read_text(), operation.diff))
        return "updated"

    def delete_file(self, operation):
        (pathlib.Path(folder) / operation.path).unlink()
        return "deleted"


@function_tool(defer_loading=True)
def send_mail(to: str) -> str:
    """Sends a mail."""
    calls.append(to)
    return "sent"


async def main():
    client = AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0)
    tools = [ShellTool(executor=run), ApplyPatchTool(editor=Editor()), send_mail, ToolSearchTool()]
    agent = Agent(name="worker", instructions="Use the tools.", model=OpenAIResponsesModel(model, client), tools=tools)
    turns = Runner.run_streamed(agent, "Do the work.")
    async for _ in turns.stream_events():
        pass
    print(json.dumps({"calls": calls, "text": turns.final_output}))


asyncio.run(main())
