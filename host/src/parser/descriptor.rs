//! Check of the descriptor that a parser returns. In one that passes, names are short, markers are distinct and not empty, and stops are markers.

use std::collections::HashSet;

use super::error::one_line;
use contract::Descriptor;

/// Maximum size of a name, a version, an entry of `models`, and the pattern of call ids, in bytes.
const NAME_BYTES: usize = 256;
/// Maximum number of entries of `models`.
const MODELS: usize = 256;
/// Maximum number of markers, and maximum size of one in bytes. The host's matcher of markers takes at least as many, and as long ones.
const MARKERS: usize = 256;
const MARKER_BYTES: usize = 256;

/// Checks a descriptor.
///
/// # Errors
/// The first problem found, in one line.
pub(super) fn check(descriptor: &Descriptor) -> Result<(), String> {
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
    match descriptor.stops.iter().find(|&&stop| stop as usize >= descriptor.markers.len()) {
        Some(stop) => Err(format!("stop {stop} is not one of its {} markers", descriptor.markers.len())),
        None => Ok(()),
    }
}

fn check_name(what: &str, name: &str) -> Result<(), String> {
    if name.trim().is_empty() {
        return Err(format!("{what} is empty"));
    }
    if name.len() > NAME_BYTES {
        return Err(format!("{what} has {} bytes, at most {NAME_BYTES} are allowed", name.len()));
    }
    if name.chars().any(char::is_control) {
        return Err(format!("{what} has control characters"));
    }
    Ok(())
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
        if marker.len() > MARKER_BYTES {
            return Err(format!(
                "marker {index} has {} bytes, at most {MARKER_BYTES} are allowed",
                marker.len()
            ));
        }
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
        check(&descriptor).unwrap_err()
    }

    #[test]
    fn a_marker_may_be_a_prefix_of_another_and_there_may_be_none() {
        assert_eq!(check(&good()), Ok(()));
        assert_eq!(check(&Descriptor { markers: vec![], stops: vec![], ..good() }), Ok(()));
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
