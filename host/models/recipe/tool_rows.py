"""Rows that the evaluations of several models share. The expected result is an outcome (`recipe.server`)."""
from recipe import evaluation, names, phrases
from recipe.transcripts import assistant, call, result, user


def calls_tool(got, want, _):
    return isinstance(got, list) and [name for name, _ in got] == [want]


class ToolRows(evaluation.Rows):
    def __init__(self, generate, bad):
        super().__init__(generate, lambda got, want, _: got == want, bad)

    def mode(self):
        """Returns the mode of the next case, which the model's own evaluation interprets."""
        raise NotImplementedError

    def case(self, messages, want, tools="all"):
        return messages, self.tools if tools == "all" else tools, self.mode(), want

    def one_call(self, title, cities, questions, tool):
        self.row(title, [
            self.case([self.asked(questions, c=city)], [(tool, {"city": city})]) for city in cities
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
            cases.append(self.case(messages, [("get_weather", {"city": city})], self.any_spelling()))
        self.row("tools spelt in other ways, one unneeded tool, system prompt", cases)
        cases = []
        for city in names.REAL_CITIES[:40]:
            tools = [self.stream.schema(tool, location=True) for tool in phrases.TOOLS]
            want = [("get_weather", {"location": city})]
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
            cases.append(self.case([self.asked(phrases.CALCULATE, e=e)], [("calculate", {"expression": e})]))
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
            cases.append(self.case(messages, [("get_time" if i % 2 else "get_weather", {"city": d})]))
        self.row("second request after an answered first one", cases)
