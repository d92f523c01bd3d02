//! Templates of one line, each for one thing of jinja2 or Python, render as transformers'
//! environment renders them.
//!
//! `data/features.py` is the list; `data/generate.py` writes what transformers makes of it.

use std::collections::HashMap;

use jinja::{ErrorKind, Limits, Origin, Template, Value};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Features that differ from the reference on purpose, as `docs/chat-templates.md` lists them.
const DIFFERENT: &str = include_str!("data/different.txt");

type Variables = HashMap<String, Box<RawValue>>;

#[derive(Deserialize)]
struct Feature {
    template: String,
    #[serde(default)]
    with: Variables,
    output: Option<String>,
    error: Option<String>,
}

/// What became of a template: its text, or the kind of its error as the reference's list spells it.
fn outcome(template: &str, variables: &Variables) -> Result<String, String> {
    let template = Template::parse(template).map_err(|error| format!("syntax {error}"))?;
    let limits = Limits { text_bytes: 1 << 20, is_exhausted: &|| false };
    let value = |json: &RawValue| Value::from_json(json.get(), Origin::Request).expect("JSON");
    let variables = variables.iter().map(|(name, json)| (name.as_str(), value(json))).collect();
    match template.render(variables, &limits) {
        Ok(output) => Ok(output.text.as_str().to_owned()),
        Err(error) if error.kind == ErrorKind::Raised => Err(format!("raised: {}", error.message)),
        Err(error) => Err(format!("runtime {error}")),
    }
}

#[test]
fn every_feature_is_equal_or_refused_by_name() {
    let mut variables: Variables = serde_json::from_str(include_str!("data/variables.json")).unwrap();
    let mut differing = Vec::new();
    let (mut count, mut refused) = (0, 0);
    for line in include_str!("data/features.jsonl").lines() {
        let Feature { template, with, output, error } = serde_json::from_str(line).unwrap();
        count += 1;
        let before: Vec<_> =
            with.into_iter().map(|(name, json)| (name.clone(), variables.insert(name, json))).collect();
        let found = outcome(&template, &variables);
        for (name, json) in before {
            match json {
                Some(json) => drop(variables.insert(name, json)),
                None => drop(variables.remove(&name)),
            }
        }
        let same = match (&found, &output, &error) {
            (Err(error), _, _) if error.starts_with("syntax") && error.contains("not supported") => {
                refused += 1;
                true
            }
            (Ok(text), Some(expected), _) => text == expected,
            (Err(error), _, Some(expected)) if expected.starts_with("raised") => error == expected,
            (Err(error), _, Some(expected)) => error.starts_with(expected),
            _ => false,
        };
        if !same {
            differing.push(format!("{template}\n  got {found:?}\n  not {output:?} {error:?}"));
        }
    }
    let allowed = |case: &String| DIFFERENT.lines().any(|line| case.starts_with(&format!("{line}\n")));
    differing.retain(|case| !allowed(case));
    assert!(differing.is_empty(), "{} of {count} differ:\n{}", differing.len(), differing.join("\n"));
    assert!(count >= 1600 && refused <= 40, "{count} features, {refused} refused");
}

#[derive(Deserialize)]
struct Twin {
    name: String,
    template: String,
    variables: Variables,
    output: Option<String>,
    error: Option<String>,
}

#[test]
fn twins_of_published_templates_are_equal() {
    let mut differing = Vec::new();
    let mut count = 0;
    for line in include_str!("data/twins.jsonl").lines() {
        let Twin { name, template, variables, output, error } = serde_json::from_str(line).unwrap();
        count += 1;
        let found = outcome(&template, &variables);
        let same = match (&found, &output, &error) {
            (Ok(text), Some(expected), _) => text == expected,
            (Err(error), _, Some(expected)) => error.starts_with(expected),
            _ => false,
        };
        if !same {
            differing.push(format!("{name}\n  got {found:?}\n  not {output:?} {error:?}"));
        }
    }
    assert!(count >= 300, "{count} twins");
    assert!(differing.is_empty(), "{} of {count} differ:\n{}", differing.len(), differing.join("\n"));
}
