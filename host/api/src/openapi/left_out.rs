//! The list of what requests may have and the server doesn't read: by endpoint, field by field and
//! kind by kind, what happens with it, and why or what to do. It is made from the tables of fields,
//! for `docs/api/left-out.md`.

use std::fmt::Write as _;

use super::endpoints::ENDPOINTS;
use crate::fields::{self, Kinds, Refusal, Row, Shape, Support, Tables};

/// The list as a table of Markdown.
pub(super) fn table(tables: Tables) -> String {
    let mut list = LeftOut::default();
    list.rows("", fields::all(tables));
    let mut table = "| what | | why, or what to do |\n|---|---|---|\n".to_owned();
    for Line { at, support, note } in list.lines {
        // Writing to a string doesn't fail.
        let _ = writeln!(table, "| {at} | {} | {note} |", words(support));
    }
    table
}

struct Line {
    at: String,
    support: Support,
    note: &'static str,
}

#[derive(Default)]
struct LeftOut {
    lines: Vec<Line>,
    /// Names of the kinds that are listed: each is where it comes first.
    listed: Vec<&'static str>,
}

impl LeftOut {
    fn line(&mut self, at: String, support: Support, note: &'static str) {
        if support != Support::Supported && self.lines.iter().all(|line| line.at != at) {
            self.lines.push(Line { at, support, note });
        }
    }

    fn rows(&mut self, prefix: &str, rows: impl Iterator<Item = &'static Row>) {
        for row in rows {
            let at = format!("{prefix}{}", row.name);
            self.line(format!("`{at}`"), row.support, row.note);
            self.shape(&at, &row.shape);
        }
    }

    fn shape(&mut self, at: &str, shape: &'static Shape) {
        match shape {
            Shape::Object(rows) => self.rows(&format!("{at}."), rows.iter()),
            Shape::List(of) => self.shape(&format!("{at}[]"), of),
            Shape::Either(shapes) => shapes.iter().for_each(|shape| self.shape(at, shape)),
            Shape::Kinds(kinds) => self.kinds(at, kinds),
            _ => {}
        }
    }

    fn kinds(&mut self, at: &str, kinds: &'static Kinds) {
        if self.listed.contains(&kinds.name) {
            return;
        }
        self.listed.push(kinds.name);
        for kind in kinds.of {
            let Some(called) = kind.kind else { continue };
            self.line(format!("`{at}` of the type `{called}`"), kind.support, kind.note);
            self.rows(&format!("{at}<{called}>."), kind.fields.iter());
        }
        self.rows(&format!("{at}<any>."), kinds.common.iter());
        // What one object may be is its field's shape.
        if !at.ends_with("[]") {
            return;
        }
        let (support, note) = match kinds.others {
            None => (
                Support::Refused(UNKNOWN),
                "it may hold a part of the conversation: send what it says as text",
            ),
            Some(_) => (Support::Warned, "the model sees fewer tools"),
        };
        self.line(format!("`{at}` of another type"), support, note);
    }
}

const UNKNOWN: Refusal = Refusal { code: "invalid_value", examples: &[] };

fn words(support: Support) -> String {
    match support {
        Support::Supported => "read".to_owned(),
        Support::InPart(examples) => {
            let examples: Vec<String> = examples.iter().map(|value| format!("`{value}`")).collect();
            format!("values like {} are refused", examples.join(", "))
        }
        Support::Ignored => "ignored".to_owned(),
        Support::Warned => "ignored, with a warning".to_owned(),
        Support::Refused(Refusal { code, .. }) => format!("refused, `{code}`"),
    }
}

#[test]
fn whatever_is_left_out_says_why() {
    for endpoint in ENDPOINTS.iter().filter_map(|endpoint| endpoint.request) {
        let mut list = LeftOut::default();
        list.rows("", fields::all(endpoint));
        for line in list.lines {
            assert!(!line.note.is_empty(), "{}", line.at);
        }
    }
}
