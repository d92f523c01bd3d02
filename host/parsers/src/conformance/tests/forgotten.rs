//! Markers that a template's `%value` forgot, and that the parser takes for markup inside a value:
//! walks find them.

use std::path::Path;
use std::sync::Arc;

use super::{Property, Recording};
use crate::conformance::grammars;
use crate::conformance::report::Tally;
use crate::conformance::{Measures, ParserSource, Sandboxed, Subject};
use crate::{ParserLimits, PluginSource};

/// Case whose parser is walked.
const CASE: &str = r#"{"chunks": ["Hello"], "expect": {"items": [{"type": "message", "text": "Hello"}], "end": "completed"}}"#;

/// A shipped parser with a template of its own.
struct Changed<'a> {
    shipped: &'a Sandboxed,
    template: String,
}

impl ParserSource for Changed<'_> {
    fn load(&self, options: &[(String, String)]) -> Result<Arc<Subject>, String> {
        let shipped = self.shipped.load(options)?;
        let mut descriptor = shipped.descriptor().clone();
        descriptor.grammar = Some(self.template.clone());
        let start = Box::new(move |request: &_| shipped.start(request));
        Subject::new(descriptor, &ParserLimits::default(), start, |_, _| Ok(())).map(Arc::new)
    }
}

/// Whether the parser reads every walk as its request demands.
fn keeps_its_promise(parser: &dyn ParserSource) -> bool {
    let recording = Recording::parse("case", CASE, parser).expect("a case");
    let mut tally = Tally::default();
    grammars::check(&[&recording], parser, 1, &mut tally);
    let finding = &tally.findings(&ParserLimits::default())[Property::Grammar as usize];
    assert!(finding.checks > 0, "{finding:?}");
    finding.passed
}

#[test]
fn walks_find_spellable_markers_that_the_parser_reads() {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
    for (name, forgotten) in [("qwen3-coder", "8"), ("kimi-k3", "14"), ("muse", "9"), ("gemma4", "13")] {
        let source = PluginSource::File(plugins.join(name).with_extension("wasm"));
        let limits = ParserLimits::default();
        let shipped = Sandboxed::new(source, &limits, None, Measures::Nothing, |_, _| Ok(()));
        let shipped = shipped.expect("a sandbox");
        let subject = shipped.load(&[]).expect("a parser");
        let template = subject.descriptor().grammar.clone().expect("a template");
        let line = template.lines().find(|line| line.starts_with("%value ")).expect("its values are bounded");
        let rest: Vec<&str> = line.split(' ').filter(|marker| *marker != forgotten).collect();
        let changed = template.replace(line, &rest.join(" "));
        assert_ne!(changed, template);
        assert!(keeps_its_promise(&shipped), "{name}");
        assert!(!keeps_its_promise(&Changed { shipped: &shipped, template: changed }), "{name} {forgotten}");
    }
}
