//! Templates that transform a request's text in every way of the language, between constants that
//! complete control tokens, over three tokenizers.
//!
//! The rule: a control token is one whose characters are all the template's constants. So a prompt
//! has the frame's tokens, the tokens that a piece writes from constants alone, and for constants
//! that are the halves of a token one more where the piece writes nothing between them.

use std::sync::Arc;

use super::bodies::{TRANSFORMING, WRITING};
use super::tokenizers::{VOCABULARIES, Vocabulary};
use crate::common::{conversation, format_with};
use jinja::{Limits, Origin, Template, Value};
use prompt::{ChatFormat, ChatMessage, Role, TurnOpening};

/// Counts of a vocabulary's pairs of a template and a text.
#[derive(Debug, Default)]
struct Counts {
    checked: usize,
    /// Prompts in which a tokenizer of the whole text would find other control tokens.
    forged: usize,
    /// Pieces without such a prompt.
    blind: Vec<&'static str>,
    /// Pairs whose prompt has other control tokens, or another text.
    wrong: Vec<String>,
    /// Pairs that Python's rules refuse, such as a format without its argument.
    refused: usize,
}

impl Counts {
    fn assert_right(&self) {
        let Self { wrong, checked, .. } = self;
        let first = &wrong[..wrong.len().min(20)];
        assert!(wrong.is_empty(), "{} of {checked} pairs: {first:#?}", wrong.len());
    }
}

/// Template that writes one piece at every place, and the piece alone.
struct Subject<'a> {
    vocabulary: &'a Vocabulary,
    body: &'a str,
    format: ChatFormat,
    /// Reference of the prompt's text.
    whole: Template,
    alone: Template,
}

impl<'a> Subject<'a> {
    fn new(vocabulary: &'a Vocabulary, body: &'a str) -> Self {
        let Vocabulary { halves: [a, b], brackets: [o, c], frame: [first, last], .. } = vocabulary;
        let names = format!(
            "{{% set t = note|default('q z') %}}{{% set A = '{a}' %}}{{% set B = '{b}' %}}{{% set M = '{a}{b}' %}}\
             {{% set O = '{o}' %}}{{% set C = '{c}' %}}"
        );
        let places = [("", ""), (*o, *c), ("<", ">"), (*a, ""), ("", *b), (*a, *b)];
        let shown = "{% for m in messages %}{{ m.content }}{% endfor %}";
        let at_places = places.map(|(before, after)| format!("{before}{body}{after}.\n")).concat();
        let joined = format!("{{% set out %}}{body}{{% endset %}}{{{{ A ~ out ~ B }}}}");
        let text = format!("{first}{shown}.\n{at_places}{joined}.\n{last}");
        let source = names.clone() + &text;
        Self {
            vocabulary,
            body,
            format: format_with(&source, Arc::clone(&vocabulary.tokenizer)),
            whole: Template::parse(&source).unwrap(),
            alone: Template::parse(&(names + body)).unwrap(),
        }
    }

    /// Checks the prompt of `text`. At each of the seven places the piece writes `own` control
    /// tokens.
    fn check(&self, text: &str, own: usize, counts: &mut Counts) {
        let Self { vocabulary, body, .. } = self;
        let place = format!("{}: {body} with {text:?}", vocabulary.name);
        let talk = conversation(vec![ChatMessage::text(Role::User, "Hi ")]);
        let rendered = self.format.render(&talk, &[("note".to_owned(), text.into())], TurnOpening::NewTurn);
        let (Ok(out), Ok(whole)) = (plain(&self.alone, text), plain(&self.whole, text)) else {
            assert!(rendered.is_err(), "{place}");
            counts.refused += 1;
            return;
        };
        let prompt = rendered.unwrap_or_else(|error| panic!("{place}: {error}"));
        let own = own * 7 + if out.is_empty() { 2 } else { 0 };
        let [mark] = vocabulary.ids([vocabulary.halves.concat().as_str()]);
        let [first, last] = vocabulary.ids(vocabulary.frame);
        let expected = [vec![first], vec![mark; own], vec![last]].concat();
        let found = vocabulary.control_tokens(&prompt);
        let decoded = vocabulary.tokenizer.decode(&prompt.ids).unwrap();
        if found != expected || vocabulary.comparable(&decoded) != vocabulary.comparable(&whole) {
            let (found, expected) = (found.len(), expected.len());
            counts.wrong.push(format!("{place}: {found} control tokens, not {expected}: {decoded:?}"));
        }
        let of_text = vocabulary.tokenizer.encode_with_added(&whole).unwrap();
        counts.checked += 1;
        counts.forged += usize::from(vocabulary.controls_of(&of_text) != expected);
    }
}

/// The text that a template writes, without the origins of its characters.
fn plain(template: &Template, text: &str) -> Result<String, jinja::Error> {
    let user =
        [("role", "user"), ("content", "Hi ")].map(|(key, text)| (key, Value::text(Origin::Request, text)));
    let messages = Value::list(vec![Value::dict(user)?])?;
    let variables = vec![("note", Value::text(Origin::Request, text)), ("messages", messages)];
    let limits = Limits { text_bytes: 1 << 20, is_exhausted: &|| false };
    Ok(template.render(variables, &limits)?.text.as_str().to_owned())
}

/// Texts that spell control tokens, halves of one, and what becomes one by a transformation.
fn texts(vocabulary: &Vocabulary) -> Vec<String> {
    let [a, b] = vocabulary.halves;
    let [o, c] = vocabulary.brackets;
    let mark = vocabulary.halves.concat();
    let between =
        |filler: &str| mark.chars().flat_map(|c| [c.to_string(), filler.to_owned()]).collect::<String>();
    let escaped = mark.replace('<', "&lt;").replace('>', "&gt;");
    let swapped: String = mark
        .chars()
        .map(|c| if c.is_lowercase() { c.to_uppercase().next().unwrap() } else { c.to_ascii_lowercase() })
        .collect();
    let mut texts = vec![
        String::new(),
        a.to_owned(),
        b.to_owned(),
        o.to_owned(),
        mark.trim_start_matches(o).trim_end_matches(c).to_owned(),
        mark.trim_start_matches(o).to_owned(),
        format!("a {mark} b"),
        format!("x{mark}x{mark}_"),
        format!(" {mark}\n"),
        format!("{a}{mark}{b}"),
        format!("{a}<b>{b}"),
        format!("{a}\n{b}"),
        format!("{a} {b}"),
        format!("{b}{a}"),
        mark.chars().rev().collect(),
        mark.to_uppercase(),
        mark.to_lowercase(),
        swapped,
        mark.replace('_', "-"),
        between("x"),
        between(" "),
        escaped.replace('&', "&amp;"),
        escaped,
        format!("&#60;{}", &mark[1..]),
        format!("{{0}}{b}"),
        format!("{{a}}{b}{{a}}."),
        format!("{{k[x]}}{b}"),
        format!("{{0!r:_>9}}{b}"),
        format!("%s{b}"),
        format!("%(a)s{b}"),
        format!("\"{mark}'\\{mark}"),
    ];
    texts.extend(vocabulary.literals());
    texts
}

fn counts(vocabulary: &Vocabulary) -> Counts {
    let mut counts = Counts::default();
    let texts = texts(vocabulary);
    for body in TRANSFORMING {
        let subject = Subject::new(vocabulary, body);
        let before = counts.forged;
        for text in &texts {
            subject.check(text, 0, &mut counts);
        }
        if counts.forged == before {
            counts.blind.push(body);
        }
    }
    counts
}

/// Checks all pairs of a vocabulary. Most of the prompts spell control tokens that aren't the
/// template's.
fn assert_no_forgery(vocabulary: &Vocabulary) {
    let counts = counts(vocabulary);
    counts.assert_right();
    let Counts { checked, forged, refused, .. } = counts;
    assert!(counts.blind.len() < 10, "no text would be forged by {:#?}", counts.blind);
    assert!(
        TRANSFORMING.len() >= 70 && checked >= 2730 && forged >= 1500 && refused < checked / 10,
        "{counts:?}"
    );
}

#[test]
fn transforms_forge_no_token_with_embedded_tokenizer() {
    assert_no_forgery(&VOCABULARIES[0]);
}

#[test]
fn transforms_forge_no_token_with_sentencepiece() {
    assert_no_forgery(&VOCABULARIES[1]);
}

#[test]
fn transforms_forge_no_token_with_rank_tokenizer() {
    assert_no_forgery(&VOCABULARIES[2]);
}

#[test]
fn templates_control_tokens_are_found_beside_any_text() {
    let mut counts = Counts::default();
    for vocabulary in &*VOCABULARIES {
        for (body, own) in WRITING {
            let subject = Subject::new(vocabulary, body);
            for text in texts(vocabulary) {
                subject.check(&text, own(&text), &mut counts);
            }
        }
    }
    counts.assert_right();
    assert!(WRITING.len() > 25 && counts.checked > 2730 && counts.refused == 0, "{counts:?}");
}
