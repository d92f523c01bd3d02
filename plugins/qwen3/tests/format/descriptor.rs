//! The parser's descriptor.

use parser_sdk::{Parser, Trim};
use qwen3_parser::Qwen3;

#[test]
fn the_descriptor_names_models_markers_and_the_stop() {
    let descriptor = Qwen3::describe(&[]).unwrap();
    assert_eq!(descriptor.name, "qwen3");
    assert_eq!(descriptor.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(descriptor.models, ["qwen3", "qwen3_moe", "qwen3_next"]);
    assert_eq!(
        descriptor.stops.iter().map(|i| &descriptor.markers[*i as usize]).collect::<Vec<_>>(),
        ["<|im_end|>"]
    );
    assert_eq!(descriptor.trim, Trim { reasoning: true, content: true });
}
