//! The recorded turns in `cases/`.

use std::path::Path;

use mistral_parser::Mistral;
use parser_sdk::testing::check_cases;

#[test]
fn every_case_gives_its_items_however_it_is_cut() {
    check_cases::<Mistral>(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases"));
}
