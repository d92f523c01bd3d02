//! Arguments about tools that the server runs.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use host::limits::McpLimits;
use host::mcp::{McpConfig, McpServers, RequestUrls};

#[derive(clap::Args)]
pub(super) struct McpArguments {
    /// Tool servers (MCP) that requests may use: a JSON file with `mcpServers` [default: none].
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
    /// Tool servers that requests may name by URL: `none`, `public` (HTTPS to public addresses), or `any`.
    #[arg(long, value_name = "none|public|any", default_value = "none")]
    mcp_request_urls: RequestUrls,
    /// Seconds that one call of a tool may take where the file doesn't say.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    mcp_call_seconds: u64,
    /// KiB of a tool's output that the model reads; a longer one fails the call.
    #[arg(long, value_name = "KIB", default_value_t = 1024)]
    mcp_output: usize,
    /// Calls of one answer that run at a time.
    #[arg(long, value_name = "CALLS", default_value_t = 8)]
    mcp_parallel: usize,
    /// Turns that one answer may have.
    #[arg(long, value_name = "TURNS", default_value_t = 32)]
    mcp_turns: usize,
}

impl McpArguments {
    /// The bounds that they set.
    pub(super) fn limits(&self) -> McpLimits {
        McpLimits {
            call_time: Duration::from_secs(self.mcp_call_seconds),
            output_bytes: self.mcp_output << 10,
            calls_at_once: self.mcp_parallel.max(1),
            rounds: self.mcp_turns.max(1),
            ..McpLimits::default()
        }
    }

    /// The servers of the file.
    pub(super) fn servers(&self, limits: &McpLimits) -> anyhow::Result<McpServers> {
        let config = match &self.mcp {
            None => McpConfig::default(),
            Some(file) => {
                let place = || format!("--mcp {}", file.display());
                let text = std::fs::read_to_string(file).with_context(place)?;
                McpConfig::parse(&text, |name| std::env::var(name).ok()).with_context(place)?
            }
        };
        Ok(McpServers::new(config, self.mcp_request_urls, limits))
    }
}
