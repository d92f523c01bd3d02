//! A conversation as the items of the next request.
//!
//! Invariant: the items are whole turns. A turn that failed is taken back, and can be asked again.

use std::path::Path;

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};
use system::private::create_private;

pub(super) struct Conversation {
    /// Fields of each request besides those below.
    pub(super) fields: Map<String, Value>,
    instructions: Option<String>,
    /// Tools of the user's, and what tool servers have.
    tools: Vec<Value>,
    servers: Vec<Value>,
    items: Vec<Value>,
    /// The last question, and where its turn begins.
    last: Option<(usize, String)>,
}

impl Conversation {
    pub(super) fn new(fields: Map<String, Value>, instructions: Option<String>, servers: Vec<Value>) -> Self {
        Self { fields, instructions, tools: Vec::new(), servers, items: Vec::new(), last: None }
    }

    /// The next request, without its model.
    pub(super) fn body(&self) -> Map<String, Value> {
        let mut body = self.fields.clone();
        if let Some(instructions) = &self.instructions {
            body.insert("instructions".to_owned(), instructions.as_str().into());
        }
        let mut tools = [&self.tools[..], &self.servers].concat();
        if let Some(Value::Array(given)) = body.get("tools") {
            tools.splice(0..0, given.iter().cloned());
        }
        if !tools.is_empty() {
            body.insert("tools".to_owned(), tools.into());
        }
        body.insert("input".to_owned(), self.items.clone().into());
        body
    }

    /// Begins a turn.
    pub(super) fn ask(&mut self, question: String) {
        self.items.push(json!({"type": "message", "role": "user", "content": question}));
        self.last = Some((self.items.len() - 1, question));
    }

    /// Adds what the model wrote, or what it is told.
    pub(super) fn add(&mut self, items: impl IntoIterator<Item = Value>) {
        self.items.extend(items);
    }

    /// Ends a turn whose answer was stopped: the model is told what the user has read of it.
    pub(super) fn stop(&mut self, text: &str) {
        if text.trim().is_empty() {
            self.drop_turn();
        } else {
            self.items.push(json!({"type": "message", "role": "assistant", "content": text}));
        }
    }

    /// Removes the last turn, whose question is still known.
    pub(super) fn drop_turn(&mut self) {
        if let Some((begin, _)) = &self.last {
            self.items.truncate(*begin);
        }
    }

    /// Removes the last turn and returns its question.
    pub(super) fn take_back(&mut self) -> Option<String> {
        self.drop_turn();
        self.last.take().map(|(_, question)| question)
    }

    pub(super) fn instruct(&mut self, text: &str) -> String {
        self.instructions = Some(text.to_owned()).filter(|text| !text.is_empty());
        if text.is_empty() { "no instructions" } else { "instructions set" }.to_owned()
    }

    pub(super) fn set_tools(&mut self, tools: Vec<Value>) {
        self.tools = tools;
    }

    pub(super) fn tool_names(&self) -> String {
        let name = |tool: &Value| {
            let named = ["name", "server_label", "type"].iter().find_map(|name| tool[name].as_str());
            named.unwrap_or("?").to_owned()
        };
        let names: Vec<_> = self.tools.iter().chain(&self.servers).map(name).collect();
        if names.is_empty() { "no tools".to_owned() } else { format!("tools: {}", names.join(", ")) }
    }

    /// Writes the conversation to a new file, which only this user may read.
    pub(super) fn save(&self, file: &str, model: &str) -> anyhow::Result<String> {
        let path = Path::new(file);
        if path.exists() {
            bail!("{file} exists: name a new file");
        }
        let mut body = self.body();
        body.insert("model".to_owned(), model.into());
        let text = serde_json::to_string_pretty(&body)?;
        create_private(path, &[text.as_bytes(), b"\n"]).with_context(|| file.to_owned())?;
        Ok(format!("{} items saved in {file}", self.items.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(conversation: &Conversation) -> Vec<String> {
        conversation.items.iter().map(|item| item["content"].as_str().unwrap_or("?").to_owned()).collect()
    }

    #[test]
    fn a_turn_that_failed_leaves_nothing_and_can_be_asked_again() {
        let mut conversation = Conversation::new(Map::new(), None, Vec::new());
        conversation.ask("one".to_owned());
        conversation.add([json!({"content": "1"})]);
        conversation.ask("two".to_owned());
        conversation.add([json!({"type": "function_call"}), json!({"type": "function_call_output"})]);
        conversation.drop_turn();
        assert_eq!(texts(&conversation), ["one", "1"]);
        assert_eq!(conversation.take_back().as_deref(), Some("two"));
        assert_eq!((conversation.take_back(), texts(&conversation).len()), (None, 2));
    }

    #[test]
    fn what_was_read_of_a_stopped_answer_stays() {
        let mut conversation = Conversation::new(Map::new(), None, Vec::new());
        conversation.ask("one".to_owned());
        conversation.stop("beg");
        assert_eq!(texts(&conversation), ["one", "beg"]);
        conversation.ask("two".to_owned());
        conversation.stop("");
        assert_eq!(texts(&conversation), ["one", "beg"]);
        assert_eq!(conversation.take_back().as_deref(), Some("two"));
    }

    #[test]
    fn a_request_has_tools_of_every_source() {
        let fields = Map::from_iter([("tools".to_owned(), json!([{"type": "function", "name": "a"}]))]);
        let servers = vec![json!({"type": "mcp", "server_label": "time"})];
        let mut conversation = Conversation::new(fields, Some("i".to_owned()), servers);
        conversation.set_tools(vec![json!({"type": "function", "name": "b"})]);
        let body = Value::Object(conversation.body());
        assert_eq!(
            (body["tools"][0]["name"].as_str(), body["tools"][1]["name"].as_str(), &body["tools"][2]),
            (Some("a"), Some("b"), &json!({"type": "mcp", "server_label": "time"}))
        );
        assert_eq!((body["instructions"].as_str(), &body["input"]), (Some("i"), &json!([])));
    }
}
