"""Batches of Qwen3 transcripts: token ids and labels. The empty think block of turns without thinking has no labels."""
from rendering import SPACED, TURN, render

from recipe import batches
from recipe.batches import IGNORE
from recipe.transcripts import Transcripts


class Batches(batches.Batches):
    def __init__(self, tokenizer, words, seed):
        super().__init__(tokenizer, words, seed, pad="<|endoftext|>")
        self.stream = Transcripts(seed + 1)
        self.turn = self.encode(TURN)
        self.end = tokenizer.token_to_id("<|im_end|>")
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
        compact = self.r.random() < 0.15
        prompt = self.encode(render(messages[:-1], tools, thinking, prompt=True, compact=compact))
        last = {k: v for k, v in messages[-1].items() if k != "reasoning_content"}
        text = SPACED.render(messages=[last])[len(TURN):-1]  # ends with <|im_end|>
        if thinking:
            text = f"<think>\n{messages[-1]['reasoning_content']}\n</think>\n\n{text}"
        target = self.encode(text)
        return prompt + target, self.earlier_turns(prompt) + target
