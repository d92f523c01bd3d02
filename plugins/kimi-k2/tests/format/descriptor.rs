//! The parser's descriptor.

use kimi_k2_parser::KimiK2;
use parser_sdk::{Parser, Trim};

#[test]
fn descriptor_names_models_stop_and_call_spelling() {
    let descriptor = KimiK2::describe(&[]).unwrap();
    assert_eq!(descriptor.name, "kimi-k2");
    assert_eq!(descriptor.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(descriptor.models, ["kimi_k2", "kimi_k25", "kimi_linear"]);
    let stops = descriptor.stops.iter().map(|stop| descriptor.markers[*stop as usize].as_str());
    assert_eq!(stops.collect::<Vec<_>>(), ["<|im_end|>"]);
    assert_eq!(descriptor.trim, Trim { reasoning: true, content: true });
    assert_eq!(descriptor.history_call_ids.as_deref(), Some("functions.{name}:{index}"));
}
