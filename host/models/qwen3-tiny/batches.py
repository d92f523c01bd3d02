"""Batches of Qwen3 transcripts: token ids and labels. The empty think block of turns without thinking has no labels."""
import json

import json_answers
from rendering import SPACED, TURN, render

from recipe import batches
from recipe.batches import IGNORE
from recipe.transcripts import Transcripts

END = "<|im_end|>"


class Batches(batches.Batches):
    def __init__(self, tokenizer, words, seed):
        super().__init__(tokenizer, words, seed, pad="<|endoftext|>")
        self.stream = Transcripts(seed + 1)
        self.turn = self.encode(TURN)
        self.end = tokenizer.token_to_id(END)
        self.think = tokenizer.token_to_id("<think>")
        self.no_thought = self.encode("<think>\n\n</think>\n\n")

    def earlier_turns(self, ids):
        """Returns labels of the assistant turns in the prompt, except the choice to think or not and turns with an empty think block."""
        labels, width = [IGNORE] * len(ids), len(self.turn)
        for i in range(len(ids) - width):
            if ids[i: i + width] != self.turn:
                continue
            start = i + width
            if ids[start: start + len(self.no_thought)] == self.no_thought:
                continue
            if ids[start] != self.think:
                start += 1
            for k in range(start, len(ids)):
                labels[k] = ids[k]
                if ids[k] == self.end:
                    break
        return labels

    def transcript(self):
        """Returns a conversation; the loss is on its last turn and on the earlier assistant turns."""
        messages, tools, thinking = self.stream.conversation()
        last = {k: v for k, v in messages[-1].items() if k != "reasoning_content"}
        as_json = "tool_calls" not in last and self.r.random() < json_answers.CHANCE
        asked = as_json and self.r.random() < 0.5
        before = json_answers.asking(self.r, messages[:-1]) if asked else messages[:-1]
        compact = self.r.random() < 0.15
        prompt = self.encode(render(before, tools, thinking, prompt=True, compact=compact))
        thought = f"<think>\n{messages[-1]['reasoning_content']}\n</think>\n\n" if thinking else ""
        if as_json:
            target, labels = self.json_answer(thought, last["content"], asked)
        else:
            target = labels = self.encode(thought + SPACED.render(messages=[last])[len(TURN):-1])  # ends with <|im_end|>
        return prompt + target, self.earlier_turns(prompt) + labels

    def json_answer(self, thought, content, asked):
        """Returns ids and labels of an assistant turn that says `content` as an object."""
        if asked:
            ids = self.encode(thought + json.dumps({"answer": content}, ensure_ascii=False) + END)
            return ids, ids
        text, decided = json_answers.written(json_answers.answer(self.r, content, self.words))
        encoding, width = self.tokenizer.encode(thought + text + END), len(thought)
        labels = [
            IGNORE if any(decided[max(start - width, 0): max(stop - width, 0)]) else token
            for token, (start, stop) in zip(encoding.ids, encoding.offsets)
        ]
        return encoding.ids, labels
