//! Searches of the web that the server runs: the tool `web_search_DATE`, the blocks of a search and of
//! what it found, and their way back into a conversation.
//!
//! Invariant: what a search found reaches the client sealed, and the model reads it from the seal.

use schemars::JsonSchema;
use serde::Serialize;

use super::fields;
use crate::agent::{BROWSER_SEARCH, HostedToolKind, HostedTools, TOO_MANY, WebResult};
use crate::error::ApiError;
use crate::json::{JsonObject, List, Value};
use crate::seal::Seal;
use crate::warnings::Warnings;
use mcp::{Approval, McpServers};
use prompt::{Content, HistoryCall};

/// Purpose of seals on what was found.
pub(crate) const WEB_RESULT: &str = "messages.web_search_result";

/// What the model reads of a search that found nothing.
const NOTHING: &str = "[]";

/// Title of what a tool server found without saying where.
const UNTITLED: &str = "Search results";

/// The tools with which the model searches; none if the operator configured no server for it.
pub(super) fn tools(servers: &McpServers) -> Option<HostedTools> {
    Some(HostedTools::new(servers.web_search()?, HostedToolKind::WebSearch, Approval::Never))
}

/// The id of a search's block: Anthropic's clients send back no other ones.
pub(super) fn block_id(call_id: &str) -> String {
    let of_id = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
    ["srvtoolu_".to_owned(), call_id.chars().filter(of_id).collect()].concat()
}

/// What came of a search.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(untagged)]
#[schemars(rename = "MessageSearchOutcome")]
pub(super) enum SearchOutcome {
    /// It found these.
    Found(Vec<SearchResult>),
    /// It failed.
    Failed(SearchFailure),
}

/// One thing that a search found.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename = "web_search_result")]
#[schemars(rename = "MessageSearchResult", transform = crate::schema::tagged("web_search_result"))]
pub(super) struct SearchResult {
    /// Its address; empty where the tool doesn't say.
    url: String,
    title: String,
    /// What the model reads.
    encrypted_content: String,
    page_age: Option<String>,
}

/// Why a search failed, in a word that clients know.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename = "web_search_tool_result_error")]
#[schemars(rename = "MessageSearchFailure", transform = crate::schema::tagged("web_search_tool_result_error"))]
pub(super) struct SearchFailure {
    error_code: &'static str,
}

impl SearchOutcome {
    /// The outcome of a call; `seal` closes what was found.
    pub(super) fn of(result: &Result<String, String>, seal: &Seal) -> Self {
        match result {
            Ok(text) => Self::Found(found(text, seal)),
            Err(error) if error == TOO_MANY => {
                Self::Failed(SearchFailure { error_code: "max_uses_exceeded" })
            }
            Err(_) => Self::Failed(SearchFailure { error_code: "unavailable" }),
        }
    }
}

/// The results in a tool's text; a text without addresses is one.
fn found(text: &str, seal: &Seal) -> Vec<SearchResult> {
    let sealed = |text: &str| seal.seal(WEB_RESULT, text);
    let Some(results) = WebResult::all(text) else {
        let (url, title) = (String::new(), UNTITLED.to_owned());
        return vec![SearchResult { url, title, encrypted_content: sealed(text), page_age: None }];
    };
    let result = |result: WebResult| SearchResult {
        title: result.text("title").unwrap_or_else(|| result.url.clone()),
        encrypted_content: sealed(&result.entry.to_string()),
        page_age: result.text("page_age"),
        url: result.url,
    };
    results.into_iter().map(result).collect()
}

/// The call in a block `server_tool_use`.
///
/// # Errors
/// 400 for a tool that doesn't run here.
pub(super) fn call(block: &JsonObject<'_>) -> Result<HistoryCall, ApiError> {
    let name = block.require(fields::NAME)?;
    if name != fields::WEB_SEARCH {
        return Err(block.at(fields::NAME).unsupported(fields::HOSTED));
    }
    let arguments =
        block.value(fields::CALL_INPUT).map_or("{}".to_owned(), |input| input.to_json().into_string());
    Ok(HistoryCall { id: block.require(fields::ID)?.to_owned(), name: BROWSER_SEARCH.to_owned(), arguments })
}

/// What the model reads of a block `web_search_tool_result`. Of what another server sealed it reads
/// title and address.
///
/// # Errors
/// 400 where the block is none.
pub(super) fn outcome(
    block: &JsonObject<'_>,
    seal: &Seal,
    warnings: &mut Warnings,
) -> Result<Content, ApiError> {
    let path = block.at(fields::RESULT_CONTENT);
    let list = match block.value(fields::RESULT_CONTENT) {
        Some(Value::List(list)) => List::new(list, path),
        Some(value @ Value::Object(_)) => {
            let failure = JsonObject::new(value, path)?;
            return Ok(format!("Error: {}", failure.require(fields::ERROR_CODE)?).into());
        }
        Some(other) => return Err(path.expected("a list of results or an error", other)),
        None => return Ok(Content::default()),
    };
    let mut content = Content::list();
    for result in list.objects() {
        let result = result?;
        if let Ok(text) = seal.open(WEB_RESULT, result.require(fields::SEALED_RESULT)?) {
            content.push(&text);
            continue;
        }
        warnings.add("a search result that this server did not seal was taken by its title and address");
        let (title, url) = (result.get(fields::DOCUMENT_TITLE)?, result.get(fields::RESULT_URL)?);
        content.push(&[title.unwrap_or_default(), url.unwrap_or_default()].join("\n"));
    }
    Ok(if content.is_empty() { NOTHING.into() } else { content })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(text: &str) -> Vec<(String, String, String)> {
        let seal = Seal::random();
        let read = |result: SearchResult| {
            (result.url, result.title, seal.open(WEB_RESULT, &result.encrypted_content).unwrap())
        };
        found(text, &seal).into_iter().map(read).collect()
    }

    #[test]
    fn results_of_json_have_their_addresses_and_any_other_text_is_one() {
        let (a, b) =
            (json!({ "title": "A", "url": "https://a.example" }), json!({ "link": "https://b.example" }));
        let told = [
            ("https://a.example".to_owned(), "A".to_owned(), a.to_string()),
            ("https://b.example".to_owned(), "https://b.example".to_owned(), b.to_string()),
        ];
        let forms =
            [json!([a, b]).to_string(), json!({ "results": [a, b] }).to_string(), format!("{a}\n{b}")];
        for text in forms {
            assert_eq!(shown(&text), told, "{text}");
        }
        for text in ["Oslo is wet.", "", "{}", "[1]", "{\"results\": 1}", &format!("{a}\nand more")] {
            assert_eq!(shown(text), [(String::new(), UNTITLED.to_owned(), text.to_owned())], "{text}");
        }
        for nothing in ["[]", "{\"results\": []}", "{\"result\": []}"] {
            assert!(shown(nothing).is_empty(), "{nothing}");
        }
    }

    #[test]
    fn failures_have_the_words_that_clients_know() {
        for (error, code) in [(TOO_MANY, "max_uses_exceeded"), ("gone", "unavailable")] {
            let outcome = SearchOutcome::of(&Err(error.to_owned()), &Seal::random());
            let said = json!({ "type": "web_search_tool_result_error", "error_code": code });
            assert_eq!(serde_json::to_value(outcome).unwrap(), said);
        }
    }

    #[test]
    fn ids_of_searches_have_the_form_that_clients_check() {
        assert_eq!(block_id("call_a1"), "srvtoolu_call_a1");
        assert_eq!(block_id("functions.browser.search:0"), "srvtoolu_functionsbrowsersearch0");
    }
}
