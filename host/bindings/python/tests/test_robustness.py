"""What engines, tokenizers and packages get wrong: the stream goes on rightly, or an exception says what is wrong and nothing was taken."""

import contextlib
import gc
import pathlib
import sys
import tempfile
import unittest

import sluice_parsers
from streams import CALL, CALL_TEXT, END, END_CALL, END_THINK, PROMPT, QWEN3, THINK, TOOLS, Tokenizer, folded, run, steps

STARTED = {"tools": TOOLS, "prompt": PROMPT}
ITEMS = [
    ("reasoning", "Hm.", None, "completed"),
    ("message", "I look.", None, "completed"),
    ("tool_call", '{"city": "Oslo"}', "get_weather", "completed"),
]


def turn(tokenizer):
    """Ids of a whole turn."""
    return tokenizer.encode(THINK, "\nHm.\n", END_THINK, "\n\nI look.\n", CALL, CALL_TEXT, END_CALL, END)


class Tokenizers(unittest.TestCase):
    def pushed(self, decode):
        """A stream whose tokenizer decodes so, after a push that has to be decoded: what was raised, and the items of what comes next."""

        class Odd(Tokenizer):
            def decode(self, ids, *, skip_special_tokens=True):
                return decode(ids)

        stream, raised = QWEN3.bind(Odd()).start(**STARTED), None
        deltas = []
        try:
            deltas += stream.push("<tool_call> <tool_call>", Tokenizer().encode("<tool_call> ", CALL))
        except Exception as error:
            raised = error
        deltas += stream.push("Yes.", Tokenizer().encode("Yes."))
        return raised, folded(deltas + stream.finish())

    def test_what_decode_raises_is_raised_and_nothing_was_taken(self):
        class Own(Exception):
            pass

        def decode(ids):
            raise Own("no")

        raised, items = self.pushed(decode)
        self.assertIsInstance(raised, Own)
        self.assertEqual(items, [("message", "Yes.", None, "completed")])

    def test_what_is_no_text_is_refused_and_nothing_was_taken(self):
        for wrong in (None, 7, b"<tool_call> ", ["<tool_call> "]):
            raised, items = self.pushed(lambda ids, wrong=wrong: wrong)
            self.assertIsInstance(raised, TypeError, wrong)
            self.assertEqual(items, [("message", "Yes.", None, "completed")], wrong)

    def test_lies_cost_no_text(self):
        for lie in ("", "x", "<tool_call>", "<tool_call><tool_call><tool_call>", "\ufffd" * 1000, "<|im_end|>"):
            raised, items = self.pushed(lambda ids, lie=lie: lie)
            self.assertIn(type(raised), (type(None), sluice_parsers.AlignmentError), lie)
            text = "".join(text for _, text, _, _ in items)
            self.assertIn("Yes.", text, lie)

    def test_a_decode_that_uses_the_stream_is_told(self):
        said = []

        class Reentrant(Tokenizer):
            def decode(self, ids, *, skip_special_tokens=True):
                try:
                    stream.push("x")
                except RuntimeError as error:
                    said.append(str(error))
                return "<tool_call> "

        stream = QWEN3.bind(Reentrant()).start(**STARTED)
        stream.push("<tool_call> <tool_call>", Tokenizer().encode("<tool_call> ", CALL))
        self.assertEqual(said, ["two threads use one stream at the same time: give each its own"])


class Engines(unittest.TestCase):
    def setUp(self):
        self.tokenizer = Tokenizer()
        self.bound = QWEN3.bind(self.tokenizer)

    def test_a_million_ids_in_one_push(self):
        text = "ab " * 333_333
        ids = self.tokenizer.encode(THINK, text, END_THINK, "Yes.", END)
        whole = f"<think>{text}</think>Yes."
        deltas, stream = run(self.bound, [(whole, ids)], **STARTED)
        self.assertGreater(len(ids), 1_000_000)
        self.assertEqual(folded(deltas), [("reasoning", text.strip(), None, "completed"), ("message", "Yes.", None, "completed")])
        self.assertEqual((stream.end, stream.reasoning_tokens), ("completed", len(text)))

    def test_ids_that_no_token_has_are_text(self):
        deltas, _ = run(self.bound, [("Yes.", [0, 2**32 - 1])], **STARTED)
        self.assertEqual(folded(deltas), [("message", "Yes.", None, "completed")])
        for wrong in ([-1], [2**32], ["a"], [None]):
            stream = self.bound.start(**STARTED)
            with self.assertRaises((OverflowError, TypeError)):
                stream.push("a", wrong)
            self.assertEqual(folded(stream.push("b", [1]) + stream.finish()), [("message", "b", None, "completed")])

    def test_text_may_lag_behind_its_ids(self):
        ids = turn(self.tokenizer)
        texts = [text for text, _ in steps(self.tokenizer, ids, 1)]
        for lag in (1, 3, 11):
            pieces = list(zip([""] * lag + texts, [[id] for id in ids] + [[]] * lag, strict=True))
            deltas, stream = run(self.bound, pieces, **STARTED)
            self.assertEqual((folded(deltas), stream.end), (ITEMS, "completed"), lag)

    def test_look_alikes_in_steps_of_16_tokens(self):
        said = "Write <tool_call> or </think> or <tool_call>."
        ids = self.tokenizer.encode(THINK, "<think> is written so.", END_THINK, said, CALL, CALL_TEXT, END_CALL, END)
        for size in (1, 16, 31):
            deltas, _ = run(self.bound, steps(self.tokenizer, ids, size), **STARTED)
            items = [("reasoning", "<think> is written so.", None, "completed"), ("message", said, None, "completed"), ITEMS[2]]
            self.assertEqual(folded(deltas), items, size)

    def test_four_answers_at_once(self):
        ids, streams, deltas = turn(self.tokenizer), [self.bound.start(**STARTED) for _ in range(4)], [[], [], [], []]
        # Each in steps of its own size, in turns.
        waiting = [list(steps(self.tokenizer, ids, size)) for size in (1, 2, 5, 16)]
        while any(waiting):
            for stream, own, left in zip(streams, deltas, waiting, strict=True):
                if left:
                    own.extend(stream.push(*left.pop(0)))
        for stream, own in zip(streams, deltas, strict=True):
            self.assertEqual(folded(own + stream.finish()), ITEMS)
        calls = [delta.call_id for own in deltas for delta in own if delta.call_id]
        self.assertEqual(len(set(calls)), 4)

    def test_streams_that_are_dropped_leave_nothing(self):
        whole = list(steps(self.tokenizer, turn(self.tokenizer), 3))
        for at in range(300):
            stream = self.bound.start(**STARTED)
            for text, ids in whole[: at % len(whole)]:
                stream.push(text, ids)
            del stream
        gc.collect()
        self.assertEqual(folded(run(self.bound, whole, **STARTED)[0]), ITEMS)

    def test_the_remainder_reads_as_the_turn_without_its_reasoning(self):
        ids = turn(self.tokenizer)
        stream, remainder = self.bound.start(**STARTED, remainder=True), ""
        for text, step in steps(self.tokenizer, ids, 4):
            stream.push(text, step)
            remainder += stream.take_remainder()
        stream.finish()
        remainder += stream.take_remainder()
        self.assertEqual(remainder, "<think></think>\n\nI look.\n<tool_call>" + CALL_TEXT + "</tool_call><|im_end|>")
        items = QWEN3.bind().parse(remainder, **STARTED).items
        self.assertEqual([(item.kind, item.text, item.name, item.status) for item in items], ITEMS[1:])
        plain = self.bound.start(**STARTED)
        plain.push("Yes.")
        self.assertEqual(plain.take_remainder(), "")


class Packages(unittest.TestCase):
    @contextlib.contextmanager
    def installed(self, module):
        """While a package `odd` brings the parser `odd` from a module with this text."""
        with tempfile.TemporaryDirectory() as folder:
            info = pathlib.Path(folder, "odd-1.dist-info")
            info.mkdir()
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1\n")
            (info / "entry_points.txt").write_text("[sluice.parsers]\nodd = odd_parser:PARSER\n")
            pathlib.Path(folder, "odd_parser.py").write_text(module)
            sys.path.insert(0, folder)
            try:
                yield
            finally:
                sys.path.remove(folder)
                sys.modules.pop("odd_parser", None)

    def test_an_entry_point_of_another_kind_says_which_package_is_wrong(self):
        wrongs = {
            "PARSER = 7": "package odd is a int: it has to be",
            "PARSER = lambda: b''": "package odd is a function",
            "": "package odd can't be loaded",
            "raise OSError('no disk')": "package odd can't be loaded: no disk",
            "PARSER = '/nowhere/odd.wasm'": "/nowhere/odd.wasm",
            "PARSER = b'no component'": "odd",
            "PARSER = ''": "parser",
        }
        for module, said in wrongs.items():
            with self.installed(module), self.assertRaisesRegex(sluice_parsers.ParserError, said):
                sluice_parsers.load("odd")
            # The others are as they were.
            self.assertEqual(sluice_parsers.load("qwen3").name, "qwen3")
