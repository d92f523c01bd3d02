"""Batches of Harmony transcripts: token ids and labels."""
from rendering import CALL, END, MESSAGE, RETURN, START, HarmonyTranscripts, render

from recipe import batches
from recipe.batches import IGNORE


class Batches(batches.Batches):
    drill_call_end = '"}\n'

    def __init__(self, tokenizer, words, seed):
        super().__init__(tokenizer, words, seed, pad="<|endoftext|>")
        self.stream = HarmonyTranscripts(seed + 1)
        self.opening = self.encode(START + "assistant")
        self.analysis = self.encode("<|channel|>analysis")
        self.message, self.end, self.call, self.ret = (
            tokenizer.token_to_id(token) for token in (MESSAGE, END, CALL, RETURN)
        )

    def labels(self, ids, target):
        """Returns labels of the assistant's messages; from `target` on, everything is learnt.

        Earlier turns have no reasoning, so the choice of a header is learnt only after reasoning, and the
        end of a message only where it is the same as in a last message.
        """
        labels, width, i, reasoned = [IGNORE] * target + ids[target:], len(self.opening), 0, False
        while i < target - width:
            if ids[i: i + width] != self.opening:
                i += 1
                continue
            body = ids.index(self.message, i) + 1
            end = next(k for k in range(body, len(ids)) if ids[k] in (self.end, self.call))
            learn = i if reasoned else body
            reasoned = ids[i + width: i + width + len(self.analysis)] == self.analysis
            last = end + 1 if reasoned or ids[end] == self.call else end
            labels[learn: min(last, target)] = ids[learn: min(last, target)]
            i = end + 1
        return labels

    def transcript(self):
        """Returns a conversation; the loss is on its last turn and on the earlier assistant messages."""
        messages, tools, effort = self.stream.conversation()
        prompt = self.encode(render(messages[:-1], tools, effort, prompt=True))
        ids = self.encode(render(messages, tools, effort))
        assert ids[: len(prompt)] == prompt
        if ids[-1] == self.end:
            ids[-1] = self.ret  # the last message of a turn
        return ids, self.labels(ids, len(prompt))
