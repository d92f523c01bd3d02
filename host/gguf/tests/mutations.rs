//! Every place of small files' headers with every extreme: lengths, counts, types, dimensions and
//! nesting of keys, tensors and parts. None makes the reader panic or say more than a line.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "a test may fail here")]

#[path = "tools/check.rs"]
mod check;
mod tools;
use check::{check, check_cut};
use gguf::FilePart;
use tools::small::model;

/// Numbers that are written over eight bytes.
const EXTREMES: [u64; 11] =
    [0, 1, 1 << 16, 1 << 31, 1 << 32, 1 << 40, 1 << 60, 1 << 62, 1 << 63, u64::MAX - 31, u64::MAX];

/// Applies every mutation of one file to it; `with` gets the result. Returns their number.
fn every_mutation(file: &[u8], header: usize, mut with: impl FnMut(&[u8])) -> usize {
    let mut count = 0;
    let mut put = |at: usize, bytes: &[u8]| {
        let mut broken = file.to_vec();
        broken[at..at + bytes.len()].copy_from_slice(bytes);
        count += 1;
        with(&broken);
    };
    for (at, byte) in file[..header - 8].iter().enumerate() {
        for extreme in EXTREMES {
            put(at, &extreme.to_le_bytes());
        }
        // Types of values and tensors, numbers of dimensions.
        for word in 0..45u32 {
            put(at, &word.to_le_bytes());
        }
        put(at, &[byte ^ 0x80]);
    }
    count
}

#[test]
fn every_extreme_anywhere_in_a_header_is_survived() {
    let writer = model();
    assert!(!check(&[FilePart::whole("f", &writer.finish())]), "the model itself is read");
    let mut refused = 0;
    let all = every_mutation(&writer.finish(), writer.header_len(), |file| {
        refused += usize::from(check(&[FilePart::whole("f", file)]));
    });
    assert!(all > 40_000 && refused > all / 2 && refused < all, "{refused} of {all} refused");
}

#[test]
fn every_extreme_in_any_part_is_survived() {
    let parts = model().parts(3);
    let named = |parts: &[Vec<u8>]| -> bool {
        let names = ["a", "b", "c"];
        check(&names.iter().zip(parts).map(|(name, part)| FilePart::whole(name, part)).collect::<Vec<_>>())
    };
    assert!(!named(&parts), "the model itself is read");
    let mut all = 0;
    for mutated in 1..3 {
        let header = parts[mutated].len().min(300);
        all += every_mutation(&parts[mutated], header, |file| {
            let mut parts = parts.clone();
            parts[mutated] = file.to_vec();
            named(&parts);
        });
    }
    assert!(all > 10_000, "{all}");
}

/// Arrays within arrays: a thousand deep, each of which says that it has the most elements that fit.
#[test]
fn nested_arrays_are_refused_at_any_depth() {
    for depth in [1, 2, 1000, 100_000] {
        let mut file = [&b"GGUF"[..], &3u32.to_le_bytes(), &0u64.to_le_bytes(), &1u64.to_le_bytes()].concat();
        file.extend(1u64.to_le_bytes());
        file.extend(b"k");
        file.extend(9u32.to_le_bytes());
        for _ in 0..depth {
            file.extend(9u32.to_le_bytes());
            file.extend(1u64.to_le_bytes());
        }
        file.extend([0; 64]);
        assert!(check(&[FilePart::whole("f", &file)]), "depth {depth}");
    }
}

#[test]
fn files_cut_anywhere_are_survived() {
    let file = model().finish();
    for count in 0..3 {
        for at in (0..=u8::MAX).step_by(5) {
            check_cut(&[&[count, at, 1, at.wrapping_mul(7), 2][..], &file].concat());
        }
    }
    for length in 0..file.len() - 32 {
        assert!(check(&[FilePart::whole("f", &file[..length])]), "{length} bytes");
    }
}
