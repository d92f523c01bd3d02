//! The parser's descriptor.

use deepseek_v3_parser::DeepSeekV3;
use parser_sdk::{Parser, Trim};

#[test]
fn the_descriptor_names_the_model_and_the_stop() {
    let descriptor = DeepSeekV3::describe(&[]).unwrap();
    assert_eq!(descriptor.name, "deepseek-v3");
    assert_eq!(descriptor.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(descriptor.models, ["deepseek_v3"]);
    let stops = descriptor.stops.iter().map(|stop| descriptor.markers[*stop as usize].as_str());
    assert_eq!(stops.collect::<Vec<_>>(), ["<｜end▁of▁sentence｜>"]);
    assert_eq!(descriptor.trim, Trim { reasoning: true, content: true });
    assert_eq!(descriptor.history_call_ids, None);
}
