//! Parsers inside the binary.

use std::path::Path;

use crate::parser::{PluginSource, ResolveError, Shipped, resolve};

/// Name and component of each parser. The name is the one in its descriptor.
pub(super) static SHIPPED: &Shipped = &[
    ("qwen3", include_bytes!("../../../plugins/qwen3.wasm")),
    ("qwen3-coder", include_bytes!("../../../plugins/qwen3-coder.wasm")),
    ("harmony", include_bytes!("../../../plugins/harmony.wasm")),
    ("kimi-k2", include_bytes!("../../../plugins/kimi-k2.wasm")),
    ("deepseek-v3", include_bytes!("../../../plugins/deepseek-v3.wasm")),
    ("glm", include_bytes!("../../../plugins/glm.wasm")),
    ("llama3", include_bytes!("../../../plugins/llama3.wasm")),
    ("mistral", include_bytes!("../../../plugins/mistral.wasm")),
    ("minimax-m2", include_bytes!("../../../plugins/minimax-m2.wasm")),
    ("deepseek-v4", include_bytes!("../../../plugins/deepseek-v4.wasm")),
    ("hunyuan", include_bytes!("../../../plugins/hunyuan.wasm")),
    ("kimi-k3", include_bytes!("../../../plugins/kimi-k3.wasm")),
    ("muse", include_bytes!("../../../plugins/muse.wasm")),
    ("response-template", include_bytes!("../../../plugins/response-template.wasm")),
];

/// Finds a parser as `--parser` does: a file, a name in the folder `plugins`, or one inside the binary.
///
/// # Errors
/// There is no parser of that name.
pub fn find_parser(wanted: &str, plugins: &Path) -> Result<PluginSource, ResolveError> {
    resolve(wanted, plugins, SHIPPED)
}

/// Returns the parsers inside the binary.
pub fn shipped_parsers() -> impl Iterator<Item = PluginSource> {
    SHIPPED
        .iter()
        .map(|(name, bytes)| PluginSource::Bytes { name: (*name).to_owned(), bytes: (*bytes).into() })
}
