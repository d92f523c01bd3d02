//! Benchmark of Sluice's parsers and those of other projects in one run: cost per delta, and
//! checks. README.md says how to read it.
#![allow(clippy::print_stdout, reason = "its result is what it prints")]

mod checks;
mod cost;
#[path = "../../src/formats.rs"]
#[allow(dead_code, reason = "the other benchmarks use the rest")]
mod formats;
#[path = "../../src/measure.rs"]
#[allow(dead_code, unreachable_pub, reason = "the other benchmarks use the rest")]
mod measure;
mod parsers;
mod samples;
mod stream;

use checks::Checks;
use cost::{Cost, LENGTHS};
use formats::{FORMATS, Format, Shape};
use readers::Delta;
use readers::harmony::{encode, find_vocabulary};
use samples::SAMPLES;
use stream::Start;

/// Returns the format of this name.
fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Deltas as the model's tokenizer gives them.
fn tokens<'a>(format: &Format, deltas: &[&'a str]) -> Vec<Delta<'a>> {
    let markers = parsers::markers(format.name);
    let marker = |text: &str| {
        let at = markers.iter().position(|known| known == text && !format.spelt.contains(&text));
        at.map_or(u32::MAX, |at| u32::try_from(at).expect("few markers"))
    };
    let tokens = |text| if format.name == "harmony" { encode(text) } else { Vec::new() };
    deltas.iter().map(|text| Delta { text, marker: Some(marker(text)), tokens: tokens(text) }).collect()
}

fn figures(format: &Format, shape: Shape, parsers: &[(&str, Start)]) {
    println!(
        "\n{:26}{}",
        shape.name(),
        LENGTHS.map(|length| format!("{length:>11}")).concat() + "    64k/256"
    );
    for (name, start) in parsers {
        print!("  {name:24}");
        let costs = LENGTHS.map(|length| {
            let cost = cost::cost(format, start, shape, length);
            match cost {
                Cost::Whole(ns) => print!("{ns:11.0}"),
                Cost::Cut(ns) => print!("{:>11}", format!(">{ns:.0}")),
            }
            cost
        });
        let (Cost::Whole(first) | Cost::Cut(first)) = costs[0];
        match costs[LENGTHS.len() - 1] {
            Cost::Whole(last) => println!("{:11.2}", last / first),
            Cost::Cut(last) => println!("{:>11}", format!(">{:.0}", last / first)),
        }
    }
}

fn verdicts(parsers: &[(&str, Start)], checks: &[Checks]) {
    println!("\n{:26}{:>16}{:>20}{:>22}", "", "split-invariant", "silence in prose", "in string arguments");
    let mut notes = Vec::new();
    for ((name, _), checks) in parsers.iter().zip(checks) {
        let invariant = checks.invariant.map_or("by tokens only", |yes| if yes { "yes" } else { "no" });
        let marks: Vec<String> =
            (1..=checks.notes.len()).map(|at| format!(" [{}]", notes.len() + at)).collect();
        let marks = marks.concat();
        notes.extend(&checks.notes);
        println!("  {name:24}{invariant:>16}{:>20}{:>22}{marks}", checks.silence[0], checks.silence[1]);
    }
    for (at, note) in notes.iter().enumerate() {
        println!("  [{}] {note}", at + 1);
    }
}

fn main() {
    find_vocabulary();
    let asked: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "ns of CPU per delta of about 4 characters, started and warm; > where {} s were not enough for one stream",
        cost::BUDGET.as_secs()
    );
    for format in
        FORMATS.iter().filter(|format| asked.is_empty() || asked.iter().any(|name| name == format.name))
    {
        let Some(sample) = SAMPLES.iter().find(|sample| sample.format == format.name) else { continue };
        println!("\n== {} ==", format.name);
        if format.name == "harmony" && encode("a").is_empty() {
            println!("without o200k_base.tiktoken ours alone reads it: run tests/peers/vocabulary.sh");
        }
        let parsers: Vec<(&str, Start)> =
            parsers::ALL.iter().filter_map(|(name, start)| Some((*name, start(format.name)?))).collect();
        let checks: Vec<Checks> =
            parsers.iter().map(|(_, start)| checks::check(format, start, sample)).collect();
        for shape in Shape::ALL {
            figures(format, shape, &parsers);
        }
        verdicts(&parsers, &checks);
    }
}
