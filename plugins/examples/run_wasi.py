"""Runs a WASI command as `wasmtime run --dir . -- FILE ARGS...` does, where that tool isn't installed: `cargo-component.sh` says when."""

import sys

from wasmtime import Engine, ExitTrap, Store, WasiConfig, WasmtimeError
from wasmtime.component import Component, Linker


def main(arguments: list[str]) -> int:
    engine = Engine()
    component = Component.from_file(engine, arguments[0])
    wasi = WasiConfig()
    wasi.argv = arguments
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    wasi.preopen_dir(".", ".")
    store = Store(engine)
    store.set_wasi(wasi)
    linker = Linker(engine)
    linker.add_wasip2()
    instance = linker.instantiate(store, component)
    command = next(name for name in component.type.exports(engine) if name.startswith("wasi:cli/run@"))
    run = instance.get_func(store, component.get_export_index("run", component.get_export_index(command)))
    try:
        return 0 if run(store).tag == "ok" else 1
    except ExitTrap as trap:
        return trap.code
    except WasmtimeError:  # A panic, whose message is out.
        return 134


sys.exit(main(sys.argv[sys.argv.index("--") + 1 :]))
