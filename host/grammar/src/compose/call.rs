//! The call of one tool.

use crate::lark::{
    ArgumentsRule, Callable, DeclaredParameter, Lark, ParameterList, Spelling, Value, literal, parameter_list,
};

use super::notation::Notation;
use super::written_name;
use crate::template::{GrammarTemplate, Word, grouped};

/// Greatest length in bytes of a name as JSON where the template doesn't say: the scanner of calls
/// keeps no more.
const NAME_BYTES: usize = 256;

/// A call being written.
pub(super) struct Call<'a, 'l> {
    pub(super) template: &'a GrammarTemplate,
    pub(super) lark: &'l mut Lark,
    pub(super) tool: &'a Callable<'a>,
    /// Index of the tool, which keeps the names of its rules apart from other tools'.
    pub(super) index: usize,
    /// The words in whose holes the tool stands.
    pub(super) words: &'a [Word],
}

impl Call<'_, '_> {
    /// Lark expression of the call.
    ///
    /// # Errors
    /// The tool's name or schema can't be followed in this format.
    pub(super) fn written(mut self) -> Result<String, String> {
        let name = self.tool.tool.name.as_str();
        let json_name = serde_json::Value::from(name).to_string();
        match &self.template.directives.name {
            Some(names) if !names.allow(name) => {
                return Err(format!("tool {name:?}: the name can't be written in this format"));
            }
            None if name.is_empty() || json_name.len() > NAME_BYTES => {
                return Err(format!("tool {name:?}: the name has to have 1 to {NAME_BYTES} bytes"));
            }
            _ => {}
        }
        let has = |hole| self.words.iter().any(|word| word.is_name(hole));
        let (has_arguments, has_parameters) = (has("arguments"), has("parameters"));
        let arguments = if has_arguments { self.arguments()? } else { String::new() };
        let parameters = if has_parameters { self.parameters()? } else { String::new() };
        let input = match &self.tool.arguments {
            ArgumentsRule::Text(Some(input)) => input.rule().to_owned(),
            _ => String::new(),
        };
        let holes = [
            ("name", Word::literal(name)),
            ("json_name", Word::literal(&json_name)),
            ("arguments", Word::Other(arguments)),
            ("parameters", Word::Other(parameters)),
            ("input", Word::Other(input)),
        ];
        Ok(filled_words(self.template, self.lark, self.words, &holes))
    }

    /// The arguments as one value.
    fn arguments(&mut self) -> Result<String, String> {
        if !self.template.has_notation() {
            return Ok(self.tool.arguments.json());
        }
        let tool = self.tool;
        self.notation()?.arguments(tool)
    }

    /// The parameters, one by one.
    fn parameters(&mut self) -> Result<String, String> {
        let comma = self.template.rule("comma").map(|words| grouped(words, |name| self.name(name)));
        let comma = comma.or_else(|| self.template.has_notation().then(|| literal(",")));
        let list = if self.template.has_notation() {
            let tool = self.tool;
            self.notation()?.parameters(tool)?
        } else {
            let markers = self.template.directives.value.clone().unwrap_or_default();
            let write = |key: &str, value: &Value<'_>| self.parameter(key, value);
            let keys = self.template.directives.key.as_ref();
            let fits = |key: &str| keys.is_none_or(|keys| keys.allow(key));
            let spelling = Spelling { text: "value", markers: &markers, fits: &fits, write: &write };
            parameter_list(self.lark, self.tool, &spelling, self.template.directives.is_typed)?
        };
        Ok(joined(list, comma.as_deref(), self.lark, &format!("tool_{}", self.index)))
    }

    /// A parameter, by the rule that its value asks for.
    fn parameter(&self, key: &str, value: &Value<'_>) -> String {
        let (rules, value) = match value {
            Value::Text(rule) => (["raw", "raw"], (*rule).to_owned()),
            Value::Exactly(text) => (["exact", "json"], text.clone()),
            Value::Json(text) => (["json", "json"], text.clone()),
            Value::Input(rule) => (["input", "raw"], (*rule).to_owned()),
        };
        let rule = rules.into_iter().find(|name| self.template.rule(name).is_some()).unwrap_or("parameter");
        let holes = [("key", key_word(key)), ("json_key", json_key_word(key)), ("value", Word::Other(value))];
        filled(self.template, self.lark, rule, &holes)
    }

    fn notation(&mut self) -> Result<Notation<'_, '_>, String> {
        Notation::new(self.template, self.lark, format!("tool_{}", self.index))
    }

    fn name(&self, name: &str) -> String {
        written_name(self.template, self.lark, name)
    }
}

/// The body of a rule with its holes filled.
pub(super) fn filled(template: &GrammarTemplate, lark: &Lark, rule: &str, holes: &[(&str, Word)]) -> String {
    filled_words(template, lark, template.rule(rule).unwrap_or_default(), holes)
}

fn filled_words(template: &GrammarTemplate, lark: &Lark, words: &[Word], holes: &[(&str, Word)]) -> String {
    let fill = |word: &Word| match word {
        Word::Name(name) => {
            holes.iter().find(|(hole, _)| hole == name).map_or_else(|| word.clone(), |(_, with)| with.clone())
        }
        _ => word.clone(),
    };
    let words: Vec<Word> = words.iter().map(fill).collect();
    grouped(&words, |name| written_name(template, lark, name))
}

/// A key as the writer of parameters gives it: a quoted text, or the rule of any key.
fn key_word(key: &str) -> Word {
    if key == "key" { Word::Other(key.to_owned()) } else { Word::literal(&unquoted(key)) }
}

fn json_key_word(key: &str) -> Word {
    match key {
        "key" => Word::Other(format!("\"\\\"\" {key} \"\\\"\"")),
        key => Word::literal(&serde_json::Value::from(unquoted(key)).to_string()),
    }
}

/// The text of a literal of a key, which has no escapes but JSON's.
fn unquoted(key: &str) -> String {
    serde_json::from_str(key).unwrap_or_default()
}

/// Lark expression of parameters or members: one behind the other, or with `comma` between them.
/// Rules that it needs begin with `prefix`.
pub(super) fn joined(list: ParameterList, comma: Option<&str>, lark: &mut Lark, prefix: &str) -> String {
    match (list, comma) {
        (ParameterList::Any(one), None) => format!("({one})*"),
        (ParameterList::Any(one), Some(comma)) => format!("({one} ({comma} {one})*)?"),
        (ParameterList::Free(all), comma) => in_any_order(&all, comma, lark, prefix),
        (ParameterList::Declared(all), _) if all.is_empty() => literal(""),
        (ParameterList::Declared(all), None) => {
            all.into_iter().map(DeclaredParameter::or_nothing).collect::<Vec<_>>().join(" ")
        }
        (ParameterList::Declared(all), Some(comma)) => separated(&all, comma, lark, prefix),
    }
}

/// Members in any order, each at most once, with `comma` between them: a rule for each set of those
/// that are there.
fn in_any_order(all: &[String], comma: Option<&str>, lark: &mut Lark, prefix: &str) -> String {
    for (at, one) in all.iter().enumerate() {
        lark.rule(&format!("{prefix}_{at}"), one);
    }
    let sets = 1_usize << all.len();
    for there in 0..sets - 1 {
        let comma = comma.filter(|_| there > 0).unwrap_or_default();
        let more = (0..all.len()).filter(|at| there & (1 << at) == 0).map(|at| match there | (1 << at) {
            full if full == sets - 1 => format!("{comma} {prefix}_{at}"),
            then => format!("{comma} {prefix}_{at} {prefix}_with_{then}"),
        });
        let more: Vec<String> = more.collect();
        lark.rule(&format!("{prefix}_with_{there}"), &format!("({})?", more.join(" | ")));
    }
    format!("{prefix}_with_0")
}

/// Members of which some may be missing, with `comma` between those that are there. For each there
/// is a rule of the rest behind it.
fn separated(all: &[DeclaredParameter], comma: &str, lark: &mut Lark, prefix: &str) -> String {
    for (at, DeclaredParameter { written, is_required }) in all.iter().enumerate() {
        let rest = if at + 1 < all.len() { format!(" {prefix}_rest_{}", at + 1) } else { String::new() };
        let first = format!("{comma} {prefix}_{at}");
        lark.rule(&format!("{prefix}_{at}"), written);
        lark.rule(
            &format!("{prefix}_rest_{at}"),
            &if *is_required { format!("{first}{rest}") } else { format!("({first})?{rest}") },
        );
    }
    // Any member may be the first up to the first that has to be there.
    let mut firsts = Vec::new();
    for (at, one) in all.iter().enumerate() {
        let rest = if at + 1 < all.len() { format!(" {prefix}_rest_{}", at + 1) } else { String::new() };
        firsts.push(format!("{prefix}_{at}{rest}"));
        if one.is_required {
            return format!("({})", firsts.join(" | "));
        }
    }
    format!("({})?", firsts.join(" | "))
}
