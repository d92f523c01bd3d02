//! `smg-symphony`: its one engine with the format's table, fed with the text of each delta (it
//! needs no token ids).

use symphony::formats::Table;
use symphony::{Declared, Engine, EngineFinish, Event, Events, Input, Parser};

use super::smg::declared;
use crate::stream::{Delta, Sink, Start, Stream};

pub(super) fn start(format: &str) -> Option<Start> {
    let table = match format {
        "qwen3" => Table::Qwen3,
        "qwen3-coder" => Table::Qwen3Tagged,
        _ => return None,
    };
    Some(Box::new(move |_| {
        let declared = Declared::of(&[declared()]);
        let mut symphony = Symphony { engine: Engine::new(table.format(), declared), events: Events::new() };
        let prompt = Input::Prompt { token_ids: &[], text: "<|im_start|>assistant\n" };
        symphony.engine.feed(prompt, &mut symphony.events).expect("a prompt");
        Some(Box::new(symphony))
    }))
}

struct Symphony {
    engine: Engine,
    events: Events,
}

impl Symphony {
    fn input(&mut self, input: Input<'_>, sink: &mut dyn Sink) {
        self.engine.feed(input, &mut self.events).expect("it takes any text");
        for event in self.events.drain() {
            match event {
                Event::Content(text) => sink.content(&text.text),
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
