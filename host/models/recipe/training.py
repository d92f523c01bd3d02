"""Training, the same for every tiny model: optimisers, schedule, loop, and final edits of the files.

The schedule counts steps and all seeds are fixed, so runs differ only by the rounding of the machine's
matrix products.
"""
import argparse
import dataclasses
import json
import math
import os
import pathlib
import shutil
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch: do not spin on a shared machine

import torch

from recipe import vocabulary
from recipe.batches import IGNORE


@dataclasses.dataclass(frozen=True)
class Schedule:
    steps: int
    drill_steps: int = 200  # the pure copy drill at the beginning
    mixed_until: float = 0.7  # up to this share of the steps every eighth batch is a drill
    hold_until: float = 0.35  # the learning rate is constant up to this share, then falls along a cosine
    learning_rate: float = 4e-3
    warmup: int = 40
    batch: int = 12
    drill_batch: int = 24

    def rate(self, step):
        share = step / self.steps
        rate = self.learning_rate * min(1, (step + 1) / self.warmup)
        if share > self.hold_until:
            fall = (share - self.hold_until) / (1 - self.hold_until)
            rate *= 0.5 * (1 + math.cos(math.pi * fall)) + 0.01
        return rate

    def is_drill(self, step):
        mixed = step < self.mixed_until * self.steps and step % 8 == 0
        return step < self.drill_steps or mixed


def optimizers(matrices, rest, rate):
    """Returns Muon for the matrices of the layers, and AdamW for the other parameters, such as embedding and norms."""
    muon = torch.optim.Muon(matrices, lr=rate, weight_decay=0.05, adjust_lr_fn="match_rms_adamw")
    return [muon, torch.optim.AdamW(rest, lr=rate, betas=(0.9, 0.98), weight_decay=0.0)]


def others(model, matrices):
    """Returns the parameters that aren't among the matrices."""
    chosen = {id(p) for p in matrices}
    return [p for p in model.parameters() if id(p) not in chosen]


def loss_of(model, x, y):
    hidden = model.model(input_ids=x).last_hidden_state[:, :-1]
    learn = y[:, 1:] != IGNORE
    return torch.nn.functional.cross_entropy(model.lm_head(hidden[learn]), y[:, 1:][learn])


@torch.no_grad()
def exact(model, examples, batches):
    """Returns the number of examples with the right argmax at every learnt position (teacher-forced)."""
    right = 0
    for i in range(0, len(examples), 16):
        x, y = batches.pack(examples[i: i + 16])
        guess = model(input_ids=x).logits[:, :-1].argmax(-1)
        right += ((guess == y[:, 1:]) | (y[:, 1:] == IGNORE)).all(-1).sum().item()
    return right


def train(model, opts, batches, examples, schedule, save, before_step, loss_of):
    """Runs the schedule; `examples` are checked and `save` is called every 300 steps."""
    start, tokens, mean = time.time(), 0, None
    for step in range(schedule.steps):
        before_step(step)
        for group in (group for opt in opts for group in opt.param_groups):
            group["lr"] = schedule.rate(step)
        drill = schedule.is_drill(step)
        x, y = batches.drills(schedule.drill_batch) if drill else batches.transcripts(schedule.batch)
        loss = loss_of(model, x, y)
        for opt in opts:
            opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for opt in opts:
            opt.step()
        tokens += x.numel()
        mean = loss.item() if mean is None else 0.95 * mean + 0.05 * loss.item()
        if (step + 1) % 50 == 0:
            seconds = time.time() - start
            print(f"step {step + 1} loss {mean:.4f} tokens {tokens} {seconds:.0f} s", flush=True)
        if (step + 1) % 300 == 0:
            right = exact(model, examples, batches)
            print(f"  exact transcripts {right}/{len(examples)}", flush=True)
            save()
    print(f"done: {schedule.steps} steps, {tokens} tokens, {time.time() - start:.0f} s", flush=True)


def edit(path, **fields):
    data = json.loads(path.read_text(encoding="utf-8")) | fields
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def finish(out, home, **config):
    """Adds what older readers expect: fields of `config.json`, and a tokenizer class that every release has."""
    edit(out / "config.json", **config)
    added = json.loads((out / "tokenizer.json").read_text(encoding="utf-8"))["added_tokens"]
    decoder = {str(t["id"]): {k: v for k, v in t.items() if k != "id"} for t in added}
    edit(
        out / "tokenizer_config.json",
        tokenizer_class="PreTrainedTokenizerFast",
        added_tokens_decoder=decoder,
    )
    if out.resolve() != home.resolve():
        shutil.copyfile(home / "chat_template.jinja", out / "chat_template.jinja")
    for file in out.iterdir():
        if file.is_file():
            file.chmod(0o644)


def arguments(description, steps):
    """Parses the command line of every train.py; sets threads and seed."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("out", type=pathlib.Path, help="where the model is written")
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    args.out.mkdir(parents=True, exist_ok=True)
    return args


class Training:
    """Base class of a model's training: a train.py sets the fields and methods without a value here, and calls `main`."""

    description: str
    steps: int
    home: pathlib.Path  # the model's folder
    template: str
    special: list  # tokens
    added: list = []  # tokens that decoding keeps
    eos: str
    pad: str
    texts: staticmethod  # seed -> endless training text
    batches: type
    config: dict = {}  # fields of config.json for older readers

    def new_model(self, tokenizer):
        """Returns the model before its first step."""
        raise NotImplementedError

    def optimizers(self, model, rate):
        raise NotImplementedError

    def save(self, model, out):
        raise NotImplementedError

    def before_step(self, model, share):
        """Called before each step with the share of the steps that are done."""

    def loss_of(self, model, x, y):
        return loss_of(model, x, y)

    def main(self):
        args = arguments(self.description, self.steps)
        tokenizer, words = vocabulary.build(self.texts(7, **vocabulary.MARKED), self.special, self.added)
        vocabulary.save(tokenizer, args.out, self.eos, self.pad, self.template)
        model = self.new_model(tokenizer)
        count = sum(p.numel() for p in model.parameters())
        print(f"{tokenizer.get_vocab_size()} tokens, {count} parameters", flush=True)
        schedule = Schedule(steps=args.steps)
        check = self.batches(tokenizer, ["Ġx"], seed=1000)
        examples = [check.transcript() for _ in range(64)]
        train(
            model, self.optimizers(model, schedule.learning_rate), self.batches(tokenizer, words, seed=1),
            examples, schedule, lambda: self.save(model, args.out),
            lambda step: self.before_step(model, step / schedule.steps), self.loss_of,
        )
        self.save(model, args.out)
        finish(args.out, self.home, **self.config)
