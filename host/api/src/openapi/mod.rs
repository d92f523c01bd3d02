//! The `OpenAPI` document of the endpoints on the server's main address. It is made of the
//! endpoints' table, the tables of fields, and the schemas of the types of answers, and doesn't
//! depend on the operator's settings.

mod endpoint;
mod endpoints;
mod shapes;

#[cfg(test)]
mod elements;
#[cfg(test)]
mod left_out;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::fields::Row;
use super::query::Query;
use super::schema::AnswerSchemas;
use endpoint::{Endpoint, ErrorFormat};
use endpoints::ENDPOINTS;

static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());

/// The query of a request to an endpoint, checked against its fields.
///
/// # Errors
/// 400 where a name that the endpoint has is spelt in a way that says something else or nothing
/// (`metadata=x`, `limit[]=5`), or a list has a word that it can't have.
pub fn query(method: &str, path: &str, text: &str) -> Result<Query, ApiError> {
    let is_it = |endpoint: &&Endpoint| endpoint.path == path && endpoint.method.eq_ignore_ascii_case(method);
    Query::checked(ENDPOINTS.iter().find(is_it).map_or(&[], |endpoint| endpoint.query), text)
}

/// The document as JSON.
pub fn json() -> &'static str {
    &DOCUMENT
}

/// Methods and paths that the document describes.
pub fn paths() -> impl Iterator<Item = (&'static str, &'static str)> {
    ENDPOINTS.iter().map(|endpoint| (endpoint.method, endpoint.path))
}

/// Makes the document.
fn document() -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let mut named = Map::new();
    let mut paths = Map::new();
    for endpoint in ENDPOINTS {
        let operations = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        operations[endpoint.method] = operation(endpoint, &mut generator, &mut named);
    }
    let mut schemas = generator.take_definitions(true);
    schemas.append(&mut named);
    json!({
        "openapi": "3.1.1",
        "info": {
            "title": "Sluice",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "An LLM inference server. Fields of requests that aren't listed here are ignored; \
                the answer names them in the header `x-sluice-warning`.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        // The empty entry is for servers without keys.
        "security": [{}, { "bearer": [] }, { "key": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer" },
                "key": { "type": "apiKey", "in": "header", "name": "x-api-key" },
            },
        },
    })
}

fn operation(endpoint: &Endpoint, generator: &mut SchemaGenerator, named: &mut Map<String, Value>) -> Value {
    let mut operation = Map::new();
    operation.insert("operationId".to_owned(), json!(endpoint.id));
    operation.insert("summary".to_owned(), json!(endpoint.summary));
    let parameters = parameters(endpoint, named);
    if !parameters.is_empty() {
        operation.insert("parameters".to_owned(), Value::Array(parameters));
    }
    if let Some(tables) = endpoint.request {
        let name = format!("{}Request", capitalised(endpoint.id));
        let schema = shapes::request(tables, named);
        named.insert(name.clone(), schema);
        let body =
            json!({ "required": true, "content": { "application/json": { "schema": reference(&name) } } });
        operation.insert("requestBody".to_owned(), body);
    }
    if endpoint.open {
        operation.insert("security".to_owned(), json!([]));
    }
    operation.insert("responses".to_owned(), responses(endpoint, generator));
    Value::Object(operation)
}

/// What the path names, and the fields of the query.
fn parameters(endpoint: &Endpoint, named: &mut Map<String, Value>) -> Vec<Value> {
    let parts = endpoint.path.split('{').skip(1).filter_map(|part| part.split('}').next());
    let in_path =
        |name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } });
    let in_query = |field: &Row| {
        let schema = shapes::schema(&field.shape, named);
        json!({ "name": field.name, "in": "query", "schema": schema, "description": field.note })
    };
    let mut parameters: Vec<Value> = parts.map(in_path).collect();
    parameters.extend(endpoint.query.iter().map(in_query));
    parameters
}

fn responses(endpoint: &Endpoint, generator: &mut SchemaGenerator) -> Value {
    let AnswerSchemas { whole, events } = (endpoint.answer)(generator);
    let mut content = Map::new();
    content.insert(endpoint.media.to_owned(), json!({ "schema": whole }));
    if let Some(events) = events {
        content.insert("text/event-stream".to_owned(), json!({ "schema": events }));
    }
    let headers = json!({
        "x-request-id": { "description": "The request's own, or one made for it.", "schema": { "type": "string" } },
        "x-sluice-warning": { "description": "What of the request was ignored.", "schema": { "type": "string" } },
    });
    let description = if content.len() > 1 {
        "The answer. With `stream: true`, server-sent events: the schema is that of each event's `data`."
    } else {
        "The answer."
    };
    let mut responses = Map::new();
    if endpoint.upgrades {
        responses.insert("101".to_owned(), json!({ "description": "The connection is a WebSocket." }));
    } else {
        let answer = json!({ "description": description, "headers": headers, "content": content });
        responses.insert("200".to_owned(), answer);
    }
    let error = endpoint.errors.error(generator);
    for (status, description) in endpoint.refusals() {
        // A response that failed is answered with the response object.
        let schema = if status.starts_with('5') && endpoint.errors == ErrorFormat::Responses {
            json!({ "anyOf": [error, whole] })
        } else {
            error.clone()
        };
        let content = json!({ "application/json": { "schema": schema } });
        responses.insert(status.to_owned(), json!({ "description": description, "content": content }));
    }
    Value::Object(responses)
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn capitalised(id: &str) -> String {
    let mut name = id.to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    name
}
