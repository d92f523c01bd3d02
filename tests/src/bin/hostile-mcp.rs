//! The hostile MCP server over standard input and output: `hostile-mcp LISTING`, of
//! `ToolServer::new`, or `chatty`.

fn main() -> std::io::Result<()> {
    let listing = std::env::args().nth(1).unwrap_or_else(|| "good".to_owned());
    tests::tool_server_stdio::serve_stdio(&listing)
}
