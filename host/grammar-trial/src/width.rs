//! Bounds in how many ways the regular expressions of a grammar may go on at a place.
//!
//! llguidance bounds the work of a mask, and looks at the bound between two derivatives, not within
//! one. A single derivative of `a?` written 20,000 times takes 800 MB, since each part may be left
//! out: each rest of the expression may go on with any part behind it. So what derivatives of all
//! parts may hold is counted before the first is made, wherever in the grammar the expression
//! stands. Called by [`crate::compile`].

use llguidance::derivre::ExprRef;
use llguidance::derivre::raw::ExprSet;

/// Most ways of all parts together, of eight bytes each: 2,000 parts in a row that may be left out.
const MOST: u64 = 1 << 22;

/// Counts the ways of all parts of all expressions.
///
/// # Errors
/// They are too many.
pub(crate) fn check(expressions: &ExprSet) -> Result<(), String> {
    // An expression comes behind its parts. The first number is none's.
    let mut ways: Vec<u64> = vec![0];
    let mut all = 0_u64;
    for id in 1..expressions.len() {
        let own = ways_of(expressions, ExprRef::new(u32::try_from(id).unwrap_or(u32::MAX)), &ways);
        all = all.saturating_add(own);
        ways.push(own);
    }
    if all <= MOST {
        return Ok(());
    }
    Err("compiling it takes too much memory: too many parts of its patterns may be left out or exchanged in a row".to_owned())
}

/// Whether an expression counts the remainder of a division (`multipleOf`). Beside a bound,
/// llguidance doesn't see where such a number ends, and panics where it forces a token behind it.
pub(crate) fn has_remainder(expressions: &ExprSet) -> bool {
    let mut all = (1..expressions.len()).filter_map(|id| u32::try_from(id).ok()).map(ExprRef::new);
    all.any(|expression| tag(expressions, expression) == "RemainderIs")
}

/// The kind of an expression. The library gives it out without its type.
fn tag(expressions: &ExprSet, expression: ExprRef) -> String {
    format!("{:?}", expressions.get_tag(expression))
}

/// In how many ways an expression may go on; `ways` are those of its parts.
fn ways_of(expressions: &ExprSet, expression: ExprRef, ways: &[u64]) -> u64 {
    let of = |part: &ExprRef| ways.get(part.as_usize()).copied().unwrap_or(0);
    let parts = expressions.get_args(expression);
    match (tag(expressions, expression).as_str(), parts) {
        ("EmptyString" | "NoMatch", _) => 0,
        ("RemainderIs", _) => 11,
        ("Or", parts) => parts.iter().map(of).fold(0, u64::saturating_add),
        ("And", parts) => parts.iter().map(of).fold(1, u64::saturating_mul),
        ("Not", [part]) => of(part).saturating_add(1),
        ("Repeat" | "Lookahead", [part]) => of(part),
        ("Concat", [first, rest]) if expressions.is_nullable(*first) => of(first).saturating_add(of(rest)),
        ("Concat", [first, _]) => of(first),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use llguidance::derivre::{RegexAst, RegexBuilder};

    use super::*;

    fn checked(regexes: &[String]) -> Result<(), String> {
        let mut builder = RegexBuilder::new();
        for regex in regexes {
            builder.mk(&RegexAst::Regex(regex.clone())).expect("a regular expression");
        }
        check(builder.exprset())
    }

    #[test]
    fn parts_that_may_be_left_out_are_counted_wherever_they_stand() {
        let letters = |count: usize| ('a'..='z').cycle().take(count).map(|letter| format!("{letter}?"));
        for hostile in [
            "a?".repeat(20_000),
            letters(20_000).collect(),
            format!("x{{50}}{}y", "(ab)?".repeat(3000)),
            "a*".repeat(3000),
            format!("(b|{})+", "(a|cd)?".repeat(3000)),
        ] {
            assert!(checked(std::slice::from_ref(&hostile)).is_err(), "{hostile:.20}");
        }
        let many: Vec<String> = (0..100).map(|at| format!("(x{at})?").repeat(300)).collect();
        assert!(checked(&many).is_err());
        for usual in ["a?".repeat(1000), letters(1000).collect(), "(a?){3000}a{3000}".to_owned()] {
            assert_eq!(checked(&[usual]), Ok(()));
        }
        let words: Vec<String> = (0..12_000).map(|at| format!("value {at}")).collect();
        assert_eq!(checked(&[words.join("|")]), Ok(()));
    }

    #[test]
    fn conditions_at_once_multiply() {
        let mut builder = RegexBuilder::new();
        let some = |letter: char| RegexAst::Regex(format!("({letter}?.?)").repeat(900));
        builder.mk(&RegexAst::And(['a', 'b', 'c'].map(some).to_vec())).expect("a regular expression");
        assert!(check(builder.exprset()).is_err());
    }
}
