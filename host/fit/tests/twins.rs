//! Shipped parsers read what twins of their models' chat templates write. A twin has the facts of a
//! template that isn't to be had, and shows turns that the template may refuse.

use std::path::Path;

use fit::{FitVerdict, Material};
use model::{TemplateFiles, find_parser};
use parsers::ParserLimits;
use parsers::conformance::{Measures, Sandboxed};

const K2_HORIZON: &str = include_str!("twins/k2-horizon.jinja");

/// The template's own arguments, as its default values.
fn twin(format: &str, effort: &str) -> String {
    format!("{{% set format = '{format}' %}}{{% set effort = '{effort}' %}}{K2_HORIZON}")
}

#[test]
fn k2_horizon_is_read_in_each_form_at_each_effort() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = find_parser("k2-horizon", &root.join("plugins")).expect("shipped");
    let parser = Sandboxed::new(source, &ParserLimits::default(), None, Measures::Nothing, |_, _| Ok(()));
    let parser = parser.expect("a sandbox");
    let model = root.join("host/models/qwen3-tiny");
    for format in ["xml", "xml_typed", "json"] {
        for effort in ["high", "medium", "low"] {
            let template = twin(format, effort);
            let files = TemplateFiles::read(model.to_str().expect("UTF-8"), Some(template)).expect("a model");
            let fit = fit::check(&files, &parser, &[], &Material::default()).expect("checked");
            assert_eq!(fit.count(FitVerdict::Same), 44, "{format}, {effort}: {:?}", fit.probes);
        }
    }
}
