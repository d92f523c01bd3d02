"""A tool server over standard input and output (the `mcp` package) with sixty tools, of which one adds."""
from mcp.server.mcpserver import MCPServer

server = MCPServer("many")


@server.tool()
def add(a: int, b: int) -> str:
    """Adds two numbers."""
    return f"The sum is {a + b}."


def other(number):
    def tool(text: str) -> str:
        return text

    server.add_tool(tool, name=f"note_{number}", description=f"Writes a note into drawer {number}.")


for number in range(59):
    other(number)
server.run()
