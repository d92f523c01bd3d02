#!/usr/bin/env python3
"""The Helm chart: both shapes are linted, rendered, held against Kubernetes' schemas, and their servers are started as the chart has them, with Secrets
laid as Kubernetes lays them. Started by cluster.sh, which brings Helm and the schemas."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import kubernetes_validate
import yaml

import postgres
from compose import HOST, ROOT, certificate, free_port, running, until
from served import status

CHART = ROOT / "host/packaging/chart"
EXAMPLES = CHART / "examples"
# The oldest that the chart takes, and the newest whose schema is there.
KUBERNETES = ["1.30", "1.37"]
KEY, ENGINE_KEY = "alice-secret", "engine-secret"
# The user of the image, who has no name here.
USER = 65532
SEAL = "5e" * 32
# Every setting that an example leaves out.
FURTHER = {
    "all-in-one": {
        "image": {"tag": "next"},
        "imagePullSecrets": [{"name": "registry"}],
        "store": {"volume": {"existingClaim": "state"}},
        "cache": {"existingClaim": "cache"},
        "sealSecret": {"name": "seal", "key": "other"},
        "metrics": {"serviceMonitor": {"enabled": True, "keySecret": {"name": "one-key"}}},
        "arguments": ["--max-num-seqs=8"],
        "environment": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}],
        "service": {"type": "LoadBalancer", "port": 443, "annotations": {"a.example/b": "c"}},
        "runtimeClassName": "nvidia",
        "nodeSelector": {"gpu": "yes"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "podAnnotations": {"a": "b"},
        "podLabels": {"c": "d"},
        "pauseSeconds": 0,
        "graceSeconds": 120,
    },
    "api-tier": {"replicas": 1, "cache": {"sizeLimit": "2Gi"}, "model": {"path": "Qwen/Qwen3-8B", "volume": None}, "engine": {"kind": "gateway"}, "tlsSecret": ""},
}
# Values of an example that can't be, and a word of the refusal.
REFUSED = [
    ("api-tier", {"store": {"url": ""}}, "store.url"),
    ("api-tier", {"store": {"url": "mysql://a@b/c"}}, "url"),
    ("api-tier", {"engine": {"urls": []}}, "engine.urls"),
    ("api-tier", {"engine": {"urls": ["vllm:8000"]}}, "urls"),
    ("api-tier", {"engine": {"kind": "llm-d"}}, "kind"),
    ("api-tier", {"sealSecret": {"name": ""}}, "sealSecret"),
    ("api-tier", {"replicas": 0}, "replicas"),
    ("api-tier", {"metrics": {"public": False}}, "keySecret"),
    ("api-tier", {"cache": {"existingClaim": "cache"}}, "cache"),
    ("all-in-one", {"store": {"url": "postgres://a@b/c"}}, "store.url"),
    ("all-in-one", {"shape": "both"}, "shape"),
    ("all-in-one", {"replica": 2}, "replica"),
]


def helm(*arguments, **how):
    return subprocess.run(["helm", *map(str, arguments)], capture_output=True, text=True, **how)


def render(example, values=None, version=KUBERNETES[0]):
    """What Kubernetes would get, and the notes or the refusal."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as further:
        yaml.safe_dump(values or {}, further)
        further.flush()
        files = ["--values", EXAMPLES / f"{example}.yaml", "--values", further.name]
        made = helm("template", "try", CHART, "--namespace", "models", "--kube-version", version, *files)
    return list(filter(None, yaml.safe_load_all(made.stdout))) if made.returncode == 0 else made.stderr


def of_kind(resources, kind):
    return [one for one in resources if one["kind"] == kind]


def check_lint():
    for example in EXAMPLES.glob("*.yaml"):
        linted = helm("lint", "--strict", CHART, "--values", example)
        assert linted.returncode == 0, linted.stdout + linted.stderr


def check_version():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.M)[1]
    assert chart["version"] == chart["appVersion"] == version, (chart, version)


def check_schemas(resources):
    for resource in resources:
        if resource["apiVersion"].startswith("monitoring.coreos.com/"):
            # Of another project than Kubernetes: no schema is at hand.
            assert resource["spec"]["endpoints"][0]["path"] == "/metrics"
            continue
        for version in KUBERNETES:
            kubernetes_validate.validate(resource, version, strict=True)


def check_pod(deployment, service):
    """What any pod must be: nobody special, ended in order, found by its service, with each volume mounted and each mount there."""
    pod = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == 65532
    assert pod["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"
    assert not pod["automountServiceAccountToken"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    grace = next(int(one.split("=")[1]) for one in container["args"] if one.startswith("--grace-seconds="))
    pause = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
    assert pod["terminationGracePeriodSeconds"] >= grace + pause + 10
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    for selector in deployment["spec"]["selector"]["matchLabels"], service["spec"]["selector"]:
        assert selector.items() <= labels.items()
    assert service["spec"]["ports"][0]["targetPort"] in [port["name"] for port in container["ports"]]
    volumes = {one["name"] for one in pod["volumes"]}
    mounts = {one["name"]: one for one in container["volumeMounts"]}
    assert volumes == set(mounts), (volumes, set(mounts))
    assert {name for name, one in mounts.items() if not one.get("readOnly")} <= {"cache", "data"}


def check_shapes():
    for example, further in FURTHER.items():
        for values in {}, further:
            resources = render(example, values)
            assert isinstance(resources, list), resources
            check_schemas(resources)
            [deployment], [service] = of_kind(resources, "Deployment"), of_kind(resources, "Service")
            check_pod(deployment, service)
            replicas = deployment["spec"]["replicas"]
            assert len(of_kind(resources, "PodDisruptionBudget")) == (replicas > 1), replicas
            has_claim = example == "all-in-one" and not values
            assert len(of_kind(resources, "PersistentVolumeClaim")) == has_claim
            assert (deployment["spec"].get("strategy") == {"type": "Recreate"}) == (example == "all-in-one")
            check_arguments(deployment)
    for example, values, part in REFUSED:
        refused = render(example, values)
        assert isinstance(refused, str) and part in refused, (values, refused)


def check_arguments(deployment):
    """The server's own command line takes the arguments."""
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    variables = {**os.environ, **{one["name"]: "set" for one in container["env"]}}
    read = subprocess.run([HOST, *container["args"], "--print-config"], capture_output=True, text=True, stdin=subprocess.DEVNULL, env=variables)
    assert read.returncode == 0, (container["args"], read.stderr)


def unprivileged(command):
    """The command as the user of the image."""
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs", *command]


class Node:
    """What a node has for a pod: its volumes as folders, and the Secrets of its namespace."""

    def __init__(self, folder, secrets):
        self.folder, self.secrets = folder, secrets
        self.host = folder / "sluice"
        shutil.copy(HOST, self.host)
        folder.chmod(0o755)

    def lay_secret(self, mount, volume):
        """Entries as the kubelet lays them: root's, for the group of the pod, behind two links."""
        place = self.folder / mount.lstrip("/")
        entries = place / "..2026_12_01"
        entries.mkdir(parents=True)
        (place / "..data").symlink_to(entries.name)
        secret = self.secrets[volume["secretName"]]
        items = volume.get("items") or [{"key": key, "path": key} for key in secret]
        for item in items:
            entry = entries / item["path"]
            entry.write_text(secret[item["key"]])
            os.chown(entry, 0, USER)
            entry.chmod(volume["defaultMode"] | 0o440)
            (place / item["path"]).symlink_to(pathlib.Path("..data") / item["path"])

    def lay(self, pod):
        [container] = pod["containers"]
        volumes = {one["name"]: one for one in pod["volumes"]}
        for mount in container["volumeMounts"]:
            volume, place = volumes[mount["name"]], self.folder / mount["mountPath"].lstrip("/")
            if "secret" in volume:
                self.lay_secret(mount["mountPath"], volume["secret"])
            elif mount["name"] == "models":
                shutil.copytree(ROOT / "host/models/qwen3-tiny", place / "Qwen3-8B")
            else:
                place.mkdir(parents=True)
                os.chown(place, 0, USER)
                place.chmod(0o2770)

    @contextlib.contextmanager
    def run(self, deployment, name):
        """Runs the pod's server; yields its port and its process' ending."""
        pod = deployment["spec"]["template"]["spec"]
        self.lay(pod)
        [container] = pod["containers"]
        port = free_port()
        here = lambda text: re.sub(r"(?<![\w.])/(?=(var|etc|models)/)", f"{self.folder}/", text)
        arguments = [here(one).replace("0.0.0.0:8000", f"127.0.0.1:{port}") for one in container["args"]]
        environment = {"XDG_CACHE_HOME": f"{self.folder}/var/cache", "XDG_DATA_HOME": f"{self.folder}/var/lib", "PATH": os.environ["PATH"]}
        for variable in container["env"]:
            source = variable.get("valueFrom", {}).get("secretKeyRef")
            environment[variable["name"]] = self.secrets[source["name"]][source["key"]] if source else here(variable["value"])
        given = [f"{key}={value}" for key, value in environment.items()]
        with running(self.folder, name, *unprivileged(["env", "-i", *given, self.host, *arguments])) as process:
            yield port, process


def check_probes(deployment, base, trusted=None):
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    for kind in "startupProbe", "livenessProbe", "readinessProbe":
        get = container[kind]["httpGet"]
        assert get["scheme"].lower() == base.split(":")[0]
        until(kind, lambda: status(base + get["path"], trusted=trusted)[0] == 200)


def ends(process, deployment):
    process.send_signal(signal.SIGTERM)
    assert process.wait(deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]) == 0


def check_all_in_one(folder):
    [deployment] = of_kind(render("all-in-one"), "Deployment")
    with Node(folder, {"sluice-keys": {"keys": f"alice={KEY}\n"}}).run(deployment, "all-in-one") as (port, process):
        base = f"http://127.0.0.1:{port}"
        check_probes(deployment, base)
        assert status(f"{base}/v1/models")[0] == status(f"{base}/metrics")[0] == 401
        question = {"model": "qwen3", "input": "Who are you?", "max_output_tokens": 8}
        code, answer = status(f"{base}/v1/responses", KEY, question)
        assert code == 200, answer
        assert (folder / "var/lib/sluice/state.db").stat().st_uid == USER
        ends(process, deployment)


def check_api_tier(folder):
    engine = free_port()
    chain, key = certificate(folder)
    secrets = {
        "sluice-keys": {"keys": f"alice={KEY}\n"},
        "sluice-seal": {"seal.key": f"{SEAL}\n"},
        "sluice-postgres": {"password": postgres.PASSWORD, "ca.crt": chain.read_text()},
        "sluice-tls": {"tls.crt": chain.read_text(), "tls.key": key.read_text()},
        "vllm": {"api-key": ENGINE_KEY},
    }
    serve = [HOST, "serve", "--listen", engine, "--threads", 1, "--store", "none", "--seal-key", "none", "--api-key", ENGINE_KEY]
    with contextlib.ExitStack() as stack:
        stack.enter_context(running(folder, "engine", *serve))
        values = {"engine": {"urls": [f"http://127.0.0.1:{engine}"]}, "store": {"url": postgres.database()}}
        [deployment] = of_kind(render("api-tier", values), "Deployment")
        hosts = []
        for name in "first", "second":
            place = folder / name
            place.mkdir()
            port, process = stack.enter_context(Node(place, secrets).run(deployment, name))
            base = f"https://localhost:{port}"
            check_probes(deployment, base, chain)
            hosts.append((base, process))
        (first, process), (second, _) = hosts
        code, metrics = status(f"{first}/metrics", trusted=chain)
        assert code == 200 and "vllm:num_requests_waiting" in metrics, metrics
        assert status(f"{first}/v1/models", trusted=chain)[0] == 401
        question = {"model": "qwen3", "input": "Who are you?", "max_output_tokens": 8, "include": ["reasoning.encrypted_content"]}
        code, answer = status(f"{first}/v1/responses", KEY, question, chain)
        assert code == 200, answer
        stored = json.loads(answer)
        # The other server reads it, also once this one has gone.
        ends(process, deployment)
        code, answer = status(f"{second}/v1/responses/{stored['id']}", KEY, trusted=chain)
        assert code == 200 and json.loads(answer)["output"] == stored["output"], answer
        question = {**question, "previous_response_id": stored["id"]}
        code, answer = status(f"{second}/v1/responses", KEY, question, chain)
        assert code == 200, answer


def main(folder):
    folder.chmod(0o755)
    check_version()
    check_lint()
    check_shapes()
    print(f"chart: {helm('version', '--short').stdout.strip()} lints and renders it; Kubernetes {' and '.join(KUBERNETES)} take it")
    if os.geteuid() != 0:
        print("skipped: the servers of the chart are started by root only, who lays Secrets for them")
        return
    (folder / "all-in-one").mkdir()
    check_all_in_one(folder / "all-in-one")
    print("chart: one server, as the shape allInOne has it")
    if postgres.lacking():
        print(f"skipped: two servers of the shape apiTier need {postgres.lacking()}")
    else:
        (folder / "tier").mkdir(mode=0o755)
        check_api_tier(folder / "tier")
        print("chart: two servers on one Postgres, as the shape apiTier has them")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(pathlib.Path(made))
