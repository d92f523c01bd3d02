//! Trials of grammars that take much for their size: each ends within its limits, with a reason.

use super::*;
use crate::tests::grammar_share;

/// Runs trials on a thread with the stack that they need.
fn run(grammars: &[String]) -> Vec<Result<usize, String>> {
    let share = grammar_share();
    let trial = share.trial().unwrap();
    let run = |grammar: &String| trial.run(grammar, 1000).map_err(|error| error.to_string());
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 * TRIAL_STACK);
        thread.spawn_scoped(scope, || grammars.iter().map(run).collect()).unwrap().join().unwrap()
    })
}

fn chain(length: usize, link: impl Fn(usize) -> String) -> String {
    (0..length).map(link).collect::<Vec<_>>().join("\n") + &format!("\nr{length}: \"a\"\nT{length}: \"a\"\n")
}

#[test]
fn chains_of_rules_and_terminals_end_at_the_stack() {
    let grammars = [
        chain(7000, |at| format!("r{at}: r{}", at + 1)) + "start: r0\n",
        chain(7000, |at| format!("r{at}: r{}?", at + 1)) + "start: r0\n",
        chain(7000, |at| format!("T{at}: T{}", at + 1)) + "start: T0\n",
    ];
    for outcome in run(&grammars) {
        assert!(outcome.as_ref().is_err_and(|reason| reason.contains("too long a chain")), "{outcome:?}");
    }
}

#[test]
fn small_grammars_of_huge_automata_hit_memory_or_fuel() {
    let grammars = [
        format!("start: /{}/", "a?".repeat(30_000)),
        chain(24, |at| format!("T{at}: T{0} T{0}", at + 1)) + "start: T0\n",
        format!(
            "start: A\nA: {}",
            (0..60).map(|at| format!("/(.*x{at}.*)/")).collect::<Vec<_>>().join(" & ")
        ),
    ];
    for outcome in run(&grammars) {
        assert!(outcome.as_ref().is_err_and(|reason| reason.contains("compiling it takes")), "{outcome:?}");
    }
}

#[test]
fn usual_grammars_pass_others_get_llguidances_words() {
    let outcomes = run(&["start: /[a-z]+/".to_owned(), "start: nothing".to_owned()]);
    assert!(outcomes[0].as_ref().is_ok_and(|bytes| *bytes < 1 << 20), "{:?}", outcomes[0]);
    assert!(outcomes[1].as_ref().is_err_and(|reason| reason.contains("nothing")), "{:?}", outcomes[1]);
}
