"""The computation in f32 from the values that a GGUF file's blocks stand for, by transformers: what engines that round more are measured against.

    python reference.py MODEL.gguf DIRECTORY

writes those values as a model directory (safetensors in f32, with the file's tokenizer), which any engine can serve.
"""
import os
import pathlib
import sys

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TQDM_DISABLE="1")

import safetensors.torch
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

# Threads that wait for each other lose much on a busy machine.
torch.set_num_threads(int(os.environ.get("SLUICE_THREADS", "1")))


class Reference:
    """A file's model, in f32 throughout."""

    def __init__(self, path):
        path = pathlib.Path(path)
        self.tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        self.model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
        embedding = self.model.get_input_embeddings()
        if hasattr(embedding, "embed_scale"):
            # Gemma was trained with this factor in bf16.
            embedding.embed_scale = embedding.embed_scale.to(torch.bfloat16).float()

    def has_words(self):
        """Whether texts are few tokens, unlike in files of random weights."""
        return len(self.tokenizer.encode("The capital of France is Paris")) <= 20

    @torch.inference_mode()
    def logits(self, ids):
        """`[tokens, vocabulary]`."""
        return self.model(torch.tensor([ids])).logits[0]

    def greedy(self, ids, guess, most, others):
        """The likeliest tokens behind `ids`, to the model's end token or `most` of them, and for each the log-probabilities of so many by id. What is
        right of the `guess` is computed in one pass.
        """
        ends = self.model.generation_config.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        tokens, rows = [], []
        while len(tokens) < most and not (tokens and tokens[-1] in ends):
            draft = guess[len(tokens):] if guess[:len(tokens)] == tokens else []
            for logits, drafted in zip(self.logits(ids + tokens + draft)[len(ids) + len(tokens) - 1:], [*draft, None]):
                likeliest = torch.log_softmax(logits.double(), -1).topk(others)
                rows.append(dict(zip(likeliest.indices.tolist(), likeliest.values.tolist())))
                tokens.append(next(iter(rows[-1])))
                if tokens[-1] != drafted or tokens[-1] in ends or len(tokens) == most:
                    break
        return tokens, rows

    def save(self, directory):
        directory = pathlib.Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        config = self.model.config
        del config.quantization_config
        config.architectures = [type(self.model).__name__]
        config.save_pretrained(directory)
        tied = "lm_head.weight" if config.tie_word_embeddings else None
        tensors = {name: tensor.contiguous() for name, tensor in self.model.state_dict().items() if name != tied}
        safetensors.torch.save_file(tensors, directory / "model.safetensors", {"format": "pt"})
        self.tokenizer.save_pretrained(directory)


if __name__ == "__main__":
    Reference(sys.argv[1]).save(sys.argv[2])
