//! Tools of MCP servers for a model on another server, which is given them as functions: `host
//! chat` runs their calls itself.
//!
//! Invariant: a call runs only if its server needs no approval, or the user gives it.

use std::sync::Arc;

use anyhow::anyhow;
use mcp::{Approval, McpServer, McpServers, McpTool};
use serde_json::{Value, json};

/// Longest name of a function that servers take.
const MAX_NAME: usize = 64;

/// The tools, by the names of their functions.
pub(super) struct LocalTools(Vec<Arc<LocalTool>>);

/// A tool that runs here.
pub(super) struct LocalTool {
    function: String,
    server: Arc<McpServer>,
    tool: McpTool,
}

impl LocalTools {
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// All tools of these servers.
    ///
    /// # Errors
    /// A server can't be asked for its tools; one line.
    pub(super) async fn of(servers: &McpServers) -> anyhow::Result<Self> {
        let mut tools: Vec<Arc<LocalTool>> = Vec::new();
        let labels: Vec<String> = servers.all().map(|server| server.label().to_owned()).collect();
        for server in labels.iter().filter_map(|label| servers.get(label)) {
            let listed = server.tools().await;
            for tool in listed.map_err(|error| anyhow!("--mcp: {}: {error}", server.label()))? {
                let is_taken = |name: &str| tools.iter().any(|known| known.function == name);
                let function = function_name(server.label(), &tool.name, is_taken);
                tools.push(Arc::new(LocalTool { function, server: Arc::clone(&server), tool }));
            }
        }
        Ok(Self(tools))
    }

    /// The functions, as a request declares them.
    pub(super) fn declarations(&self) -> Vec<Value> {
        let declared = |one: &Arc<LocalTool>| {
            json!({
                "type": "function", "name": one.function, "description": one.tool.description,
                "parameters": one.tool.input_schema, "strict": false,
            })
        };
        self.0.iter().map(declared).collect()
    }

    /// The tool that a call is for.
    pub(super) fn called(&self, item: &Value) -> Option<Arc<LocalTool>> {
        let name = item["name"].as_str().filter(|_| item["type"] == "function_call")?;
        self.0.iter().find(|tool| tool.function == name).cloned()
    }
}

impl LocalTool {
    /// Server and tool.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.server.label(), self.tool.name)
    }

    pub(super) fn needs_approval(&self) -> bool {
        self.server.require_approval() == Approval::Always
    }

    /// Runs a call; its output, or what failed, is for the model.
    pub(super) async fn run(&self, call: &Value) -> String {
        let arguments = call["arguments"].as_str().unwrap_or_default();
        let result = self.server.call(&self.tool.name, arguments).await;
        result.unwrap_or_else(|error| format!("The call failed: {error}"))
    }
}

/// Name of the function for a tool: of letters, digits, `_` and `-`, and no other tool's.
fn function_name(label: &str, tool: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = format!("{label}__{tool}").chars().map(plain).collect();
    let numbered = (2..).map(|number: u32| format!("_{number}"));
    let mut names = std::iter::once(String::new()).chain(numbered).map(|end| {
        let kept = name.len().min(MAX_NAME - end.len());
        format!("{}{end}", &name[..kept])
    });
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::function_name;

    #[test]
    fn a_function_has_a_name_of_its_own_for_any_server() {
        assert_eq!(function_name("time", "now", |_| false), "time__now");
        assert_eq!(function_name("my.files", "a/b", |_| false), "my_files__a_b");
        assert_eq!(function_name("time", "now", |name| name == "time__now"), "time__now_2");
        let long = function_name("l", &"n".repeat(128), |name| !name.ends_with("_2"));
        assert_eq!((long.len(), long.ends_with("n_2")), (64, true));
    }
}
