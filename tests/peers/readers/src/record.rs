//! Sink that keeps a parser's output.

use crate::Sink;

/// Output of a parser, added up.
#[derive(Default, PartialEq, Eq, serde::Serialize)]
pub struct Record {
    /// Text of the message.
    pub content: String,
    /// Text of the reasoning.
    pub reasoning: String,
    /// Names and arguments of the calls.
    pub calls: Vec<(String, String)>,
}

impl Record {
    /// Hands all of it on.
    pub fn replay(&self, sink: &mut dyn Sink) {
        sink.reasoning(&self.reasoning);
        sink.content(&self.content);
        for (index, (name, arguments)) in self.calls.iter().enumerate() {
            sink.call(index, name);
            sink.arguments(index, arguments);
        }
    }

    fn at(&mut self, index: usize) -> &mut (String, String) {
        if self.calls.len() <= index {
            self.calls.resize_with(index + 1, Default::default);
        }
        &mut self.calls[index]
    }
}

impl Sink for Record {
    fn content(&mut self, text: &str) {
        self.content.push_str(text);
    }

    fn reasoning(&mut self, text: &str) {
        self.reasoning.push_str(text);
    }

    fn call(&mut self, index: usize, name: &str) {
        self.at(index).0.push_str(name);
    }

    fn arguments(&mut self, index: usize, json: &str) {
        self.at(index).1.push_str(json);
    }
}
