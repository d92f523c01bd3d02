//! Tests of the loader: which file is chosen, and the effect of files that can't be used.

use std::collections::HashSet;

use super::*;
use crate::{EngineChoice, fixture};
use parsers::ParserLimits;

#[path = "../../../../../../tests/src/guests.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the package `tests`")]
mod guests;
mod trials;

/// Makes a folder with these guests as files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (file, guest) in files {
        std::fs::write(folder.path().join(file), guests::guest(guest)).unwrap();
    }
    folder
}

fn options(folder: &Path) -> ModelOptions {
    ModelOptions::new(folder, EngineChoice::Local)
}

fn facts(model_type: &str, table: Option<&str>) -> ModelFacts {
    ModelFacts {
        types: vec![model_type.to_owned()],
        template: String::new(),
        plain: String::new(),
        turns: Vec::new(),
        tokens: HashSet::new(),
        table: table.map(str::to_owned),
    }
}

fn loader(argument: &str, options: &ModelOptions, facts: ModelFacts) -> Loader {
    let runtime = fixture::runtime(&ParserLimits::default());
    let argument = ParserArgument::read(Some(argument));
    Loader::new(Arc::new(runtime), argument, options, facts)
}

fn choose(argument: &str, options: &ModelOptions, facts: ModelFacts) -> Result<ParserChoice, String> {
    loader(argument, options, facts).choose(None).map_err(|error| error.to_string())
}

#[test]
fn unclaimed_model_with_a_table_gets_the_table_parser() {
    let folder = folder(&[("t.wasm", "response_template"), ("h.wasm", "healthy")]);
    let mut options = options(folder.path());
    let table = || facts("unheard-of", Some(r#"{"a":1}"#));
    let handed = [("response_template".to_owned(), r#"{"a":1}"#.to_owned())];
    for argument in ["auto", "t"] {
        let choice = choose(argument, &options, table()).unwrap();
        assert_eq!(choice.plugin.descriptor().name, "response-template", "{argument}");
        assert_eq!(choice.options, handed, "{argument}");
    }
    assert_eq!(choose("h", &options, table()).unwrap().options, [], "no other parser is told");
    options.parser_options = vec![("response_template".to_owned(), "mine".to_owned())];
    assert_eq!(
        choose("auto", &options, table()).unwrap().options,
        options.parser_options,
        "the operator's goes first"
    );
}

#[test]
fn table_is_unused_if_claimed_or_without_table_parser() {
    let both = folder(&[("t.wasm", "response_template"), ("c.wasm", "claims_qwen3")]);
    let choice = choose("auto", &options(both.path()), facts("mamba", Some("{}"))).unwrap();
    assert_eq!(choice.plugin.descriptor().name, "guest");
    assert_eq!(choice.options, []);
    let table = folder(&[("t.wasm", "response_template")]);
    let choice = choose("auto", &options(table.path()), facts("mamba", None)).unwrap();
    assert_eq!((choice.source.as_str(), choice.doubtful), ("none", true), "{}", choice.why);
}

/// Templates of each family in short, with what their conversations without tools look like.
#[test]
fn template_chooses_parser_for_unclaimed_types() {
    const CHATML: &str = "<|im_start|>user<|im_end|><|im_start|>assistant<|im_end|>";
    const XML: &str =
        "<think></think><tool_call>\n<function=a>\n<parameter=b>\n</parameter>\n</function>\n</tool_call>";
    const LLAMA: &str = "<|start_header_id|>user<|end_header_id|><|eot_id|>";
    let folder = folder(&[]);
    for (model_type, plain, calls, expected) in [
        ("llama", LLAMA, "<|python_tag|><|eom_id|>", "llama3"),
        ("llama", LLAMA, "", "none"),
        ("llama", CHATML, "<tool_call></tool_call>", "qwen3"),
        (
            "llama",
            "<｜User｜><｜Assistant｜>",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>",
            "deepseek-v3",
        ),
        ("qwen2", CHATML, "<tool_call></tool_call>", "qwen3"),
        ("smollm3", CHATML, "<think></think><tool_call></tool_call>", "qwen3"),
        ("exaone4", "[|user|][|endofturn|]", "<think></think><tool_call></tool_call>", "qwen3"),
        ("ernie4_5_moe", CHATML, "<think></think><response></response><tool_call></tool_call>", "ernie"),
        ("nemotron_h", CHATML, XML, "qwen3-coder"),
        (
            "granitemoehybrid",
            "<|start_of_role|>user<|end_of_role|><|end_of_text|>",
            "<tool_call></tool_call>",
            "qwen3",
        ),
        ("granitemoehybrid", CHATML, XML, "qwen3-coder"),
        ("step3p5", CHATML, XML, "qwen3-coder"),
        ("mimo_v2", CHATML, XML, "qwen3-coder"),
    ] {
        let template = format!("{plain}{calls}");
        let facts = ModelFacts { template, plain: plain.to_owned(), ..facts(model_type, None) };
        let choice = choose("auto", &options(folder.path()), facts).unwrap();
        assert_eq!(choice.source, expected, "{model_type}: {}", choice.why);
        // Markers of `qwen3` and `ernie` are others' markers, too.
        assert_eq!(choice.doubtful, ["none", "qwen3", "ernie"].contains(&expected), "{model_type}");
    }
}

#[test]
fn equal_claims_are_a_tie_that_says_what_to_type() {
    let folder = folder(&[]);
    for (file, name) in [("a.wasm", "one"), ("b.wasm", "other")] {
        std::fs::write(folder.path().join(file), pretender(name, "mamba", "1")).unwrap();
    }
    let line = choose("auto", &options(folder.path()), facts("mamba", None)).unwrap_err();
    let at = folder.path().display();
    assert!(line.ends_with(&format!("--parser {at}/a.wasm or --parser {at}/b.wasm")), "{line}");
}

#[test]
fn pins_go_by_the_parsers_own_name_before_compiling() {
    let folder = folder(&[("h.wasm", "healthy"), ("garbage.wasm", "core_module")]);
    let refusal = |argument: &str, name: &str| {
        let mut options = options(folder.path());
        options.parser_pins = vec![format!("{name}={}", "0".repeat(64)).parse().unwrap()];
        choose(argument, &options, facts("qwen3", None))
            .err()
            .unwrap_or_else(|| panic!("{argument} {name} loads"))
    };
    for (argument, name) in [
        ("h", "h"),
        ("h", "h.wasm"),
        ("h", "guest"),
        ("garbage", "garbage"),
        ("auto", "h"),
        ("auto", "qwen3"),
    ] {
        let line = refusal(argument, name);
        assert!(line.contains("its SHA-256 is") && line.contains(&"0".repeat(64)), "{line}");
    }
    assert!(refusal("h", "other").contains("no parser of this name was looked at, only h, guest"));
}

#[test]
fn what_didnt_change_isnt_compiled_again() {
    let folder = folder(&[("h.wasm", "healthy")]);
    let mut loader = loader("h", &options(folder.path()), facts("m", None));
    let first = loader.choose(None).unwrap().plugin;
    let again = loader.choose(None).unwrap().plugin;
    assert!(Arc::ptr_eq(&first, &again));
    std::fs::write(folder.path().join("h.wasm"), guests::guest("to_reasoning")).unwrap();
    let other = loader.choose(None).unwrap().plugin;
    assert!(!Arc::ptr_eq(&first, &other));
}

/// Reason why a candidate wasn't chosen or can't be used. `source` is the end of its source.
fn why_not(loader: &Loader, source: &str) -> String {
    let candidate = loader.candidates.iter().find(|candidate| candidate.source.ends_with(source)).unwrap();
    candidate.not_chosen.as_deref().or(candidate.error()).unwrap_or_default().to_owned()
}

#[test]
fn of_equal_files_the_one_with_its_parsers_name_wins() {
    let folder =
        folder(&[("a.wasm", "claims_qwen3"), ("guest.wasm", "claims_qwen3"), ("z.wasm", "claims_qwen3")]);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let options = options(folder.path());
    let mut loader = loader("auto", &options, facts("mamba", None));
    assert_eq!(loader.choose(None).unwrap().source, at("guest.wasm"));
    for copy in ["a.wasm", "z.wasm"] {
        assert_eq!(why_not(&loader, copy), format!("{} has the same bytes", at("guest.wasm")));
    }
    std::fs::remove_file(folder.path().join("guest.wasm")).unwrap();
    assert_eq!(loader.choose(None).unwrap().source, at("a.wasm"), "of foreign names the first");
}

#[test]
fn of_several_builds_one_is_taken_and_others_named() {
    let folder = folder(&[("guest.wasm", "claims_qwen3")]);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let build = |file: &str, version: &str| {
        let bytes = guests::with_section(guests::guest("claims_qwen3"), "build", version);
        std::fs::write(folder.path().join(file), bytes).unwrap();
    };
    build("guest (copy).wasm", "1");
    build("b.wasm", "2");
    let options = options(folder.path());
    let mut loader = loader("auto", &options, facts("mamba", None));
    assert_eq!(loader.choose(None).unwrap().source, at("guest.wasm"));
    for copy in ["guest (copy).wasm", "b.wasm"] {
        let why = format!("{} is the same parser by its descriptor", at("guest.wasm"));
        assert_eq!(why_not(&loader, copy), why);
        assert!(loader.candidates.iter().any(|one| one.source == at(copy) && one.is_other_build));
    }
    std::fs::remove_file(folder.path().join("guest.wasm")).unwrap();
    assert_eq!(loader.choose(None).unwrap().source, at("b.wasm"), "of foreign names the first");
    for (file, version) in [("c.wasm", "1.9"), ("d.wasm", "1.10"), ("e.wasm", "1.2")] {
        std::fs::write(folder.path().join(file), pretender("guest", "mamba", version)).unwrap();
    }
    // They aren't what their sections say, so that none of them can be loaded.
    let _ = loader.choose(None);
    assert_eq!(why_not(&loader, "c.wasm"), format!("{} is the same parser by its descriptor", at("d.wasm")));
}

#[test]
fn each_that_lost_is_told_why() {
    let folder = folder(&[("c.wasm", "claims_qwen3"), ("h.wasm", "healthy")]);
    let options = options(folder.path());
    let mut loader = loader("auto", &options, facts("mamba", None));
    loader.choose(None).unwrap();
    assert_eq!(why_not(&loader, "h.wasm"), "it claims no model, not model_type mamba");
    assert_eq!(why_not(&loader, "llama3"), "it claims mllama, not model_type mamba");
    let mut facts = facts("qwen3", None);
    facts.template = "<tool_call>".to_owned();
    loader.facts = facts;
    assert_eq!(loader.choose(None).unwrap().source, "qwen3");
    assert_eq!(why_not(&loader, "c.wasm"), "qwen3 fits the chat template better");
}

/// The healthy guest, whose section says that it is the parser `name` for `model`.
fn pretender(name: &str, model: &str, version: &str) -> Vec<u8> {
    let section = format!(
        r#"{{"Ok":{{"name":"{name}","version":"{version}","models":["{model}"],"markers":[],"stops":[],"trim":{{}},"history_call_ids":null}}}}"#
    );
    guests::with_section(guests::guest("healthy"), "sluice-descriptor", &section)
}

#[test]
fn false_section_excludes_file_for_the_shipped_parser() {
    let folder = folder(&[]);
    std::fs::write(folder.path().join("q.wasm"), pretender("qwen3", "qwen3", "1")).unwrap();
    let options = options(folder.path());
    let mut loader = loader("auto", &options, facts("qwen3", None));
    assert_eq!(loader.choose(None).unwrap().source, "qwen3");
    let why = why_not(&loader, "q.wasm");
    assert!(why.contains("its section sluice-descriptor doesn't fit the component"), "{why}");
    let serving = folder.path().join("q.wasm").display().to_string();
    assert!(loader.choose(Some(&serving)).is_err(), "it serves: its fault isn't passed over");
}

#[test]
fn the_chosen_one_is_compiled_and_none_besides() {
    let compiled = |facts: ModelFacts| {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        let mut loader = loader("auto", &options(folder.path()), facts);
        let runtime = Runtime::new(&ParserLimits::default()).unwrap();
        let compiled = parsers::CompileCache::open(&cache).unwrap();
        loader.runtime = Arc::new(runtime.with_cache(Some(compiled)));
        let chosen = loader.choose(None).unwrap().plugin.descriptor().name.clone();
        let is_entry = |path: &Path| path.extension().is_some_and(|ending| ending == "compiled");
        (chosen, cache.read_dir().unwrap().filter(|entry| is_entry(&entry.as_ref().unwrap().path())).count())
    };
    assert_eq!(compiled(facts("mllama", None)), ("llama3".to_owned(), 1));
    assert_eq!(compiled(facts("mllama", Some("{}"))), ("llama3".to_owned(), 1), "a table isn't asked for");
}
