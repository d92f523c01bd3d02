"""Batches of Kimi K2 transcripts: token ids and labels. The empty think block of turns without reasoning has no labels."""
from rendering import TURN, render

from recipe import batches
from recipe.batches import IGNORE
from recipe.transcripts import Transcripts


class Batches(batches.Batches):
    drill_call_end = '"}<|tool_call_end|>'

    def __init__(self, tokenizer, words, seed):
        super().__init__(tokenizer, words, seed, pad="[PAD]")
        self.stream = Transcripts(seed + 1)
        self.turn = self.encode(TURN)
        self.end = tokenizer.token_to_id("<|im_end|>")
        self.no_thought = self.encode("<think></think>")

    def labels(self, ids):
        """Returns labels of the assistant's turns: everything except the empty think block of turns without reasoning."""
        labels, width = [IGNORE] * len(ids), len(self.turn)
        for i in range(len(ids) - width):
            if ids[i: i + width] != self.turn:
                continue
            start = i + width
            if ids[start: start + len(self.no_thought)] == self.no_thought:
                start += len(self.no_thought)
            end = ids.index(self.end, start) + 1
            labels[start:end] = ids[start:end]
        return labels

    def transcript(self):
        """Returns a conversation; the loss is on its last turn and on the earlier assistant turns."""
        messages, tools, thinking = self.stream.conversation()
        prompt = self.encode(render(messages[:-1], tools, thinking, prompt=True))
        last = messages[-1] if thinking else {k: v for k, v in messages[-1].items() if k != "reasoning_content"}
        ids = self.encode(render(messages[:-1] + [last], tools, thinking))
        assert ids[: len(prompt)] == prompt
        return ids, self.labels(ids)
