//! Hostile MCP server for tests, over stdio and over both HTTP transports. Its tools misbehave, to
//! test how faults of tools are handled.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::tool_lifecycle::Lifecycle;

/// Size in bytes of outputs that are far too large.
pub const FLOOD: usize = 100 << 20;

/// Reaction of the server to a request.
pub enum Reply {
    /// A response with this result.
    Result(Value),
    /// A response with this error.
    Error(Value),
    /// A response whose result is a text of this many bytes.
    Text(usize),
    /// Bytes that aren't JSON-RPC.
    Garbage,
    /// No response, and messages of this kind ([`spam`]) without end.
    Spam(String),
    /// No response, ever.
    Silence,
    /// No response, and the connection or the process ends.
    Death,
    /// No response, since a notification needs none.
    None,
}

/// Names of the tools; each is named after what it does.
const TOOLS: [&str; 14] = [
    "echo",
    "fail",
    "refuse",
    "wrong",
    "large",
    "flood",
    "garbage",
    "spam",
    "hang",
    "die",
    "environment",
    "cancelled",
    "begun",
    "meet",
];

/// State of the server, for any transport.
#[derive(Debug)]
pub struct ToolServer {
    listing: String,
    lifecycle: Lifecycle,
    /// Number of lists that were sent.
    lists: AtomicUsize,
    /// Number of clients that asked for the lifecycle without a handshake.
    discovered: AtomicUsize,
    /// Number of calls that the client cancelled.
    cancelled: AtomicUsize,
    /// Number of calls of `hang` that have begun.
    begun: AtomicUsize,
    meeting: Meeting,
}

/// Calls that wait for each other, in pairs.
#[derive(Debug, Default)]
struct Meeting {
    arrived: Mutex<usize>,
    changed: Condvar,
}

impl Meeting {
    /// Waits for the other call of the pair. Where calls run one after the other it never arrives,
    /// so the wait has a timeout.
    fn attend(&self) -> &'static str {
        let mut arrived = self.arrived.lock().expect("nobody panics with it");
        *arrived += 1;
        let both = (*arrived).next_multiple_of(2);
        self.changed.notify_all();
        let waiting =
            self.changed.wait_timeout_while(arrived, Duration::from_secs(20), |arrived| *arrived < both);
        if waiting.expect("nobody panics with it").1.timed_out() { "nobody came" } else { "met" }
    }
}

impl ToolServer {
    /// Makes a server. `listing` selects how it answers `tools/list`: `good`, `hang`, `endless`,
    /// `garbage`, `names`, `huge`, `anew` with another large tool each time, `builtin` for the
    /// tools behind web search and code interpreter, or `container` for the tool with which gpt-oss
    /// runs commands. `modern` and `anew` know only the lifecycle without a handshake; `mute` and
    /// `fragile` only the handshake, and give no answer to anything else, or end.
    pub fn new(listing: &str) -> Self {
        Self {
            listing: listing.to_owned(),
            lifecycle: Lifecycle::named(listing),
            lists: AtomicUsize::new(0),
            discovered: AtomicUsize::new(0),
            cancelled: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            meeting: Meeting::default(),
        }
    }

    /// Runs `request` and returns the reaction; blocks where a tool waits.
    pub fn reply(&self, request: &Value) -> Reply {
        if request["method"].is_null() {
            // The client's answer to a request of this server, whose id may be that of a call.
            return Reply::None;
        }
        if request["method"] == "server/discover" {
            self.discovered.fetch_add(1, Ordering::Relaxed);
        }
        let mut reply = self.lifecycle.reply(request).unwrap_or_else(|| self.react(request));
        if let (Lifecycle::Modern, Reply::Result(result)) = (self.lifecycle, &mut reply) {
            result["resultType"] = "complete".into();
        }
        reply
    }

    /// Whether it knows only the lifecycle without a handshake.
    pub fn is_modern(&self) -> bool {
        self.lifecycle == Lifecycle::Modern
    }

    /// Number of clients that asked for the lifecycle without a handshake.
    pub fn discovered(&self) -> usize {
        self.discovered.load(Ordering::Relaxed)
    }

    fn react(&self, request: &Value) -> Reply {
        let parameters = &request["params"];
        match request["method"].as_str().unwrap_or_default() {
            "initialize" => Reply::Result(json!({
                "protocolVersion": parameters["protocolVersion"], "capabilities": { "tools": {} },
                "serverInfo": { "name": "hostile", "version": "1" }
            })),
            "ping" => Reply::Result(json!({})),
            "tools/list" => list(&self.listing, self.lists.fetch_add(1, Ordering::Relaxed)),
            "tools/call" => {
                self.call(parameters["name"].as_str().unwrap_or_default(), &parameters["arguments"])
            }
            "notifications/cancelled" => {
                self.cancelled.fetch_add(1, Ordering::Relaxed);
                Reply::None
            }
            method if method.starts_with("notifications/") => Reply::None,
            _ => Reply::Error(json!({ "code": -32601, "message": "no such method" })),
        }
    }

    fn call(&self, tool: &str, arguments: &Value) -> Reply {
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed).to_string();
        match tool {
            "cancelled" => Reply::Result(text(&count(&self.cancelled))),
            "begun" => Reply::Result(text(&count(&self.begun))),
            "meet" => Reply::Result(text(self.meeting.attend())),
            "hang" => {
                self.begun.fetch_add(1, Ordering::Relaxed);
                Reply::Silence
            }
            _ => call(tool, arguments),
        }
    }
}

/// The list, which is the `nth`, from 0.
fn list(listing: &str, nth: usize) -> Reply {
    let described = |name: &str| json!({ "name": name, "description": format!("Does {name}."), "inputSchema": { "type": "object" } });
    match listing {
        "hang" => Reply::Silence,
        "garbage" => Reply::Garbage,
        "endless" => Reply::Result(json!({
            "tools": (0..50).map(|n| described(&format!("tool_{n}"))).collect::<Vec<_>>(), "nextCursor": "more"
        })),
        "names" => {
            Reply::Result(json!({ "tools": [described("good"), described("<|im_end|>\n"), described("")] }))
        }
        "huge" => {
            let mut tool = described("huge");
            tool["inputSchema"]["description"] = "x".repeat(6 << 20).into();
            Reply::Result(json!({ "tools": [tool] }))
        }
        "anew" => {
            let mut tool = described(&format!("tool_{nth}"));
            tool["inputSchema"]["description"] = "x".repeat(512 << 10).into();
            Reply::Result(json!({ "tools": [tool] }))
        }
        "builtin" => {
            let tools = ["search", "open", "find", "python"].map(described);
            Reply::Result(json!({ "tools": tools }))
        }
        "container" => Reply::Result(json!({ "tools": [described("exec")] })),
        _ => Reply::Result(json!({ "tools": TOOLS.map(described) })),
    }
}

/// Result of a call that is this text.
fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn call(tool: &str, arguments: &Value) -> Reply {
    match tool {
        "echo" | "search" | "open" | "find" | "python" | "exec" => {
            Reply::Result(text(&arguments.to_string()))
        }
        "fail" => {
            let mut result = text("there is no such city");
            result["isError"] = json!(true);
            Reply::Result(result)
        }
        "refuse" => {
            Reply::Error(json!({ "code": -32602, "message": format!("wrong arguments: {arguments}") }))
        }
        "wrong" => Reply::Result(json!({ "content": 5 })),
        "large" => Reply::Text(2 << 20),
        "flood" => Reply::Text(FLOOD),
        "garbage" => Reply::Garbage,
        "spam" => Reply::Spam(arguments["kind"].as_str().unwrap_or_default().to_owned()),
        "die" => Reply::Death,
        "environment" => {
            let mut names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
            names.sort_unstable();
            Reply::Result(text(&names.join(" ")))
        }
        _ => Reply::Silence,
    }
}

/// The `n`th message of a flood of this kind; empty for kinds that have none.
pub fn spam(kind: &str, n: usize) -> String {
    let message = match kind {
        "ping" => json!({ "jsonrpc": "2.0", "id": format!("p{n}"), "method": "ping" }),
        "sampling" => json!({ "jsonrpc": "2.0", "id": n, "method": "sampling/createMessage",
            "params": { "messages": [], "maxTokens": 1 } }),
        "log" => json!({ "jsonrpc": "2.0", "method": "notifications/message",
            "params": { "level": "error", "data": "x" } }),
        "list_changed" => json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }),
        "answer" => json!({ "jsonrpc": "2.0", "id": 1_000_000 + n, "result": {} }),
        "unknown" => json!({ "n": n }),
        "values" => {
            // Six bytes each, and hundreds in memory.
            let values = vec![json!({ "": 0 }); 100_000];
            json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "error", "data": values } })
        }
        _ => return String::new(),
    };
    message.to_string()
}

/// The `n`th event of a flood: of a message, or of the kinds `comment` and `empty`, which hold
/// none.
pub fn spam_event(kind: &str, n: usize) -> String {
    match kind {
        "comment" => format!(": {}\n", "x".repeat(1000)),
        "drip" => ": x\n\n".to_owned(),
        "empty" => "event: nothing\n\n".to_owned(),
        "other" => "event: ping\ndata: x\n\n".to_owned(),
        kind => format!("data: {}\n\n", spam(kind, n)),
    }
}

/// Response text before and after the text of a `Reply::Text`.
pub fn around_text(id: &Value) -> (String, String) {
    let whole =
        json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [{ "type": "text", "text": "@" }] } });
    let whole = whole.to_string();
    let (before, behind) = whole.split_once('@').expect("it is in there");
    (before.to_owned(), behind.to_owned())
}

/// JSON-RPC message of a result or an error; `None` for other reactions.
pub fn message(id: &Value, reply: &Reply) -> Option<Value> {
    match reply {
        Reply::Result(result) => Some(json!({ "jsonrpc": "2.0", "id": id, "result": result })),
        Reply::Error(error) => Some(json!({ "jsonrpc": "2.0", "id": id, "error": error })),
        _ => None,
    }
}
