//! Shipped parsers read what twins of their models' chat templates write. A twin has the facts of a
//! template that isn't to be had, and shows turns that the template may refuse.

use std::path::Path;

use fit::{FitVerdict, Material};
use model::TemplateFiles;
use parsers::ParserLimits;
use parsers::conformance::{Measures, Sandboxed};
use parsers::shipped::find_parser;

const K2_HORIZON: &str = include_str!("twins/k2-horizon.jinja");
const HYPERCLOVA: &str = include_str!("twins/hyperclova.jinja");
const GIGACHAT35: &str = include_str!("twins/gigachat35.jinja");

/// Checks that the parser reads this many probes as the template writes them.
fn check(parser: &str, template: String, same: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = find_parser(parser, &root.join("plugins")).expect("shipped");
    let sandboxed = Sandboxed::new(source, &ParserLimits::default(), None, Measures::Nothing, |_, _| Ok(()));
    let sandboxed = sandboxed.expect("a sandbox");
    let model = root.join("host/models/qwen3-tiny");
    let files = TemplateFiles::read(model.to_str().expect("UTF-8"), Some(template)).expect("a model");
    let fit = fit::check(&files, &sandboxed, &[], &Material::default()).expect("checked");
    let verdicts: Vec<_> = fit.probes.iter().map(|probe| (&probe.probe, probe.verdict)).collect();
    let counts = [FitVerdict::Same, FitVerdict::Differs].map(|verdict| fit.count(verdict));
    assert_eq!(counts, [same, 0], "{parser}: {verdicts:?}");
}

#[test]
fn k2_horizon_is_read_in_each_form_at_each_effort() {
    for format in ["xml", "xml_typed", "json"] {
        for effort in ["high", "medium", "low"] {
            // The template's own arguments, as its default values.
            let set = format!("{{% set format = '{format}' %}}{{% set effort = '{effort}' %}}");
            check("k2-horizon", [&set, K2_HORIZON].concat(), 46);
        }
    }
}

#[test]
fn hyperclova_is_read() {
    check("hyperclova", HYPERCLOVA.to_owned(), 31);
}

#[test]
fn gigachat_3_5_is_read() {
    check("gigachat35", GIGACHAT35.to_owned(), 37);
}
