//! Kernels that convert and draw weights at load, and the gathering of rows.

use bytemuck::Pod;
use cuda_kernels::{
    Cast, DevicePtr, Fill, GatherRows, Number, RandomCodes, RandomWeights, pack_mxfp4,
    random_codes_reference, random_weights_reference,
};
use half::{bf16, f16};

use super::device::{Device, in_both_orders, values};

/// Bits of the results of a cast.
fn cast<T: Pod>(device: &Device, from: DevicePtr, types: (Number, Number), count: usize) -> Vec<T> {
    let to = device.out::<T>(count);
    let (from_type, to_type) = types;
    device.run(&Cast { from, from_type, to, to_type, count: count as u64 }.launch());
    device.read(to, count)
}

#[test]
fn all_halves_are_cast_exactly() {
    let bits: Vec<u16> = (0..=u16::MAX).filter(|bits| !f16::from_bits(*bits).is_nan()).collect();
    let wanted: Vec<u32> = bits.iter().map(|bits| f16::from_bits(*bits).to_f32().to_bits()).collect();
    in_both_orders(|device| {
        for count in [bits.len(), bits.len() - 1] {
            let from = device.with(&bits[..count]);
            assert!(cast::<u32>(device, from, (Number::F16, Number::F32), count) == wanted[..count]);
        }
        let nan = device.with(&[0x7e00u16]);
        assert!(cast::<f32>(device, nan, (Number::F16, Number::F32), 1)[0].is_nan());
    });
}

#[test]
fn numbers_are_rounded_to_the_nearest_even_bf16() {
    // Ties in both directions, and the largest, a subnormal and an infinite number.
    let mut x =
        vec![1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, f32::MAX, 1e-40, f32::INFINITY, -0.0, 1.003, -7.77];
    x.extend(values(2000, 1).iter().map(|x| x * 1.2345));
    let wanted: Vec<u16> = x.iter().map(|x| bf16::from_f32(*x).to_bits()).collect();
    in_both_orders(|device| {
        for count in [8, 9, x.len()] {
            let from = device.f32(&x[..count]);
            assert_eq!(cast::<u16>(device, from, (Number::F32, Number::Bf16), count), wanted[..count]);
        }
        let halves: Vec<u16> = x.iter().map(|x| f16::from_f32(*x).to_bits()).collect();
        let from = device.with(&halves);
        let rounded: Vec<u16> =
            halves.iter().map(|bits| bf16::from_f32(f16::from_bits(*bits).to_f32()).to_bits()).collect();
        assert_eq!(cast::<u16>(device, from, (Number::F16, Number::Bf16), x.len()), rounded);
    });
}

#[test]
fn bf16_becomes_f32_and_stays_itself() {
    let x = values(77, 2);
    in_both_orders(|device| {
        for count in [1, 72, 77] {
            let from = device.bf16(&x[..count]);
            assert_eq!(cast::<f32>(device, from, (Number::Bf16, Number::F32), count), x[..count]);
            let same: Vec<u16> = device.read(from, count);
            assert_eq!(cast::<u16>(device, from, (Number::Bf16, Number::Bf16), count), same);
            let wide = device.f32(&x[..count]);
            assert_eq!(cast::<f32>(device, wide, (Number::F32, Number::F32), count), x[..count]);
        }
    });
}

#[test]
fn rows_are_those_of_their_numbers() {
    in_both_orders(|device| {
        for cols in [1, 4, 7, 1028, 3000] {
            let x = values(6 * cols, 1);
            let numbers = [5u32, 0, 0, 3];
            let out = device.out::<f32>(4 * cols);
            let (px, indices) = (device.f32(&x), device.u32(&numbers));
            device.run(&GatherRows { x: px, indices, out, rows: 4, cols: cols as u32 }.launch());
            let wanted: Vec<f32> =
                numbers.iter().flat_map(|row| x[*row as usize * cols..][..cols].to_vec()).collect();
            assert_eq!(device.read_f32(out, 4 * cols), wanted, "{cols} columns");
        }
    });
}

#[test]
fn words_are_filled_and_no_more() {
    in_both_orders(|device| {
        for words in [1, 256, 1001] {
            let out = device.out::<u32>(words);
            device.run(&Fill { out, word: 0x1234_5678, words: words as u64 }.launch());
            assert_eq!(device.read::<u32>(out, words), vec![0x1234_5678; words]);
        }
    });
}

#[test]
fn random_weights_have_the_bits_of_the_cpu() {
    in_both_orders(|device| {
        for count in [1, 2, 3, 4, 1021, 4096] {
            let out = device.out::<u16>(count);
            let (seed, middle, spread) = (0xfeed_beef_1234_5678, 1.0, 0.1);
            device.run(&RandomWeights { out, count: count as u64, seed, middle, spread }.launch());
            let wanted = random_weights_reference(count, seed, middle, spread);
            assert_eq!(device.read::<u16>(out, count), wanted, "{count} weights");
        }
    });
}

#[test]
fn random_codes_have_the_bytes_of_the_cpu() {
    in_both_orders(|device| {
        for (count, mask) in [(1, 0xff), (7, 0xbf), (8, 0xff), (2051, 0xbf)] {
            let out = device.out::<u8>(count);
            let codes = RandomCodes { out, count: count as u64, seed: 77, mask, mxfp4: false };
            device.run(&codes.launch());
            let wanted = random_codes_reference(count, 77, mask);
            assert_eq!(device.read::<u8>(out, count), wanted, "{count} codes");
        }
    });
}

#[test]
fn random_mxfp4_codes_are_the_cpus_in_kernel_order() {
    in_both_orders(|device| {
        for count in [8, 16, 2064] {
            let out = device.out::<u8>(count);
            let codes = RandomCodes { out, count: count as u64, seed: 77, mask: 0xff, mxfp4: true };
            device.run(&codes.launch());
            let drawn = random_codes_reference(count, 77, 0xff);
            let wanted: Vec<u8> = drawn.as_chunks().0.iter().flat_map(|word| pack_mxfp4(*word)).collect();
            assert_eq!(device.read::<u8>(out, count), wanted, "{count} codes");
        }
    });
}
