//! Places in front of the store, which keys share.

use crate::accept::keys::Keys;

/// Reads at a time: as many as the store has threads for them.
pub(crate) const READS: usize = 2;

system::declare_metrics! {
    gauge PLACES = "sluice_store_key_reads", "Reads of the store that one key may make at a time.";
}

/// Most reads of one key at a time: where others have a key, one is left to them.
pub(crate) fn each(keys: Keys) -> impl Fn() -> usize + Send + 'static {
    move || if keys.present_owners() > 1 { READS - 1 } else { READS }
}
