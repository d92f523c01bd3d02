"""Tool servers behind URLs: the older transport of server-sent events, on the reference servers of Python and of Node.js, and HTTPS with
certificates of a private authority."""
import json
import pathlib
import time

import pytest
import trustme
from conftest import client_of
from server import Server, replay_file
from tool_servers import EVERYTHING, adder, ask, call, listening

RULES = [
    {"when": {"last_role": "user", "last_user_contains": "wait"}, "text": call("wait", {"seconds": 50})},
    {"when": {"last_role": "user", "last_user_contains": "count"}, "text": call("count", {})},
    {"when": {"last_role": "user", "tool_declared": "get-sum"}, "text": call("get-sum", {"a": 2, "b": 40})},
    {"when": {"last_role": "tool", "contains": "42"}, "text": "<think>\n</think>\n\nIt is 42."},
    {"text": "<think>\n</think>\n\nI have no tools."},
]


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """Folder of a certificate authority: `ca.pem` to trust it, and for each name a file with a certificate and its key."""
    folder = tmp_path_factory.mktemp("ca")
    ca = trustme.CA()
    ca.cert_pem.write_to_path(folder / "ca.pem")
    for name in ["127.0.0.1", "elsewhere.example"]:
        ca.issue_cert(name).private_key_and_cert_chain_pem.write_to_path(folder / f"{name}.pem")
    return folder


@pytest.fixture(scope="module")
def urls(authority):
    """URLs of running tool servers, by name."""
    certificate, foreign = (str(authority / f"{name}.pem") for name in ["127.0.0.1", "elsewhere.example"])
    with (
        adder("sse") as python,
        listening(lambda port: ["node", EVERYTHING, "sse"]) as node,
        adder("streamable-http", certificate) as secure,
        adder("sse", certificate) as secure_sse,
        adder("streamable-http", foreign) as misnamed,
    ):
        yield {
            "python": f"http://127.0.0.1:{python}/sse",
            "node": f"http://127.0.0.1:{node}/sse",
            "secure": f"https://127.0.0.1:{secure}/mcp",
            "secure_sse": f"https://127.0.0.1:{secure_sse}/sse",
            "misnamed": f"https://127.0.0.1:{misnamed}/mcp",
        }


def serve(folder, servers, env=None):
    config = pathlib.Path(folder) / "mcp.json"
    servers = {label: {"require_approval": "never", **server} for label, server in servers.items()}
    config.write_text(json.dumps({"mcpServers": servers}))
    return Server("--engine", replay_file(folder, RULES), "--mcp", str(config), env=env)


@pytest.fixture(scope="module")
def client(tmp_path_factory, urls, authority):
    ca_file = str(authority / "ca.pem")
    servers = {
        "python_found": {"url": urls["python"]},
        "python_named": {"url": urls["python"], "type": "sse"},
        "node_found": {"url": urls["node"]},
        "node_named": {"url": urls["node"], "transport": "sse"},
        "trusted": {"url": urls["secure"], "ca_file": ca_file},
        "trusted_found": {"url": urls["secure_sse"], "ca_file": ca_file},
        "trusted_named": {"url": urls["secure_sse"], "ca_file": ca_file, "type": "sse"},
        "untrusted": {"url": urls["secure"]},
        "untrusted_sse": {"url": urls["secure_sse"], "type": "sse"},
        "misnamed": {"url": urls["misnamed"], "ca_file": ca_file},
    }
    server = serve(tmp_path_factory.mktemp("mcp"), servers)
    client = client_of(server)
    client.metric = server.metric
    yield client
    server.stop()


def adds(client, label):
    _, response = ask(client, label, "The sum, please.", allowed_tools=["get-sum"])
    assert [item.type for item in response.output] == ["mcp_list_tools", "reasoning", "mcp_call", "message"], response.output
    assert "42" in response.output[2].output
    assert response.output_text == "It is 42."


def refuses(client, label, words):
    kinds, response = ask(client, label, "The sum, please.")
    assert "response.mcp_list_tools.failed" in kinds
    listed = response.output[0]
    assert listed.type == "mcp_list_tools" and words in listed.error, listed
    assert response.output_text == "I have no tools."


@pytest.mark.parametrize("label", ["python_found", "python_named", "node_found", "node_named"])
def test_a_server_of_the_older_transport_adds(client, label):
    adds(client, label)
    adds(client, label)


@pytest.mark.parametrize("label", ["python_named", "trusted"])
def test_a_client_that_leaves_cancels_the_call(client, label):
    def count():
        return ask(client, label, "Please count.")[1].output[2].output

    def cancelled():
        return client.metric("sluice_tool_calls_total", 'outcome="cancelled"')

    before, cancelled_before = int(count().rsplit(" ")[-1]), cancelled()
    tools = [{"type": "mcp", "server_label": label}]
    with client.responses.create(model="qwen3-tiny", input="Please wait.", tools=tools, stream=True) as stream:
        for event in stream:
            if event.type == "response.mcp_call_arguments.done":
                break
        time.sleep(0.3)  # until the call has reached the tool server
    for _ in range(50):
        if count() == f"given up: {before + 1}":
            break
        time.sleep(0.1)
    assert count() == f"given up: {before + 1}"
    assert cancelled() == cancelled_before + 1


@pytest.mark.parametrize("label", ["trusted", "trusted_found", "trusted_named"])
def test_a_server_whose_authority_the_file_trusts_adds(client, label):
    adds(client, label)


@pytest.mark.parametrize("label", ["untrusted", "untrusted_sse"])
def test_a_certificate_of_an_unknown_authority_is_refused_in_words(client, label):
    refuses(client, label, "certificate is of an issuer that is not trusted here")


def test_a_certificate_for_another_name_is_refused_in_words(client):
    refuses(client, "misnamed", "certificate is for another name")


def test_the_environment_names_certificates_for_all_servers(tmp_path, urls, authority):
    server = serve(tmp_path, {"adder": {"url": urls["secure"]}}, env={"SSL_CERT_FILE": str(authority / "ca.pem")})
    adds(client_of(server), "adder")
    server.stop()


def test_a_file_without_certificates_is_told_at_the_start(tmp_path):
    with pytest.raises(RuntimeError, match="servers.adder: ca_file: .* holds no certificate"):
        serve(tmp_path, {"adder": {"url": "https://127.0.0.1/mcp", "ca_file": __file__}})
