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
        self.path = pathlib.Path(path)
        self.model = AutoModelForCausalLM.from_pretrained(self.path.parent, gguf_file=self.path.name, dtype=torch.float32).eval()
        embedding = self.model.get_input_embeddings()
        if hasattr(embedding, "embed_scale"):
            # Gemma was trained with this factor in bf16.
            embedding.embed_scale = embedding.embed_scale.to(torch.bfloat16).float()

    def tokenizer(self):
        return AutoTokenizer.from_pretrained(self.path.parent, gguf_file=self.path.name)

    def has_words(self):
        """Whether texts are few tokens, unlike in files of random weights."""
        return len(self.tokenizer().encode("The capital of France is Paris")) <= 20

    @torch.inference_mode()
    def logits(self, ids):
        """`[tokens, vocabulary]`."""
        return self.model(torch.tensor([ids])).logits[0]

    @torch.inference_mode()
    def greedy(self, ids, most, others):
        """The likeliest tokens behind `ids`, to the model's end token or `most` of them, and for each the log-probabilities of so many by id."""
        answer = self.model.generate(
            torch.tensor([ids]), do_sample=False, max_new_tokens=most, output_logits=True, return_dict_in_generate=True,
        )
        rows = [torch.log_softmax(logits[0].double(), -1).topk(others) for logits in answer.logits]
        return answer.sequences[0, len(ids):].tolist(), [dict(zip(row.indices.tolist(), row.values.tolist())) for row in rows]

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
        self.tokenizer().save_pretrained(directory)


if __name__ == "__main__":
    Reference(sys.argv[1]).save(sys.argv[2])
