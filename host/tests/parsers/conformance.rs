//! The plugins of `plugins/`, and the tables of `plugins/tables/`, keep the properties of every
//! parser, tested with their own cases; and the example in the page about cases is valid.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use model::find_parser;
use parser_kit::case::case_files;
use parsers::CompileCache;
use parsers::ParserLimits;
use parsers::conformance::{Measures, Property, Recording, Report, Sandboxed, play_case, test};

/// Whether the parser's format writes arguments as JSON.
fn writes_json(parser: &str) -> bool {
    let format = registry::FORMATS.iter().find(|format| format.name == parser);
    format.is_some_and(|format| matches!(format.profile.writing.call, registry::Call::Json(_)))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Loads a plugin, which is compiled once for all options that its cases set.
fn sandboxed(plugin: &Path) -> Sandboxed {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-parsers");
    let cache = CompileCache::open(&folder).expect("a folder of our own");
    Sandboxed::new(
        find_parser(&plugin.to_string_lossy(), &root().join("plugins")).expect("a parser"),
        &ParserLimits::default(),
        Some(cache),
        Measures::Resources,
        api::case_stream::check,
    )
    .expect("wasmtime runs here")
}

/// Built plugins, and tables, that have a folder of cases, sorted by name.
fn plugins() -> Vec<PathBuf> {
    let [plugins, tables] = ["plugins", "plugins/tables"].map(|folder| root().join(folder));
    let entries = |folder: PathBuf| folder.read_dir().expect("the folder of plugins");
    let paths = entries(plugins).chain(entries(tables)).map(|entry| entry.expect("an entry").path());
    let has_cases = |path: &PathBuf| path.with_extension("").join("cases").is_dir();
    let mut plugins: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some()).filter(has_cases).collect();
    plugins.sort();
    plugins
}

fn report(plugin: &Path) -> Report {
    let cases = case_files(&plugin.with_extension("").join("cases")).expect("cases");
    test(&cases, &sandboxed(plugin), 1).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_plugin_keeps_every_property() {
    let plugins = plugins();
    assert!(!plugins.is_empty());
    let queue = Mutex::new(plugins.iter());
    let work = || {
        let next = || queue.lock().expect("nobody panics with it").next();
        std::iter::from_fn(next).flat_map(|plugin| problems(plugin)).collect::<Vec<_>>()
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a parser can't panic")).collect()
    });
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Problems of a plugin: failures of its cases, and properties that no case checks.
fn problems(plugin: &Path) -> Vec<String> {
    let report = report(plugin);
    let mut problems = Vec::new();
    for finding in &report.findings {
        let property = finding.property.name();
        let is_shown = finding.property != Property::LostQuote || writes_json(&report.parser);
        if finding.checks == 0 && is_shown {
            problems.push(format!("{}: no case shows {property}", report.parser));
        }
        for failure in &finding.failures {
            problems.push(format!("{}: {property}: {}: {}", report.parser, failure.case, failure.what));
        }
    }
    // One parser reads all tables, and has cases of its own.
    let least = if plugin.extension().is_some_and(|extension| extension == "json") { 15 } else { 40 };
    if report.cases < least {
        problems.push(format!("{}: only {} cases", report.parser, report.cases));
    }
    problems
}

#[test]
fn arguments_before_the_name_are_the_allowed_silence() {
    let report = report(&root().join("plugins/qwen3.wasm"));
    let silence = report.findings.iter().find(|finding| finding.property == Property::Silence);
    let figures = &silence.expect("it is reported").figures;
    assert!(figures["before_name"].as_u64() > Some(16), "{figures}");
    assert!(figures["string_arguments"].as_u64() <= Some(16), "{figures}");
}

#[test]
fn the_example_of_the_page_about_cases_is_a_case() {
    let page = std::fs::read_to_string(root().join("docs/cases.md")).expect("the page");
    let (_, rest) = page.split_once("```json\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let parsers = sandboxed(&root().join("plugins/qwen3.wasm"));
    let recording = Recording::parse("example", example, &parsers).expect("a case");
    let file = tempfile::Builder::new().suffix(".json").tempfile().expect("a file");
    std::fs::write(file.path(), example).expect("written");
    assert_eq!(play_case(&recording).fault, None);
    let report = test(&[file.path().to_owned()], &parsers, 1).expect("it runs");
    assert!(report.passed, "{report:?}");
}
