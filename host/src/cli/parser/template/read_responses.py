"""Reads turns by a response template as transformers does: JSON on stdin, a line of JSON for each turn on stdout."""
import json
import sys

try:
    import transformers
    from transformers.utils.chat_parsing import parse_response
except ImportError as error:
    sys.exit(f"transformers 5.13 or newer is needed: {error}")

given = json.load(sys.stdin)
print(json.dumps({"version": transformers.__version__}))
for turn in given["turns"]:
    tools = [{"type": "function", "function": tool} for tool in turn["tools"]]
    try:
        message = parse_response(turn["output"], given["template"], prefix=turn["prompt"], tools=tools)
        print(json.dumps({"message": message}))
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}".split("\n")[0]}))
