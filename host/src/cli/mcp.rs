//! Switches for tools that the server runs.

use std::path::PathBuf;

use anyhow::Context;
use mcp::McpLimits;
use mcp::{McpConfig, McpServers, RequestUrls};

use super::limits::Switches;
use super::settings_file;

#[derive(clap::Args)]
pub(super) struct McpArguments {
    /// MCP tool servers that requests may use: a JSON file with `mcpServers` [default: none].
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
    /// MCP tool servers that requests may name by URL: `none`, `public` (HTTPS to public
    /// addresses), or `any`.
    #[arg(long, value_name = "none|public|any", default_value = "none")]
    mcp_request_urls: RequestUrls,
    #[command(flatten)]
    limits: Switches<McpLimits>,
}

impl McpArguments {
    /// Bounds set by the switches.
    pub(super) fn limits(&self) -> McpLimits {
        self.limits.0.clone()
    }

    /// Reads the servers from the file.
    pub(super) fn servers(&self, limits: &McpLimits) -> anyhow::Result<McpServers> {
        let config = match &self.mcp {
            None => McpConfig::default(),
            Some(file) => {
                let text = settings_file::read("--mcp", file)?;
                McpConfig::parse(&text, |name| std::env::var(name).ok())
                    .with_context(|| format!("--mcp {}", file.display()))?
            }
        };
        Ok(McpServers::new(config, self.mcp_request_urls, limits))
    }
}
