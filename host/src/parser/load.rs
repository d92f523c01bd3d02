//! A plugin's bytes → a [`Plugin`]: cheap checks first, then the compiler, then the guest's own words.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use wasmtime::component::Component;

use super::component;
use super::descriptor;
use super::engine::Sandbox;
use super::error::{LoadProblem, one_line};
use super::plugin::Plugin;
use super::source::PluginSource;
use super::stamp;

/// Loads a plugin; see [`super::Runtime::load`].
pub(super) fn load(
    sandbox: &Arc<Sandbox>,
    source: &PluginSource,
    options: &[(String, String)],
) -> Result<Arc<Plugin>, LoadProblem> {
    if *source == PluginSource::None {
        return Ok(Plugin::none());
    }
    let bytes = source.read(sandbox.limits.file_bytes)?;
    stamp::check(&bytes)?;
    let compiled = Component::new(&sandbox.engine, &bytes)
        .map_err(|error| LoadProblem::Invalid(one_line(&error.root_cause().to_string())))?;
    let program = component::Program::link(sandbox, &compiled)?;
    let said = program.describe(options)?;
    descriptor::check(&said).map_err(LoadProblem::Descriptor)?;
    let program = Box::new(program.named(&said.name));
    Ok(Arc::new(Plugin::new(said, digest(&bytes), bytes.len(), program)))
}

/// SHA-256 in hex.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_sha_256_in_hex() {
        assert_eq!(digest(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
