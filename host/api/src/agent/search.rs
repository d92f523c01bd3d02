//! Search of tools that a request declares and the model doesn't see yet: by words of their names,
//! descriptions and parameters, ranked as Okapi BM25 does (Robertson and Zaragoza, "The
//! Probabilistic Relevance Framework", 2009).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use grammar::ToolDefinition;
use serde_json::{Map, Value};

/// Name by which the model calls the search.
pub(crate) const SEARCH: &str = "tool_search";

/// Result of a search that found nothing.
pub(crate) const NOTHING_FOUND: &str = "No tool was found.";

/// Tools that a search finds unless it says how many.
const FOUND: usize = 5;
/// Tools that a search finds at the most.
const MOST_FOUND: usize = 20;
/// Words of a query that count.
const QUERY_WORDS: usize = 32;
/// How soon one more of the same word counts for little.
const K1: f64 = 1.2;
/// How much the length of a text counts.
const B: f64 = 0.75;

/// A tool that the model doesn't see before it is found.
#[derive(Debug, Clone, PartialEq)]
pub struct DeferredTool {
    /// The tool for parser and grammar, under the name that the model knows.
    pub definition: ToolDefinition,
    /// JSON of its declaration, as the model sees it where it was found.
    pub declaration: String,
    /// JSON of the tool, as the client declared it.
    pub shown: String,
    /// JSON of its namespace before its tools, if it has one; the tools of a namespace share it.
    pub namespace: Option<Arc<str>>,
}

impl DeferredTool {
    /// JSON of the tool in its namespace, as the client declared them.
    pub(super) fn in_namespace(&self) -> String {
        match &self.namespace {
            Some(head) => format!("{head}{}]}}", self.shown),
            None => self.shown.clone(),
        }
    }
}

/// The tools that can be found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolSearch {
    /// In the order in which they were declared.
    pub tools: Vec<DeferredTool>,
}

impl ToolSearch {
    /// The tools that fit the `arguments` of a call, best first.
    ///
    /// # Errors
    /// Tells the model what it is to write.
    pub(super) fn find(&self, arguments: &str) -> Result<Vec<&DeferredTool>, String> {
        let read: Option<Map<String, Value>> = serde_json::from_str(arguments).ok();
        let query = read.as_ref().and_then(|read| read.get("query")?.as_str());
        let query = query.ok_or(r#"expected {"query": "what the tool should do"}"#)?;
        let limit = read.as_ref().and_then(|read| read.get("limit")?.as_u64());
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(FOUND).clamp(1, MOST_FOUND);
        let mut ranked: Vec<(f64, &DeferredTool)> = self
            .scores(&words(query))
            .into_iter()
            .zip(&self.tools)
            .filter(|(score, _)| *score > 0.0)
            .collect();
        // Tools of one score stay in their order.
        ranked.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        Ok(ranked.into_iter().take(limit).map(|(_, tool)| tool).collect())
    }

    /// How well each tool fits, 0 where it has none of the words.
    fn scores(&self, query: &[String]) -> Vec<f64> {
        let places: HashMap<&str, usize> =
            query.iter().take(QUERY_WORDS).enumerate().map(|(place, word)| (word.as_str(), place)).collect();
        let texts: Vec<Text> = self.tools.iter().map(|tool| Text::of(&tool.declaration, &places)).collect();
        let all = texts.iter().map(|_| 1.0).sum::<f64>();
        let mean = (texts.iter().map(|text| text.words).sum::<f64>() / f64::max(all, 1.0)).max(1.0);
        let mut scores = vec![0.0; texts.len()];
        // Sums of one order are the same in each run.
        let used: BTreeSet<usize> = places.into_values().collect();
        for place in used {
            let having = texts.iter().map(|text| text.counts[place].min(1.0)).sum::<f64>();
            let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
            for (score, text) in scores.iter_mut().zip(&texts) {
                let (count, length) = (text.counts[place], text.words / mean);
                *score += rarity * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length));
            }
        }
        scores
    }
}

/// A tool's text as a query sees it.
struct Text {
    /// Number of its words.
    words: f64,
    /// How often it has each word of the query.
    counts: [f64; QUERY_WORDS],
}

impl Text {
    fn of(text: &str, places: &HashMap<&str, usize>) -> Self {
        let (mut number, mut counts) = (0.0, [0.0; QUERY_WORDS]);
        for word in words(text) {
            number += 1.0;
            if let Some(place) = places.get(word.as_str()) {
                counts[*place] += 1.0;
            }
        }
        Self { words: number, counts }
    }
}

/// The words of a text, in lower case and without the `s` of a plural: `createEvents` and
/// `create_event` have the same ones.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for character in text.chars() {
        let begins = !character.is_alphanumeric() || (was_lower && character.is_uppercase());
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if character.is_alphanumeric() {
            words.last_mut().expect("there is one from the start").extend(character.to_lowercase());
        }
        was_lower = character.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    for word in &mut words {
        if word.len() > 3 && !word.ends_with("ss") {
            word.truncate(word.strip_suffix('s').map_or(word.len(), str::len));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{DeferredTool, ToolSearch, words};
    use contract::ToolKind;
    use grammar::ToolDefinition;
    use serde_json::json;

    fn tool(name: &str, description: &str) -> DeferredTool {
        let definition = ToolDefinition {
            name: name.to_owned(),
            kind: ToolKind::Function,
            schema: "{}".to_owned(),
            strict: false,
            grammar: None,
        };
        let declaration = json!({"name": name, "description": description}).to_string();
        DeferredTool { definition, declaration: declaration.clone(), shown: declaration, namespace: None }
    }

    fn found(arguments: &str) -> Result<Vec<String>, String> {
        let tools = vec![
            tool("create_event", "Adds an event to the calendar."),
            tool(
                "listEvents",
                "Lists what is in the calendar of a day, a week or a month, with all details.",
            ),
            tool("send_mail", "Sends a mail."),
        ];
        let search = ToolSearch { tools };
        Ok(search.find(arguments)?.into_iter().map(|tool| tool.definition.name.clone()).collect())
    }

    #[test]
    fn words_of_names_are_told_apart() {
        assert_eq!(words("createEvents, create_event!"), ["create", "event", "create", "event"]);
        assert_eq!(words("Adress des Büros as ÄPFEL"), ["adress", "des", "büro", "as", "äpfel"]);
        assert!(words("_ - ").is_empty());
    }

    #[test]
    fn the_tool_with_the_rarer_words_comes_first() {
        assert_eq!(found(r#"{"query": "create calendar events"}"#).unwrap(), ["create_event", "listEvents"]);
        assert_eq!(found(r#"{"query": "event of a week"}"#).unwrap()[0], "listEvents");
        assert_eq!(found(r#"{"query": "calendar", "limit": 1}"#).unwrap(), ["create_event"]);
        assert_eq!(found(r#"{"query": "weather"}"#).unwrap(), [""; 0]);
    }

    #[test]
    fn a_call_without_a_query_is_told_what_to_write() {
        for arguments in ["", "[]", r#"{"q": "mail"}"#, r#"{"query": 3}"#] {
            assert!(found(arguments).unwrap_err().starts_with("expected {\"query\""), "{arguments}");
        }
    }
}
