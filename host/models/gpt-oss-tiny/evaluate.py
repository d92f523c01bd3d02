#!/usr/bin/env python3
"""Evaluate the tiny model with real greedy decoding.

    python evaluate.py MODEL_DIR [--server URL] [--bad N]

Every figure counts exact answers: one `analysis` message, then the call with exactly the arguments that
are wanted, or exactly the text. The city names are in no training text. Without a server, transformers
decodes with the weights as stored and arithmetic in float32; with one (`host serve --model MODEL_DIR`), the
answers are those of its Chat Completions. With --bad, the first N failures go to stderr.
"""
import concurrent.futures
import json
import re
import shutil
import tempfile
import urllib.request

import rendering
import torch
from experts import Mxfp4
from recipe import evaluation, names, phrases
from recipe.transcripts import assistant, call, result, user
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, GptOssForCausalLM

ANALYSIS = r"<\|channel\|>analysis<\|message\|>([^<]+)<\|end\|><\|start\|>assistant"
FINAL = re.compile(ANALYSIS + r"<\|channel\|>final<\|message\|>([^<]+)<\|return\|>", re.DOTALL)
CALLED = re.compile(
    ANALYSIS + r" to=functions\.(\w+)<\|channel\|>commentary <\|constrain\|>json<\|message\|>([^<]+)<\|call\|>"
)


def load(directory):
    """The stored model with its experts as plain values, in float32."""
    config = AutoConfig.from_pretrained(directory)
    del config.quantization_config
    tensors = Mxfp4.unpack(load_file(f"{directory}/model.safetensors"))
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        shutil.copy(f"{directory}/generation_config.json", folder)
        save_file(tensors, f"{folder}/model.safetensors", {"format": "pt"})
        return GptOssForCausalLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager"
        )


def outcome(text):
    """-> (tool, arguments), a text, or None for what is in no form that was taught"""
    if found := FINAL.fullmatch(text):
        return found[2]
    if found := CALLED.fullmatch(text):
        try:
            return found[2], json.loads(found[3])
        except json.JSONDecodeError:
            return None
    return None


class Server:
    """Outcomes of a running server."""

    def __init__(self, address):
        self.url = f"{address}/v1/chat/completions"
        with urllib.request.urlopen(f"{address}/v1/models") as answer:
            self.model = json.load(answer)["data"][0]["id"]

    def ask(self, item):
        messages, tools, options = item
        body = {"model": self.model, "messages": messages, "temperature": 0, **options}
        body |= {"tools": tools} if tools else {}
        body["max_tokens"] = evaluation.LONGEST
        request = urllib.request.Request(
            self.url, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            message = json.load(answer)["choices"][0]["message"]
        if not message.get("reasoning_content"):
            return None
        calls = [call["function"] for call in message.get("tool_calls") or []]
        if len(calls) == 1 and not message.get("content"):
            try:
                return calls[0]["name"], json.loads(calls[0]["arguments"])
            except json.JSONDecodeError:
                return None
        return message["content"] if not calls else None

    def __call__(self, items):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            return list(pool.map(self.ask, map(as_sent, items)))


def as_sent(item):
    """The item as clients send it: arguments are text, calls and results have ids."""
    messages, tools, options = item
    out, n = [], 0
    for message in json.loads(json.dumps(messages)):
        for made in message.get("tool_calls", []):
            n += 1
            made["id"] = f"call_{n}"
            made["function"]["arguments"] = json.dumps(made["function"]["arguments"], ensure_ascii=False)
        if message["role"] == "tool":
            message["tool_call_id"] = f"call_{n}"
        out.append(message)
    return out, [declared(tool) for tool in tools or []], options


def declared(tool):
    """The tool in Chat Completions' shape, which leaves out what is null."""
    function = tool.get("function") or {k: v for k, v in tool.items() if k != "type"}
    return {"type": "function", "function": {k: v for k, v in function.items() if v is not None}}


def calls_tool(got, want, _):
    return isinstance(got, tuple) and got[0] == want


class Evaluation(evaluation.Rows):
    def __init__(self, generate, bad):
        super().__init__(generate, lambda got, want, _: got == want, bad)
        self.n = 0

    def effort(self):
        """One after the other: what is asked for makes no difference."""
        self.n += 1
        return {"reasoning_effort": ["low", "medium", "high"][self.n % 3]}

    def case(self, messages, want, tools="all"):
        return messages, self.tools if tools == "all" else tools, self.effort(), want

    def one_call(self, title, cities, questions, tool):
        self.row(title, [
            self.case([self.asked(questions, c=city)], (tool, {"city": city})) for city in cities
        ])

    def copying(self):
        real, made, two = names.REAL_CITIES[:100], names.INVENTED, evaluation.two_word_names()
        self.one_call("real cities, weather", real, phrases.WEATHER, "get_weather")
        self.one_call("invented names, weather", made, phrases.WEATHER, "get_weather")
        self.one_call("two-word names, weather", two[:100], phrases.WEATHER, "get_weather")
        self.one_call("real cities, time", real, phrases.TIME, "get_time")
        self.one_call("real cities in lower case, weather", [c.lower() for c in real], phrases.WEATHER, "get_weather")
        self.one_call("real cities, held-out phrasings", real, phrases.HELD_OUT_WEATHER, "get_weather")
        questions = [f"What is the weather in {{c}} {names.lowercase_word(self.r)}?" for _ in range(30)]
        self.one_call("unknown lower-case word after the name", real[30:60], questions, "get_weather")

    def tools_in_other_ways(self):
        cases = []
        for i, city in enumerate(names.REAL_CITIES[:100]):
            messages = self.maybe_system(i % 2) + [self.asked(phrases.WEATHER, c=city)]
            cases.append(self.case(messages, ("get_weather", {"city": city}), self.any_spelling()))
        self.row("tools spelt in other ways, one unneeded tool, system prompt", cases)
        cases = []
        for city in names.REAL_CITIES[:40]:
            tools = [self.stream.schema(tool, location=True) for tool in phrases.TOOLS]
            want = ("get_weather", {"location": city})
            cases.append(self.case([self.asked(phrases.WEATHER, c=city)], want, tools))
        self.row("the property is called location", cases)
        asked = [(phrases.WEATHER, "get_weather"), (phrases.TIME, "get_time"), (phrases.CALCULATE, "calculate")]
        cases = []
        for i in range(60):
            questions, tool = asked[i % 3]
            question = self.asked(questions, c=self.r.choice(names.REAL_CITIES), e="12 + 7")
            cases.append(self.case([question], tool, self.r.sample(self.tools, 3)))
        self.row("the right tool of three", cases, calls_tool)
        cases = []
        for _ in range(50):
            e = self.stream.expression()
            cases.append(self.case([self.asked(phrases.CALCULATE, e=e)], ("calculate", {"expression": e})))
        self.row("expression copied", cases)

    def one_result(self):
        for back in (True, False):
            cases = []
            for city in names.REAL_CITIES[:48]:
                content, words = self.weather()
                reason = f"The user wants the weather in {city}. I call get_weather."
                called = assistant("", reason if back else None, [call("get_weather", city=city)])
                messages = [user(f"What is the weather in {city}?"), called, result(content)]
                cases.append(self.case(messages, f"It is {words} in {city}."))
            self.row(f"answer after a result, reasoning {'sent back' if back else 'absent'}", cases)

    def two_calls(self):
        first, second, answers = [], [], []
        for c, d in zip(names.REAL_CITIES[:50], names.REAL_CITIES[50:100]):
            (content, said), (other, also) = self.weather(), self.weather()
            messages = [self.asked(phrases.TWO_WEATHER, c=c, d=d)]
            first.append(self.case(messages, ("get_weather", {"city": c})))
            reason = f"The user wants the weather in {c} and {d}. I call get_weather twice."
            messages = messages + [assistant("", reason, [call("get_weather", city=c)]), result(content)]
            second.append(self.case(messages, ("get_weather", {"city": d})))
            reason = f"Now I call get_weather for {d}."
            messages = messages + [assistant("", reason, [call("get_weather", city=d)]), result(other)]
            answers.append(self.case(messages, f"It is {said} in {c} and {also} in {d}."))
        self.row("two cities: the call for the first one", first)
        self.row("two cities: the call for the second one, after a result", second)
        self.row("two cities: the answer", answers)

    def missing(self):
        asked = [("What is the weather in {c}?", "get_weather"), ("What time is it in {c}?", "get_time")]
        absent, none = [], []
        for i, city in enumerate(names.REAL_CITIES[:40]):
            question, tool = asked[i % 2]
            messages = [user(question.format(c=city))]
            tools = [t for t in self.tools if t["function"]["name"] != tool]
            absent.append(self.case(messages, phrases.CANNOT, tools))
            none.append(self.case(messages, phrases.CANNOT, None))
        self.row("needed tool not among two others: says so", absent)
        self.row("no tools at all: says so", none)

    def talk(self):
        for tools in ("all", None):
            cases = [
                self.case([user(question)], answer, tools)
                for questions, answer in phrases.SMALL_TALK
                for question in questions
            ]
            self.row(f"small talk, {'tools' if tools else 'no tools'}", cases)
        cases = [
            self.case([self.asked(phrases.NO_ANSWER, x=names.lowercase_word(self.r), y="it")], phrases.UNKNOWN)
            for _ in range(40)
        ]
        self.row("what it does not know: says so", cases)

    def turns(self):
        cases = []
        for i, (c, d) in enumerate(zip(names.REAL_CITIES[:40], names.REAL_CITIES[40:80])):
            content, words = self.weather()
            messages = [
                user(f"What is the weather in {c}?"),
                assistant("", None, [call("get_weather", city=c)]),
                result(content),
                assistant(f"It is {words} in {c}."),
                user(f"What time is it in {d}?" if i % 2 else f"And in {d}?"),
            ]
            cases.append(self.case(messages, ("get_time" if i % 2 else "get_weather", {"city": d})))
        self.row("second request after an answered first one", cases)

    def everything(self):
        self.header()
        self.copying()
        self.tools_in_other_ways()
        self.one_result()
        self.two_calls()
        self.missing()
        self.turns()
        self.talk()


def main():
    parser = evaluation.parser(__doc__.split("\n")[0])
    parser.add_argument("--server", help="address of a server that has the model")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.server:
        generate = Server(args.server)
    else:
        decode = evaluation.Generator(args.model, load(args.model))
        generate = lambda items: [outcome(text) for text in decode(items)]
    Evaluation(generate, args.bad).everything()


if __name__ == "__main__":
    main()
