//! Markdown on a terminal: every chunking shows the same, and no text is lost.

use super::Markdown;

const PAGE: &str = "# Title *one*\n\nA **bold `code` word**, _slanted_ and ***both***.\n\n- item `a*b*c`\n  * under **it**\n1. first\n\
    > quoted **text**\n\n```rust\nlet a = \"**no**\";\n  ``` x\n```\nbehind\n\n---\n| a | b |\n|---|---|\n~~~\ncode `` ` ``\n~~~\n";

/// The rendering of a text that comes in parts of this many characters.
fn render(text: &str, length: usize) -> String {
    let mut markdown = Markdown::default();
    let characters: Vec<char> = text.chars().collect();
    let parts = characters.chunks(length).map(|part| markdown.feed(&part.iter().collect::<String>()));
    let shown: String = parts.collect();
    shown + &markdown.end()
}

/// The same, with `<STYLES:…>` for styles.
fn rendered(text: &str, length: usize) -> String {
    let pieces = pieces(&render(text, length)).into_iter();
    pieces.map(|(style, piece)| if style.is_empty() { piece } else { format!("<{style}:{piece}>") }).collect()
}

/// The pieces of a text, each with its styles; neighbours of one style are one.
fn pieces(text: &str) -> Vec<(String, String)> {
    let (mut pieces, mut style) = (Vec::<(String, String)>::new(), String::new());
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(code) = rest.strip_prefix("\u{1b}[") {
            let (code, behind) = code.split_once('m').expect("a style");
            let name = match code {
                "1" => "bold ",
                "2" => "dim ",
                "3" => "slanted ",
                "4" => "under ",
                "36" => "code ",
                "0" => "",
                _ => panic!("{code}"),
            };
            style = if name.is_empty() { String::new() } else { style + name };
            rest = behind;
            continue;
        }
        let (piece, behind) = rest.split_at(rest.find('\u{1b}').unwrap_or(rest.len()));
        match pieces.last_mut() {
            Some((last, text)) if last == style.trim_end() => text.push_str(piece),
            _ => pieces.push((style.trim_end().to_owned(), piece.to_owned())),
        }
        rest = behind;
    }
    pieces
}

#[test]
fn each_mark_is_a_style() {
    for (text, expected) in [
        ("a **b** c", "a <bold:b> c"),
        ("*a* _b_ ***c***.", "<slanted:a> <slanted:b> <bold slanted:c>."),
        ("`a*b*` ``c`d``", "<code:a*b*> <code:c`d>"),
        ("**a `b` *c***", "<bold:a ><bold code:b><bold: ><bold slanted:c>"),
        (
            "*it **b** x* **a *b* c** *a *b* c*",
            "<slanted:it ><bold slanted:b><slanted: x> <bold:a ><bold slanted:b><bold: c> <slanted:a b c>",
        ),
        ("# a\nb", "<bold under:a>\nb"),
        ("### a *b*\n", "<bold:a ><bold slanted:b>\n"),
        ("- a\n  * b\n+ c\n", "<dim:•> a\n  <dim:•> b\n<dim:•> c\n"),
        ("1. a\n- [ ] b\n", "1. a\n<dim:•> [ ] b\n"),
        ("> a\n> - b\n>\n", "<dim:│> a\n<dim:│> <dim:•> b\n<dim:│> \n"),
        ("```c\na **b**\n\n```\n*c*\n", "<dim:```c>\n<code:a **b**>\n\n<dim:```>\n<slanted:c>\n"),
        ("~~~~\n```\n~~~\n~~~~\na", "<dim:~~~~>\n<code:```>\n<code:~~~>\n<dim:~~~~>\na"),
        ("a\n---\nb", "a\n<dim:--->\nb"),
        ("**粗体**。", "<bold:粗体>。"),
    ] {
        assert_eq!(rendered(text, usize::MAX), expected, "{text:?}");
    }
}

#[test]
fn what_marks_nothing_is_shown() {
    for text in [
        "2 * 3 * 4, 2**3**4, snake_case_name, __init__.py",
        "**open\nand *open\n`open",
        "a ** b ** c",
        "\\*a\\* \\_b\\_",
        "#a\n#######\n####### b",
        "-a\n--\n>=5\n>>> x = 1",
        "| a | b |\n|---|---|",
        "Name: ____ ********",
        "*",
        "**",
        "",
        "\n\n \n",
        "[a](b) ![c](d) <e>",
    ] {
        for length in [1, 2, 3, usize::MAX] {
            assert_eq!(rendered(text, length), text, "{text:?}");
        }
    }
}

#[test]
fn parts_make_no_difference() {
    let whole = rendered(PAGE, usize::MAX);
    for length in 1..40 {
        assert_eq!(rendered(PAGE, length), whole, "{length}");
    }
}

#[test]
fn a_span_that_does_not_end_is_shown_before_its_line_ends() {
    let mut markdown = Markdown::default();
    assert_eq!(markdown.feed("**open"), "");
    let long = "x".repeat(400);
    assert!(markdown.feed(&long).ends_with(&long));
}

#[test]
fn no_letter_is_lost_whatever_the_marks() {
    const ALPHABET: [&str; 12] = ["*", "_", "`", "\\", "#", "-", ">", "~", " ", "\n", "é", "1. a"];
    const LENGTH: u32 = 5;
    let letters = |text: &str| text.replace(['*', '_', '`', '#', '-', '>', ' ', '•', '│'], "");
    for number in 0..ALPHABET.len().pow(LENGTH) {
        let part = |place| ALPHABET[number / ALPHABET.len().pow(place) % ALPHABET.len()];
        let text: String = (0..LENGTH).map(part).collect();
        let shown: String = pieces(&render(&text, 1)).into_iter().map(|(_, piece)| piece).collect();
        assert_eq!(letters(&shown), letters(&text), "{text:?}");
    }
}
