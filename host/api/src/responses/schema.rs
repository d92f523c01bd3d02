//! Schemas of this protocol's answers. An event's schema is that of the type which its leaf builder
//! returns.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use super::events::hosted::{self, ItemProgress};
use super::events::{self, At, CommandAt, Event, Lifecycle};
use super::items::{OutputText, ReasoningText, SummaryText};
use super::resource::Resource;
use crate::schema::AnswerSchemas;

const LIFECYCLE: [&str; 6] = [
    "response.created",
    "response.queued",
    "response.in_progress",
    "response.completed",
    "response.incomplete",
    "response.failed",
];

const PROGRESS: [ItemProgress; 12] = [
    ItemProgress::ListBegun,
    ItemProgress::ListCompleted,
    ItemProgress::ListFailed,
    ItemProgress::McpBegun,
    ItemProgress::McpCompleted,
    ItemProgress::McpFailed,
    ItemProgress::SearchBegun,
    ItemProgress::Searching,
    ItemProgress::SearchCompleted,
    ItemProgress::CodeBegun,
    ItemProgress::Interpreting,
    ItemProgress::CodeCompleted,
];

/// Schemas of the response object and of the events.
pub(crate) fn answer(generator: &mut SchemaGenerator) -> AnswerSchemas {
    let whole = generator.subschema_for::<Resource>().to_value();
    AnswerSchemas { whole, events: Some(Events::all(generator).finish()) }
}

/// Schemas of a stored response and of its events, which [`answer`] defines.
pub(crate) fn stored(generator: &mut SchemaGenerator) -> AnswerSchemas {
    AnswerSchemas { events: Some(stream()), ..object(generator) }
}

/// Schema of a stream's data: one of the events, or `[DONE]`.
fn stream() -> Value {
    json!({ "anyOf": [{ "$ref": "#/components/schemas/ResponseStreamEvent" }, { "const": "[DONE]" }] })
}

/// Schema of the response object.
pub(crate) fn object(generator: &mut SchemaGenerator) -> AnswerSchemas {
    AnswerSchemas::whole::<Resource>(generator)
}

/// Names of all events.
pub(super) fn event_kinds() -> Vec<&'static str> {
    let mut generator = SchemaGenerator::default();
    Events::all(&mut generator).named.into_iter().map(|(kind, _)| kind).collect()
}

/// Collector of the events' schemas.
struct Events<'a> {
    generator: &'a mut SchemaGenerator,
    named: Vec<(&'static str, Schema)>,
}

impl<'a> Events<'a> {
    fn all(generator: &'a mut SchemaGenerator) -> Self {
        let mut all = Self { generator, named: Vec::new() };
        for kind in LIFECYCLE {
            all.add_kind::<Lifecycle<'_>>(kind);
        }
        all.add_items();
        all.add_hosted();
        all.add(&events::error("", ""));
        all
    }

    fn add_items(&mut self) {
        let at = At { item_id: "", output_index: 0 };
        self.add_kind::<events::OutputItem<'_>>("response.output_item.added");
        self.add_kind::<events::OutputItem<'_>>("response.output_item.done");
        self.add(&events::part_added(at, 0, &OutputText::default()));
        self.add(&events::part_added(at, 0, &ReasoningText::default()));
        self.add(&events::part_done(at, 0, &OutputText::default()));
        self.add(&events::part_done(at, 0, &ReasoningText::default()));
        self.add(&events::text_delta(at, 0, "", &[]));
        self.add(&events::text_done(at, 0, "", &[]));
        self.add(&events::reasoning_delta(at, 0, ""));
        self.add(&events::reasoning_done(at, 0, ""));
        self.add(&events::summary_added(at, 0, &SummaryText::default()));
        self.add(&events::summary_done(at, 0, &SummaryText::default()));
        self.add(&events::summary_text_delta(at, 0, ""));
        self.add(&events::summary_text_done(at, 0, ""));
        self.add(&events::arguments_delta(at, ""));
        self.add(&events::arguments_done(at, "", ""));
        self.add(&events::input_delta(at, ""));
        self.add(&events::input_done(at, ""));
        self.add(&events::compacting(at));
        let at = CommandAt { output_index: 0, command_index: 0 };
        self.add(&events::command_added(at));
        self.add(&events::command_delta(at, ""));
        self.add(&events::command_done(at, ""));
    }

    fn add_hosted(&mut self) {
        let at = At { item_id: "", output_index: 0 };
        for progress in PROGRESS {
            self.add(&hosted::progress(progress, at));
        }
        self.add(&hosted::mcp_arguments_delta(at, ""));
        self.add(&hosted::mcp_arguments_done(at, ""));
        self.add(&hosted::code_delta(at, ""));
        self.add(&hosted::code_done(at, ""));
    }

    /// Adds the type of `event`; the event's values don't matter.
    fn add<B: JsonSchema>(&mut self, event: &Event<B>) {
        self.add_kind::<B>(event.kind());
    }

    fn add_kind<B: JsonSchema>(&mut self, kind: &'static str) {
        let mut schema = B::json_schema(self.generator);
        let object = schema.ensure_object();
        object.remove("title");
        let properties = object.entry("properties").or_insert_with(|| json!({}));
        properties["type"] = json!({ "const": kind });
        properties["sequence_number"] = json!({ "type": "integer", "minimum": 0 });
        if let Some(required) = object.entry("required").or_insert_with(|| json!([])).as_array_mut() {
            required.extend([json!("type"), json!("sequence_number")]);
        }
        self.named.push((kind, schema));
    }

    /// Defines every event's schema under the event's name. Returns the schema of a stream's data.
    fn finish(self) -> Value {
        let mut any = Vec::new();
        for (kind, schema) in self.named {
            let schema = schema.to_value();
            let definitions = self.generator.definitions_mut();
            if let Some(known) = definitions.get_mut(kind) {
                // An event of the same name with parts of another type.
                *known = json!({ "anyOf": [known.take(), schema] });
            } else {
                any.push(json!({ "$ref": format!("#/components/schemas/{kind}") }));
                definitions.insert(kind.to_owned(), schema);
            }
        }
        let events = json!({ "oneOf": any, "discriminator": { "propertyName": "type" } });
        self.generator.definitions_mut().insert("ResponseStreamEvent".to_owned(), events);
        stream()
    }
}
