"""What transformers renders for a conversation, as it was sent or with changes that the server's documents describe.

A change is a function of the template's variables, named in `CHANGES`; docs/models.md and host/prompt/src/template_changes/mod.rs say which
templates need which.
"""
import copy
import itertools
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


class ContentForm:
    """Form of the content of messages, of those with some roles."""

    def __init__(self, name, roles):
        self.name, self.made, self.roles = name, FORMS[name], roles
        self.__name__ = f"{name} of {'/'.join(roles)}"

    def __call__(self, given, body):
        for message in given["messages"]:
            if message["role"] in self.roles and message.get("content") is not None:
                message["content"] = self.made(message["content"])


def lines(content):
    return "\n".join(part["text"] for part in content) if isinstance(content, list) else content


def parts(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


FORMS = {"lines": lines, "parts": parts, "one part": lambda content: parts(lines(content))}


def roles_of(body):
    roles = {message["role"] for message in body["messages"]}
    # Instructions by the application may have become the system's.
    return sorted(roles | ({"system"} if "developer" in roles else set()))


def content_forms(body):
    """Yields the sets of forms that a template may need, the smaller first: roles may differ where there are lists."""
    roles = roles_of(body)
    lists = any(isinstance(message.get("content"), list) for message in body["messages"])
    uniform = [(ContentForm(name, roles),) for name in (FORMS if lists else ["parts"])]
    apart = [[()] + [(ContentForm(name, [role]),) for name in FORMS] for role in roles] if lists else []
    return [(), *uniform, *(sum(forms, ()) for forms in itertools.product(*apart) if sum(map(len, forms)))]


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
    optional = [content_forms(body), [()], [()]]
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
    # Forms of content come last, since the other changes are made to texts.
    for change in sorted(changes, key=lambda change: isinstance(change, ContentForm)):
        change(given, body)
    return given


def needless_form(render, changes, body, ours):
    """Returns the role whose content the template shows in full as it was sent, although `ours` has another form of it."""
    for form in (change for change in changes if isinstance(change, ContentForm)):
        for role in form.roles:
            others = [other for other in form.roles if other != role]
            text = render([ContentForm(form.name, others) if change is form else change for change in changes])
            if isinstance(text, str) and text != ours and shows(text, body, role):
                return role
    return None


def shows(text, body, role):
    """Whether a prompt has all texts of the role's messages, and not their lists as Python or JSON spells them."""
    texts = [(message["role"], part["text"]) for message in body["messages"] for part in parts(message.get("content") or [])]
    everything = "\0".join(part for _, part in texts)
    is_shown = lambda part: not part.strip() or text.count(part.strip()) >= everything.count(part.strip())
    is_spelt = lambda part: any(f"{quote}text{quote}: {quote}{part}{quote}" in text for quote in "'\"")
    own = [part for author, part in texts if author == role]
    return bool(own) and all(is_shown(part) and not is_spelt(part) for part in own)
