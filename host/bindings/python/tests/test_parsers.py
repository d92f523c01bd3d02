"""What parsers make of text and ids."""

import json
import os
import pathlib
import tempfile
import threading
import time
import sys
import unittest

import sluice_parsers
from streams import ADDED, CALL, CALL_TEXT, END, END_CALL, END_THINK, PROMPT, QWEN3, THINK, TOOLS, Tokenizer, folded, run, steps

PLUGINS = pathlib.Path(os.environ["SLUICE_PLUGINS"])
WHOLE = "<think>\nHm.\n</think>\n\nI look.\n<tool_call>" + CALL_TEXT + "</tool_call>"
ITEMS = [
    ("reasoning", "Hm.", None, "completed"),
    ("message", "I look.", None, "completed"),
    ("tool_call", '{"city": "Oslo"}', "get_weather", "completed"),
]


def of_turn(turn):
    return [(item.kind, item.text, item.name, item.status) for item in turn.items]


class Text(unittest.TestCase):
    def test_a_turn_is_read_as_it_is_streamed(self):
        bound = QWEN3.bind()
        turn = bound.parse(WHOLE, tools=TOOLS, prompt=PROMPT)
        self.assertEqual((of_turn(turn), turn.end, turn.failure, turn.fault), (ITEMS, "completed", None, None))
        for size in (1, 3, 1000):
            pieces = [(WHOLE[at : at + size], []) for at in range(0, len(WHOLE), size)]
            deltas, stream = run(bound, pieces, tools=TOOLS, prompt=PROMPT)
            self.assertEqual((folded(deltas), stream.end), (ITEMS, "completed"), size)

    def test_the_prompt_may_have_opened_the_reasoning(self):
        turn = QWEN3.bind().parse("Hm.\n</think>\n\nYes.", prompt=PROMPT + "<think>\n")
        self.assertEqual([(item.kind, item.text) for item in turn.items], [("reasoning", "Hm."), ("message", "Yes.")])

    def test_a_call_that_is_cut_off_is_incomplete(self):
        turn = QWEN3.bind().parse(WHOLE[:-40], tools=TOOLS, prompt=PROMPT, reason="length")
        self.assertEqual((turn.items[-1].status, turn.end), ("incomplete", "max_output_tokens"))

    def test_calls_have_ids_of_their_own_unless_they_are_forbidden(self):
        call = "<tool_call>" + CALL_TEXT + "</tool_call>"
        bound = QWEN3.bind()
        ids = [item.call_id for item in bound.parse(2 * call, tools=TOOLS).items if item.kind == "tool_call"]
        self.assertEqual((len(set(ids)), {id[:5] for id in ids}), (2, {"call_"}))
        for calls, count in ("any", 2), ("one", 1), ("none", 0):
            items = bound.parse(2 * call, tools=TOOLS, calls=calls).items
            self.assertEqual(len([item for item in items if item.kind == "tool_call"]), count, calls)
        with self.assertRaisesRegex(ValueError, "any, one or none"):
            bound.parse("", calls="two")

    def test_white_space_at_the_ends_of_items_is_left_out_as_asked(self):
        bound = QWEN3.bind()
        self.assertEqual(QWEN3.trim, ("reasoning", "message"))
        for trim, texts in (
            (None, ["Hm.", "I look."]),
            (("reasoning", "message"), ["Hm.", "I look."]),
            (["reasoning"], ["Hm.", "\n\nI look.\n"]),
            ({"message"}, ["\nHm.\n", "I look."]),
            ((), ["\nHm.\n", "\n\nI look.\n"]),
        ):
            turn = bound.parse(WHOLE, tools=TOOLS, prompt=PROMPT, trim=trim)
            self.assertEqual([item.text for item in turn.items[:2]], texts, trim)
            self.assertEqual(of_turn(turn)[2], ITEMS[2], trim)
            for size in (1, 7):
                pieces = [(WHOLE[at : at + size], []) for at in range(0, len(WHOLE), size)]
                deltas, _ = run(bound, pieces, tools=TOOLS, prompt=PROMPT, trim=trim)
                self.assertEqual(folded(deltas), of_turn(turn), (trim, size))
        with self.assertRaisesRegex(ValueError, 'trim="all": it is reasoning or message'):
            bound.start(trim=["all"])

    def test_ids_of_calls_are_those_that_the_models_template_wants(self):
        kimi = sluice_parsers.load("kimi-k2")
        self.assertEqual((kimi.history_call_ids, QWEN3.history_call_ids), ("functions.{name}:{index}", None))
        call = '<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|>'
        text = f"<|tool_calls_section_begin|>{2 * call}<|tool_calls_section_end|>"
        for earlier, ids in ((0, ["functions.get_weather:0", "functions.get_weather:1"]), (3, ["functions.get_weather:3", "functions.get_weather:4"])):
            turn = kimi.bind().parse(text, tools=TOOLS, earlier_calls=earlier)
            self.assertEqual([item.call_id for item in turn.items], ids)
            deltas, _ = run(kimi.bind(), [(text, [])], tools=TOOLS, earlier_calls=earlier)
            self.assertEqual([delta.call_id for delta in deltas if delta.status == "completed"], ids)
        for turn in (kimi.bind().parse(text, tools=TOOLS), QWEN3.bind().parse("<tool_call>" + CALL_TEXT + "</tool_call>", tools=TOOLS, earlier_calls=3)):
            self.assertEqual({item.call_id[:5] for item in turn.items}, {"call_"})
        with self.assertRaises(OverflowError):
            kimi.bind().start(earlier_calls=-1)

    def test_calls_of_any_tool_are_read_where_nobody_knows_the_tools(self):
        bound = QWEN3.bind()
        self.assertEqual(of_turn(bound.parse(WHOLE, tools="any", prompt=PROMPT)), ITEMS)
        without = bound.parse(WHOLE, prompt=PROMPT).items
        self.assertEqual([item.kind for item in without], ["reasoning", "message"])
        with self.assertRaisesRegex(ValueError, 'or "any"'):
            bound.parse("", tools="all")

    def test_tools_are_those_of_three_protocols(self):
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        tools = [
            {"type": "function", "function": {"name": "f", "parameters": schema}},
            {"type": "function", "name": "f", "parameters": schema},
            {"name": "f", "input_schema": schema},
        ]
        bound = sluice_parsers.load("qwen3-coder").bind()
        text = "<tool_call>\n<function=f>\n<parameter=n>\n3\n</parameter>\n</function>\n</tool_call>"
        for tool in tools:
            [call] = bound.parse(text, tools=[tool]).items
            self.assertEqual(json.loads(call.text), {"n": 3}, tool)
        with self.assertRaisesRegex(ValueError, "without a name"):
            bound.start(tools=[{"type": "function", "function": {}}])

    def test_a_finished_stream_takes_nothing(self):
        _, stream = run(QWEN3.bind(), [("a", [])])
        for call in (lambda: stream.push("b"), stream.finish):
            with self.assertRaisesRegex(RuntimeError, "finished before"):
                call()


class Ids(unittest.TestCase):
    def setUp(self):
        self.tokenizer = Tokenizer()
        self.bound = QWEN3.bind(self.tokenizer)
        self.started = {"tools": TOOLS, "prompt": PROMPT}

    def test_markers_are_found_by_their_ids_in_steps_of_any_size(self):
        ids = self.tokenizer.encode(THINK, "\nHm.\n", END_THINK, "\n\nI look.\n", CALL, CALL_TEXT, END_CALL, END)
        for size in (1, 2, 16, 1000):
            deltas, stream = run(self.bound, steps(self.tokenizer, ids, size), **self.started)
            self.assertEqual((folded(deltas), stream.end), (ITEMS, "completed"), size)
            self.assertEqual(stream.reasoning_tokens, len("\nHm.\n"))
        self.assertEqual(self.tokenizer.decoded, [])

    def test_what_other_tokens_spell_is_text(self):
        said = "Write <tool_call> and "
        ids = self.tokenizer.encode(said, CALL, CALL_TEXT, END_CALL)
        for size in (1, 7, 1000):
            deltas, _ = run(self.bound, steps(self.tokenizer, ids, size), **self.started)
            self.assertEqual(folded(deltas), [("message", said.strip(), None, "completed"), ITEMS[2]], size)
        self.assertIn(self.tokenizer.encode(said), self.tokenizer.decoded)
        turn = self.bound.parse("".join(text for text, _ in steps(self.tokenizer, ids, 1)), ids, **self.started)
        self.assertEqual([item.kind for item in turn.items], ["message", "tool_call"])

    def test_look_alikes_are_refused_where_nobody_decodes_and_nothing_is_taken(self):
        stream = QWEN3.bind(ADDED).start(**self.started)
        ids = self.tokenizer.encode("<tool_call> ", CALL)
        with self.assertRaisesRegex(sluice_parsers.AlignmentError, "decode"):
            stream.push("<tool_call> <tool_call>", ids)
        deltas = [delta for text, step in steps(self.tokenizer, ids, 1) for delta in stream.push(text, step)]
        deltas += stream.push(CALL_TEXT, self.tokenizer.encode(CALL_TEXT)) + stream.push("</tool_call>", [END_CALL])
        self.assertEqual([item[0] for item in folded(deltas + stream.finish())], ["message", "tool_call"])

    def test_an_error_of_the_tokenizer_is_raised_and_nothing_is_taken(self):
        class Broken(Tokenizer):
            def decode(self, ids, *, skip_special_tokens=True):
                raise KeyError("no such id")

        stream = QWEN3.bind(Broken()).start(**self.started)
        with self.assertRaisesRegex(KeyError, "no such id"):
            stream.push("<tool_call> <tool_call>", self.tokenizer.encode("<tool_call> ", CALL))
        self.assertEqual(folded(stream.push("a", [1]) + stream.finish())[0][1], "a")

    def test_markers_without_text_say_what_to_do(self):
        stream = self.bound.start(**self.started)
        with self.assertRaisesRegex(sluice_parsers.AlignmentError, "skip_special_tokens=False"):
            for _ in range(10):
                stream.push("a" * 1000, [CALL])

    def test_the_token_that_ended_the_turn_needs_no_text(self):
        deltas, stream = run(self.bound, [("Yes.", self.tokenizer.encode("Yes.")), ("", [END])], **self.started)
        self.assertEqual((folded(deltas), stream.end), ([("message", "Yes.", None, "completed")], "completed"))

    def test_what_is_no_tokenizer_is_refused(self):
        with self.assertRaisesRegex(TypeError, "no tokenizer"):
            QWEN3.bind(object())


class Sources(unittest.TestCase):
    def test_shipped_parsers_and_tables_are_named(self):
        names = sluice_parsers.names()
        files = {path.stem for path in PLUGINS.glob("*.wasm")} | {path.stem for path in PLUGINS.glob("tables/*.json")}
        self.assertEqual(set(names) - {os.environ.get("SLUICE_VENDOR")}, files - {"response-template"})
        self.assertEqual(sluice_parsers.load("seed-oss").name, "seed-oss")

    def test_files_bytes_and_names_are_the_same_parser(self):
        file = PLUGINS / "qwen3.wasm"
        loaded = [sluice_parsers.load(source) for source in ("qwen3", file, str(file), file.read_bytes())]
        self.assertEqual({parser.digest for parser in loaded}, {loaded[0].digest})
        self.assertEqual((loaded[0].name, loaded[0].contract), ("qwen3", "0.1"))
        self.assertTrue(set(loaded[0].stop_markers) <= set(loaded[0].markers))

    def test_names_that_are_none_say_which_there_are(self):
        with self.assertRaisesRegex(sluice_parsers.ParserError, "parser qwen: .*qwen3-coder"):
            sluice_parsers.load("qwen")
        with self.assertRaisesRegex(sluice_parsers.ParserError, "no such file"):
            sluice_parsers.load("./qwen3.wasm")

    def test_installed_packages_bring_parsers(self):
        with tempfile.TemporaryDirectory() as folder:
            info = pathlib.Path(folder, "mine-1.dist-info")
            info.mkdir()
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
            (info / "entry_points.txt").write_text("[sluice.parsers]\nmine = mine_parser:PATH\n")
            pathlib.Path(folder, "mine_parser.py").write_text(f"PATH = {str(PLUGINS / 'glm.wasm')!r}\n")
            sys.path.insert(0, folder)
            try:
                self.assertIn("mine", sluice_parsers.names())
                self.assertEqual(sluice_parsers.load("mine").name, "glm")
            finally:
                sys.path.remove(folder)

    def test_a_response_template_is_the_tokenizers_own(self):
        table = json.loads((PLUGINS / "tables/seed-oss.json").read_text())["response_template"]

        class Tokenizer:
            init_kwargs = {"response_template": table}

        loaded = sluice_parsers.load_response_template(Tokenizer())
        named = sluice_parsers.load("seed-oss")
        self.assertEqual(loaded.markers, named.markers)
        text = "<seed:think>Hm.</seed:think>Yes."
        for source in (loaded, sluice_parsers.load_response_template(json.dumps(table))):
            self.assertEqual(of_turn(source.bind().parse(text)), of_turn(named.bind().parse(text)))
        self.assertEqual([item.kind for item in named.bind().parse(text).items], ["reasoning", "message"])
        with self.assertRaisesRegex(LookupError, "no response_template"):
            sluice_parsers.load_response_template(object())

    def test_compiled_code_is_kept_in_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            sluice_parsers.load("qwen3", cache=pathlib.Path(folder) / "code")
            self.assertEqual([path.suffix for path in pathlib.Path(folder).rglob("*.compiled")], [".compiled"])


class Cases(unittest.TestCase):
    def test_a_parser_is_tested_with_its_cases(self):
        report = sluice_parsers.test("granite3", PLUGINS / "granite3/cases")
        self.assertEqual((report["passed"], report["parser"]), (True, "granite3"))
        self.assertEqual(report["cases"], len(list((PLUGINS / "granite3/cases").glob("*.json"))))
        self.assertTrue(all(finding["passed"] for finding in report["findings"]))

    def test_a_case_of_another_format_fails(self):
        report = sluice_parsers.test("granite3", PLUGINS / "hyperclova/cases")
        self.assertFalse(report["passed"])
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(sluice_parsers.ParserError, "no cases"):
            sluice_parsers.test("granite3", folder)


class Threads(unittest.TestCase):
    def moved_during(self, act):
        """Whether another thread moved while this one acts, though nothing asks this one to let it."""
        moves, stop = [0], threading.Event()

        def move():
            while not stop.is_set():
                moves[0] += 1
                time.sleep(0.0005)

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1000)
        thread = threading.Thread(target=move)
        thread.start()
        try:
            before = moves[0]
            act()
            return moves[0] > before
        finally:
            stop.set()
            thread.join()
            sys.setswitchinterval(interval)

    def test_loads_parses_and_tests_let_other_threads_run(self):
        bound = QWEN3.bind()
        text = "<tool_call>" + CALL_TEXT + "</tool_call>"
        self.assertTrue(self.moved_during(lambda: sluice_parsers.load("glm")))
        self.assertTrue(self.moved_during(lambda: bound.parse(20_000 * text, tools=TOOLS)))
        self.assertTrue(self.moved_during(lambda: sluice_parsers.test("granite3", PLUGINS / "granite3/cases")))
        self.assertFalse(self.moved_during(lambda: sum(range(1_000_000))), "the test would see it otherwise")

    def test_two_threads_on_one_stream_are_told(self):
        errors = []

        class Slow(Tokenizer):
            def decode(self, ids, *, skip_special_tokens=True):
                def push():
                    try:
                        stream.push("b", [1])
                    except RuntimeError as error:
                        errors.append(str(error))

                other = threading.Thread(target=push)
                other.start()
                other.join()
                return "<tool_call> "

        stream = QWEN3.bind(Slow()).start(tools=TOOLS)
        stream.push("<tool_call> <tool_call>", Tokenizer().encode("<tool_call> ", CALL))
        self.assertEqual(errors, ["two threads use one stream at the same time: give each its own"])
