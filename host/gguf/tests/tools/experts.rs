//! Matrices of experts as GGUF files have them: those of a layer in one tensor, gate and up apart.

use std::collections::BTreeMap;

use super::convert::{Stored, widened};

/// Joins the matrices of a layer's experts into one tensor.
pub(super) fn stack(tensors: &mut BTreeMap<String, Stored>) {
    let mut stacked: BTreeMap<String, BTreeMap<usize, Stored>> = BTreeMap::new();
    let names: Vec<String> = tensors.keys().filter(|name| name.contains(".experts.")).cloned().collect();
    for name in names {
        let (layer, rest) = name.split_once(".experts.").unwrap();
        let Some((expert, part)) = rest.split_once('.') else { continue };
        let Ok(expert) = expert.parse() else { continue };
        let prefix = &layer[..=layer.rfind('.').unwrap()];
        let part = match part {
            "w1.weight" => "gate".to_owned(),
            "w2.weight" => "down".to_owned(),
            "w3.weight" => "up".to_owned(),
            _ => part.replace("_proj.weight", ""),
        };
        let stored = tensors.remove(&name).unwrap();
        stacked.entry(format!("{prefix}ffn_{part}_exps.weight")).or_default().insert(expert, stored);
    }
    for (name, experts) in stacked {
        let first = &experts[&0];
        let shape = [&[experts.len()], &first.shape[..]].concat();
        let bytes = experts.values().flat_map(|stored| stored.bytes.clone()).collect();
        let stored = Stored { dtype: first.dtype.clone(), shape, bytes };
        tensors.insert(name, stored);
    }
}

/// gpt-oss: takes gate and up apart, and puts rows before columns.
pub(super) fn split_packed(tensors: &mut BTreeMap<String, Stored>) {
    let names: Vec<String> = tensors.keys().filter(|name| name.contains("mlp.experts.")).cloned().collect();
    for name in names {
        let (prefix, part) = name.split_once("mlp.experts.").unwrap();
        let Some((both, kind)) = part.split_once("_proj") else { continue };
        if !["gate_up", "down"].contains(&both) || kind.starts_with('.') || kind == "_scales" {
            continue;
        }
        let stored = tensors.remove(&name).unwrap();
        let (kind, stored) = match kind {
            "_bias" => ("bias", widened(stored)),
            "_blocks" => {
                ("weight", mxfp4(&stored, &tensors.remove(&name.replace("_blocks", "_scales")).unwrap()))
            }
            _ => ("weight", transposed(stored)),
        };
        if both == "down" {
            tensors.insert(format!("{prefix}ffn_down_exps.{kind}"), stored);
            continue;
        }
        for (offset, half) in ["gate", "up"].into_iter().enumerate() {
            let rows = stored.shape[0] * stored.shape[1];
            let row = stored.bytes.len() / rows;
            let own = stored.bytes.chunks_exact(row).skip(offset).step_by(2);
            let mut shape = stored.shape.clone();
            shape[1] /= 2;
            let bytes = own.flatten().copied().collect();
            let stored = Stored { dtype: stored.dtype.clone(), shape, bytes };
            tensors.insert(format!("{prefix}ffn_{half}_exps.{kind}"), stored);
        }
    }
}

/// `[experts, cols, rows]` of two bytes as `[experts, rows, cols]`.
fn transposed(stored: Stored) -> Stored {
    let [experts, cols, rows] = stored.shape[..] else { panic!("{:?}", stored.shape) };
    let size = stored.bytes.len() / (experts * cols * rows);
    let mut bytes = Vec::with_capacity(stored.bytes.len());
    for expert in stored.bytes.chunks_exact(cols * rows * size) {
        for row in 0..rows {
            for col in 0..cols {
                bytes.extend(&expert[(col * rows + row) * size..][..size]);
            }
        }
    }
    Stored { shape: vec![experts, rows, cols], bytes, ..stored }
}

/// Codes `[experts, rows, blocks, 16]` and scales `[experts, rows, blocks]` as blocks of GGUF.
fn mxfp4(codes: &Stored, scales: &Stored) -> Stored {
    let mut bytes = Vec::new();
    for (pairs, scale) in codes.bytes.chunks_exact(16).zip(&scales.bytes) {
        let codes: Vec<u8> = pairs.iter().flat_map(|pair| [pair & 15, pair >> 4]).collect();
        bytes.push(*scale);
        bytes.extend((0..16).map(|i| codes[i] | codes[i + 16] << 4));
    }
    let shape = vec![scales.shape[0], scales.shape[1], scales.shape[2] * 32];
    Stored { dtype: "MXFP4".to_owned(), shape, bytes }
}
