//! Rows of an embedding table, widened to f32.

use half::{bf16, f16};

use kernels::cpu::{Cpu, Elements, Isa, Matrix, embed};

#[test]
fn types_are_widened_exactly_with_and_without_a_rest() {
    for isa in Isa::available() {
        let cpu = Cpu::with_isa(1, isa);
        for cols in [1, 15, 16, 17, 48] {
            let values: Vec<f32> = (0..5 * cols).map(|i| (i as f32 - 20.0) * 0.125).collect();
            let b: Vec<bf16> = values.iter().map(|x| bf16::from_f32(*x)).collect();
            let h: Vec<f16> = values.iter().map(|x| f16::from_f32(*x)).collect();
            for elements in [Elements::F32(&values), Elements::Bf16(&b), Elements::F16(&h)] {
                let table = Matrix::new(elements, 5, cols);
                let mut out = vec![f32::NAN; 3 * cols];
                embed(&cpu, table, &[4, 0, 4], &mut out);
                let wanted: Vec<f32> = [4, 0, 4]
                    .iter()
                    .flat_map(|t| (0..cols).map(move |c| elements.get(t * cols + c)))
                    .collect();
                assert_eq!(out, wanted, "{} {cols}", isa.name());
            }
        }
    }
}
