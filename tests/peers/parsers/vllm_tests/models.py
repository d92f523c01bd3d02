"""Tokenizers for the models that vLLM's tests name: their added tokens and the beginning of their turns, and the text of gpt-oss's vocabulary."""
import functools
import os
import pathlib

WORK = pathlib.Path(os.environ["VLLM_TESTS_WORK"])
RANKS = pathlib.Path(__file__).resolve().parents[2] / "vocabulary/o200k_base.tiktoken"
THINK = ["<think>", "</think>"]
CALL = ["<tool_call>", "</tool_call>"]
KIMI = [f"<|tool_{part}|>" for part in ("calls_section_begin", "calls_section_end", "call_begin", "call_argument_begin", "call_end")]
#: What a model's template writes where its turn begins, if it thinks and if not.
QWEN = "<|im_start|>assistant\n", "<think>\n", "<think>\n\n</think>\n\n"
MOONSHOT = "<|im_assistant|>assistant<|im_middle|>", "<think>", "<think></think>"
#: By a part of the model's name: special tokens, other added ones, and that beginning.
MODELS = {
    "Qwen": (["<|endoftext|>", "<|im_start|>", "<|im_end|>"], THINK + CALL, QWEN),
    "Kimi": (["[BOS]", "[EOS]", "<|im_end|>", "<|im_user|>", "<|im_assistant|>", "<|im_middle|>", *KIMI], THINK, MOONSHOT),
    "GLM": (["<|endoftext|>", "<|user|>", "<|assistant|>", "<|observation|>"], [*THINK, *CALL, "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"], None),
}


@functools.cache
def vocabulary():
    """The file of a tokenizer without added tokens, which is made once."""
    file = WORK / "tokenizer.json"
    if not file.exists():
        from transformers.convert_slow_tokenizer import TikTokenConverter

        TikTokenConverter(vocab_file=str(RANKS)).converted().save(str(file))
    return file


@functools.cache
def tokenizer_of(model):
    """The tokenizer of a model. One that the table doesn't know has no added tokens."""
    from tokenizers import AddedToken
    from transformers import PreTrainedTokenizerFast

    special, added, begins = next((row for part, row in MODELS.items() if part in model), ([], [], None))
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(vocabulary()))
    tokenizer.add_tokens([AddedToken(token, special=True, normalized=False) for token in special], special_tokens=True)
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in added])
    if begins:
        turn, thinks, thought = (part.replace("\n", "\\n") for part in begins)
        tokenizer.chat_template = (
            "{% for message in messages %}{{ message.content }}{% endfor %}{% if add_generation_prompt %}"
            f"{{{{ '{turn}' + ('{thinks}' if enable_thinking is not defined or enable_thinking else '{thought}') }}}}{{% endif %}}"
        )
    return tokenizer
