//! How connections to the hostile MCP server begin: by the handshake or without one. Used by
//! `tool_server`.

use serde_json::{Value, json};

use crate::tool_server::Reply;

/// The protocol's first version without a handshake.
pub(crate) const MODERN: &str = "2026-07-28";

/// How connections begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    /// By a handshake. Other first requests are refused.
    Handshake,
    /// By a handshake. Another first request gets no answer.
    Mute,
    /// By a handshake. Another first request ends the connection or the process.
    Fragile,
    /// Without a handshake, which is refused: every request says its version (2026-07-28).
    Modern,
}

impl Lifecycle {
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "mute" => Self::Mute,
            "fragile" => Self::Fragile,
            "modern" | "anew" => Self::Modern,
            _ => Self::Handshake,
        }
    }

    /// Reaction to a request that the lifecycle decides on.
    pub(crate) fn reply(self, request: &Value) -> Option<Reply> {
        let method = request["method"].as_str().unwrap_or_default();
        let version = &request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        match (self, method) {
            (Self::Mute, "server/discover") => Some(Reply::Silence),
            (Self::Fragile, "server/discover") => Some(Reply::Death),
            (Self::Modern, "initialize") => {
                Some(Reply::Error(json!({ "code": -32601, "message": "there is no handshake" })))
            }
            (Self::Modern, _) if !request["id"].is_null() && version != MODERN => {
                Some(Reply::Error(json!({ "code": -32602, "message": "the request names no version" })))
            }
            (Self::Modern, "server/discover") => Some(Reply::Result(json!({
                "supportedVersions": [MODERN], "capabilities": { "tools": {} }, "ttlMs": 0, "cacheScope": "private"
            }))),
            _ => None,
        }
    }
}
