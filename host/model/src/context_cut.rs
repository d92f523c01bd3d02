//! Context that an engine has less of than the model allows, which is said at the start.

use std::fmt;

use engine::runner::RunnerShape;

/// A context that is shorter than the model's own, or than the one that the operator asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContextCut {
    /// Tokens of context that the engine has room for.
    has: usize,
    /// Tokens of context that the model allows, or the operator asked for.
    pub(super) whole: usize,
    /// Why the engine has less.
    reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// The KV cache in the CPU's memory is too small; one of this many MiB would do.
    KvCache { needed_mib: usize },
    /// A GPU's memory is too small.
    DeviceMemory,
    /// The remote engine's own limit.
    RemoteEngine,
}

impl ContextCut {
    /// The cut of a local engine. `kv_cache_bytes` is the size of its cache on the CPU; `None` on
    /// other devices.
    pub(super) fn local(shape: &RunnerShape, kv_cache_bytes: Option<usize>) -> Option<Self> {
        let has = shape.blocks.saturating_mul(shape.block_size);
        let reason = match kv_cache_bytes {
            Some(bytes) => {
                let needed = bytes as u128 * shape.context as u128 / has.max(1) as u128;
                Reason::KvCache {
                    needed_mib: usize::try_from(needed >> 20).unwrap_or(usize::MAX).saturating_add(1),
                }
            }
            None => Reason::DeviceMemory,
        };
        (has < shape.context).then_some(Self { has, whole: shape.context, reason })
    }

    /// The cut of a KV cache of `bytes` bytes on the CPU, of which the `whole` tokens take
    /// `whole_bytes`.
    pub(super) fn planned(whole: usize, bytes: usize, whole_bytes: usize) -> Option<Self> {
        let has = bytes as u128 * whole as u128 / whole_bytes.max(1) as u128;
        let has = usize::try_from(has).unwrap_or(usize::MAX);
        let reason = Reason::KvCache { needed_mib: whole_bytes.div_ceil(1 << 20) };
        (bytes < whole_bytes).then_some(Self { has, whole, reason })
    }

    /// The cut of a remote engine that takes `has` of the `whole` tokens.
    pub(super) fn remote(has: usize, whole: usize) -> Option<Self> {
        (has < whole).then_some(Self { has, whole, reason: Reason::RemoteEngine })
    }
}

impl fmt::Display for ContextCut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { has, whole, reason } = self;
        write!(f, "prompt and answer together may have {has} of the {whole} tokens of the context: ")?;
        match reason {
            Reason::KvCache { needed_mib } => {
                write!(
                    f,
                    "the KV cache has no room for more; {needed_mib} MiB would do (--kv-cache, --kv-share)"
                )
            }
            Reason::DeviceMemory => write!(f, "the KV cache on the device has no room for more"),
            Reason::RemoteEngine => write!(f, "the remote engine takes no more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(blocks: usize) -> RunnerShape {
        let name = "cpu".to_owned();
        RunnerShape {
            name,
            vocab: 9,
            context: 40_960,
            batch_tokens: 8,
            score_rows: 3,
            block_size: 16,
            blocks,
            lanes: 1,
            states: None,
            ahead: 0,
        }
    }

    #[test]
    fn a_cut_says_how_much_is_left_why_and_what_would_do() {
        let cut = ContextCut::local(&shape(512), Some(1 << 30)).unwrap();
        let words = cut.to_string();
        assert!(words.contains("8192 of the 40960 tokens") && words.contains("5121 MiB would do"), "{words}");
        assert!(ContextCut::local(&shape(512), None).unwrap().to_string().contains("on the device"));
        assert!(ContextCut::remote(5, 6).unwrap().to_string().contains("the remote engine takes no more"));
        assert_eq!(ContextCut::local(&shape(2560), Some(1 << 30)), None);
        assert_eq!(ContextCut::remote(6, 6), None);
    }
}
