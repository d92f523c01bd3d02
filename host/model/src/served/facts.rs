//! What a served model says of itself: to people, to records, and to whoever sent a job.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use system::{Clock, IdSeed};

use super::{Model, Served};
use crate::answer_context::AnswerContext;
use crate::job::Job;
use crate::observe::ModelMetrics;
use crate::parsers::ParserBinding;
use crate::record::line::ModelLine;
use crate::record::{FileDigests, RawOutput, Record, Reparsed};
use crate::trace::AnswerTrace;

impl Served {
    /// Metrics that count this answer.
    pub(crate) fn metrics_of(&self, context: &AnswerContext) -> Arc<ModelMetrics> {
        if context.is_probe() {
            return Arc::new(ModelMetrics::uncounted(Arc::clone(&self.label)));
        }
        Arc::clone(&self.metrics)
    }
}

impl Model {
    /// Description of the model, its parser and its engine for people, as pairs of a word and its
    /// value.
    pub fn summary(&self) -> Vec<(&'static str, String)> {
        let Served { name, label, parsers, source, context_cut, .. } = &*self.served;
        let model = if **label == **name { name.clone() } else { format!("{label}: {name}") };
        let parser = parsers.current();
        let descriptor = parser.descriptor();
        let info = source.info();
        let of = context_cut.map(|cut| format!(" of {}", cut.whole)).unwrap_or_default();
        vec![
            ("model", format!("{model} ({}{of} tokens of context)", info.context)),
            ("parser", format!("{} {}", descriptor.name, descriptor.version)),
            ("engine", info.name.clone()),
        ]
    }

    /// What records say of the model. The first call reads files.
    pub fn record_line(&self) -> ModelLine {
        let Served { files, chat, digests, parsers, source, label, .. } = &*self.served;
        let digests = digests.get_or_init(|| FileDigests::of(files, chat)).clone();
        let parser = parsers.current();
        let descriptor = parser.descriptor();
        ModelLine {
            label: label.to_string(),
            context: source.info().context,
            files: digests.files,
            tokenizer: digests.tokenizer,
            template: digests.template,
            parser: format!("{} {}", descriptor.name, descriptor.version),
            parser_sha256: parser.plugin.digest().to_owned(),
            engine: source.info().name.clone(),
        }
    }

    /// A recorded generation, parsed again by the parser that the model has now; none if the record
    /// has no such generation.
    pub fn reparse(&self, record: &Record, generation: u32) -> Option<Reparsed> {
        Some(self.served.reparse(record, record.prompts.get(&generation)?))
    }

    /// Metrics that count the answer whose turns this handle starts.
    pub fn answer_metrics(&self) -> Arc<ModelMetrics> {
        self.served.metrics_of(&self.context)
    }

    /// Names of the parsers by which [`Self::trace_again`] can parse. Blocks.
    pub fn parser_names(&self) -> Vec<String> {
        self.served.parsers.names()
    }

    /// Parser and markers, for traces of answers.
    pub fn trace_facts(&self) -> Map<String, Value> {
        facts_of(&self.served.parsers.current())
    }

    /// Parses what a model wrote, or might have written, and has `trace` written of it. Returns the
    /// facts about the parser. Blocks.
    ///
    /// # Errors
    /// One line: there is no such parser, or the text can't be tokenised.
    pub fn trace_again(
        &self,
        written: &Written,
        parser: WrittenParser,
        trace: AnswerTrace,
    ) -> Result<Map<String, Value>, String> {
        let Served { parsers, .. } = &*self.served;
        let parser = match parser {
            WrittenParser::Own => parsers.current(),
            WrittenParser::Named(name) => parsers.named(&name)?,
            WrittenParser::Sent(component) => parsers.sent(component)?,
        };
        let (seed, clock) = (IdSeed::random(), Clock::system());
        let context = AnswerContext::observed(seed, clock, None, Some(trace));
        match written {
            Written::Record(record) => self.served.trace_record(record, &parser, &context),
            Written::Raw(output) => self.served.trace_raw(output, &parser, &context)?,
        }
        Ok(facts_of(&parser))
    }

    /// Literals of the parser's markers, with their token ids where they are tokens.
    pub fn markers(&self) -> Vec<(String, Option<u32>)> {
        let parser = self.served.parsers.current();
        parser.markers().map(|(literal, id)| (literal.to_owned(), id)).collect()
    }

    /// Lines on what of the job the model doesn't get as it was sent, or can't use.
    pub fn warnings(&self, job: &Job) -> Vec<String> {
        let Served { format, parsers, .. } = &*self.served;
        let mut lines = Vec::new();
        if !job.conversation.tools.is_empty() {
            if !format.shows_tools() {
                lines.push("tools have no effect: this model's chat template does not show them".to_owned());
            }
            if parsers.current().is_none() {
                lines.push("calls come as text: this model is served without a parser".to_owned());
            }
        }
        lines.extend(self.served.unfollowed_grammars(job));
        lines.extend(self.unkept_budget(job));
        let calls = job.conversation.messages.iter().flat_map(|message| &message.tool_calls);
        if calls.filter(|call| format.wraps(&call.arguments)).count() > 0 {
            lines.push(
                "arguments of an earlier call are no JSON object: the model sees them as {\"input\": ...}"
                    .to_owned(),
            );
        }
        lines
    }
}

/// What a model wrote.
#[derive(Debug)]
pub enum Written {
    /// The answers of a record.
    Record(Box<Record>),
    /// This text.
    Raw(RawOutput),
}

/// The parser of what a model wrote.
#[derive(Debug)]
pub enum WrittenParser {
    /// The model's own.
    Own,
    /// One of the plugins folder or among the shipped ones.
    Named(String),
    /// This component, which is used once.
    Sent(Vec<u8>),
}

/// Parser and markers.
fn facts_of(parser: &ParserBinding) -> Map<String, Value> {
    let descriptor = parser.descriptor();
    let markers = (0..).zip(parser.markers()).map(|(index, (literal, id))| {
        let stop = descriptor.stops.contains(&index);
        json!({ "literal": literal, "id": id, "stop": stop })
    });
    Map::from_iter([
        ("parser".to_owned(), format!("{} {}", descriptor.name, descriptor.version).into()),
        ("parser_sha256".to_owned(), parser.plugin.digest().into()),
        ("markers".to_owned(), markers.collect()),
    ])
}
