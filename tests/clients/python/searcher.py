"""Tool server (the `mcp` package) that plays a search of the web, over standard input and output: `searcher.py [domains]`. With `domains` its
search takes the domains to keep to, and says in each result which ones it was given."""
import sys

from mcp.server.mcpserver import MCPServer

PAGES = [
    {"url": "https://weather.example/oslo", "title": "Oslo", "text": "It is wet in Oslo.", "page_age": "2 hours"},
    {"url": "https://travel.example/oslo", "title": "Visit Oslo", "text": "It is never wet in Oslo."},
    {"url": "https://blog.travel.example/", "title": "My trip", "text": "I saw Oslo."},
]

server = MCPServer("searcher")


def found(query: str) -> list[dict[str, str]]:
    if query == "broken":
        raise ValueError("the index is being built")
    return [] if query == "nothing" else PAGES


if sys.argv[1:] == ["domains"]:

    @server.tool()
    def search(query: str, allowed_domains: list[str] | None = None, blocked_domains: list[str] | None = None) -> str:
        """Searches the web."""
        return f"kept to {allowed_domains}, without {blocked_domains}"

else:

    @server.tool()
    def search(query: str) -> list[dict[str, str]]:
        """Searches the web."""
        return found(query)

    @server.tool()
    def open(url: str) -> str:
        """Opens a page."""
        return next(page["text"] for page in PAGES if page["url"] == url)


server.run("stdio")
