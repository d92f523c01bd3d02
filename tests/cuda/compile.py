"""Compiles the variants that the example `variants` wrote into a folder, and checks the machine code.

No kernel may have a stack, since arrays belong in registers. Further promises of a kernel are in its file, as

    // sass: KERNEL has REGEX          at least one instruction whose beginning matches
    // sass: KERNEL lacks REGEX        no such instruction

with `sass [NAME=NUMBER]:` if only variants with that constant promise it. `KERNEL_80` means sm_80 alone, `KERNEL_90` sm_90a alone.
"""

import ctypes
import json
import os
import re
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

CUDA = Path(sysconfig.get_paths()["purelib"]) / "nvidia" / "cu13"
PROMISE = re.compile(r"^// sass(?: \[(\w+)=(\d+)\])?: (\w+?)(?:_(80|90))? (has|lacks) (\S+)$", re.MULTILINE)


class Nvrtc:
    """NVRTC's library, which compiles one source at a time in a process."""

    def __init__(self):
        builtins = next((CUDA / "lib").glob("libnvrtc-builtins.so.*"))
        ctypes.CDLL(str(builtins), ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(str(CUDA / "lib" / "libnvrtc.so.13"))

    def output(self, program, size, content):
        length = ctypes.c_size_t()
        getattr(self.library, size)(program, ctypes.byref(length))
        buffer = ctypes.create_string_buffer(length.value)
        getattr(self.library, content)(program, buffer)
        return buffer.raw

    def compile(self, name, text, options):
        """Returns (binary or None, log)."""
        program = ctypes.c_void_p()
        self.library.nvrtcCreateProgram(ctypes.byref(program), text, name.encode(), 0, None, None)
        # The log of ptxas has the numbers of registers and spills; the option doesn't change the binary.
        options = [option.encode() for option in [*options, "--ptxas-options=-v"]]
        failed = self.library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        log = self.output(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").decode().rstrip("\0")
        binary = None if failed else self.output(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN")
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return binary, log


def instructions(path):
    """Returns the instructions of each kernel in a binary, without their predicates."""
    sass = subprocess.run([CUDA / "bin" / "nvdisasm", path], capture_output=True, text=True, check=True).stdout
    kernels, current = {}, None
    for line in sass.splitlines():
        if section := re.match(r"\s*\.section\s+\.text\.(\w+)", line):
            current = kernels.setdefault(section[1], [])
        elif current is not None and (code := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z].*?)\s*;", line)):
            current.append(code[1])
    return kernels


def usage(log):
    """Returns (registers, bytes of stack, bytes spilled) of each kernel from the log of ptxas."""
    found = {}
    for part in log.split("Compiling entry function '")[1:]:
        stack, stores, loads = map(int, re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part).groups())
        found[part.split("'")[0]] = (int(re.search(r"Used (\d+) registers", part)[1]), stack, stores + loads)
    return found


def broken(kernel, job, text, codes):
    """Returns the promises of the kernel's file that its instructions don't keep."""
    constants = dict(option[2:].split("=") for option in job["options"] if option.startswith("-D"))
    errors = []
    if any(re.match(r"LDL|STL", code) for code in codes):
        errors.append("local memory (LDL, STL)")
    for name, value, promised, arch, verb, pattern in PROMISE.findall(text):
        if promised != kernel or (name and constants.get(name) != value) or (arch and arch not in job["arch"]):
            continue
        if any(re.match(pattern, code) for code in codes) != (verb == "has"):
            errors.append(f"{verb} {pattern}: not so")
    return errors


@cache
def nvrtc():
    """Returns this process's compiler."""
    return Nvrtc()


def check(path):
    """Compiles and checks one variant; returns (rows of the table, errors)."""
    job, source = json.loads(path.read_text()), path.with_suffix(".cu").read_bytes()
    begin = time.monotonic()
    binary, log = nvrtc().compile(job["name"], source, job["options"])
    seconds = time.monotonic() - begin
    where = f"{job['name']} {job['arch']}"
    if binary is None:
        return [], [f"{where}:\n{log}"]
    errors = [f"{where}: {line}" for line in log.splitlines() if "warning" in line]
    path.with_suffix(".cubin").write_bytes(binary)
    kernels, used = instructions(path.with_suffix(".cubin")), usage(log)
    if sorted(used) != sorted(job["entries"]) or sorted(kernels) != sorted(job["entries"]):
        return [], [f"{where}: kernels {sorted(used)}, the source says {job['entries']}"]
    unread = re.findall(r"^// sass\b.*$", source.decode(), re.MULTILINE)
    if len(unread) != len(PROMISE.findall(source.decode())):
        errors.append(f"{where}: not all of these are promises: {unread}")
    unknown = {promise[2] for promise in PROMISE.findall(source.decode())} - set(job["entries"])
    errors += [f"{where}: promises of {name}, which is no kernel" for name in sorted(unknown)]
    rows = []
    for kernel, codes in kernels.items():
        registers, stack, spills = used[kernel]
        errors += [f"{where}: {kernel}: {error}" for error in broken(kernel, job, source.decode(), codes)]
        if stack or spills:
            errors.append(f"{where}: {kernel}: {stack} bytes of stack, {spills} spilled")
        loads = [code for code in codes if code.startswith("LDG")]
        wide = sum(".128" in code for code in loads)
        products = sum(code.startswith("HMMA") for code in codes)
        rows.append((kernel, where, registers, spills, f"{wide}/{len(loads)}", products, len(codes), seconds))
    return rows, errors


# A kernel with every fault that the check looks for.
WRONG = """
// sass: wrong has HMMA
// sass: wrong lacks LDG
// sass: absent lacks LDG
// sass: wrong is good
extern "C" __global__ void wrong(int* x) {
    int places[64];
    for (int i = 0; i < 64; i++) places[i] = x[i];
    for (int i = 0; i < 64; i++) x[i] = places[x[i] & 63];
}
"""


def finds_what_is_wrong(folder):
    """Returns whether the check finds each fault of WRONG, and no other."""
    path = folder / "wrong.json"
    path.with_suffix(".cu").write_text(WRONG)
    options = ["--gpu-architecture=sm_80", "-default-device"]
    path.write_text(json.dumps({"name": "wrong", "arch": "sm_80", "options": options, "entries": ["wrong"]}))
    errors = check(path)[1]
    path.unlink()
    faults = ["promises of absent", "not all of these are promises", "local memory", "bytes of stack", "has HMMA", "lacks LDG"]
    return len(errors) == len(faults) and all(any(fault in error for error in errors) for fault in faults)


def main():
    folder, name = Path(sys.argv[1]), sys.argv[2]
    jobs = sorted(folder.glob("*.json"), key=lambda path: int(path.stem))
    jobs = [path for path in jobs if name in json.loads(path.read_text())["name"]]
    if not finds_what_is_wrong(folder):
        sys.exit("the check doesn't find what is wrong with a kernel that it compiles to see that")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(check, jobs))
    rows = sorted(row for rows, _ in results for row in rows)
    kernel, variant = (max([len(row[i]) for row in rows], default=0) for i in (0, 1))
    print(f"{'kernel':{kernel}} {'variant':{variant}} {'registers':>9} {'spills':>6} {'LDG.128':>8} {'HMMA':>5} {'code':>6} {'seconds':>7}")
    for name, where, registers, spills, loads, products, length, seconds in rows:
        print(f"{name:{kernel}} {where:{variant}} {registers:9} {spills:6} {loads:>8} {products:5} {length:6} {seconds:7.2f}")
    errors = [error for _, errors in results for error in errors]
    for error in errors:
        print(error, file=sys.stderr)
    if errors or not jobs:
        sys.exit(f"{len(errors)} errors in {len(jobs)} variants")


if __name__ == "__main__":
    main()
