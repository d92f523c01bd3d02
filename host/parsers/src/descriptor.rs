//! Check of the descriptor that a parser returns. In one that passes, texts are short, markers are
//! distinct and not empty, stops are markers, and the host knows all that the parser needs.

use std::collections::HashSet;

use super::error::{LoadProblem, one_line};
use contract::{Descriptor, SCHEMAS};

/// Maximum size of a name, a version, an entry of `models`, and the pattern of call ids, in bytes.
const NAME_BYTES: usize = 256;
/// Maximum number of entries of `models`.
const MODELS: usize = 256;
/// Maximum number of markers, and maximum size of one in bytes. The host's matcher of markers takes
/// at least as many, and as long ones.
const MARKERS: usize = 256;
const MARKER_BYTES: usize = 256;

/// Maximum size of the template of grammars, in bytes.
const GRAMMAR_BYTES: usize = 64 << 10;
/// Maximum size of the text that ends reasoning, in bytes.
const REASONING_END_BYTES: usize = 256;
/// Maximum number of needs, and of properties.
const LISTED: usize = 32;
/// Maximum size of a need, and of a property's name, in bytes.
const LISTED_NAME_BYTES: usize = 64;
/// Maximum size of a property's value, in bytes.
const PROPERTY_BYTES: usize = 1024;
/// Needs that this host knows.
const KNOWN_NEEDS: [&str; 1] = [SCHEMAS];

/// Checks a descriptor.
///
/// # Errors
/// [`LoadProblem::Descriptor`] with the first problem found, in one line; [`LoadProblem::Needs`] if
/// the host doesn't know what the parser needs.
pub(super) fn check(descriptor: &Descriptor) -> Result<(), LoadProblem> {
    check_texts(descriptor).map_err(LoadProblem::Descriptor)?;
    match descriptor.needs.iter().find(|need| !KNOWN_NEEDS.contains(&need.as_str())) {
        Some(need) => Err(LoadProblem::Needs(one_line(need))),
        None => Ok(()),
    }
}

fn check_texts(descriptor: &Descriptor) -> Result<(), String> {
    check_name("its name", &descriptor.name)?;
    check_name("its version", &descriptor.version)?;
    if descriptor.models.len() > MODELS {
        return Err(format!("{} models, at most {MODELS} are allowed", descriptor.models.len()));
    }
    for model in &descriptor.models {
        check_name("a model's name", model)?;
    }
    if let Some(spelling) = &descriptor.history_call_ids {
        check_name("the spelling of call ids", spelling)?;
    }
    check_markers(&descriptor.markers)?;
    if let Some(grammar) = &descriptor.grammar {
        check_bytes("its grammar", grammar, GRAMMAR_BYTES)?;
    }
    if let Some(end) = &descriptor.reasoning_end {
        check_bytes("its end of reasoning", end, REASONING_END_BYTES)?;
        if end.is_empty() || end.chars().any(|char| char.is_control() && char != '\n') {
            return Err("its end of reasoning is empty or has control characters".to_owned());
        }
    }
    check_listed(descriptor)?;
    match descriptor.stops.iter().find(|&&stop| stop as usize >= descriptor.markers.len()) {
        Some(stop) => Err(format!("stop {stop} is not one of its {} markers", descriptor.markers.len())),
        None => Ok(()),
    }
}

fn check_name(what: &str, name: &str) -> Result<(), String> {
    if name.trim().is_empty() {
        return Err(format!("{what} is empty"));
    }
    check_bytes(what, name, NAME_BYTES)?;
    if name.chars().any(char::is_control) {
        return Err(format!("{what} has control characters"));
    }
    Ok(())
}

fn check_bytes(what: &str, text: &str, most: usize) -> Result<(), String> {
    if text.len() > most {
        return Err(format!("{what} has {} bytes, at most {most} are allowed", text.len()));
    }
    Ok(())
}

/// Checks needs and properties, known or not.
fn check_listed(descriptor: &Descriptor) -> Result<(), String> {
    let Descriptor { needs, properties, .. } = descriptor;
    for (what, count) in [("needs", needs.len()), ("properties", properties.len())] {
        if count > LISTED {
            return Err(format!("{count} {what}, at most {LISTED} are allowed"));
        }
    }
    let needs = needs.iter().map(|need| ("a need", need));
    for (what, name) in needs.chain(properties.iter().map(|(name, _)| ("a property's name", name))) {
        check_name(what, name)?;
        check_bytes(what, name, LISTED_NAME_BYTES)?;
    }
    properties.iter().try_for_each(|(_, value)| check_bytes("a property", value, PROPERTY_BYTES))
}

fn check_markers(markers: &[String]) -> Result<(), String> {
    if markers.len() > MARKERS {
        return Err(format!("{} markers, at most {MARKERS} are allowed", markers.len()));
    }
    let mut seen = HashSet::new();
    for (index, marker) in markers.iter().enumerate() {
        if marker.is_empty() {
            return Err(format!("marker {index} is empty"));
        }
        check_bytes(&format!("marker {index}"), marker, MARKER_BYTES)?;
        if !seen.insert(marker) {
            return Err(format!("marker {index} ({}) stands twice", one_line(marker)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Descriptor {
        Descriptor {
            name: "p".to_owned(),
            version: "1.0.0".to_owned(),
            markers: vec!["<a>".to_owned(), "<a>b".to_owned()],
            stops: vec![1],
            ..Descriptor::default()
        }
    }

    /// Error of `check` for a good descriptor after `change`.
    fn changed(change: impl FnOnce(&mut Descriptor)) -> String {
        let mut descriptor = good();
        change(&mut descriptor);
        match check(&descriptor) {
            Err(LoadProblem::Descriptor(words)) => words,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn marker_may_prefix_another_and_there_may_be_none() {
        check(&good()).unwrap();
        check(&Descriptor { markers: vec![], stops: vec![], ..good() }).unwrap();
    }

    #[test]
    fn what_it_needs_is_known_or_named_with_the_cure() {
        check(&Descriptor { needs: vec!["schemas".to_owned()], ..good() }).unwrap();
        let needs = vec!["schemas".to_owned(), "tensors".to_owned()];
        assert_eq!(
            check(&Descriptor { needs, ..good() }).unwrap_err().to_string(),
            "needs `tensors`, which this host doesn't know: update the host, or take a build of the parser for it"
        );
    }

    #[test]
    fn unknown_properties_are_passed_over_within_bounds() {
        let property = |name: usize, value: usize| ("n".repeat(name), "v".repeat(value));
        check(&Descriptor { properties: vec![property(64, 1024); 32], ..good() }).unwrap();
        assert_eq!(
            changed(|d| d.properties = vec![property(1, 1); 33]),
            "33 properties, at most 32 are allowed"
        );
        assert_eq!(
            changed(|d| d.properties = vec![property(65, 1)]),
            "a property's name has 65 bytes, at most 64 are allowed"
        );
        assert_eq!(changed(|d| d.properties = vec![property(0, 1)]), "a property's name is empty");
        assert_eq!(
            changed(|d| d.properties = vec![property(1, 1025)]),
            "a property has 1025 bytes, at most 1024 are allowed"
        );
    }

    #[test]
    fn the_end_of_reasoning_is_a_short_text_of_lines() {
        let with = |end: &str| Descriptor { reasoning_end: Some(end.to_owned()), ..good() };
        check(&with("<a>think\n<a>b")).unwrap();
        for end in ["", "\u{7}", "a\tb"] {
            let words = "its end of reasoning is empty or has control characters";
            assert_eq!(changed(|d| d.reasoning_end = Some(end.to_owned())), words);
        }
        assert!(changed(|d| d.reasoning_end = Some("x".repeat(257))).contains("at most 256"));
    }

    #[test]
    fn each_broken_rule_has_its_own_words() {
        assert_eq!(changed(|d| d.name.clear()), "its name is empty");
        assert_eq!(changed(|d| d.name.push('\n')), "its name has control characters");
        assert_eq!(changed(|d| d.version.clear()), "its version is empty");
        assert_eq!(
            changed(|d| d.models = vec!["m".repeat(257)]),
            "a model's name has 257 bytes, at most 256 are allowed"
        );
        assert_eq!(changed(|d| d.models = vec!["m".to_owned(); 257]), "257 models, at most 256 are allowed");
        assert_eq!(
            changed(|d| d.history_call_ids = Some(String::new())),
            "the spelling of call ids is empty"
        );
        assert_eq!(
            changed(|d| d.grammar = Some("x".repeat((64 << 10) + 1))),
            "its grammar has 65537 bytes, at most 65536 are allowed"
        );
        assert_eq!(changed(|d| d.needs = vec!["n".to_owned(); 33]), "33 needs, at most 32 are allowed");
        assert_eq!(changed(|d| d.needs = vec!["a\n".to_owned()]), "a need has control characters");
        assert_eq!(changed(|d| d.stops.push(2)), "stop 2 is not one of its 2 markers");
        assert_eq!(changed(|d| d.markers.push(String::new())), "marker 2 is empty");
        assert_eq!(changed(|d| d.markers.push("<a>".to_owned())), "marker 2 (<a>) stands twice");
        assert_eq!(
            changed(|d| d.markers.push("m".repeat(257))),
            "marker 2 has 257 bytes, at most 256 are allowed"
        );
        assert_eq!(
            changed(|d| d.markers = (0..257).map(|n| n.to_string()).collect()),
            "257 markers, at most 256 are allowed"
        );
    }
}
