"""The parser {{name}} of Sluice: with this package installed, `sluice_parsers.load("{{name}}")` finds it, and vLLM and SGLang know `sluice-{{name}}`."""

from pathlib import Path

#: The component.
PARSER = Path(__file__).with_name("{{name}}.wasm")
