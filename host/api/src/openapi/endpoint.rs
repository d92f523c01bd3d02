//! An endpoint, as the table of endpoints describes it.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use crate::fields::{Row, Tables};
use crate::schema::AnswerSchemas;
use crate::{error, messages};

/// An endpoint: method, path, and what requests and answers are.
pub(crate) struct Endpoint {
    /// `get`, `post` or `delete`.
    pub(crate) method: &'static str,
    /// The endpoint's path; `{id}` of a model stands for the rest of the path, slashes included.
    pub(crate) path: &'static str,
    /// The operation's id in the document, from which clients make names.
    pub(super) id: &'static str,
    /// The operation's summary in the document.
    pub(super) summary: &'static str,
    /// Whether the connection becomes a WebSocket, of which the document can't tell more.
    pub(super) upgrades: bool,
    /// Whether a response may be where the request makes no sense.
    pub(super) conflicts: bool,
    /// Whether the endpoint needs no API key.
    pub(super) open: bool,
    /// The fields of the request's body, if it has one.
    pub(super) request: Option<Tables>,
    /// The fields of its query.
    pub(super) query: &'static [Row],
    /// Media type of answers that aren't streams.
    pub(super) media: &'static str,
    /// Makes the schemas of the answers.
    pub(super) answer: fn(&mut SchemaGenerator) -> AnswerSchemas,
    /// Shape of the error object of refusals.
    pub(super) errors: ErrorFormat,
}

/// Shapes of error objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorFormat {
    /// `OpenAI`'s error object.
    OpenAi,
    /// `OpenAI`'s error object, but a response that failed is answered with the response object.
    Responses,
    /// Anthropic's error object.
    Anthropic,
}

impl ErrorFormat {
    /// Schema of the error object.
    pub(super) fn error(self, generator: &mut SchemaGenerator) -> Value {
        match self {
            Self::OpenAi | Self::Responses => error::body_schema(generator),
            Self::Anthropic => messages::error_schema(generator),
        }
    }
}

/// An endpoint for `POST`, which the table completes.
pub(super) const fn post(path: &'static str, id: &'static str, summary: &'static str) -> Endpoint {
    Endpoint {
        method: "post",
        path,
        id,
        summary,
        upgrades: false,
        conflicts: false,
        open: false,
        request: None,
        query: &[],
        media: "application/json",
        answer: text,
        errors: ErrorFormat::OpenAi,
    }
}

/// An endpoint for `GET`.
pub(super) const fn get(path: &'static str, id: &'static str, summary: &'static str) -> Endpoint {
    Endpoint { method: "get", ..post(path, id, summary) }
}

/// An endpoint for `DELETE`.
pub(super) const fn delete(path: &'static str, id: &'static str, summary: &'static str) -> Endpoint {
    Endpoint { method: "delete", ..post(path, id, summary) }
}

impl Endpoint {
    pub(super) const fn body(self, tables: Tables) -> Self {
        Self { request: Some(tables), ..self }
    }

    pub(super) const fn query(self, query: &'static [Row]) -> Self {
        Self { query, ..self }
    }

    pub(super) const fn answer(self, answer: fn(&mut SchemaGenerator) -> AnswerSchemas) -> Self {
        Self { answer, ..self }
    }

    /// Answers in one piece, which are `T`.
    pub(super) const fn answers<T: JsonSchema>(self) -> Self {
        self.answer(AnswerSchemas::whole::<T>)
    }

    pub(super) const fn errors(self, errors: ErrorFormat) -> Self {
        Self { errors, ..self }
    }

    pub(super) const fn media(self, media: &'static str) -> Self {
        Self { media, ..self }
    }

    pub(super) const fn upgrades(self) -> Self {
        Self { upgrades: true, ..self }
    }

    pub(super) const fn conflicts(self) -> Self {
        Self { conflicts: true, ..self }
    }

    pub(super) const fn open(self) -> Self {
        Self { open: true, ..self }
    }

    /// Statuses of the endpoint's refusals, each with a description.
    pub(super) fn refusals(&self) -> Vec<(&'static str, &'static str)> {
        let mut all = vec![("403", "The host or the origin of the request is not allowed.")];
        if !self.open {
            all.push(("401", "No key, or a wrong one."));
        }
        if self.request.is_some() {
            all.extend([
                ("400", "The request is wrong: the message says where, and what to do."),
                ("404", "No such model, or nothing is stored under the id."),
                ("408", "The body didn't arrive in time."),
                ("413", "The body is too large."),
                ("415", "The body isn't declared as JSON."),
                ("429", "Too many requests are waiting."),
                ("500", "The server failed."),
            ]);
        }
        let reads_stored = self.path.contains("{id}") || !self.query.is_empty();
        if reads_stored {
            all.extend([
                ("400", "The path is not UTF-8, or the query is wrong."),
                ("404", "No such model, or nothing is stored under the id."),
            ]);
        }
        if self.conflicts {
            all.push(("409", "The response isn't where this can be done: it goes on unchanged."));
        }
        if self.upgrades {
            all.extend([
                ("400", "The request has no key of a WebSocket."),
                ("405", "The request asks for no WebSocket."),
                ("426", "There are no WebSockets here, or not of this version: the header `upgrade` says what is spoken."),
                ("503", "The server is stopping, or too many connections are open."),
            ]);
        }
        if self.request.is_some() || reads_stored || self.open {
            all.push(("503", "The server is starting or stopping, or its store can't be reached."));
        }
        all
    }
}

/// An answer of `OpenAI`'s, `T`, or its stream: a line is a chunk `C`, the error object, or `[DONE]`.
pub(super) fn chunks<T: JsonSchema, C: JsonSchema>(generator: &mut SchemaGenerator) -> AnswerSchemas {
    let chunk = generator.subschema_for::<C>().to_value();
    let events = json!({ "anyOf": [chunk, error::body_schema(generator), { "const": "[DONE]" }] });
    AnswerSchemas { events: Some(events), ..AnswerSchemas::whole::<T>(generator) }
}

/// A text.
fn text(_: &mut SchemaGenerator) -> AnswerSchemas {
    AnswerSchemas { whole: json!({ "type": "string" }), events: None }
}

/// Any object.
pub(super) fn object(_: &mut SchemaGenerator) -> AnswerSchemas {
    AnswerSchemas { whole: json!({ "type": "object" }), events: None }
}

/// That all is well.
pub(super) fn health(_: &mut SchemaGenerator) -> AnswerSchemas {
    let status = json!({ "const": "ok" });
    let whole = json!({ "type": "object", "required": ["status"], "properties": { "status": status } });
    AnswerSchemas { whole, events: None }
}
