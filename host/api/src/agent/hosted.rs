//! The part of a request that concerns tools of the server.

use std::sync::Arc;

use super::domains::Domains;
use super::search::ToolSearch;
use mcp::{Approval, McpServer};

/// Tools of the server that one request uses.
#[derive(Debug, Clone, Default)]
pub struct Hosted {
    /// The servers whose tools the model may call.
    pub tools: Vec<HostedTools>,
    /// Whether the answer fails where one of them can't list its tools.
    pub needs_lists: bool,
    /// Maximum number of calls; none: only the number of turns limits them.
    pub max_calls: Option<u32>,
    /// Tools that the model may search, if it may.
    pub search: Option<ToolSearch>,
    /// Calls of earlier answers that the client has approved; they run first.
    pub approved: Vec<Approved>,
    /// The tool that the first turn has to call, if there is one.
    pub forced: Option<ForcedTool>,
}

/// A tool of the server that has to be called. What the model calls it is known when the tools are
/// listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForcedTool {
    /// Kind of the server's tools.
    pub kind: HostedToolKind,
    /// The server's label.
    pub server: String,
    /// Name of the tool on its server.
    pub name: String,
}

impl Hosted {
    /// Has the first turn call the tool `name` of the tools of `kind`, of the server `label` if one is
    /// named. Nothing is forced where the request has no such tools.
    pub(crate) fn force(&mut self, kind: HostedToolKind, label: Option<&str>, name: &str) {
        let is_meant = |tools: &&HostedTools| {
            tools.kind == kind && label.is_none_or(|label| tools.server.label() == label)
        };
        self.forced = self.tools.iter().find(is_meant).map(|tools| ForcedTool {
            kind,
            server: tools.server.label().to_owned(),
            name: name.to_owned(),
        });
    }
}

/// A tool server of a request.
#[derive(Debug, Clone)]
pub struct HostedTools {
    /// The tool server.
    pub server: Arc<McpServer>,
    /// Kind of the server's tools, as the client sees it.
    pub kind: HostedToolKind,
    /// Names of the tools that the request allows; none: all.
    pub allowed: Option<Vec<String>>,
    /// Names of tools that the request doesn't allow all the same.
    pub denied: Vec<String>,
    /// Names of the allowed tools that the model is shown and may call in this answer; none: all.
    pub chosen: Option<Vec<String>>,
    /// Rule for the calls that need the client's approval.
    pub approval: ApprovalRule,
    /// Whether the client has the list of tools already and isn't sent it again.
    pub listed: bool,
    /// Domains to which the request restricts a search of the web.
    pub domains: Option<Arc<Domains>>,
}

impl HostedTools {
    /// All tools of `server`, as `kind`, whose calls need approval by one rule.
    pub fn new(server: Arc<McpServer>, kind: HostedToolKind, approval: Approval) -> Self {
        Self {
            server,
            kind,
            allowed: None,
            denied: Vec::new(),
            chosen: None,
            approval: ApprovalRule::all(approval),
            listed: false,
            domains: None,
        }
    }

    /// Whether the model may call any tool of the server.
    pub(crate) fn may_be_called(&self) -> bool {
        self.chosen.as_ref().is_none_or(|chosen| !chosen.is_empty())
    }
}

/// Kind of a server's tools, as the client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostedToolKind {
    /// MCP tools.
    Mcp,
    /// The built-in web search: `search`, `open` and `find`.
    WebSearch,
    /// The built-in code interpreter: `python`.
    CodeInterpreter,
}

/// Rule for the calls that need the client's approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRule {
    /// Names of tools that always need approval.
    pub always: Vec<String>,
    /// Names of tools that never need approval.
    pub never: Vec<String>,
    /// Rule for all other tools.
    pub others: Approval,
}

impl ApprovalRule {
    /// Makes one rule for all tools.
    pub fn all(others: Approval) -> Self {
        Self { always: Vec::new(), never: Vec::new(), others }
    }

    /// Whether `tool` needs approval before it runs. A tool on both lists does.
    pub fn asks(&self, tool: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|name| name == tool);
        named(&self.always) || (!named(&self.never) && self.others == Approval::Always)
    }
}

/// A call of an earlier answer that the client has approved. The conversation has the call and an
/// empty result for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approved {
    /// Id of the request for approval, and of the call in the conversation.
    pub id: String,
    /// Label of the tool's server.
    pub server: String,
    /// Name of the tool on its server.
    pub name: String,
    /// Arguments of the call, as JSON text.
    pub arguments: String,
}

#[cfg(test)]
mod tests {
    use super::{Approval, ApprovalRule};

    #[test]
    fn tool_lists_decide_approval_before_the_rest() {
        let rule =
            ApprovalRule { always: vec!["rm".into()], never: vec!["ls".into()], others: Approval::Always };
        assert!(rule.asks("rm") && !rule.asks("ls") && rule.asks("cat"));
        let rule = ApprovalRule {
            always: vec!["rm".into(), "ls".into()],
            never: vec!["ls".into()],
            others: Approval::Never,
        };
        assert!(rule.asks("rm") && rule.asks("ls") && !rule.asks("cat"));
    }
}
