//! The recorded turns in `cases/`.

use std::path::Path;

use minimax_m2_parser::MiniMaxM2;
use parser_kit::check_cases;

#[test]
fn every_case_gives_its_items_however_it_is_cut() {
    // Cargo starts tests in the crate's folder; in WebAssembly that is all they see.
    check_cases::<MiniMaxM2>(Path::new("cases"));
}
