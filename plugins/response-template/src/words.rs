//! Text outside calls: it goes to its region, or to the field without `open`; where a table has
//! none, words are a message.
//!
//! Invariant: white space and special tokens alone open no message. At most one token is held.

use parser_sdk::json::white;
use parser_sdk::{Output, Route};

use crate::ResponseTemplate;

/// Longest special token that is held outside all regions, in bytes.
const TOKEN: usize = 48;

impl ResponseTemplate {
    /// Routes text outside calls. Text of no field is a message, which white space and special
    /// tokens don't open.
    pub(crate) fn words(&mut self, text: &str, out: &mut Output) {
        let field = self.region.or(self.table.implicit).map(|field| &self.table.fields[field]);
        if field.is_none() && !self.in_words {
            self.before_words.push_str(text);
            let words = behind_tokens(&self.before_words).to_owned();
            out.drop(out.held() - words.len());
            self.in_words = !may_be_token(&words);
            self.before_words = if self.in_words { String::new() } else { words };
            if !self.in_words {
                return;
            }
        }
        out.until_marker(field.map_or(Route::Content, |field| field.kind.route()));
    }

    /// Makes what may have become a special token text.
    pub(crate) fn release_words(&mut self, out: &mut Output) {
        if !std::mem::take(&mut self.before_words).is_empty() {
            self.in_words = true;
            out.rest(Route::Content);
        }
    }
}

/// `text` without the white space and the special tokens at its beginning.
fn behind_tokens(text: &str) -> &str {
    let rest = text.trim_start_matches(white);
    let token = rest.strip_prefix("<|").and_then(|name| Some((name, name.find("|>")? + 4)));
    match token {
        Some((name, end)) if !name[..end - 4].contains(white) => behind_tokens(&rest[end..]),
        _ => rest.strip_prefix("</s>").map_or(rest, behind_tokens),
    }
}

/// Whether `text` is empty or may become a special token.
fn may_be_token(text: &str) -> bool {
    "<|".starts_with(text)
        || "</s>".starts_with(text)
        || (text.starts_with("<|") && text.len() <= TOKEN && !text.contains(white))
}
