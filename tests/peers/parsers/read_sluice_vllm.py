"""Turns read by Sluice's parsers where vLLM chooses and calls them: the Python package's plugin."""
import read_vllm


class Reader(read_vllm.Reader):
    def __init__(self, folder, peer):
        super().__init__(folder, peer)
        from sluice_parsers import vllm_plugin

        vllm_plugin.register()
