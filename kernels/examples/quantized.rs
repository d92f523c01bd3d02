//! Speed of linear layers with quantised weights on this machine, by instruction set, format, and
//! bits of inputs: billions of weights per second with one row of x, read from memory by all threads, and by one
//! thread from its own cache; and of products of one thread with several rows. Formats take turns,
//! since other work on the machine changes the speed; the median counts, and the best is beside it.
//!
//! `cargo run --profile dist -p kernels --example quantized -- [THREADS [SET]]`
#![expect(clippy::print_stdout, reason = "prints a table")]
#![expect(clippy::cast_precision_loss, reason = "counts are far below 2⁵³")]

use std::time::Instant;

use kernels::cpu::{
    Cpu, Elements, FileBlocks, InputRounding, Isa, Matrix, QuantizeError, QuantizeTo, QuantizedMatrix, linear,
};
use kernels::ggml::BlockType;
use ops::StoreMode;

/// Rows and columns of a weight that no cache holds when its turn comes again.
const LARGE: (usize, usize) = (8192, 4096);
/// Rows and columns of a weight that one core's cache holds.
const SMALL: (usize, usize) = (512, 1024);
const REPETITIONS: usize = 21;
/// Numbers of rows of x that one thread multiplies with a small weight.
const ROWS: [usize; 3] = [1, 4, 16];

/// What inputs are rounded to, and the number of bits.
const INPUTS: [(InputRounding, u32); 2] = [(InputRounding::EightBits, 8), (InputRounding::SixteenBits, 16)];

/// Types of blocks that are kept in formats of their own.
const KINDS: [BlockType; 8] = [
    BlockType::MXFP4,
    BlockType::IQ4_NL,
    BlockType::Q5_1,
    BlockType::Q4_K,
    BlockType::Q5_K,
    BlockType::Q6_K,
    BlockType::Q2_K,
    BlockType::IQ4_XS,
];

struct MeasuredFormat {
    name: &'static str,
    large: QuantizedMatrix,
    small: QuantizedMatrix,
}

impl MeasuredFormat {
    fn new(
        name: &'static str,
        make: impl Fn((usize, usize)) -> Result<QuantizedMatrix, QuantizeError>,
    ) -> Self {
        let of_shape = |shape| make(shape).expect("enough memory, and finite scales");
        Self { name, large: of_shape(LARGE), small: of_shape(SMALL) }
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let threads = args.next().and_then(|n| n.parse().ok()).unwrap_or(2);
    let set = args.next();
    let cpu = Cpu::new(threads);
    let mut cases = vec![
        MeasuredFormat::new("q8", |shape| quantized(&cpu, shape, QuantizeTo::Q8)),
        MeasuredFormat::new("q4", |shape| quantized(&cpu, shape, QuantizeTo::Q4)),
    ];
    cases.extend(KINDS.map(|kind| MeasuredFormat::new(kind.name(), |shape| blocks(&cpu, shape, kind))));
    let rows = ROWS.map(|n| format!("x{n}")).join(" | ");
    println!(
        "| set | format | inputs | bytes/weight | memory, {threads} threads | cache, 1 thread: {rows} |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for isa in Isa::available() {
        if set.as_ref().map_or(isa.name() != "portable", |set| set == isa.name()) {
            measure(isa, threads, &cases);
        }
    }
}

fn measure(isa: Isa, threads: usize, cases: &[MeasuredFormat]) {
    let (all, one) = (Cpu::with_isa(threads, isa), Cpu::with_isa(1, isa));
    let cases = || cases.iter().flat_map(|case| INPUTS.map(|inputs| (case, inputs)));
    let mut rates = vec![[const { Vec::new() }; 1 + ROWS.len()]; cases().count()];
    for _ in 0..REPETITIONS {
        for ((case, (inputs, _)), rates) in cases().zip(&mut rates) {
            rates[0].push(rate(&all, (&case.large, LARGE), inputs, 1, 1));
            for (rows, rates) in ROWS.iter().zip(&mut rates[1..]) {
                rates.push(rate(&one, (&case.small, SMALL), inputs, *rows, 64 / rows));
            }
        }
    }
    for ((case, (_, bits)), mut rates) in cases().zip(rates) {
        let cells = rates.each_mut().map(|rates| median_and_best(rates)).join(" | ");
        let per_weight = case.large.bytes() as f64 / (LARGE.0 * LARGE.1) as f64;
        println!("| {} | {} | {bits} bits | {per_weight:.3} | {cells} |", isa.name(), case.name);
    }
}

/// Billions of products per second.
fn rate(
    cpu: &Cpu,
    (matrix, (n, k)): (&QuantizedMatrix, (usize, usize)),
    inputs: InputRounding,
    rows: usize,
    times: usize,
) -> f64 {
    let x = values(rows * k);
    let mut out = vec![0.0; rows * n];
    let weight = [Matrix::new(Elements::Quantized(matrix), n, k).with_inputs(inputs)];
    let begin = Instant::now();
    for _ in 0..times {
        linear(cpu, &x, &weight, None, StoreMode::Overwrite, &mut out);
    }
    (rows * n * k * times) as f64 / begin.elapsed().as_secs_f64() * 1e-9
}

fn median_and_best(rates: &mut [f64]) -> String {
    rates.sort_by(f64::total_cmp);
    format!("{:.1} ({:.1})", rates[rates.len() / 2], rates[rates.len() - 1])
}

fn values(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i * 7919 % 2003) as f32 / 1001.0 - 1.0).collect()
}

fn quantized(
    cpu: &Cpu,
    (rows, cols): (usize, usize),
    to: QuantizeTo,
) -> Result<QuantizedMatrix, QuantizeError> {
    QuantizedMatrix::new(cpu, Matrix::new(Elements::F32(&values(rows * cols)), rows, cols), to)
}

/// A matrix of blocks whose factors are finite whatever their type.
fn blocks(
    cpu: &Cpu,
    (rows, cols): (usize, usize),
    kind: BlockType,
) -> Result<QuantizedMatrix, QuantizeError> {
    let size = kind.matrix_bytes(rows, cols).expect("whole blocks");
    let mut bytes: Vec<u8> = (0..size).map(|i| ((i * 7919) >> 3).to_le_bytes()[0] & 0x3b).collect();
    if kind == BlockType::MXFP4 {
        // No factors so small that computing with them is slow.
        bytes.iter_mut().step_by(kind.block_bytes()).for_each(|exponent| *exponent = 120);
    }
    let blocks = Elements::FileBlocks(FileBlocks::new(kind, &bytes, cols));
    QuantizedMatrix::new(cpu, Matrix::new(blocks, rows, cols), QuantizeTo::Q8)
}
