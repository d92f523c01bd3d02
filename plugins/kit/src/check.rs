//! Plays a folder of cases to a parser natively, each cut in many ways. `host parser test` does the
//! same, and more, with the component.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde_json::Value;

use super::Item;
use super::broken_off::check_arguments;
use super::case::{Case, CaseItem, case_files};
use super::cut::{Script, compare};
use parser_sdk::Parser;

/// Number of seeds of the changes to a case after which nothing may be lost.
const SEEDS: u64 = 3;
/// Most places at which a case is broken off.
const BREAKS: usize = 128;

/// Plays every case of `folder` as it is cut, in the ways of [`super::agree`], and broken off,
/// where arguments must lead up to those expected, also by a marker inside a string. Panics with a
/// readable list of the cases that fail, each cause once. Returns how many cases there were.
///
/// With `UPDATE_EXPECT=1` in the environment it writes the items that came of each case as cut into
/// the case's `expect` instead: read the diff before you commit it.
///
/// # Panics
/// A case fails, or can't be read, or there is none.
pub fn check_cases<P: Parser>(folder: &Path) -> usize {
    check_cases_with::<P>(folder, &[])
}

/// [`check_cases`] of a parser that gets these options in every case, before the case's own.
///
/// # Panics
/// As [`check_cases`].
pub fn check_cases_with<P: Parser>(folder: &Path, options: &[(String, String)]) -> usize {
    let files = case_files(folder).unwrap_or_else(|error| panic!("{error}"));
    assert!(!files.is_empty(), "{}: no cases", folder.display());
    let update = std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1");
    let mut failures: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in &files {
        let case = Case::load(file).unwrap_or_else(|error| panic!("{error}"));
        if let Err(difference) = caught(|| check::<P>(&case, options, file, update)) {
            failures.entry(difference).or_default().push(file.display().to_string());
        }
    }
    let report = failures.iter().fold(String::new(), |mut report, (cause, files)| {
        let _ = writeln!(report, "{}: {cause}", files.join("\n"));
        report
    });
    assert!(failures.is_empty(), "\n{report}");
    files.len()
}

/// The result of `check`, or what it panicked with.
fn caught(check: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(format!("panics: {}", text.unwrap_or_default()))
    })
}

fn check<P: Parser>(
    case: &Case,
    options: &[(String, String)],
    file: &Path,
    update: bool,
) -> Result<(), String> {
    let mut request = case.request();
    request.options.splice(0..0, options.iter().cloned());
    let markers = P::describe(&request.options).expect("describe").markers;
    request.token_markers = case.token_markers(&markers);
    let script = Script {
        request: &request,
        prompt: &case.generation_prompt,
        output: case.pieces(&markers).into_iter().flatten().collect(),
        markers: case.markers,
        reason: case.finish(),
    };
    let as_cut = script.play::<P>(&[usize::MAX], false);
    if update {
        rewrite(file, &as_cut);
        return Ok(());
    }
    if case.expect.is_none() {
        let expect = serde_json::json!({ "items": written(&as_cut) });
        return Err(format!(
            "the case has no `expect`; if what it comes to is right, write it, or let UPDATE_EXPECT=1 do so:\n  \"expect\": {expect}"
        ));
    }
    compare("as it is cut", &as_cut, &case.expected())?;
    let end = script.end::<P>();
    if let Some(expected) =
        case.expect.as_ref().and_then(|expect| expect.end).filter(|expected| *expected != end)
    {
        return Err(format!("the response ends {end:?}, expected {expected:?}"));
    }
    script.check::<P>(&[2, 11, 1], &case.expected())?;
    script.check_lost_quotes::<P>()?;
    (0..SEEDS).try_for_each(|seed| script.check_nothing_lost::<P>(seed))?;
    check_arguments::<P>(&script, BREAKS)
}

/// The items as a case has them.
fn written(items: &[Item]) -> Value {
    let items: Vec<CaseItem> = items.iter().cloned().map(CaseItem::from).collect();
    serde_json::to_value(items).expect("items are plain")
}

/// Puts these items into the case's `expect`, and leaves the rest of the file as it is.
fn rewrite(file: &Path, items: &[Item]) {
    let text = std::fs::read_to_string(file).expect("it was read before");
    let mut case: Value = serde_json::from_str(&text).expect("it was read before");
    case["expect"]["items"] = written(items);
    let text = serde_json::to_string_pretty(&case).expect("a value");
    std::fs::write(file, text + "\n").unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}
