"""An MCP server over stdio with one tool, as a user would configure it."""

from mcp.server.fastmcp import FastMCP

server = FastMCP("interop")


@server.tool()
def multiply_for_interop(a: int, b: int) -> int:
    """Multiplies two numbers."""
    return a * b


server.run()
