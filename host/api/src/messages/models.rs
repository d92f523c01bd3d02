//! The list of models as Anthropic's SDKs read it: `GET /v1/models` of a client that sends
//! `anthropic-version`.

use jinja::strftime;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::json;

use crate::error::ApiError;
use crate::fields::{Field, List, Row, Shape, table};
use crate::models::{CLIENT_VERSION, ModelCard, ModelList};
use crate::query::{Query, wrong};
use crate::schema::AnswerSchemas;

/// Most models of a page, and how many it has unless the query says otherwise.
const MOST: u16 = 1000;
const DEFAULT: u16 = 20;

const LIFECYCLES: &[&str] = &["active", "deprecated", "retired"];

table! {
    pub(crate) LIST_QUERY {
        AFTER: Field<&str> = Field::new("after_id", "the models behind this one (Anthropic's clients)");
        BEFORE: Field<&str> = Field::new("before_id", "the models before this one (Anthropic's clients)");
        LIFECYCLE: Field<List<'_>> = Field::new("lifecycle", "all models are `active` (Anthropic's clients)").of(Shape::List(&Shape::OneOf(LIFECYCLES)));
        LIMIT: Field<u32> = Field::new("limit", "20 unless given (Anthropic's clients)").of(Shape::Integer(1, MOST as i64));
        CLIENT_VERSION;
    }
}

/// A served model.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct ModelInfo {
    #[schemars(extend("const" = "model"))]
    r#type: &'static str,
    id: String,
    display_name: String,
    /// Since when it is served (RFC 3339).
    created_at: String,
    #[schemars(extend("const" = LIFECYCLES[0]))]
    lifecycle: &'static str,
    deprecated_at: Option<String>,
    retires_at: Option<String>,
    line: Option<String>,
    /// Most tokens of prompt and answer together.
    max_input_tokens: usize,
    /// The same, since an answer may have what the prompt leaves.
    max_tokens: usize,
}

/// A page of them.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct ModelPage {
    data: Vec<ModelInfo>,
    has_more: bool,
    first_id: Option<String>,
    last_id: Option<String>,
}

/// Schemas of the list for clients of either protocol.
pub(crate) fn list_answer(generator: &mut SchemaGenerator) -> AnswerSchemas {
    either::<ModelList, ModelPage>(generator)
}

/// Schemas of one model for clients of either protocol.
pub(crate) fn model_answer(generator: &mut SchemaGenerator) -> AnswerSchemas {
    either::<ModelCard, ModelInfo>(generator)
}

fn either<A: JsonSchema, B: JsonSchema>(generator: &mut SchemaGenerator) -> AnswerSchemas {
    let either = [generator.subschema_for::<A>(), generator.subschema_for::<B>()];
    AnswerSchemas { whole: json!({ "anyOf": either }), events: None }
}

impl From<ModelCard> for ModelInfo {
    fn from(model: ModelCard) -> Self {
        Self {
            r#type: "model",
            display_name: model.id.clone(),
            id: model.id,
            created_at: strftime(model.created, "%FT%TZ"),
            lifecycle: LIFECYCLES[0],
            deprecated_at: None,
            retires_at: None,
            line: None,
            max_input_tokens: model.context_length,
            max_tokens: model.context_length,
        }
    }
}

impl ModelPage {
    /// The page of `list` that the query asks for.
    ///
    /// # Errors
    /// 400 where `limit` isn't from 1 to 1,000, both `after_id` and `before_id` are given, or one of
    /// them isn't served.
    pub fn new(list: ModelList, query: &Query) -> Result<Self, ApiError> {
        let mut models = list.data;
        let mut lifecycles = query.words(LIFECYCLE).peekable();
        if lifecycles.peek().is_some() && !lifecycles.any(|word| word == LIFECYCLES[0]) {
            models.clear();
        }
        let limit = query.limit(LIMIT, MOST)?.unwrap_or(DEFAULT).into();
        let place = |field: Field<&'static str>| {
            let place = |id| models.iter().position(|model| model.id == id);
            query
                .get(field)
                .map(|id| place(id).ok_or_else(|| wrong(field, "no served model has this id")))
                .transpose()
        };
        let (range, has_more) = match (place(AFTER)?, place(BEFORE)?) {
            (Some(_), Some(_)) => return Err(wrong(BEFORE, "there is an `after_id` already")),
            (None, Some(before)) => {
                let first = before.saturating_sub(limit);
                (first..before, first > 0)
            }
            (after, None) => {
                let first = after.map_or(0, |after| after + 1);
                let end = models.len().min(first + limit);
                (first..end, end < models.len())
            }
        };
        let data: Vec<ModelInfo> = models.drain(range).map(ModelInfo::from).collect();
        let id = |model: Option<&ModelInfo>| model.map(|model| model.id.clone());
        Ok(Self { has_more, first_id: id(data.first()), last_id: id(data.last()), data })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::ModelPage;
    use crate::models::{ModelCard, ModelList};
    use crate::openapi;

    fn page(query: &str) -> Result<Value, Option<String>> {
        let models = ["a", "b", "c"].map(|id| ModelCard::new(id, 1_700_000_000, 4096));
        let query = openapi::query("GET", "/v1/models", query).map_err(|error| error.param)?;
        let page = ModelPage::new(ModelList::new(models.to_vec()), &query).map_err(|error| error.param)?;
        Ok(serde_json::to_value(page).unwrap())
    }

    #[test]
    fn a_model_has_anthropics_fields() {
        let model = json!({
            "type": "model", "id": "a", "display_name": "a", "created_at": "2023-11-14T22:13:20Z", "lifecycle": "active",
            "deprecated_at": null, "retires_at": null, "line": null, "max_input_tokens": 4096, "max_tokens": 4096,
        });
        let only = json!({ "data": [model], "has_more": true, "first_id": "a", "last_id": "a" });
        assert_eq!(page("limit=1").unwrap(), only);
    }

    #[test]
    fn pages_go_both_ways() {
        for (query, ids, has_more) in [
            ("", "abc", false),
            ("limit=2", "ab", true),
            ("after_id=b&limit=2", "c", false),
            ("after_id=c", "", false),
            ("before_id=c&limit=1", "b", true),
            ("before_id=c&limit=2", "ab", false),
            ("before_id=a", "", false),
            ("lifecycle[]=retired", "", false),
            ("lifecycle=retired,active", "abc", false),
        ] {
            let page = page(query).unwrap();
            let got: String =
                page["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
            let end = |field: &str| page[field].as_str().unwrap_or_default().to_owned();
            assert_eq!((got.as_str(), &page["has_more"]), (ids, &json!(has_more)), "{query}");
            assert_eq!(
                (end("first_id"), end("last_id")),
                (ids.chars().take(1).collect(), ids.chars().skip(ids.len().max(1) - 1).collect()),
                "{query}"
            );
        }
    }

    #[test]
    fn what_no_page_can_be_is_refused_by_its_name() {
        for (query, name) in [
            ("limit=0", "limit"),
            ("limit=1001", "limit"),
            ("after_id=d", "after_id"),
            ("before_id=d", "before_id"),
            ("after_id=a&before_id=c", "before_id"),
            ("lifecycle=new", "lifecycle"),
        ] {
            assert_eq!(page(query).unwrap_err().as_deref(), Some(name), "{query}");
        }
    }
}
