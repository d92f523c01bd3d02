//! Writes a format as the source of a parser crate, for formats with a marker for each part of a
//! call and the tool's name outside JSON.

use super::align::{first_tag, last_tag};
use super::format::{Arguments, DerivedFormat, FormatPart};

/// The source of `src/lib.rs` in a crate of `host parser new`, whose placeholders it has.
///
/// # Errors
/// What such a crate can't say.
pub(super) fn source(format: &DerivedFormat, about: &str) -> Result<String, String> {
    let Call { marks, prefix, behind } = call(format)?;
    let mut all: Vec<(String, &str)> = Vec::new();
    if let Some(reasoning) = &format.reasoning {
        all.extend([(reasoning.value.open.clone(), "Think"), (reasoning.value.close.clone(), "ThinkEnd")]);
    }
    let section = &format.calls.value.section;
    all.extend([
        (section.open.trim().to_owned(), "Section"),
        (section.close.trim().to_owned(), "SectionEnd"),
    ]);
    all.extend(marks);
    all.extend(format.ends.iter().map(|end| (end.clone(), "TurnEnd")));
    if !format.content.value.open.is_empty() {
        all.push((format.content.value.open.clone(), "Markup"));
    }
    let mut lines = String::new();
    for (index, (literal, mark)) in all.iter().enumerate() {
        let is_known = all[..index].iter().any(|(known, _)| known == literal);
        if !literal.is_empty() && !is_known {
            lines.extend(["        (", &format!("{literal:?}"), ", Mark::", mark, "),\n"]);
        }
    }
    Ok(SOURCE
        .replace("@ABOUT@", about)
        .replace("@MARKS@", lines.trim_end())
        .replace("@BEFORE@", &format!("{prefix:?}"))
        .replace("@BEHIND@", &format!("{behind:?}")))
}

/// The markers of a call, and what stands around a name in its header.
struct Call {
    marks: Vec<(String, &'static str)>,
    prefix: String,
    behind: String,
}

fn call(format: &DerivedFormat) -> Result<Call, String> {
    let calls = &format.calls.value;
    if calls.arguments != Arguments::Json {
        return Err("its calls aren't a name and JSON".to_owned());
    }
    let at = |wanted: FormatPart| calls.unit.iter().position(|part| *part == wanted);
    let text = |parts: &[FormatPart]| -> String {
        let text = |part: &FormatPart| {
            if let FormatPart::Literal(text) = part { text.clone() } else { String::new() }
        };
        parts.iter().map(text).collect()
    };
    let (Some(name), Some(arguments)) = (at(FormatPart::Name), at(FormatPart::Arguments)) else {
        return Err("a call has no name or no arguments".to_owned());
    };
    if name > arguments || calls.unit[..name].contains(&FormatPart::Id) {
        return Err("a call doesn't begin with its name".to_owned());
    }
    let before = text(&calls.unit[..name]);
    let open = first_tag(&before).ok_or("a call doesn't begin with a marker")?;
    let between = text(&calls.unit[name + 1..arguments]);
    let separator =
        last_tag(between.trim_end()).ok_or("no marker stands between a name and its arguments")?;
    let middle = &between[..between.trim_end().len() - separator.len()];
    if first_tag(middle).is_some() || before.contains('{') {
        return Err("a name isn't followed by one marker and JSON".to_owned());
    }
    let marks = vec![
        (open.trim().to_owned(), "Call"),
        (separator.trim().to_owned(), "Separator"),
        (text(&calls.unit[arguments + 1..]).trim().to_owned(), "CallEnd"),
    ];
    Ok(Call { marks, prefix: before[open.len()..].to_owned(), behind: middle.to_owned() })
}

const SOURCE: &str = r#"//! Parser for {{name}}. @ABOUT@
//!
//! A call is a marker, a header with the tool's name, a marker and JSON. `parser_sdk::sections` is
//! the state machine.

use parser_sdk::sections::{Format, Mark, Sections};
use parser_sdk::{Descriptor, Tools};

/// The parser of one stream.
pub type {{type}} = Sections<{{type}}Format>;

/// Text before a tool's name in a header, and behind it; empty if the header is the name.
const BEFORE: &str = @BEFORE@;
const BEHIND: &str = @BEHIND@;

/// The format.
#[derive(Debug)]
pub struct {{type}}Format;

impl Format for {{type}}Format {
    const MARKS: &'static [(&'static str, Mark)] = &[
@MARKS@
    ];

    fn describe() -> Descriptor {
        Descriptor {
            name: "{{name}}".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            ..Descriptor::default()
        }
    }

    fn name(header: &str, _: &Tools) -> String {
        let name = header.strip_prefix(BEFORE).unwrap_or(header);
        let end = if BEHIND.is_empty() { None } else { name.find(BEHIND) };
        name[..end.unwrap_or(name.len())].trim().to_owned()
    }
}

parser_sdk::export_parser!({{type}});
"#;
