//! `smg-symphony`: its one engine with a table, fed with the text of each delta (it needs no token ids). What names the parser of calls is the
//! model, for which its registry has a table, or the table.

use symphony::formats::{Table, for_model};
use symphony::{Declared, Engine, EngineFinish, Event, Events, Input, Parser};

use crate::{Delta, Names, Request, Sink, Stream, smg};

/// Starts a stream with the table.
pub(crate) fn start(names: &Names, request: &Request) -> Option<Box<dyn Stream>> {
    let name = names.calls.as_deref()?;
    let format = for_model(name).or_else(|| Table::named(name).map(Table::format))?;
    let declared = Declared::of(&smg::declared(request));
    Some(read(Box::new(Engine::new(format, declared)), &request.prompt))
}

/// Reads with any parser of its trait, behind this prompt.
///
/// # Panics
/// The parser refuses the prompt.
#[must_use]
pub fn read(parser: Box<dyn Parser>, prompt: &str) -> Box<dyn Stream> {
    let mut symphony = Symphony { parser, events: Events::new() };
    let prompt = Input::Prompt { token_ids: &[], text: prompt };
    symphony.parser.feed(prompt, &mut symphony.events).expect("a prompt");
    Box::new(symphony)
}

struct Symphony {
    parser: Box<dyn Parser>,
    events: Events,
}

impl Symphony {
    fn input(&mut self, input: Input<'_>, sink: &mut dyn Sink) {
        self.parser.feed(input, &mut self.events).expect("it takes any text");
        for event in self.events.drain() {
            match event {
                // Its adapter of Chat Completions shows what is malformed, too.
                Event::Content(text) | Event::Malformed { text, .. } => sink.content(&text.text),
                Event::Reasoning(text) => sink.reasoning(&text.text),
                Event::ToolCallStart { index, name, .. } => sink.call(index as usize, &name),
                Event::ToolCallArguments { index, json, .. } => sink.arguments(index as usize, &json),
                _ => {}
            }
        }
    }
}

impl Stream for Symphony {
    fn feed(&mut self, delta: &Delta<'_>, sink: &mut dyn Sink) {
        self.input(Input::Delta { token_ids: &[], text: delta.text, spans: &[] }, sink);
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.input(Input::End { finish: EngineFinish::Stop }, sink);
    }
}
