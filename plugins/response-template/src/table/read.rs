//! Reads a table from its JSON. A construct that can't be decided while text arrives is refused, by
//! name.

use parser_sdk::Trim;

use super::delimiter::Beginning;
use super::json::Json;
use super::tokens::is_token;
use super::{Class, Delimiter, Field, Kind, Pattern, Piece, Run, Table, parse};

/// Keys that a table, a field (`FIELD`) and the `content_args` of a field (`ARGS`) may have.
const TABLE: [&str; 5] = ["version", "defaults", "fields", "start_anchor", "start_anchor_pattern"];
const FIELD: [&str; 11] = [
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "content",
    "content_args",
    "repeats",
    "join",
    "optional",
    "transform",
    "transform_each",
];
const ARGS: [&str; 9] = [
    "strip",
    "allow_non_json",
    "tag_pattern",
    "value_parser",
    "merge_duplicates",
    "unquoted_keys",
    "string_delims",
    "line_sep",
    "kv_sep",
];
/// Contents that are text of the answer: a number stays as the model wrote it.
const TEXTS: [&str; 4] = ["text", "int", "float", "bool"];
/// Contents that calls may have.
const CALLS: [&str; 4] = ["json", "xml-inline", "kv-lines", "python-call-list"];

impl Table {
    /// Reads the table from the parser's option `response_template`, which is JSON.
    ///
    /// # Errors
    /// One line that names the construct that can't be decided while text arrives.
    pub(crate) fn read(options: &[(String, String)]) -> Result<Self, String> {
        let option = |name| options.iter().find(|(key, _)| key == name).map(|(_, value)| value);
        match (option("response_template"), option("response_schema")) {
            (Some(json), _) => Self::of(json).map_err(|error| ["response_template: ", &error].concat()),
            (None, Some(_)) => {
                Err("response_schema: x-regex needs the whole answer, give a response_template".into())
            }
            (None, None) => {
                Err("response_template is missing, set it to that of tokenizer_config.json".into())
            }
        }
    }

    fn of(text: &str) -> Result<Self, String> {
        let written = Json::read(text)?;
        written.known(&TABLE)?;
        match written.get("version") {
            None => {}
            Some(Json::Number(version)) if version == "1" => {}
            Some(Json::Number(version)) => {
                return Err(["version ", version, " isn't known, only 1 is"].concat());
            }
            Some(_) => return Err("version isn't known, only 1 is".into()),
        }
        let mut table = Self { trim: Trim { reasoning: true, content: true }, ..Self::default() };
        let Some(Json::Object(fields)) = written.get("fields") else {
            return Err("fields are missing".into());
        };
        for (name, field) in fields {
            table.field(name, field).map_err(|error| ["field '", name, "': ", &error].concat())?;
        }
        table.anchor(&written)?;
        if table.implicit.is_none() {
            table.headers();
        }
        table.nested = table.markers.nested();
        Ok(table)
    }

    fn field(&mut self, name: &str, field: &Json) -> Result<(), String> {
        field.known(&FIELD)?;
        let args = field.get("content_args").unwrap_or(&Json::Null);
        if *args != Json::Null {
            args.known(&ARGS)?;
        }
        let (open, beginning) = self.delimiters(field, "open", "open_pattern")?;
        let (close, _) = self.delimiters(field, "close", "close_pattern")?;
        // Text is the region's until its close comes; that none will isn't known before the end.
        if let Beginning::OpenIf(text) = &beginning
            && !close.iter().any(|close| close.text().starts_with(text.as_str()))
        {
            return Err(
                "open_pattern: `(?=` of text that isn't the field's close can't be decided as text arrives"
                    .into(),
            );
        }
        let begins = beginning != Beginning::Closed;
        let strip = args.get("strip") != Some(&Json::Bool(false));
        let content = field.text("content")?.unwrap_or("text");
        // The content itself is what a text is without a transform.
        let is_identity = |transform: &&Json| transform.as_text() == Some("{content}");
        let transform = field.get("transform").filter(|transform| !is_identity(transform));
        let kind = match (name, content, transform) {
            ("content", content, None) if TEXTS.contains(&content) => {
                self.trim.content = strip;
                Kind::Content
            }
            ("thinking" | "reasoning" | "reasoning_content", content, None) if TEXTS.contains(&content) => {
                self.trim.reasoning = strip;
                Kind::Reasoning
            }
            ("tool_calls", content, transform) if CALLS.contains(&content) => {
                if begins || open.is_empty() {
                    return Err("calls need an open of their own".into());
                }
                let transform = transform.ok_or("a transform to function is missing")?;
                self.calls(transform, field.is_set("transform_each"), content, args, &open)?
            }
            ("content" | "thinking" | "reasoning" | "reasoning_content" | "tool_calls", content, _) => {
                return Err(["content '", content, "', or its transform, can't be streamed"].concat());
            }
            _ => {
                return Err(
                    "only content, reasoning_content, thinking and tool_calls have a place in an answer"
                        .into(),
                );
            }
        };
        let index = Some(self.fields.len());
        if begins {
            self.first = index;
        } else if open.is_empty() && std::mem::replace(&mut self.implicit, index).is_some() {
            return Err("another field has no open either".into());
        }
        let (lenient, nameless) = self.lenient(&kind, &open);
        self.fields.push(Field { kind, open, lenient, nameless, close, repeats: field.is_set("repeats") });
        Ok(())
    }

    /// Other delimiters that open a call than `open`: spelt otherwise, and with an object for the
    /// name, if nothing but white space follows the name.
    fn lenient(&mut self, kind: &Kind, open: &[Delimiter]) -> (Vec<Delimiter>, Vec<Delimiter>) {
        let (mut lenient, mut nameless) = (Vec::new(), Vec::new());
        for pattern in open.iter().map(|open| &open.pattern).filter(|_| !kind.is_text()) {
            lenient.extend(self.markers.otherwise(pattern));
            if let Some(bare) = self.markers.bare(pattern) {
                lenient.extend(self.markers.otherwise(&bare.pattern));
                lenient.push(bare);
            }
            let Some(group) = pattern.group_at().filter(|_| matches!(kind, Kind::Named(Some(_)))) else {
                continue;
            };
            let (before, behind) = pattern.0.split_at(group);
            if behind[1..].iter().all(|piece| matches!(piece, Piece::Space | Piece::Gap)) {
                let object = [before, &[Piece::Literal("{".into())]].concat();
                nameless.extend(self.markers.delimiter(&object));
            }
        }
        (lenient, nameless)
    }

    /// The headers of regions that the table lacks: those of its text with another word.
    fn headers(&mut self) {
        let text = self.fields.iter().filter(|field| field.kind.is_text());
        for pattern in text.flat_map(|field| &field.open).map(|open| &open.pattern) {
            let literals: Vec<&Piece> = pattern.0.iter().filter(|piece| **piece != Piece::Gap).collect();
            let [first, Piece::Literal(_), last] = literals[..] else { continue };
            if is_token(first.literal()) && is_token(last.literal()) {
                let word = Piece::Run(Run { class: Class::Word, is_some: true, ..Run::default() });
                let header = self.markers.delimiter(&[first.clone(), word, last.clone()]);
                self.headers.extend(header);
            }
        }
    }

    /// Reads the start anchor. A pattern that `parse` refuses has no grammar.
    fn anchor(&mut self, written: &Json) -> Result<(), String> {
        let anchors = match (written.texts("start_anchor")?, written.text("start_anchor_pattern")?) {
            (Some(texts), _) => {
                Ok(texts.iter().map(|text| Pattern(vec![Piece::Literal((*text).to_owned())])).collect())
            }
            (None, Some(regex)) => parse(regex),
            (None, None) => Ok(Vec::new()),
        };
        self.has_unsupported_anchor = anchors.is_err();
        for anchor in anchors.unwrap_or_default() {
            match anchor.0.first() {
                Some(Piece::Literal(text)) if text.starts_with(['<', '[']) => {
                    self.anchors.push(self.markers.delimiter(&anchor.0)?);
                }
                _ => {
                    self.markers.tokens(&anchor);
                    self.plain_anchors.push(anchor);
                }
            }
        }
        Ok(())
    }

    /// The delimiters that open or close a field, and whether its region is open at the beginning.
    fn delimiters(
        &mut self,
        field: &Json,
        literal: &str,
        pattern: &str,
    ) -> Result<(Vec<Delimiter>, Beginning), String> {
        match (field.texts(literal)?, field.text(pattern)?) {
            (Some(_), Some(_)) => Err(["give either ", literal, " or ", pattern].concat()),
            (None, Some(regex)) => {
                self.markers.regex(regex).map_err(|error| [pattern, ": ", &error].concat())
            }
            (texts, None) => {
                let texts = texts.unwrap_or_default();
                let delimiters =
                    texts.iter().map(|text| self.markers.literal(text)).collect::<Result<_, _>>();
                Ok((delimiters?, Beginning::Closed))
            }
        }
    }
}
