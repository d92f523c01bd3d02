//! Experts on the CPU.

use kernels::cpu::{self, Cpu, Expert, ExpertScratch, Routes};

use super::storage::{StackedMatrix, Storage};
use crate::models::ops::ExpertActivation;
use crate::models::{ExpertWeights, LoadError, WeightRole};

/// The experts of a layer.
#[derive(Debug)]
pub(super) struct Experts {
    experts: Vec<OneExpert>,
    activation: ExpertActivation,
}

#[derive(Debug)]
struct OneExpert {
    gate_up: StackedMatrix,
    down: StackedMatrix,
    /// Biases of gate and up, and of down.
    biases: Option<(Vec<f32>, Vec<f32>)>,
}

impl Experts {
    /// Loads the experts of a layer; there is at least one.
    pub(super) fn new(
        (cpu, storage): (&Cpu, Storage),
        experts: &[ExpertWeights],
        activation: ExpertActivation,
    ) -> Result<Self, LoadError> {
        let matrix = |parts: &[_]| storage.matrix(cpu, parts, WeightRole::Linear);
        let one = |expert: &ExpertWeights| {
            Ok(OneExpert {
                gate_up: matrix(&expert.gate_up)?,
                down: matrix(std::slice::from_ref(&expert.down))?,
                biases: expert.biases.as_ref().map(|(gate_up, down)| (gate_up.to_f32(), down.to_f32())),
            })
        };
        Ok(Self { experts: experts.iter().map(one).collect::<Result<_, LoadError>>()?, activation })
    }

    /// Gate and up of the first expert, for the type of all experts' weights.
    pub(super) fn first(&self) -> &StackedMatrix {
        &self.experts[0].gate_up
    }

    /// Bytes of the experts that at least one token goes to.
    pub(super) fn chosen_bytes(&self, routes: &Routes) -> usize {
        let mut chosen = routes.experts.clone();
        chosen.sort_unstable();
        chosen.dedup();
        chosen.into_iter().map(|expert| self.bytes_of(expert as usize)).sum()
    }

    fn bytes_of(&self, expert: usize) -> usize {
        let OneExpert { gate_up, down, .. } = &self.experts[expert];
        gate_up.bytes() + down.bytes()
    }

    pub(super) fn hidden(&self) -> usize {
        self.experts[0].down.rows()
    }

    pub(super) fn intermediate(&self) -> usize {
        self.experts[0].gate_up.rows() / 2
    }

    /// Adds the weighted results of each token's experts to `out`.
    pub(super) fn run(
        &self,
        cpu: &Cpu,
        x: &[f32],
        routes: &Routes,
        scratch: &mut ExpertScratch,
        out: &mut [f32],
    ) {
        let expert = |id: usize| {
            let OneExpert { gate_up, down, biases } = &self.experts[id];
            let (gate_up_bias, down_bias) =
                biases.as_ref().map(|(a, b)| (a.as_slice(), b.as_slice())).unzip();
            Expert { gate_up: gate_up.parts(), gate_up_bias, down: down.parts(), down_bias }
        };
        cpu::experts(cpu, x, routes, expert, self.activation, scratch, out);
    }
}
