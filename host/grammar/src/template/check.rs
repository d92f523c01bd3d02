//! Checks of a template that has been read: names, the holes of each rule, and what leads where.

use std::collections::BTreeSet;

use crate::lark::is_terminal;

use super::directives::number;
use super::{GrammarTemplate, Shape, Word};

/// Holes that any rule may have, beside markers.
const EVERYWHERE: [&str; 2] = ["gap", "text"];
/// Rules that spell JSON.
pub(super) const NOTATION: [&str; 8] = ["object", "pair", "list", "item", "string", "true", "false", "null"];

/// A rule that the host asks for: its name, the holes that it alone may have, and those of which it
/// needs one each.
struct Role {
    name: &'static str,
    holes: &'static [&'static str],
    needs: &'static [&'static [&'static str]],
}

const fn role(
    name: &'static str,
    holes: &'static [&'static str],
    needs: &'static [&'static [&'static str]],
) -> Role {
    Role { name, holes, needs }
}

/// Holes of a call.
pub(crate) const CALL: &[&str] = &["name", "json_name", "arguments", "parameters"];
const CALL_NEEDS: &[&[&str]] = &[&["name", "json_name"], &["arguments", "parameters"]];
const PARAMETER: &[&str] = &["key", "json_key", "value"];
const PARAMETER_NEEDS: &[&[&str]] = &[&["key", "json_key"], &["value"]];

/// All rules that the host asks for. Other rules are the template's own.
const ROLES: [Role; 25] = [
    role("before", &[], &[]),
    role("call", CALL, CALL_NEEDS),
    role("custom", &["name", "json_name", "input"], &[&["name", "json_name"], &["input"]]),
    role("more", &[], &[]),
    role("comma", &[], &[]),
    role("section", &["calls"], &[&["calls"]]),
    role("forced", &["calls"], &[&["calls"]]),
    role("free", &["calls"], &[&["calls"]]),
    role("answer", &["answer"], &[&["answer"]]),
    role("answer_text", &["answer"], &[&["answer"]]),
    role("either", &["answer", "calls"], &[&["answer"], &["calls"]]),
    role("either_text", &["answer", "calls"], &[&["answer"], &["calls"]]),
    role("parameter", PARAMETER, PARAMETER_NEEDS),
    role("raw", PARAMETER, PARAMETER_NEEDS),
    role("exact", PARAMETER, PARAMETER_NEEDS),
    role("json", PARAMETER, PARAMETER_NEEDS),
    role("input", PARAMETER, PARAMETER_NEEDS),
    role("object", &["members"], &[&["members"]]),
    role("pair", PARAMETER, PARAMETER_NEEDS),
    role("list", &["items"], &[&["items"]]),
    role("item", &["value"], &[&["value"]]),
    role("string", &["chars"], &[&["chars"]]),
    role("true", &[], &[]),
    role("false", &[], &[]),
    role("null", &[], &[]),
];

/// Whether the host asks for a rule of this name.
pub(crate) fn is_role(name: &str) -> bool {
    ROLES.iter().any(|role| role.name == name)
}

/// Checks a template.
///
/// # Errors
/// What is wrong, in one line.
pub(super) fn check(template: &GrammarTemplate) -> Result<(), String> {
    names(template)?;
    for (name, body) in &template.rules {
        rule(template, name, body).map_err(|error| format!("rule `{name}`: {error}"))?;
    }
    calls(template)?;
    leads(template)
}

/// No rule has the name of a hole that means something else there.
fn names(template: &GrammarTemplate) -> Result<(), String> {
    let texts = template.directives.texts.keys().filter(|name| *name != "text");
    for name in template.rules.keys().chain(texts.clone()) {
        let is_hole = ROLES.iter().any(|role| role.holes.contains(&name.as_str()));
        let is_rule = is_role(name) && template.rules.contains_key(name);
        if marker(name).is_some()
            || EVERYWHERE.contains(&name.as_str())
            || (is_hole && !is_rule)
            || name == "start"
        {
            return Err(format!("`{name}` is defined by the server"));
        }
    }
    match texts.into_iter().find(|name| template.rules.contains_key(*name)) {
        Some(name) => Err(format!("`{name}` is both a rule and a text")),
        None => Ok(()),
    }
}

fn rule(template: &GrammarTemplate, name: &str, body: &[Word]) -> Result<(), String> {
    let role = ROLES.iter().find(|role| role.name == name);
    let holes = role.map_or(&[][..], |role| role.holes);
    for word in body {
        let Word::Name(hole) = word else { continue };
        if is_terminal(name) && !(is_terminal(hole) && template.rules.contains_key(hole)) {
            return Err(format!("`{hole}` can't stand in a terminal"));
        }
        if let Some(index) = marker(hole) {
            number(index, template.literals.len())?;
        } else if !holes.contains(&hole.as_str()) && !EVERYWHERE.contains(&hole.as_str()) {
            own(template, hole)?;
        }
    }
    for needed in role.map_or(&[][..], |role| role.needs) {
        if !body.iter().any(|word| needed.iter().any(|hole| word.is_name(hole))) {
            return Err(format!("`{}` is missing", needed.join("` or `")));
        }
    }
    if matches!(name, "raw" | "parameter") && template.directives.value.is_none() && !template.has_notation()
    {
        return Err("`%value` is missing, which names the markers that no value spells".to_owned());
    }
    Ok(())
}

/// Checks that `name` is a rule or a text of the template's own.
fn own(template: &GrammarTemplate, name: &str) -> Result<(), String> {
    if is_role(name) {
        return Err(format!("`{name}` can't stand here: the server writes it"));
    }
    if template.rules.contains_key(name) || template.directives.texts.contains_key(name) {
        return Ok(());
    }
    let owners: Vec<&str> =
        ROLES.iter().filter(|role| role.holes.contains(&name)).map(|role| role.name).collect();
    match owners[..] {
        [] => Err(format!("nothing defines `{name}`, which this server doesn't know")),
        _ => Err(format!("`{name}` can't stand here, only in {}", owners.join(", "))),
    }
}

/// The rules of calls that a template needs.
fn calls(template: &GrammarTemplate) -> Result<(), String> {
    let is_refused = |shape: &Shape| template.directives.refused.contains_key(shape);
    let with_calls = Shape::ALL.into_iter().filter(|shape| shape.has_calls());
    if template.rule("call").is_none() {
        let has_none = with_calls.into_iter().all(|shape| is_refused(&shape));
        let missing = "a rule `call` is missing; `%refuse calls why` is for formats without";
        return if has_none { Ok(()) } else { Err(missing.into()) };
    }
    if template.has("call", "parameters") {
        for rules in [["raw", "parameter"], ["json", "parameter"]] {
            if !rules.iter().any(|name| template.rules.contains_key(*name)) {
                return Err(format!(
                    "`call` has `parameters`, so a rule `{}` is needed",
                    rules.join("` or `")
                ));
            }
        }
    }
    let is_missing = |name: &&&str| template.has_notation() && !template.rules.contains_key(**name);
    if let Some(name) = ["object", "pair", "list"].iter().find(is_missing) {
        return Err(format!("a format that spells JSON by itself needs a rule `{name}`"));
    }
    Ok(())
}

/// Checks that rules lead to each other without a circle, and that each is needed.
fn leads(template: &GrammarTemplate) -> Result<(), String> {
    let mut reached = BTreeSet::new();
    for name in template.rules.keys().filter(|name| is_role(name)) {
        follow(template, name, &mut Vec::new(), &mut reached)?;
    }
    let texts = template.directives.texts.keys().filter(|name| *name != "text");
    let is_needed = |name: &&String| reached.contains(name.as_str());
    match template.rules.keys().chain(texts).find(|name| !is_needed(name)) {
        Some(name) => Err(format!("rule `{name}`: nothing leads to it")),
        None => Ok(()),
    }
}

fn follow<'a>(
    template: &'a GrammarTemplate,
    name: &'a str,
    path: &mut Vec<&'a str>,
    reached: &mut BTreeSet<&'a str>,
) -> Result<(), String> {
    if path.contains(&name) {
        return Err(format!("rule `{name}`: it leads to itself"));
    }
    if !reached.insert(name) {
        return Ok(());
    }
    path.push(name);
    for word in template.rule(name).unwrap_or_default() {
        if let Word::Name(next) = word
            && !is_role(next)
        {
            follow(template, next, path, reached)?;
        }
    }
    path.pop();
    Ok(())
}

/// The number in the name of a marker.
pub(crate) fn marker(name: &str) -> Option<&str> {
    let number = name.strip_prefix("marker_").or_else(|| name.strip_prefix("token_"))?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
}
