//! Sizes in words.

/// A size for people, in powers of ten as disks have them.
pub fn size(bytes: u64) -> String {
    let (unit, name) = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")]
        .into_iter()
        .find(|(unit, _)| bytes >= *unit)
        .unwrap_or((1, "B"));
    let (whole, tenth) = (bytes / unit, bytes % unit * 10 / unit);
    if unit == 1 || whole >= 100 { format!("{whole} {name}") } else { format!("{whole}.{tenth} {name}") }
}
