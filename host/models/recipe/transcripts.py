"""Random conversations with tools, as messages: every model renders them with its own chat template.

`Transcripts.conversation` is the only source of training text.
"""
import json
import random

from recipe import names, phrases

# kind -> (weight, questions, calls in order as (tool, placeholder of its argument))
KINDS = {
    "weather": (20, phrases.WEATHER, [("get_weather", "c")]),
    "time": (13, phrases.TIME, [("get_time", "c")]),
    "two_weather": (16, phrases.TWO_WEATHER, [("get_weather", "c"), ("get_weather", "d")]),
    "two_time": (6, phrases.TWO_TIME, [("get_time", "c"), ("get_time", "d")]),
    "both": (5, phrases.WEATHER_AND_TIME, [("get_weather", "c"), ("get_time", "c")]),
    "weather_time": (4, phrases.WEATHER_THEN_TIME, [("get_weather", "c"), ("get_time", "d")]),
    "time_weather": (3, phrases.TIME_THEN_WEATHER, [("get_time", "c"), ("get_weather", "d")]),
    "calculate": (14, phrases.CALCULATE, [("calculate", "e")]),
    "small": (16, None, []),
    "unknown": (3, phrases.NO_ANSWER, []),
}
TOPICS = {
    "weather": "the weather in {c}",
    "time": "the time in {c}",
    "two_weather": "the weather in {c} and {d}",
    "two_time": "the time in {c} and {d}",
    "both": "the weather and the time in {c}",
    "weather_time": "the weather in {c} and the time in {d}",
    "time_weather": "the time in {c} and the weather in {d}",
    "calculate": "the value of {e}",
}
# {0} and {1} stand for the results of the tools.
ANSWERS = {
    "weather": "It is {0} in {c}.",
    "time": "It is {0} in {c}.",
    "two_weather": "It is {0} in {c} and {1} in {d}.",
    "two_time": "It is {0} in {c} and {1} in {d}.",
    "both": "It is {0} in {c}. The time is {1}.",
    "weather_time": "It is {0} in {c}. The time in {d} is {1}.",
    "time_weather": "The time in {c} is {0}. It is {1} in {d}.",
    "calculate": "{e} = {0}",
}


def needed(kind):
    """Returns the names of the tools that a request of this kind needs."""
    return {tool for tool, _ in KINDS[kind][2]}


def user(content):
    return {"role": "user", "content": content}


def assistant(content="", reasoning=None, calls=None):
    message = {"role": "assistant", "content": content, "reasoning_content": reasoning}
    return message | ({"tool_calls": calls} if calls else {})


def call(function, **arguments):
    return {"type": "function", "function": {"name": function, "arguments": arguments}}


def result(content):
    return {"role": "tool", "content": content}


class Transcripts:
    """A stream of conversations from a seed. `name` and `word` make the names and the words that belong to nothing."""

    weights = {kind: weight for kind, (weight, _, _) in KINDS.items()}

    def __init__(self, seed, name=names.name, word=names.lowercase_word):
        self.r = random.Random(seed)
        self.make_name, self.make_word = name, word

    def chance(self, p):
        return self.r.random() < p

    # -------------------------------------------------------------- tools
    def schema(self, tool, plain=False, location=False):
        """Returns one of the many spellings of a tool's JSON schema; `plain` gives the most common one."""
        descriptions, prop, other, prop_descriptions = phrases.TOOLS[tool]
        prop = other if location else prop
        field = {"type": "string"}
        if self.chance(0.5):
            field["description"] = self.r.choice(prop_descriptions)
        properties = {prop: field}
        if not plain and self.chance(0.06):
            properties["unit"] = {"type": "string", "enum": ["celsius", "fahrenheit"]}
        description = self.r.choice(descriptions) if self.chance(0.85) else None
        return self.function(tool, description, properties, [prop], plain)

    def other_schema(self):
        """Returns a tool that no request needs."""
        prop = self.r.choice(phrases.OTHER_PROPERTIES)
        name = self.r.choice(phrases.OTHER_TOOLS)
        return self.function(name, self.filler(8), {prop: {"type": "string"}}, [prop])

    def function(self, name, description, properties, required, plain=False):
        parameters = {"type": "object", "properties": properties}
        if plain or self.chance(0.8):
            parameters["required"] = required
        if not plain and self.chance(0.35):
            parameters["additionalProperties"] = False
        fields = {"name": name}
        if description:
            fields["description"] = description
        elif not plain and self.chance(0.2):
            fields["description"] = None
        strict = "absent" if plain else self.r.choice(["absent", "absent", True, False, None])
        if strict != "absent" and self.chance(0.3):
            fields["strict"] = strict
        fields["parameters"] = parameters
        if strict != "absent":
            fields.setdefault("strict", strict)
        tool = {"type": "function", "function": fields}
        order = 1.0 if plain else self.r.random()
        if order < 0.15:
            tool["function"] = {"parameters": parameters} | fields
        elif order < 0.3:
            tool = json.loads(json.dumps(tool, sort_keys=True, ensure_ascii=False))
        elif order < 0.35:
            tool = {"type": "function"} | fields
        return tool

    def filler(self, longest):
        """Returns a meaningless sentence."""
        words = [self.r.choice(phrases.FILLER) for _ in range(self.r.randint(2, longest))]
        if self.chance(0.2):
            words[self.r.randrange(len(words))] = self.make_word(self.r)
        return " ".join(words).capitalize() + self.r.choice([".", "", "!", ":"])

    # -------------------------------------------------------------- requests
    def as_typed(self, question):
        """Returns the question as somebody in a hurry types it; placeholders stay as they are."""
        if self.chance(0.2):
            question = question.rstrip("?.!")
        elif self.chance(0.04):
            question = question.rstrip("?.!") + self.r.choice(["??", "!", "?!", " ?"])
        if self.chance(0.2):
            question = question.lower()
        return question

    def request(self, questions, values):
        """Returns a question with the values filled in, sometimes with words that belong to nothing."""
        question, shown = self.as_typed(self.r.choice(questions)), dict(values)
        if "e" not in values and self.chance(0.22):
            place = self.r.random()
            if place < 0.75:  # right behind a name: teaches where the name ends
                slot = self.r.choice([k for k in shown if "{" + k + "}" in question])
                if shown[slot][0].isupper() or shown[slot][0] == "\x00":
                    shown[slot] += " " + self.make_word(self.r)
            elif place < 0.9:
                question = self.make_word(self.r) + self.r.choice([" ", ", "]) + question
            else:
                question += " " + self.make_word(self.r)
        if self.chance(0.06):
            question = self.r.choice(["Hello! ", "Hi, ", "Please: ", "Thanks. "]) + question
        return question.format(**shown)

    def values(self, kind):
        if kind == "calculate":
            return {"e": self.expression()}
        if kind == "unknown":
            return {"x": self.make_word(self.r), "y": self.make_word(self.r)}
        cities = [self.make_name(self.r) for _ in "cd"]
        if self.chance(0.12):
            cities = [city.lower() if " " not in city else city for city in cities]
        return dict(zip("cd", cities))

    def expression(self):
        def number():
            return str(self.r.randint(0, 10 ** self.r.randint(1, 4)))

        a, b, c = number(), number(), number()
        op, op2 = self.r.choice("+-*/"), self.r.choice("+-*/")
        forms = [
            (0.70, f"{a} {op} {b}"),
            (0.80, f"{a} {op} {b} {op2} {c}"),
            (0.88, f"({a} {op} {b}) {op2} {c}"),
            (0.94, f"{a}{op}{b}"),
            (1.00, f"{a}.{self.r.randint(0, 99)} {op} {b}"),
        ]
        choice = self.r.random()
        return next(text for limit, text in forms if choice < limit)

    # -------------------------------------------------------------- tool results
    def weather_result(self, city):
        """-> (content of the tool message, text for the answer, text for the reasoning)"""
        degrees, sky = self.r.randint(-19, 39), self.r.choice(phrases.SKY)
        forms = [
            {"temperature": degrees, "condition": sky},
            {"temp": degrees, "sky": sky},
            {"city": city, "temperature": degrees, "condition": sky},
            {"condition": sky, "temperature": degrees},
        ]
        content = json.dumps(self.r.choice(forms), ensure_ascii=False)
        if self.chance(0.3):
            content = self.r.choice([f"{sky}, {degrees} degrees", f"{degrees} degrees and {sky}"])
        return content, f"{sky} with {degrees} degrees", f"{sky} and {degrees} degrees"

    def time_result(self, city):
        time = f"{self.r.randint(0, 23):02d}:{self.r.randint(0, 59):02d}"
        forms = [json.dumps({"time": time}), time]
        forms.append(json.dumps({"city": city, "time": time}, ensure_ascii=False))
        return self.r.choice(forms), time, time

    def number_result(self, _):
        number = str(self.r.randint(-99, 10 ** self.r.randint(1, 6)))
        return self.r.choice([number, '{"result": %s}' % number]), number, number

    # -------------------------------------------------------------- conversations
    def exchange(self, kind, have, keys, questions=None):
        """Returns one request and everything up to the final answer, as messages."""
        if kind == "small":
            asked, answer = self.r.choice(phrases.SMALL_TALK)
            question = self.as_typed(self.r.choice(asked))
            return [user(question), assistant(answer, "This is small talk. No tool is needed.")]
        values = self.values(kind)
        question = self.request(questions or KINDS[kind][1], values)
        if kind == "unknown":
            return [user(question), assistant(phrases.UNKNOWN, "I do not know that.")]
        topic = f"The user wants {TOPICS[kind].format(**values)}."
        if not needed(kind) <= have:
            return [user(question), assistant(phrases.CANNOT, f"{topic} There is no tool for it.")]
        used = [(tool, values[slot]) for tool, slot in KINDS[kind][2]]
        tools = [tool for tool, _ in used]
        plan = f"I call {' and '.join(tools)}."
        if len(tools) == 2 and tools[0] == tools[1]:
            plan = f"I call {tools[0]} twice."
        make = {
            "get_weather": self.weather_result,
            "get_time": self.time_result,
            "calculate": self.number_result,
        }
        results = [make[tool](value) for tool, value in used]
        said = "The tool says " if len(results) == 1 else "The tools say "
        said += " and ".join(words for _, _, words in results) + "."
        answer = ANSWERS[kind].format(*(words for _, words, _ in results), **values)
        calls = [call(tool, **{keys[tool]: value}) for tool, value in used]
        return [
            user(question),
            assistant("", f"{topic} {plan}", calls),
            *(result(content) for content, _, _ in results),
            assistant(answer, said),
        ]

    def kinds(self):
        """Returns the kinds of a conversation's requests as (kind, questions); only follow-ups have questions of their own."""
        count = self.r.choices([1, 2, 3], [0.68, 0.22, 0.1])[0]
        kinds, weights = list(self.weights), list(self.weights.values())
        kinds = [(self.r.choices(kinds, weights)[0], None) for _ in range(count)]
        for i in range(1, count):
            if kinds[i - 1][0] in ("weather", "time") and self.chance(0.25):
                kinds[i] = (kinds[i - 1][0], phrases.FOLLOW_UP)
        return kinds

    def offered(self, kinds):
        """Returns the names of the offered tools: mostly all needed ones, with others or alone; sometimes one or all are missing, they are random, or there are none."""
        wanted = set().union(*(needed(kind) for kind, _ in kinds))
        last = sorted(needed(kinds[-1][0]))
        choice = self.r.random()
        if choice < 0.05 or (not wanted and choice < 0.5):
            return set()
        if wanted and choice < 0.15:
            return wanted
        if wanted and choice < 0.2 and wanted != set(phrases.TOOLS):
            return set(self.r.sample(sorted(set(phrases.TOOLS) - wanted), 1))
        if choice > 0.8:
            return set(self.r.sample(sorted(phrases.TOOLS), self.r.randint(1, 2)))
        have = set(phrases.TOOLS)
        for tool in phrases.TOOLS:
            if self.chance(0.05 if tool in wanted else 0.2):
                have.discard(tool)
        if last and self.chance(0.2):
            have.discard(self.r.choice(last))
        return have

    def conversation(self):
        """-> (messages ending with the assistant turn to learn, tools or None, thinking)"""
        kinds, thinking = self.kinds(), self.chance(0.5)
        have = self.offered(kinds)
        location = self.chance(0.25)
        keys = {tool: spec[2 if location else 1] for tool, spec in phrases.TOOLS.items()}
        tools = [self.schema(tool, location=location) for tool in phrases.TOOLS if tool in have]
        while self.chance(0.15):
            tools.append(self.other_schema())
        self.r.shuffle(tools)
        messages = []
        if self.chance(0.35):
            system = self.r.choice(phrases.SYSTEM) if self.chance(0.7) else self.filler(40)
            messages.append({"role": "system", "content": system})
        for i, (kind, questions) in enumerate(kinds):
            turn = self.exchange(kind, have, keys, questions)
            if i == len(kinds) - 1 and len(turn) > 2:
                turn = self.cut(turn, thinking)
            messages += turn
        return messages, tools or None, thinking

    def cut(self, turn, thinking):
        """Ends the last exchange at the call or at the answer; the call's reasoning is often left out."""
        if self.chance(0.5 if len(turn) == 4 else 0.4):
            return turn[:2]
        if not thinking or self.chance(0.5):
            turn[1] = {k: v for k, v in turn[1].items() if k != "reasoning_content"}
        return turn
