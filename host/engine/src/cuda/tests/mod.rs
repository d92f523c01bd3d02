//! Tests of the GPU's side that need no GPU.

mod survey;
