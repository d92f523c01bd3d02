//! Tests of the rows: each sets its own bound and no other, and `docs/limits.md` has all of them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use accounts::AccountLimits;
use api::limits::RequestLimits;
use bounds::{Bound, Bounded};
use mcp::McpLimits;
use model::limits::ModelLimits;
use parsers::ParserLimits;
use prompt::PromptLimits;
use remote::RemoteLimits;
use server::HttpLimits;
use store::Bounds;

/// Runs a function for each set of limits, in the page's order.
macro_rules! each_set {
    ($run:ident($into:expr)) => {
        $run::<HttpLimits>($into);
        $run::<RequestLimits>($into);
        $run::<AccountLimits>($into);
        $run::<PromptLimits>($into);
        $run::<ModelLimits>($into);
        $run::<ParserLimits>($into);
        $run::<McpLimits>($into);
        $run::<RemoteLimits>($into);
        $run::<Bounds>($into);
    };
}

/// Values of all rows, in order.
fn values<L: Bounded>(limits: &mut L) -> Vec<u64> {
    L::BOUNDS.iter().map(|bound| bound.get(limits)).collect()
}

fn each_row_sets_its_own<L: Bounded>(names: &mut BTreeSet<&'static str>) {
    for (at, bound) in L::BOUNDS.iter().enumerate() {
        let Bound { switch, range, .. } = bound;
        assert!(names.insert(switch), "--{switch} stands there twice");
        assert!(*range.start() > 0 && range.contains(&bound.default()), "--{switch}: {}", bound.default());
        for value in [*range.start(), *range.end()] {
            let mut limits = L::default();
            let mut expected = values(&mut limits);
            bound.set(&mut limits, value);
            expected[at] = value;
            assert_eq!(values(&mut limits), expected, "--{switch} {value}");
        }
    }
}

#[test]
fn each_switch_sets_its_own_bound_within_its_range() {
    let mut names = BTreeSet::new();
    each_set!(each_row_sets_its_own(&mut names));
}

#[test]
fn one_request_takes_at_most_half_of_the_engine() {
    let at_a_time = engine::LocalOptions::default().sequences;
    assert!(2 * RequestLimits::default().sequences <= at_a_time);
    let help = RequestLimits::BOUNDS.iter().find(|bound| bound.switch == "max-sequences").unwrap().help;
    assert!(help.contains(&format!("{at_a_time} answers at a time")), "{help}");
}

const BEGIN: &str = "<!-- switches -->\n";
const END: &str = "<!-- end -->";

/// Writes a set's rows: sets with the same heading share a table.
fn table<L: Bounded>(page: &mut String) {
    let heading = format!("\n## {}\n\n| switch | | default | range |\n|---|---|---|---|\n", L::HEADING);
    if !page.contains(&heading) {
        page.push_str(&heading);
    }
    for bound in L::BOUNDS {
        let Bound { switch, unit, range, help, .. } = bound;
        let (unit, default, least, most) = (unit.name(), bound.default(), range.start(), range.end());
        writeln!(page, "| `--{switch} {unit}` | {help} | {default} | {least} to {most} |").unwrap();
    }
}

#[test]
fn the_page_has_the_switches_as_they_are() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/limits.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the tables have their place");
    let (_, after) = rest.split_once(END).expect("the tables have their end");
    let mut fresh = format!("{before}{BEGIN}");
    each_set!(table(&mut fresh));
    write!(fresh, "\n{END}{after}").unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, fresh).unwrap();
    } else {
        assert!(page == fresh, "docs/limits.md is stale: run this test with UPDATE_DOCS=1");
    }
}
