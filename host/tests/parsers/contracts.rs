//! Versions of the contract side by side: which one a component is loaded by, and what every other
//! component is told.

use std::borrow::Cow;
use std::sync::Arc;

use contract::{FinishReason, Op, Request, Route, Run, Step};
use parsers::{ContractVersion, ParserLimits, Plugin, PluginSource, Runtime, build_sections};
use turn::{
    Binding, FoldedItem, ItemHead, TokenText, Turn, TurnEnd, TurnEvents, TurnSettings, counted_call_ids, fold,
};

use crate::guests::{DRAFT, Export, exporting, guest, with_section};

const FIRST: Export<'static> = Export { guest: "healthy", version: "0.1.0", edits: &[] };
const FUNCTION: (&str, &str) = (
    "(export \"finish\" (func $finish))",
    "(export \"finish\" (func $finish)) (export \"more\" (func $finish))",
);
const CURE: &str = "; build it against wit/parser-0.1 of this host, or update the host";
const CASE: (&str, &str) = ("(case \"note\" $note)", "(case \"note\" $note) (case \"more\")");

fn runtime(drafts: bool) -> Runtime {
    Runtime::new(&ParserLimits::default()).expect("wasmtime works here").with_drafts(drafts)
}

fn source(bytes: Vec<u8>) -> PluginSource {
    PluginSource::Bytes { name: "p".to_owned(), bytes: Cow::Owned(bytes) }
}

fn load(drafts: bool, bytes: Vec<u8>) -> Result<Arc<Plugin>, String> {
    runtime(drafts).load(&source(bytes), &[]).map_err(|error| {
        let line = error.to_string();
        assert!(!line.contains('\n'), "{line}");
        line.strip_prefix("parser p: ").expect("the error names the plugin").to_owned()
    })
}

fn refusal(drafts: bool, bytes: Vec<u8>) -> String {
    load(drafts, bytes).expect_err("it is refused")
}

/// The first component that exports both, and its answer to a text in each version.
fn both() -> Vec<u8> {
    exporting(&[FIRST, DRAFT])
}

#[test]
fn draft_component_loads_if_allowed_or_tells_the_cure() {
    assert_eq!(
        refusal(false, exporting(&[DRAFT])),
        "exports sluice:parser/parser@0.2.0-draft, a draft of the contract: allow it with --draft-contracts, or take the parser's build \
         for 0.1"
    );
    assert_eq!(runtime(false).describe(&source(both())).unwrap().contract, ContractVersion::V0_1);
    let plugin = load(true, exporting(&[DRAFT])).unwrap();
    assert_eq!(plugin.contract(), Some(ContractVersion::Draft0_2));
    assert_eq!(Plugin::none().contract(), None);
}

#[test]
fn newest_allowed_version_of_a_component_serves() {
    for (drafts, contract) in [(false, ContractVersion::V0_1), (true, ContractVersion::Draft0_2)] {
        assert_eq!(runtime(drafts).describe(&source(both())).unwrap().contract, contract);
        let plugin = load(drafts, both()).unwrap();
        assert_eq!(plugin.contract(), Some(contract));
        let step = plugin.start(&Request::default()).unwrap().text("f abcdefghi {}").unwrap();
        let Step::Ops(ops) = step else { panic!("{step:?}") };
        let calls =
            ops.iter().any(|op| matches!(op, Op::ToolCall(call) if call.id.as_deref() == Some("abcdefghi")));
        assert_eq!(calls, drafts, "{ops:?}");
    }
    assert_eq!(load(true, exporting(&[FIRST])).unwrap().contract(), Some(ContractVersion::V0_1));
}

#[test]
fn streams_of_both_versions_run_side_by_side() {
    let runtime = runtime(true);
    let start = |bytes| runtime.load(&source(bytes), &[]).unwrap().start(&Request::default()).unwrap();
    let (mut first, mut draft) = (start(guest("healthy")), start(exporting(&[DRAFT])));
    for _ in 0..3 {
        let content = Op::Bytes(Run { route: Route::Content, bytes: 14 });
        assert_eq!(first.text("f abcdefghi {}"), Ok(Step::Ops(vec![content])));
        assert!(matches!(draft.text("f abcdefghi {}"), Ok(Step::Ops(ops)) if ops.len() == 4));
    }
}

/// Ids of the calls that the draft's guest makes of these texts, and the end of their turn.
fn call_ids(texts: &[&str]) -> (Vec<String>, TurnEnd, Option<String>) {
    let plugin = load(true, exporting(&[DRAFT])).expect("it loads");
    let request = Request::default();
    let settings = TurnSettings::of(&request, counted_call_ids());
    let binding = Binding::by_text(plugin.descriptor()).expect("its markers are checked");
    let mut turn = Turn::new(&binding, plugin.start(&request).expect("it starts"), settings);
    let mut events = TurnEvents::default();
    for text in texts {
        let _ = turn.step(&[TokenText::new(None, text)], &mut events);
    }
    let end = turn.finish(FinishReason::Stop, None, &mut events);
    let fault = turn.fault().map(contract::Fault::in_full);
    let id = |item: FoldedItem| {
        if let ItemHead::ToolCall { call_id, .. } = item.head { Some(call_id) } else { None }
    };
    (fold(events).expect("a well-formed turn").into_iter().filter_map(id).collect(), end, fault)
}

#[test]
fn models_own_call_id_is_kept_where_plain_and_new() {
    let (ids, end, fault) =
        call_ids(&["f abcdefghi {}", "g abcdefghi {}", "h a:b.cdefg {}", "i call_1234 {}", "j ABC-_6789 {}"]);
    assert_eq!((end, fault), (TurnEnd::Completed, None));
    assert_eq!(ids, ["abcdefghi", "call_1", "call_2", "call_1234", "ABC-_6789"]);
}

#[test]
fn an_id_that_the_model_did_not_write_is_a_fault() {
    let (ids, _, fault) = call_ids(&["f abcdefghi {}", "x abcdefghj {}"]);
    assert_eq!(ids, ["abcdefghi"]);
    assert_eq!(fault.unwrap(), "it gave a call an id that isn't in the bytes dropped for the call");
}

#[test]
fn patch_version_may_add_functions_but_no_cases() {
    let patch = |edits| exporting(&[Export { guest: "healthy", version: "0.1.1", edits }]);
    for edits in [&[][..], &[FUNCTION]] {
        assert_eq!(load(false, patch(edits)).unwrap().contract(), Some(ContractVersion::V0_1));
    }
    for drafts in [false, true] {
        let line = refusal(drafts, patch(&[CASE]));
        let begins = "its sluice:parser/parser@0.1.1 isn't contract 0.1: expected variant of ";
        assert!(line.starts_with(begins) && line.ends_with(CURE), "{line}");
    }
    let changed = Export { guest: "healthy", version: "0.2.0-draft", edits: &[] };
    let line = refusal(true, exporting(&[changed]));
    assert!(line.starts_with("its sluice:parser/parser@0.2.0-draft isn't contract 0.2-draft: "), "{line}");
}

#[test]
fn unknown_contract_versions_are_named_with_the_cure() {
    for version in ["0.3.0", "1.0.0", "0.2.0", "0.2.0-draft.1", "0.1.0-rc.1"] {
        for drafts in [false, true] {
            assert_eq!(
                refusal(drafts, exporting(&[Export { version, ..FIRST }])),
                format!(
                    "exports sluice:parser/parser@{version}, this host serves 0.1: update the host, or take the parser's build for 0.1"
                )
            );
        }
    }
    let beside = [Export { version: "0.3.0", edits: &[CASE, FUNCTION], ..FIRST }, FIRST];
    assert_eq!(load(true, exporting(&beside)).unwrap().contract(), Some(ContractVersion::V0_1));
}

#[test]
fn no_section_speaks_for_a_version() {
    let unknown = exporting(&[Export { version: "0.3.0", ..FIRST }]);
    for section in ["sluice-contract", "sluice-version", "sluice-descriptor@0.1.0"] {
        let line = refusal(true, with_section(unknown.clone(), section, "0.1.0"));
        assert!(line.starts_with("exports sluice:parser/parser@0.3.0, this host serves 0.1: "), "{line}");
        let loaded = load(false, with_section(guest("healthy"), section, "0.3.0")).unwrap();
        assert_eq!(loaded.contract(), Some(ContractVersion::V0_1));
    }
}

const SECTION: &str = "sluice-descriptor";
const HEALTHY: &str = r#"{"Ok":{"name":"guest","version":"1.0.0","models":[],"markers":["<x>"],"stops":[],"trim":{},"history_call_ids":null}}"#;

#[test]
fn damaged_section_is_one_line_and_no_others_concern() {
    let runtime = runtime(true);
    let mut neighbour =
        runtime.load(&source(guest("healthy")), &[]).unwrap().start(&Request::default()).unwrap();
    let twice = with_section(with_section(guest("healthy"), SECTION, HEALTHY), SECTION, HEALTHY);
    let with = |contents: &[u8]| with_section(guest("healthy"), SECTION, contents);
    for (bytes, words) in [
        (twice, "occurs 2 times"),
        (with(&vec![b' '; (1 << 20) + 1]), "has 1048577 bytes, at most 1048576 are allowed"),
        (with(&vec![b' '; 1 << 20]), "can't be read: EOF"),
        (with(b"{\"Ok\":{\"name\":\"\xff\xfe\"}}"), "can't be read: "),
        (with(&[0; 64]), "can't be read: "),
        (with("[".repeat(1 << 16).as_bytes()), "can't be read: "),
    ] {
        for error in [
            runtime.describe(&source(bytes.clone())).unwrap_err(),
            runtime.load(&source(bytes), &[]).unwrap_err(),
        ] {
            let line = error.to_string();
            let rest = line.strip_prefix("parser p: its section sluice-descriptor ").expect("the section");
            assert!(rest.starts_with(words) && rest.ends_with("; build the component again"), "{line}");
            assert!(line.lines().count() == 1 && line.len() < 400, "{line}");
        }
        assert!(neighbour.text("x").is_ok());
    }
}

#[test]
fn each_version_has_a_section_of_its_own() {
    let described = with_section(both(), SECTION, HEALTHY);
    let facts = |drafts: bool| runtime(drafts).describe(&source(described.clone())).unwrap();
    assert_eq!(facts(false).descriptor.expect("a section").name, "guest");
    assert_eq!((facts(true).contract, facts(true).descriptor), (ContractVersion::Draft0_2, None));
    let newer = with_section(described, "sluice-descriptor@0.2.0-draft", r#"{"Ok":{"unheard-of":1}}"#);
    assert!(load(false, newer.clone()).is_ok());
    assert!(refusal(true, newer.clone()).starts_with("its section sluice-descriptor can't be read: "));
    assert_eq!(build_sections(&source(newer)), []);
}

#[test]
fn few_sections_about_a_build_are_shown_of_many() {
    let many = (0..1000).fold(guest("healthy"), |bytes, _| with_section(bytes, "sluice-x", "y"));
    assert_eq!(build_sections(&source(many)).len(), 16);
}
