"""Greedy answers of our server and llama.cpp's to the prompts of prompts.txt, beside those of the computation in f32 from the same GGUF file.

    python greedy.py HOST LLAMA_SERVER MODEL.gguf…

Our server answers twice: with `--dtype f32 --kv-cache-dtype f32`, and as it is by default. Answers end as the model ends them, or after 64 tokens. Up to
the first token that isn't the reference's, both chose behind the same ids, and log-probabilities compare. That token is explained if the engine prefers
it, and if its error there, of the difference between both tokens' log-probabilities, is an ordinary one: at most six times the root mean square of its
errors of such differences (of the reference's two likeliest tokens, at all positions before). Exit status 1 if a token isn't explained, or if our
log-probabilities in f32 aren't the reference's.
"""
import concurrent.futures
import itertools
import math
import pathlib
import sys

from compare import PROMPTS
from reference import Reference
from servers import free_port, ours, post, serving, theirs

TOKENS = 64
# Tokens whose log-probabilities are compared at each position.
LIKELIEST = 20
# Number of root mean squares that an ordinary error may have.
ORDINARY = 6
# Greatest difference of log-probabilities between two computations in f32, in nats, that differ in the order of sums only.
SAME = 1e-3
# The last one is longer than Gemma's sliding window.
ALL = [*PROMPTS, "\n".join(PROMPTS * 3)]


def here(port, model, ids):
    """Tokens, and for each the log-probabilities of the likeliest by id."""
    body = {"model": model, "prompt": ids, "temperature": 0, "repetition_penalty": 1, "max_tokens": TOKENS, "logprobs": LIKELIEST, "return_token_ids": True,
            "return_tokens_as_token_ids": True}
    choice = post(port, "/v1/completions", body)["choices"][0]
    rows = [{int(name.removeprefix("token_id:")): value for name, value in row.items()} for row in choice["logprobs"]["top_logprobs"]]
    return choice["token_ids"], rows


def there(port, model, ids):
    body = {"prompt": ids, "temperature": 0, "n_predict": TOKENS, "n_probs": LIKELIEST, "return_tokens": True, "cache_prompt": False}
    answer = post(port, "/completion", body)
    # Parts of characters have no entry.
    entries = answer["completion_probabilities"][::-1]
    rows = [entries.pop()["top_logprobs"] if entries and entries[-1]["id"] == token else [] for token in answer["tokens"]]
    return answer["tokens"], [{each["id"]: each["logprob"] for each in row} for row in rows]


def margin(row, one, other):
    """By how much `row` prefers a token to another; infinite if either isn't among its likeliest."""
    return row[one] - row[other] if one in row and other in row else math.inf


class Errors(list):
    """Differences of an engine's numbers from the reference's, in nats."""

    def rms(self):
        return math.sqrt(sum(error * error for error in self) / max(1, len(self)))

    def greatest(self):
        return max(map(abs, self), default=math.inf)

    def __str__(self):
        return f"{self.rms():.1e} rms, at most {self.greatest():.1e}"


class Engine:
    """What an engine's answers have in common with the reference's."""

    def __init__(self):
        self.whole, self.tokens = 0, 0
        # Errors of the chosen tokens' log-probabilities, and of the difference between the reference's two likeliest tokens.
        self.chosen, self.pairs = Errors(), Errors()
        # Of each answer that leaves the reference's: prompt, position, by how much the reference and the engine prefer their own token to the other's.
        self.left = []

    def add(self, prompt, answer, expected):
        (ids, rows), (tokens, exact) = answer, expected
        if ids == tokens:
            self.whole += 1
        same = 0
        for mine, its, row, near in itertools.zip_longest(ids, tokens, rows, exact, fillvalue=()):
            if mine != its:
                self.left.append((prompt, same, margin(near, its, mine), margin(row, mine, its)))
                break
            same += 1
            first, second, *_ = near
            if its in row:
                self.chosen.append(row[its] - near[its])
            if first in row and second in row:
                self.pairs.append(margin(row, first, second) - margin(near, first, second))
        self.tokens += same

    def is_explained(self, its, mine):
        """Whether the engine chose what it prefers, by an ordinary error."""
        return mine >= 0 and its + mine <= ORDINARY * self.pairs.rms()

    def explained(self):
        return all(self.is_explained(its, mine) for _, _, its, mine in self.left)

    def show(self, name, total):
        print(f"  {name}: {self.whole} of {len(ALL)} answers whole, {self.tokens} of {total} tokens before the first other")
        print(f"    errors: {self.chosen} (chosen tokens); {self.pairs} (between the two likeliest)")
        for prompt, at, its, mine in sorted(self.left, key=lambda each: each[2]):
            print(f"    token {at}: the reference prefers its own by {its:.1e}, the engine the other by {mine:.1e}, "
                  f"{(its + mine) / self.pairs.rms():.1f} rms{'' if self.is_explained(its, mine) else ', UNEXPLAINED'}: {prompt[:50]!r}")


def answers(command, port, ask, model, prompts, side_by_side):
    with serving(command, port), concurrent.futures.ThreadPoolExecutor(side_by_side) as pool:
        return list(pool.map(lambda ids: ask(port, model, ids), prompts))


def compare(host, llama, path):
    """Whether every token is explained."""
    reference = Reference(path)
    print(pathlib.Path(path).name)
    if not reference.has_words():
        print("  skipped: its tokenizer has no words")
        return True
    prompts, name, port = [reference.tokenizer.encode(prompt) for prompt in ALL], pathlib.Path(path).stem, free_port()
    in_f32 = answers(ours(host, path, port, "--dtype", "f32", "--kv-cache-dtype", "f32"), port, here, name, prompts, 8)
    given = {
        "ours, all in f32": in_f32,
        "ours": answers(ours(host, path, port), port, here, name, prompts, 8),
        "llama.cpp": answers(theirs(llama, path, port), port, there, name, prompts, 1),
    }
    expected = [reference.greedy(ids, guess, TOKENS, LIKELIEST) for ids, (guess, _) in zip(prompts, in_f32, strict=True)]
    engines = {label: Engine() for label in given}
    for label, engine in engines.items():
        for each in zip(ALL, given[label], expected, strict=True):
            engine.add(*each)
        engine.show(label, sum(len(tokens) for tokens, _ in expected))
    error = engines["ours, all in f32"].chosen.greatest()
    if error > SAME:
        print("  our computation in f32 isn't the reference's")
    return error <= SAME and all(engine.explained() for engine in engines.values())


if __name__ == "__main__":
    results = [compare(*sys.argv[1:3], path) for path in sys.argv[3:]]
    sys.exit(0 if all(results) else 1)
