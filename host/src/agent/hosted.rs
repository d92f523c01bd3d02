//! What a request says about tools of the server.

use std::sync::Arc;

use crate::mcp::{Approval, McpServer};

/// The server's tools of one request.
#[derive(Debug, Clone, Default)]
pub struct Hosted {
    /// The servers whose tools the model may call.
    pub tools: Vec<HostedTools>,
    /// Calls that may be run; none: as many as the rounds allow.
    pub max_calls: Option<u32>,
    /// Calls of earlier answers that the client has agreed to, to be run first.
    pub approved: Vec<Approved>,
}

/// One server of them.
#[derive(Debug, Clone)]
pub struct HostedTools {
    /// The server.
    pub server: Arc<McpServer>,
    /// What its tools are to the client.
    pub purpose: Purpose,
    /// Those that the request allows; none: all.
    pub allowed: Option<Vec<String>>,
    /// Those of them that the model is shown and may call in this answer; none: all.
    pub chosen: Option<Vec<String>>,
    /// Which calls the client is asked for.
    pub approval: ApprovalRule,
    /// The client has the list already: it isn't told again.
    pub listed: bool,
}

impl HostedTools {
    /// Whether the model may call any.
    pub fn may_be_called(&self) -> bool {
        self.chosen.as_ref().is_none_or(|chosen| !chosen.is_empty())
    }
}

/// What a server's tools are to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// What they are.
    Mcp,
    /// `search`, `open` and `find` of the web.
    WebSearch,
    /// `python`.
    CodeInterpreter,
}

/// Which calls the client is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRule {
    /// Tools that it is always asked for.
    pub always: Vec<String>,
    /// Tools that it is never asked for.
    pub never: Vec<String>,
    /// All others.
    pub others: Approval,
}

impl ApprovalRule {
    /// One rule for all tools.
    pub fn all(others: Approval) -> Self {
        Self { always: Vec::new(), never: Vec::new(), others }
    }

    /// Whether the client is asked before `tool` runs. Where a tool is named in both lists, it is.
    pub fn asks(&self, tool: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|name| name == tool);
        named(&self.always) || (!named(&self.never) && self.others == Approval::Always)
    }
}

/// A call of an earlier answer that the client has agreed to. The conversation has the call, and an empty result for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approved {
    /// Id of the request for approval, and of the call in the conversation.
    pub id: String,
    /// Label of its server.
    pub server: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: String,
}

#[cfg(test)]
mod tests {
    use super::{Approval, ApprovalRule};

    #[test]
    fn a_tool_that_is_named_goes_by_its_list_and_the_others_by_the_rest() {
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
