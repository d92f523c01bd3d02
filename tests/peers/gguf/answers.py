"""Answers of our server and llama.cpp's to the ten questions of questions.txt, beside our server's in f32, as tables.

    python answers.py HOST LLAMA_SERVER MODEL.gguf…

Greedy answers, and those that each program samples by default, with seed 1. Questions are chats, or for a file without a chat template a line behind
which a line of the answer follows; llama.cpp makes the ids for all. An answer ends after 24 tokens at the latest. What is equal to f32's is `=`.
"""
import pathlib
import sys

from gguf import GGUFReader
from servers import free_port, ours, post, serving, theirs

QUESTIONS = (pathlib.Path(__file__).parent / "questions.txt").read_text().splitlines()
TOKENS = 24
SEED = 1
GREEDY = {"temperature": 0}
DEFAULT = {"seed": SEED}


class Questions:
    """The questions of one file as llama.cpp's server on `port` reads them."""

    def __init__(self, path, port):
        self.are_chats = "tokenizer.chat_template" in GGUFReader(path).fields
        self.port = port
        self.ids = [self.tokens(question) for question in QUESTIONS]

    def tokens(self, question):
        text = f"Question: {question}\nAnswer:"
        if self.are_chats:
            text = post(self.port, "/apply-template", {"messages": [{"role": "user", "content": question}]})["prompt"]
        return post(self.port, "/tokenize", {"content": text, "add_special": True, "parse_special": True})["tokens"]

    def stop(self):
        return [] if self.are_chats else ["\n"]


def here(port, model, ids, stop, sampling):
    body = {"model": model, "prompt": ids, "max_tokens": TOKENS, "stop": stop, **sampling}
    return post(port, "/v1/completions", body)["choices"][0]["text"]


def there(port, _, ids, stop, sampling):
    body = {"prompt": ids, "n_predict": TOKENS, "stop": stop, "cache_prompt": False, **sampling}
    return post(port, "/completion", body)["content"]


def answers(ask, port, model, questions):
    """Answers to all questions, greedy and sampled ones."""
    return [[ask(port, model, ids, questions.stop(), sampling) for ids in questions.ids] for sampling in (GREEDY, DEFAULT)]


def shown(text):
    return text.strip().replace("\n", "⏎").replace("|", "\\|")


def table(title, exact, mine, other):
    print(f"\n| {title} | f32 | ours | llama.cpp |\n|---|---|---|---|")
    for question, f32, *rest in zip(QUESTIONS, exact, mine, other, strict=True):
        cells = ["=" if text == f32 else shown(text) for text in rest]
        print(f"| {question} | {shown(f32)} | {' | '.join(cells)} |")
    print(f"\nEqual to f32's: ours {sum(a == b for a, b in zip(exact, mine))}, llama.cpp's {sum(a == b for a, b in zip(exact, other))} of {len(exact)}", flush=True)


def compare(host, llama, path):
    model, port = pathlib.Path(path).stem, free_port()
    with serving(theirs(llama, path, port), port):
        questions = Questions(path, port)
        other = answers(there, port, model, questions)
    switches = [("--dtype", "f32", "--kv-cache-dtype", "f32"), ()]
    given = []
    for each in switches:
        with serving(ours(host, path, port, *each), port):
            given.append(answers(here, port, model, questions))
    for title, *columns in zip((f"{model}, greedy", f"{model}, sampled by default"), *given, other, strict=True):
        table(title, *columns)


if __name__ == "__main__":
    for path in sys.argv[3:]:
        compare(*sys.argv[1:3], path)
