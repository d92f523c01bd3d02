//! The hostile MCP server over standard input and output: `hostile-mcp [good|chatty|hang|endless|garbage|names|huge|builtin|container]`.

fn main() -> std::io::Result<()> {
    let listing = std::env::args().nth(1).unwrap_or_else(|| "good".to_owned());
    tests::tool_server::serve_stdio(&listing)
}
