//! Schemas of this protocol's answers. An event's schema is that of the type which its leaf builder
//! returns.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use super::events::{self, At, CommandAt, Event, EventTypes, ItemProgress, Lifecycle};
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

/// Schemas of the response object and of the events.
pub(crate) fn answer(generator: &mut SchemaGenerator) -> AnswerSchemas {
    let whole = generator.subschema_for::<Resource>().to_value();
    AnswerSchemas { whole, events: Some(EventSchemas::all(generator).finish()) }
}

/// Schemas of a stored response and of its events, which [`answer`] defines.
pub(crate) fn stored(generator: &mut SchemaGenerator) -> AnswerSchemas {
    AnswerSchemas { events: Some(stream()), ..AnswerSchemas::whole::<Resource>(generator) }
}

/// Schema of a stream's data: one of the events, or `[DONE]`.
fn stream() -> Value {
    json!({ "anyOf": [{ "$ref": "#/components/schemas/ResponseStreamEvent" }, { "const": "[DONE]" }] })
}

/// Names of all events.
pub(super) fn event_kinds() -> Vec<&'static str> {
    let mut generator = SchemaGenerator::default();
    EventSchemas::all(&mut generator).named.into_iter().map(|(kind, _)| kind).collect()
}

/// Collector of the events' schemas.
struct EventSchemas<'a> {
    generator: &'a mut SchemaGenerator,
    named: Vec<(&'static str, Schema)>,
}

impl EventTypes for EventSchemas<'_> {
    fn add<B: JsonSchema>(&mut self, event: &Event<B>) {
        self.add_kind::<B>(event.kind());
    }
}

impl<'a> EventSchemas<'a> {
    fn all(generator: &'a mut SchemaGenerator) -> Self {
        let mut all = Self { generator, named: Vec::new() };
        for kind in LIFECYCLE {
            all.add_kind::<Lifecycle<'_>>(kind);
        }
        all.add_items();
        all.add(&events::error("", ""));
        all
    }

    fn add_items(&mut self) {
        let at = At::default();
        self.add_kind::<events::OutputItem<'_>>("response.output_item.added");
        self.add_kind::<events::OutputItem<'_>>("response.output_item.done");
        self.add(&events::part_added(at, 0, &OutputText::default()));
        self.add(&events::part_added(at, 0, &ReasoningText::default()));
        self.add(&events::part_done(at, 0, &OutputText::default()));
        self.add(&events::part_done(at, 0, &ReasoningText::default()));
        self.add(&events::summary_added(at, 0, &SummaryText::default()));
        self.add(&events::summary_done(at, 0, &SummaryText::default()));
        events::add_all(self);
        let at = CommandAt::default();
        self.add(&events::command_added(at));
        self.add(&events::command_delta(at, ""));
        self.add(&events::command_done(at, ""));
        for progress in ItemProgress::ALL {
            self.add(&events::progress(*progress, At::default()));
        }
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
