//! Embedding rows against the reference.

use cuda_kernels::{Embed, LAST, LastSamples, Tolerance, embed_reference};

use super::device::{Device, in_both_orders, near, values};

/// Rows of the table, computed with a factor of one half.
fn embed(device: &Device, tokens: &[u32], last: Option<LastSamples>, table: &[f32], cols: usize) -> Vec<f32> {
    let out = device.out::<f32>(tokens.len() * cols);
    let (rows, vocab) = (tokens.len() as u32, (table.len() / cols) as u32);
    let (tokens, table) = (device.u32(tokens), device.bf16(table));
    let embed = Embed { tokens, last, table, out, rows, cols: cols as u32, vocab, factor: 0.5 };
    device.run(&embed.launch());
    device.read_f32(out, rows as usize * cols).iter().map(|x| 2.0 * x).collect()
}

#[test]
fn rows_of_any_width_are_those_of_the_table() {
    in_both_orders(|device| {
        for cols in [1, 7, 8, 64, 100, 2056, 5000] {
            let (table, tokens) = (values(5 * cols, 1), [4, 0, 2, 2]);
            let wanted = embed_reference(&tokens, &table, cols);
            let got = embed(device, &tokens, None, &table, cols);
            near(Tolerance::EXACT, &got, &wanted, &format!("{cols} columns"));
        }
    });
}

#[test]
fn token_known_only_to_the_device_is_its_lanes_last() {
    in_both_orders(|device| {
        let table = values(4 * 8, 2);
        let last = LastSamples { samples: device.u32(&[3, 1, 2]), lanes: device.u32(&[2, 0, 0]) };
        let got = embed(device, &[LAST, 1, LAST], Some(last), &table, 8);
        near(Tolerance::EXACT, &got, &embed_reference(&[2, 1, 3], &table, 8), "sampled tokens");
    });
}

#[test]
fn a_token_outside_of_the_table_is_a_row_of_nan() {
    in_both_orders(|device| {
        let table = values(4 * 8, 2);
        let got = embed(device, &[1, 4, LAST], None, &table, 8);
        assert_eq!(got.iter().position(|x| x.is_nan()), Some(8));
        assert!(got[8..].iter().all(|x| x.is_nan()));
    });
}
