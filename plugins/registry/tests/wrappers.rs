//! Parameters that wrap the arguments, `<parameter=arguments>{"city": "Oslo"}`, in every format that
//! writes parameters one by one: of any length and depth, blank, and without an end.

use parser_kit::{Item, agree, cut, function, play, with_tools};
use parser_sdk::{FinishReason, Parser};
use registry::{Call, Format, Writing};

const CITY: &str = r#"{"properties": {"city": {"type": "string"}}}"#;
/// White space of more bytes than a host holds for a parser.
const LONG: usize = 1_100_000;
/// Characters of each piece that a long turn comes in.
const PIECE: usize = 1_000;

/// How the format writes a call of `f` whose only parameter is `arguments`: what stands before and
/// behind the value, and ends the call. Formats with other arguments have none.
fn wrapped(writing: Writing) -> Option<[String; 3]> {
    let ([begin, end], [key, value, behind]) = match writing.call {
        Call::Parameters(around, parts) => (around, parts),
        Call::Typed(around, [key, _, value, behind]) => (around, [key, value, behind]),
        _ => return None,
    };
    Some([[begin, key, "arguments", value].concat(), behind.to_owned(), end.to_owned()])
}

fn check<P: Parser>(format: &Format) -> usize {
    let Some([begin, behind, end]) = wrapped(format.profile.writing) else { return 0 };
    let (request, prompt) = (with_tools([function("f", CITY)]), format.profile.writing.prompt);
    let short = |text: &str| agree::<P>(&request, prompt, text, &[2, 5], FinishReason::Stop);
    let long = |text: &str| play::<P>(&request, prompt, cut(text, &[PIECE]), FinishReason::Stop);
    let call = |value: &str| [&begin, value, &behind, &end].concat();
    let whole = [Item::call("f", r#"{"city": "Oslo"}"#)];
    let blanks = [0, 1, 100, 200].map(|bytes| " ".repeat(bytes));
    for blank in &blanks {
        assert_eq!(short(&call(blank)), [Item::call("f", "{}")], "{} blanks", blank.len());
        let value = [blank, r#"{"city": "Oslo"}"#, blank].concat();
        assert_eq!(short(&call(&value)), whole, "{} blanks", blank.len());
        assert_eq!(short(&[&begin, value.as_str(), &end].concat()), whole, "no end of the value");
        let words = short(&call(&[blank, "Oslo"].concat()));
        let [item] = words.as_slice() else { panic!("{words:?}") };
        assert_eq!(item.complete, blank.len() <= 100, "{words:?}");
        assert_eq!(item.text.is_empty(), !item.complete, "nothing of a cut value is told: {words:?}");
    }
    let blank = "\n ".repeat(LONG / 2);
    assert_eq!(long(&call(&blank)), [Item::call("f", "{}")]);
    assert_eq!(long(&call(&[&blank, r#"{"city": "Oslo"}"#, &blank].concat())), whole);
    let open = [r#"{"city": "#, &"[".repeat(2_000)].concat();
    let deep = [&open, &*"]".repeat(2_000), "}"].concat();
    assert_eq!(long(&call(&deep)), [Item::call("f", &deep)]);
    let string = [r#"{"city": "#, "\"", &"O".repeat(LONG)].concat();
    for endless in [blank.as_str(), "{", &open, &string] {
        let items = long(&[&begin, endless].concat());
        let [item] = items.as_slice() else { panic!("{items:?}") };
        assert!(!item.complete && item.text == endless.trim_start(), "{} bytes", item.text.len());
    }
    1
}

macro_rules! formats {
    ($($module:ident $name:literal;)*) => {
        #[test]
        fn hostile_wrappers_make_up_no_parameter() {
            let checked: usize = [$(check::<registry::$module::Parser>(&registry::$module::FORMAT)),*].iter().sum();
            assert_eq!(checked, registry::FORMATS.iter().filter(|format| wrapped(format.profile.writing).is_some()).count());
            assert!(checked > 0);
        }
    };
}
registry::with_formats!(formats);
