"""Reference tool server (the `mcp` package) that adds, and that waits and counts cancelled waits: `adder.py sse|streamable-http PORT [CERTIFICATE]`.

CERTIFICATE is a file with a certificate and its key.
"""
import sys

import anyio
import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("adder")


@server.tool(name="get-sum")
def get_sum(a: int, b: int) -> str:
    """The sum of two numbers."""
    return f"The sum is {a + b}."


given_up = 0


@server.tool()
async def wait(seconds: float) -> str:
    """Waits."""
    global given_up
    try:
        await anyio.sleep(seconds)
    except anyio.get_cancelled_exc_class():
        given_up += 1
        raise
    return "Waited."


@server.tool()
def count() -> str:
    """How often nobody waited until the end."""
    return f"given up: {given_up}"


transport, port, *certificate = sys.argv[1:]
app = server.sse_app() if transport == "sse" else server.streamable_http_app()
uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning", ssl_certfile=certificate[0] if certificate else None)
