//! `GET /v1/models` and `GET /v1/models/{id}`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::catalog::CatalogEntry;
use crate::json::Field;
use crate::query::Query;

/// Field of the query that Codex sends.
pub(crate) const CLIENT_VERSION: Field<&str> =
    Field::new("client_version", "the list has `models`, too: what Codex asks of a provider");

/// A served model, as clients see it.
#[derive(Debug, Clone, JsonSchema, Serialize)]
#[schemars(rename = "Model")]
pub struct ModelCard {
    pub(crate) id: String,
    #[schemars(extend("const" = "model"))]
    object: &'static str,
    pub(crate) created: u64,
    #[schemars(extend("const" = "sluice"))]
    owned_by: &'static str,
    /// Most tokens of prompt and answer together, under vLLM's name.
    max_model_len: usize,
    /// The same, under `OpenRouter`'s name.
    pub(crate) context_length: usize,
}

/// The list of them.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct ModelList {
    #[schemars(extend("const" = "list"))]
    object: &'static str,
    pub(crate) data: Vec<ModelCard>,
    /// What Codex asks of a provider, for requests with `client_version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    models: Option<Vec<CatalogEntry>>,
}

/// Whether the query is Codex's, whose answer has a catalog.
pub fn asks_catalog(query: &Query) -> bool {
    query.get(CLIENT_VERSION).is_some()
}

impl ModelCard {
    /// A model served under the name `id` since `created` (seconds since 1970), with so many tokens
    /// of context.
    pub fn new(id: impl Into<String>, created: u64, context: usize) -> Self {
        Self {
            id: id.into(),
            object: "model",
            created,
            owned_by: "sluice",
            max_model_len: context,
            context_length: context,
        }
    }
}

impl ModelList {
    /// A list of all served models, in the operator's order.
    pub fn new(data: Vec<ModelCard>) -> Self {
        Self { object: "list", data, models: None }
    }

    /// The list with the catalog of the same models.
    #[must_use]
    pub fn with_catalog(self, catalog: Vec<CatalogEntry>) -> Self {
        Self { models: Some(catalog), ..self }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ModelCard, ModelList};

    #[test]
    fn the_list_has_openais_shape() {
        let list = serde_json::to_value(ModelList::new(vec![ModelCard::new("qwen3-tiny", 7, 9400)])).unwrap();
        let model = json!({"id":"qwen3-tiny","object":"model","created":7,"owned_by":"sluice","max_model_len":9400,"context_length":9400});
        assert_eq!(list, json!({"object":"list","data":[model]}));
    }
}
