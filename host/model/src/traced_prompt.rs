//! What a trace says of a turn's prompt: its text in segments, by who wrote them (docs/inspector.md).
//!
//! Invariant: a line is bounded however long the prompt is. Where the middle of a prompt is left out,
//! the line says how many tokens are missing.

use std::iter::{repeat, repeat_n};

use prompt::{AddedToken, Author, AuthorRun, Tokenizer};
use serde_json::{Map, Value, json};

/// Bytes of segments that the line of an answer's first prompt has at most.
const FIRST_BYTES: usize = 256 << 10;
/// Bytes of segments that a later prompt's line has at most. It repeats most of the one before.
const LATER_BYTES: usize = 64 << 10;
/// Bytes that a segment counts beside its text: its names, author and number of tokens.
const SEGMENT_BYTES: usize = 64;

/// Prompt of a generation, as its trace has it.
pub(crate) struct TracedPrompt(Map<String, Value>);

impl TracedPrompt {
    /// The prompt of generation `number`, which has so many tokens and opens the turn like this.
    pub(crate) fn new(number: u32, tokens: u32, opening: &[(Option<u32>, String)]) -> Self {
        let opening: Vec<Value> =
            opening.iter().map(|(id, text)| json!({ "id": id, "text": text })).collect();
        let fields = [("turn", json!(number)), ("tokens", json!(tokens)), ("opening", json!(opening))];
        Self(fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect())
    }

    /// The same prompt with its text. The authors of tokens that `authors` doesn't reach are unknown.
    pub(crate) fn with_text(mut self, tokenizer: &Tokenizer, ids: &[u32], authors: &[AuthorRun]) -> Self {
        let is_first = self.0.get("turn").and_then(Value::as_u64) == Some(0);
        let most = if is_first { FIRST_BYTES } else { LATER_BYTES };
        self.0.insert("segments".to_owned(), segments(tokenizer, ids, authors, most).into());
        self
    }

    /// The same prompt, whose text is that of an earlier generation.
    pub(crate) fn with_text_of(mut self, number: u32) -> Self {
        self.0.insert("segments_of".to_owned(), json!(number));
        self
    }

    pub(crate) fn into_fields(self) -> Value {
        Value::Object(self.0)
    }
}

/// The tokens as segments of one author each; control tokens stand alone. Where they take more than
/// `most` bytes, the beginning and the end are kept.
fn segments(tokenizer: &Tokenizer, ids: &[u32], authors: &[AuthorRun], most: usize) -> Vec<Value> {
    let known = authors.iter().flat_map(|(author, tokens)| repeat_n(Some(*author), *tokens as usize));
    let authors: Vec<Option<Author>> = known.chain(repeat(None)).take(ids.len()).collect();
    let is_control = |at: usize| control(tokenizer, ids[at]).is_some();
    let begins = |at| at == 0 || authors[at] != authors[at - 1] || is_control(at) || is_control(at - 1);
    let half = |places: &mut dyn Iterator<Item = usize>| {
        let mut bytes = 0;
        let fits = |at: &usize| {
            bytes += tokenizer.token(ids[*at]).len() + if begins(*at) { SEGMENT_BYTES } else { 0 };
            bytes <= most / 2
        };
        places.take_while(fits).count()
    };
    let head = half(&mut (0..ids.len()));
    let tail = ids.len().saturating_sub(half(&mut (0..ids.len()).rev())).max(head);
    let mut segments = Segments { tokenizer, done: Vec::new(), open: None };
    (0..head).for_each(|at| segments.push(ids[at], authors[at]));
    if tail > head {
        segments.cut(tail - head);
    }
    (tail..ids.len()).for_each(|at| segments.push(ids[at], authors[at]));
    segments.finish()
}

fn control(tokenizer: &Tokenizer, id: u32) -> Option<&AddedToken> {
    tokenizer.added_token(id).filter(|token| !token.is_whitespace())
}

/// Segments that are being made.
struct Segments<'a> {
    tokenizer: &'a Tokenizer,
    done: Vec<Value>,
    open: Option<Text>,
}

/// Text of one author.
struct Text {
    author: Option<Author>,
    tokens: usize,
    bytes: Vec<u8>,
}

impl Segments<'_> {
    fn push(&mut self, id: u32, author: Option<Author>) {
        let by = author.map(Author::word);
        if let Some(token) = control(self.tokenizer, id) {
            self.close();
            self.done.push(json!({ "by": by, "tokens": 1, "id": id, "text": token.literal }));
            return;
        }
        if self.open.as_ref().is_some_and(|open| open.author != author) {
            self.close();
        }
        let open = self.open.get_or_insert_with(|| Text { author, tokens: 0, bytes: Vec::new() });
        open.tokens += 1;
        open.bytes.extend(self.tokenizer.token(id));
    }

    fn cut(&mut self, tokens: usize) {
        self.close();
        self.done.push(json!({ "cut": tokens }));
    }

    fn close(&mut self) {
        let Some(Text { author, tokens, bytes }) = self.open.take() else { return };
        let text = String::from_utf8_lossy(&bytes);
        self.done.push(json!({ "by": author.map(Author::word), "tokens": tokens, "text": text }));
    }

    fn finish(mut self) -> Vec<Value> {
        self.close();
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::ModelFiles;
    use prompt::Author::{Template, User};

    fn tokenizer() -> Tokenizer {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/qwen3-tiny");
        Tokenizer::load(&ModelFiles::Directory(folder.into())).expect("the tiny model's tokenizer")
    }

    #[test]
    fn control_tokens_stand_alone_and_authors_apart() {
        let tokenizer = tokenizer();
        let ids = tokenizer.encode_with_added("<|im_start|>user\nHi<|im_end|>").expect("text");
        let user = u32::try_from(tokenizer.encode_text("user\n").expect("text").len()).expect("few");
        let hi = u32::try_from(ids.len()).expect("few") - user - 2;
        let made = segments(&tokenizer, &ids, &[(Template, 1 + user), (User, hi)], 1 << 10);
        let shown: Vec<_> = made.iter().map(|each| (each["by"].as_str(), each["text"].as_str())).collect();
        assert_eq!(
            shown,
            [
                (Some("template"), Some("<|im_start|>")),
                (Some("template"), Some("user\n")),
                (Some("user"), Some("Hi")),
                (None, Some("<|im_end|>")),
            ]
        );
        assert_eq!((made[0]["id"].as_u64(), made[1].get("id")), (Some(u64::from(ids[0])), None));
    }

    #[test]
    fn the_middle_of_a_long_prompt_is_left_out_and_counted() {
        let tokenizer = tokenizer();
        let text = (0..1000).map(|number| number.to_string()).collect::<Vec<_>>().join(" ");
        let ids = tokenizer.encode_text(&text).expect("text");
        let made = segments(&tokenizer, &ids, &[], 400);
        let tokens: u64 =
            made.iter().filter_map(|each| each["tokens"].as_u64().or(each["cut"].as_u64())).sum();
        assert_eq!(tokens, ids.len() as u64);
        let [head, cut, tail] = &made[..] else { panic!("{made:?}") };
        assert!(cut["cut"].as_u64().is_some_and(|cut| cut > 0));
        let (head, tail) = (head["text"].as_str().expect("text"), tail["text"].as_str().expect("text"));
        assert!(text.starts_with(head) && text.ends_with(tail));
        assert!((300..=400).contains(&(head.len() + tail.len())));
        assert_eq!(segments(&tokenizer, &ids, &[], 1 << 20).len(), 1);
    }

    #[test]
    fn many_small_segments_are_bounded_by_what_they_take() {
        let tokenizer = tokenizer();
        let ids = tokenizer.encode_with_added(&"<|im_start|>".repeat(1000)).expect("text");
        let made = segments(&tokenizer, &ids, &[], 10_000);
        let size = serde_json::to_string(&made).expect("JSON").len();
        assert!((5_000..=10_000).contains(&size), "{size}");
    }
}
