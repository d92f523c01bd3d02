//! Which names a call may have: those of declared tools, whatever they look like, and plausible
//! ones.

use parser_kit::request;
use parser_sdk::{Tools, is_plausible};

#[test]
fn a_plausible_name_is_a_short_word() {
    for name in ["f", "get_weather", "ns:get-2.x", &"a".repeat(128)] {
        assert!(is_plausible(name), "{name}");
    }
    for name in
        ["", "...", "{\"name\":\"f\"}", "f(city=\"Oslo\")", "get weather", "wetter_Zürich", &"a".repeat(129)]
    {
        assert!(!is_plausible(name), "{name}");
    }
}

#[test]
fn a_declared_name_needs_not_be_plausible() {
    let tools = Tools::callable(&request(&["wetter (Zürich)"]));
    assert!(tools.accepts("wetter (Zürich)"));
    assert!(!tools.accepts("wetter (Bern)"));
    assert!(tools.may_begin("wetter ("));
    assert!(tools.may_begin("other"));
    assert!(!tools.may_begin("other ("));
}
