#!/usr/bin/env python3
"""Evaluate the tiny model with real greedy decoding.

    python evaluate.py MODEL_DIR [--bad N]

Every figure counts exact matches of the generated text; the city names are in no training text.
Weights are as stored, arithmetic is float32. With --bad, the first N failures go to stderr.
"""
import json
import re

import rendering
import torch
from recipe import evaluation, names, phrases
from recipe.transcripts import assistant, call, result, user
from transformers import AutoModelForCausalLM

END = "<|im_end|>"


def written(function, **arguments):
    """Returns a call as the model writes it."""
    text = json.dumps(arguments, ensure_ascii=False)
    return f'<tool_call>\n{{"name": "{function}", "arguments": {text}}}\n</tool_call>'


def exact(got, want, thinking):
    """Returns whether the text is exactly the expected one, after one think block if thinking is on."""
    if not thinking:
        return got == want + END
    thought = got.startswith("<think>\n") and got.count("</think>") == 1
    return thought and got.endswith("</think>\n\n" + want + END)


def same_tool(got, want, thinking):
    """Returns whether there is one call, of the expected tool."""
    return re.findall(r'<tool_call>\n\{"name": "(\w+)"', got) == [want]


class Generator(evaluation.Generator):
    def prompt(self, messages, tools, thinking):
        return super().prompt(messages, tools, {} if thinking else {"enable_thinking": False})


class Evaluation(evaluation.Rows):
    """Evaluation in which a case's mode is whether the model thinks."""

    def __init__(self, generate, bad):
        super().__init__(generate, exact, bad)

    def one_call(self, title, cities, questions, tool, thinking=True):
        cases = []
        for city in cities:
            question = self.r.choice(questions).format(c=city)
            cases.append(([user(question)], self.tools, thinking, written(tool, city=city)))
        self.row(title, cases)

    def copying(self):
        real, made = names.REAL_CITIES[:100], names.INVENTED
        two = evaluation.two_word_names()
        lower = [city.lower() for city in real]
        weather, time = phrases.WEATHER, phrases.TIME
        self.one_call("real cities, weather, thinking", real, weather, "get_weather")
        self.one_call("invented names, weather, thinking", made, weather, "get_weather")
        self.one_call("two-word names, weather, thinking", two[:100], weather, "get_weather")
        self.one_call("real cities, time, thinking", real, time, "get_time")
        self.one_call("real cities, weather, thinking off", real, weather, "get_weather", False)
        self.one_call("real cities, time, thinking off", real, time, "get_time", False)
        self.one_call("two-word names, weather, thinking off", two[:100], weather, "get_weather", False)
        self.one_call("real cities in lower case, weather, thinking", lower, weather, "get_weather")
        held_out = phrases.HELD_OUT_WEATHER
        self.one_call("real cities, held-out phrasings, thinking", real, held_out, "get_weather")

    def typing(self):
        cases = []
        for i, city in enumerate(names.REAL_CITIES[:60]):
            question = "what is the weather in {c}".format(c=city)
            question = question if i % 3 else f"weather in {city}?"
            cases.append(([user(question)], self.tools, i % 2 == 0, written("get_weather", city=city)))
        self.row("as typed: lower case, with or without question mark", cases)

    def odd_words(self):
        for thinking in (True, False):
            cases = []
            for city in names.REAL_CITIES[30:60]:
                word = "".join(self.r.choice(names.ALPHABET) for _ in range(5))
                question = f"What is the weather in {city} {word}?"
                want = written("get_weather", city=city)
                cases.append(([user(question)], self.tools, thinking, want))
            self.row(f"unknown lower-case word after the name, thinking {on(thinking)}", cases)

    def spellings(self):
        """Tool schemas in any spelling of the training, system prompts, unneeded tools."""
        cases = []
        for i, city in enumerate(names.REAL_CITIES[:100]):
            tools = self.any_spelling()
            system = self.maybe_system(i % 2)
            question = self.r.choice(phrases.WEATHER).format(c=city)
            messages = system + [user(question)]
            cases.append((messages, tools, i % 4 < 2, written("get_weather", city=city)))
        self.row("tools spelt in other ways, one unneeded tool, system prompt", cases)
        cases = []
        for i, city in enumerate(names.REAL_CITIES[:40]):
            tools = [self.stream.schema(tool, location=True) for tool in phrases.TOOLS]
            question = self.r.choice(phrases.WEATHER).format(c=city)
            cases.append(([user(question)], tools, i % 2 == 0, written("get_weather", location=city)))
        self.row("the property is called location", cases)

    def choice(self):
        cases = []
        asked = [(phrases.WEATHER, "get_weather"), (phrases.TIME, "get_time")]
        asked.append((phrases.CALCULATE, "calculate"))
        for i in range(60):
            questions, tool = asked[i % 3]
            question = self.r.choice(questions).format(c=self.r.choice(names.REAL_CITIES), e="12 + 7")
            tools = self.r.sample(self.tools, 3)
            cases.append(([user(question)], tools, i % 2 == 0, tool))
        self.row("the right tool of three", cases, same_tool)
        cases = []
        for i in range(50):
            expression = self.stream.expression()
            question = self.r.choice(phrases.CALCULATE).format(e=expression)
            want = written("calculate", expression=expression)
            cases.append(([user(question)], self.tools, i % 2 == 0, want))
        self.row("expression copied", cases)

    def alone(self):
        """One tool and no other: the one that is needed, or another."""
        asked = [(phrases.WEATHER, "get_weather", "city"), (phrases.TIME, "get_time", "city"), (phrases.CALCULATE, "calculate", "expression")]
        for thinking in (True, False):
            there, absent = [], []
            for i, city in enumerate(names.REAL_CITIES[:60]):
                questions, tool, key = asked[i % 3]
                value = "12 + 7" if key == "expression" else city
                question = user(self.r.choice(questions).format(c=value, e=value))
                own = [t for t in self.tools if t["function"]["name"] == tool]
                other = [t for t in self.tools if t["function"]["name"] == asked[(i + 1) % 3][1]]
                there.append(([question], own, thinking, written(tool, **{key: value})))
                absent.append(([question], other, thinking, phrases.CANNOT))
            self.row(f"the needed tool alone, thinking {on(thinking)}", there)
            self.row(f"another tool alone: says so, thinking {on(thinking)}", absent)

    def as_json(self):
        for thinking in (True, False):
            cases = []
            for questions, answer in phrases.SMALL_TALK:
                want = json.dumps({"answer": answer}, ensure_ascii=False)
                cases.append(([user(f"{questions[0]} Answer in JSON.")], None, thinking, want))
            self.row(f"small talk asked for in JSON, thinking {on(thinking)}", cases)

    def parallel(self):
        for title, cities in (("real cities", names.REAL_CITIES), ("invented", names.INVENTED)):
            cases = []
            for i in range(50):
                c, d = self.r.sample(cities, 2)
                question = self.r.choice(phrases.TWO_WEATHER).format(c=c, d=d)
                want = written("get_weather", city=c) + "\n" + written("get_weather", city=d)
                cases.append(([user(question)], self.tools, i % 2 == 0, want))
            self.row(f"two parallel weather calls, {title}", cases)
        cases = []
        for i in range(40):
            c, d = self.r.sample(names.REAL_CITIES, 2)
            if i % 2:
                d, questions = c, phrases.WEATHER_AND_TIME
            else:
                questions = phrases.WEATHER_THEN_TIME
            question = self.r.choice(questions).format(c=c, d=d)
            want = written("get_weather", city=c) + "\n" + written("get_time", city=d)
            cases.append(([user(question)], self.tools, i % 4 < 2, want))
        self.row("weather and time in parallel", cases)

    def one_result(self):
        for back in (True, False):
            for thinking in (True, False):
                cases = []
                for city in names.REAL_CITIES[:48]:
                    content, words = self.weather()
                    reason = f"The user wants the weather in {city}. I call get_weather."
                    called = assistant("", reason, [call("get_weather", city=city)])
                    if not back:
                        del called["reasoning_content"]
                    asked = user(f"What is the weather in {city}?")
                    messages = [asked, called, result(content)]
                    cases.append((messages, self.tools, thinking, f"It is {words} in {city}."))
                sent = "sent back" if back else "absent"
                title = f"answer after one result, reasoning {sent}, thinking {on(thinking)}"
                self.row(title, cases)

    def two_results(self):
        cities = names.REAL_CITIES
        for thinking in (True, False):
            cases, mixed = [], []
            for c, d in zip(cities[:40], cities[40:80]):
                (first, said), (second, also), (clock, time) = self.weather(), self.weather(), self.clock()
                calls = [call("get_weather", city=c), call("get_weather", city=d)]
                called = {"role": "assistant", "content": "", "tool_calls": calls}
                messages = [user(f"Weather in {c} and {d}?"), called, result(first), result(second)]
                want = f"It is {said} in {c} and {also} in {d}."
                cases.append((messages, self.tools, thinking, want))
                calls = [call("get_weather", city=c), call("get_time", city=c)]
                called = {"role": "assistant", "content": "", "tool_calls": calls}
                asked = user(f"What is the weather and the time in {c}?")
                messages = [asked, called, result(first), result(clock)]
                want = f"It is {said} in {c}. The time is {time}."
                mixed.append((messages, self.tools, thinking, want))
            self.row(f"answer after two weather results, thinking {on(thinking)}", cases)
            self.row(f"answer after weather and time results, thinking {on(thinking)}", mixed)

    def missing(self):
        asked = [("What is the weather in {c}?", "get_weather"), ("What time is it in {c}?", "get_time")]
        for thinking in (True, False):
            absent, none = [], []
            for i, city in enumerate(names.REAL_CITIES[:40]):
                question, tool = asked[i % 2]
                messages = [user(question.format(c=city))]
                tools = [t for t in self.tools if t["function"]["name"] != tool]
                absent.append((messages, tools, thinking, phrases.CANNOT))
                none.append((messages, None, thinking, phrases.CANNOT))
            self.row(f"needed tool not among two others: says so, thinking {on(thinking)}", absent)
            self.row(f"no tools at all: says so, thinking {on(thinking)}", none)

    def small_talk(self):
        for tools in (self.tools, None):
            for thinking in (True, False):
                cases = [
                    ([user(question)], tools, thinking, answer)
                    for questions, answer in phrases.SMALL_TALK
                    for question in questions
                ]
                offered = "tools" if tools else "no tools"
                self.row(f"small talk, {offered}, thinking {on(thinking)}", cases)

    def turns(self):
        """A second request after a finished first one."""
        cases = []
        for i, (c, d) in enumerate(zip(names.REAL_CITIES[:40], names.REAL_CITIES[40:80])):
            content, words = self.weather()
            messages = [
                user(f"What is the weather in {c}?"),
                {"role": "assistant", "content": "", "tool_calls": [call("get_weather", city=c)]},
                result(content),
                {"role": "assistant", "content": f"It is {words} in {c}."},
                user(f"What time is it in {d}?" if i % 2 else f"And in {d}?"),
            ]
            want = written("get_time" if i % 2 else "get_weather", city=d)
            cases.append((messages, self.tools, i % 4 < 2, want))
        self.row("second request after an answered first one", cases)

    def everything(self):
        self.header()
        self.copying()
        self.typing()
        self.odd_words()
        self.spellings()
        self.choice()
        self.alone()
        self.as_json()
        self.parallel()
        self.one_result()
        self.two_results()
        self.missing()
        self.turns()
        self.small_talk()


def on(thinking):
    return "on" if thinking else "off"


def main():
    args = evaluation.arguments(__doc__)
    model = AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.float32)
    Evaluation(Generator(args.model, model), args.bad).everything()


if __name__ == "__main__":
    main()
