//! Parameters that `launch` refuses: each case differs by one value from a launch that is accepted.

use std::panic::{UnwindSafe, catch_unwind};

use cuda_kernels::{
    Attention, AttentionDecode, AttentionPrefill, DevicePtr, ExpertFormat, Fp8Scales, Launch, Linear,
    LinearInput, LinearStore, LinearWeight, MlaAttention, MlaDecode, MoeLayer, MoeLinear, MoeRoute,
    PagedCache, Sample, StoredExperts,
};
use ops::{AttentionSpec, MlaShape, QkvShape, Routing, SIGMOID_EPS, Scoring};

const SOME: DevicePtr = DevicePtr(4096);
const ODD: DevicePtr = DevicePtr(4098);
const SCALES: Fp8Scales = Fp8Scales { at: SOME, block_cols: 64 };

const ATTENTION: Attention = Attention {
    qkv: SOME,
    cache: PagedCache { keys: SOME, values: SOME, tables: SOME, table_width: 2 },
    lanes: SOME,
    positions: SOME,
    out: SOME,
    rows: 3,
    spec: SPEC,
};

const SPEC: AttentionSpec<DevicePtr> =
    AttentionSpec { shape: HEADS, scale: 0.125, window: None, sinks: None };

const HEADS: QkvShape = QkvShape { heads: 4, kv_heads: 2, head_dim: 64 };

const SHAPE: MlaShape = MlaShape { heads: 4, rank: 64, nope: 16, rope: 16, value: 16 };

const MLA: MlaAttention = MlaAttention {
    queries: SOME,
    cache: SOME,
    tables: SOME,
    table_width: 2,
    lanes: SOME,
    positions: SOME,
    out: SOME,
    rows: 3,
    shape: SHAPE,
    scale: 0.125,
};

const LINEAR: MoeLinear = MoeLinear {
    x: SOME,
    order: SOME,
    starts: SOME,
    weights: StoredExperts { at: SOME, format: ExpertFormat::Bf16, bias: None },
    out: SOME,
    routes: 6,
    experts: 4,
    n: 64,
    k: 64,
    layer: MoeLayer::Down,
};

const DENSE: Linear = Linear {
    x: LinearInput::Bf16(SOME),
    weight: LinearWeight { at: SOME, fp8: Some(SCALES) },
    bias: None,
    out: SOME,
    store: LinearStore::Bf16,
    rows: 3,
    outputs: 64,
    inputs: 80,
};

/// Description of the wrong value, and a launch with it.
type Case = (&'static str, Box<dyn Fn() -> Launch + UnwindSafe>);

fn check(sound: impl Fn() -> Launch, broken: Vec<Case>) {
    sound();
    for (what, launch) in broken {
        assert!(catch_unwind(launch).is_err(), "{what} was taken");
    }
}

#[test]
fn attention_of_heads_that_do_not_fit_is_refused() {
    let decode =
        |attention| AttentionDecode { attention, work: SOME, partials: SOME, counters: SOME, blocks: 1 };
    let prefill = |attention| AttentionPrefill { attention, tiles: SOME, count: 1 };
    let of_spec = |spec| Attention { spec, ..ATTENTION };
    let of_shape = move |shape| of_spec(AttentionSpec { shape, ..SPEC });
    check(
        || ATTENTION.launch(),
        vec![
            ("a null pointer", Box::new(|| Attention { lanes: DevicePtr::NULL, ..ATTENTION }.launch())),
            ("a misaligned pointer", Box::new(|| Attention { qkv: ODD, ..ATTENTION }.launch())),
            ("no rows", Box::new(|| Attention { rows: 0, ..ATTENTION }.launch())),
            ("three heads for two keys", Box::new(move || of_shape(QkvShape { heads: 3, ..HEADS }).launch())),
            (
                "a window of nothing",
                Box::new(move || of_spec(AttentionSpec { window: Some(0), ..SPEC }).launch()),
            ),
            ("a negative scale", Box::new(move || of_spec(AttentionSpec { scale: -1.0, ..SPEC }).launch())),
            ("heads of 512", Box::new(move || of_shape(QkvShape { head_dim: 512, ..HEADS }).launch())),
        ],
    );
    check(
        move || decode(ATTENTION).launch(),
        vec![
            (
                "heads of 256",
                Box::new(move || decode(of_shape(QkvShape { head_dim: 256, ..HEADS })).launch()),
            ),
            (
                "17 heads of a key",
                Box::new(move || decode(of_shape(QkvShape { heads: 34, ..HEADS })).launch()),
            ),
            (
                "no list",
                Box::new(move || AttentionDecode { work: DevicePtr::NULL, ..decode(ATTENTION) }.launch()),
            ),
        ],
    );
    check(
        move || prefill(ATTENTION).launch(),
        vec![
            (
                "heads of 256",
                Box::new(move || prefill(of_shape(QkvShape { head_dim: 256, ..HEADS })).launch()),
            ),
            ("no tiles", Box::new(move || AttentionPrefill { count: 0, ..prefill(ATTENTION) }.launch())),
        ],
    );
}

#[test]
fn compressed_attention_of_other_widths_is_refused() {
    let decode = |shape| {
        let attention = MlaAttention { shape, ..MLA };
        MlaDecode { attention, work: SOME, partials: SOME, counters: SOME, blocks: 1 }
    };
    check(
        || MLA.launch(),
        vec![
            (
                "a rank of 60",
                Box::new(|| MlaAttention { shape: MlaShape { rank: 60, ..SHAPE }, ..MLA }.launch()),
            ),
            (
                "values of 15",
                Box::new(|| MlaAttention { shape: MlaShape { value: 15, ..SHAPE }, ..MLA }.launch()),
            ),
            ("a misaligned cache", Box::new(|| MlaAttention { cache: ODD, ..MLA }.launch())),
        ],
    );
    check(
        move || decode(SHAPE).launch(),
        vec![
            ("a rank of 72", Box::new(move || decode(MlaShape { rank: 72, ..SHAPE }).launch())),
            ("a rotated part of 8", Box::new(move || decode(MlaShape { rope: 8, ..SHAPE }).launch())),
        ],
    );
}

#[test]
fn experts_that_do_not_fit_are_refused() {
    let mxfp4 = |k| {
        let weights = StoredExperts { format: ExpertFormat::Mxfp4 { scales: SOME }, ..LINEAR.weights };
        MoeLinear { weights, k, ..LINEAR }
    };
    let fp8 = |n, k, scales| {
        let format = ExpertFormat::Fp8(scales);
        MoeLinear { weights: StoredExperts { format, ..LINEAR.weights }, n, k, ..LINEAR }
    };
    check(
        move || mxfp4(64).launch(),
        vec![
            ("MXFP4 of 40 columns", Box::new(move || mxfp4(40).launch())),
            ("an odd number of rows", Box::new(|| MoeLinear { n: 63, ..LINEAR }.launch())),
            ("12 columns", Box::new(|| MoeLinear { k: 12, ..LINEAR }.launch())),
        ],
    );
    check(
        move || fp8(64, 80, SCALES).launch(),
        vec![
            ("60 rows of FP8", Box::new(move || fp8(60, 80, SCALES).launch())),
            ("72 columns of FP8", Box::new(move || fp8(64, 72, SCALES).launch())),
            ("blocks of 48", Box::new(move || fp8(64, 80, Fp8Scales { block_cols: 48, ..SCALES }).launch())),
            (
                "no scales",
                Box::new(move || fp8(64, 80, Fp8Scales { at: DevicePtr::NULL, ..SCALES }).launch()),
            ),
        ],
    );
    let route = |experts, per_token, groups| {
        let scoring =
            Scoring::Sigmoid { groups, top_groups: 1, normalize: true, eps: SIGMOID_EPS, scale: 1.0 };
        let (scores, chosen, weights) = (SOME, SOME, SOME);
        let routing = Routing { experts, per_token, scoring, correction: None, factors: None };
        MoeRoute { scores, chosen, weights, rows: 1, routing }
    };
    check(
        move || route(64, 8, 4).launch(),
        vec![
            ("more than there are", Box::new(move || route(4, 8, 4).launch())),
            ("33 of a token", Box::new(move || route(64, 33, 4).launch())),
            ("groups that don't divide", Box::new(move || route(64, 8, 5).launch())),
        ],
    );
}

#[test]
fn linear_layers_of_fp8_that_do_not_fit_are_refused() {
    let of = |at, scales| Linear { weight: LinearWeight { at, fp8: Some(scales) }, ..DENSE };
    check(
        || DENSE.launch(),
        vec![
            ("60 outputs", Box::new(|| Linear { outputs: 60, ..DENSE }.launch())),
            ("72 inputs", Box::new(|| Linear { inputs: 72, ..DENSE }.launch())),
            ("misaligned codes", Box::new(move || of(ODD, SCALES).launch())),
            ("a misaligned input", Box::new(|| Linear { x: LinearInput::Bf16(ODD), ..DENSE }.launch())),
            ("blocks of 48", Box::new(move || of(SOME, Fp8Scales { block_cols: 48, ..SCALES }).launch())),
            ("blocks of 16", Box::new(move || of(SOME, Fp8Scales { block_cols: 16, ..SCALES }).launch())),
            ("no scales", Box::new(move || of(SOME, Fp8Scales { at: DevicePtr::NULL, ..SCALES }).launch())),
        ],
    );
}

#[test]
fn more_alternatives_than_fit_are_refused() {
    let sample = |top_width, top| {
        let (logits, draws, out, edits) = (SOME, SOME, SOME, None);
        Sample { logits, draws, edits, masks: None, samples: None, out, top, rows: 1, vocab: 9, top_width }
    };
    check(
        move || sample(255, Some(SOME)).launch(),
        vec![
            ("256 alternatives", Box::new(move || sample(256, Some(SOME)).launch())),
            ("alternatives without room", Box::new(move || sample(1, None).launch())),
        ],
    );
}
