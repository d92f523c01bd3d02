//! Test that the events of a response add up to the response: folded one by one, they give what its
//! end and the answer in one piece say, and on the way what each repeated `response.in_progress`
//! says.

use std::path::Path;

use serde_json::Value;

use super::random_turns::events;
use crate::responses::fold::Fold;

pub(super) fn fold(events: &[Value]) -> Result<Value, String> {
    let mut fold = Fold::default();
    events.iter().try_for_each(|event| fold.add(event))?;
    Ok(fold.whole())
}

/// Name, events and body of each recorded response.
fn recorded() -> Vec<(String, Vec<Value>, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/testdata");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.starts_with("responses-") || path.extension().is_none_or(|extension| extension != "sse") {
            continue;
        }
        let stream = std::fs::read_to_string(&path).unwrap();
        let body = std::fs::read_to_string(path.with_extension("json")).unwrap();
        let (_, body) = body.split_once('\n').unwrap();
        all.push((name, events(&stream), serde_json::from_str(body).unwrap()));
    }
    assert!(all.len() >= 16, "{} responses: where are they?", all.len());
    all
}

#[test]
fn events_of_a_response_add_up_to_it() {
    for (name, events, body) in recorded() {
        assert_eq!(fold(&events), Ok(body), "{name}");
    }
}

#[test]
fn a_response_that_lacks_an_event_does_not_add_up() {
    let mut left_out = 0;
    for (name, events, body) in recorded() {
        for (number, event) in events.iter().enumerate() {
            let kind = event["type"].as_str().unwrap();
            if event.get("delta").is_none() && !kind.ends_with("part.added") && !kind.contains("output_item")
            {
                continue;
            }
            let mut fewer = events.clone();
            fewer.remove(number);
            assert_ne!(fold(&fewer).as_ref(), Ok(&body), "{name}: event {number}, {kind}");
            left_out += 1;
        }
    }
    assert!(left_out > 100, "{left_out} events left out");
}
