"""What transformers renders for a conversation, as it was sent or with changes that the server's documents describe.

A change is a function of the template's variables, named in `CHANGES`; docs/models.md and host/src/prompt/template_changes.rs say which
templates need which.
"""
import copy
import json

from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

INSTRUCTIONS = ("system", "developer")


def variables(body, special_tokens):
    """Returns what a user of transformers gives the template for a request: arguments of calls are objects."""
    messages = copy.deepcopy(body["messages"])
    for call in calls_of(messages):
        call["function"]["arguments"] = json.loads(call["function"]["arguments"] or "{}")
    arguments = dict(body.get("chat_template_kwargs", {}))
    if "reasoning_effort" in body:
        arguments.setdefault("reasoning_effort", body["reasoning_effort"])
    return {
        "messages": messages, "tools": copy.deepcopy(body.get("tools")), "add_generation_prompt": body.get("add_generation_prompt", True),
        "continue_final_message": body.get("continue_final_message", False), **arguments, **special_tokens,
    }


def calls_of(messages):
    return [call for message in messages for call in message.get("tool_calls") or []]


def seen(given):
    """Returns the variables as the template sees them: transformers drops absent fields and adds names of reasoning."""
    messages = [{key: value for key, value in message.items() if value is not None} for message in given["messages"]]
    for message in messages:
        if "reasoning_content" in message:
            message["thinking"] = message["reasoning_content"]
    return {**given, "messages": messages, "documents": None}


class Reference:
    """transformers' rendering of templates."""

    def __init__(self):
        self.tokenizers = {}

    def render(self, template, given):
        """Returns the text, or the exception that the template or transformers raises."""
        given = dict(given)
        special = {name: given.pop(name) for name in ("bos_token", "eos_token")}
        key = tuple(special.values())
        if key not in self.tokenizers:
            self.tokenizers[key] = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), **special)
        try:
            return self.tokenizers[key].apply_chat_template(given.pop("messages"), chat_template=template, tokenize=False, **given)
        except Exception as error:  # A template may raise anything.
            return error


def shape(given, body):
    """Each message has a text, a result has its tool's name, and empty reasoning is none."""
    names = {call["id"]: call["function"]["name"] for call in calls_of(given["messages"])}
    for message in given["messages"]:
        if message.get("content") is None:
            message["content"] = ""
        if message["role"] == "tool":
            message.setdefault("name", names.get(message["tool_call_id"]))


def parts_are_text(given, body):
    """Text parts are one text."""
    for message in given["messages"]:
        if isinstance(message.get("content"), list):
            message["content"] = "".join(part["text"] for part in message["content"])


def texts_are_parts(given, body):
    """A text is a list with one part."""
    for message in given["messages"]:
        if isinstance(message.get("content"), str):
            message["content"] = [{"type": "text", "text": message["content"]}]


def arguments_are_text(given, body):
    """Arguments of calls are the text that was sent."""
    for call, sent in zip(calls_of(given["messages"]), calls_of(body["messages"])):
        call["function"]["arguments"] = sent["function"]["arguments"]


def developer_is_system(given, body):
    for message in given["messages"]:
        if message["role"] == "developer":
            message["role"] = "system"


def instructions_are_one(given, body):
    """Instructions at the beginning are joined."""
    messages = given["messages"]
    count = next((at for at, message in enumerate(messages) if message["role"] not in INSTRUCTIONS), len(messages))
    if count > 1:
        messages[0]["content"] = "\n\n".join(message["content"] for message in messages[:count] if message["content"])
        del messages[1:count]


def late_instructions_are_users(given, body):
    begun = False
    for message in given["messages"]:
        begun = begun or message["role"] not in INSTRUCTIONS
        if begun and message["role"] in INSTRUCTIONS:
            message["role"] = "user"


def text_follows_reasoning(given, body):
    """Text beside reasoning and calls is a paragraph of the reasoning."""
    for message in given["messages"]:
        if message.get("reasoning_content") and message.get("tool_calls"):
            texts = [message["reasoning_content"], message["content"]]
            message["reasoning_content"] = "\n\n".join(text for text in texts if text)
            message["content"] = ""


def one_call_per_message(given, body):
    """Each call is a message, followed by its result."""
    split, rest = [], list(given["messages"])
    while rest:
        message = rest.pop(0)
        calls = message.get("tool_calls") or []
        if len(calls) < 2:
            split.append(message)
            continue
        results = []
        while rest and rest[0]["role"] == "tool":
            results.append(rest.pop(0))
        for index, call in enumerate(calls):
            head = message if index == 0 else {"role": "assistant", "content": ""}
            split.append({**head, "tool_calls": [call]})
            split += [result for result in results if result["tool_call_id"] == call["id"]]
            results = [result for result in results if result["tool_call_id"] != call["id"]]
        split += results
    given["messages"] = split


# By the names that the log has in `fit`.
FIT = {
    "DeveloperIsSystem": developer_is_system,
    "InstructionsAreOne": instructions_are_one,
    "LateInstructionsAreUsers": late_instructions_are_users,
    "TextFollowsReasoning": text_follows_reasoning,
    "OneCallPerMessage": one_call_per_message,
}


def variants(template, body, fit):
    """Yields sets of changes that the server may have made for a template, the smaller first. `fit` has the names in its log."""
    optional = [[()], [()], [()]]
    parts = any(isinstance(message.get("content"), list) for message in body["messages"])
    optional[0] += [(parts_are_text,)] if parts else []
    optional[0] += [(texts_are_parts,)]
    if calls_of(body["messages"]):
        optional[1] += [(arguments_are_text,)]
    if "developer" not in template and any(message["role"] == "developer" for message in body["messages"]):
        optional[2] += [(developer_is_system,)]
    changes = tuple(FIT[name] for name in fit)
    combined = [
        first + made + last + second
        for made in ([(), (shape,), (shape, *changes)] if changes else [(), (shape,)])
        for first in optional[0] for second in optional[1] for last in optional[2]
    ]
    return sorted(combined, key=len)


def changed(given, body, changes):
    """Returns the variables with these changes."""
    given = copy.deepcopy(given)
    # Texts become parts last, since the other changes are made to texts.
    for change in sorted(changes, key=lambda change: change is texts_are_parts):
        change(given, body)
    return given
