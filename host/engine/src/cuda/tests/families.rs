//! Mixtures of experts, compressed caches and packed weights on the tests' device, against logits
//! that transformers computed; and rows of a step against the same rows alone.

use super::goldens::{TRAINED, Tolerance, check, check_each, check_greedy};
use super::rig::{Part, batch, device, load, options};
use crate::cuda::CudaRunner;
use crate::runner::Runner;

/// Bounds where bf16 may choose another expert, since the router's last chosen score and the next
/// one differ by less than a hundredth of their spread: at the last token of moe-mixed-f32's prompt
/// of 7, and the token before the last of gpt-oss-bf16's.
const TIE: Tolerance = Tolerance { greatest: 0.2, root: 0.25 };

const fn within(greatest: f32, root: f32) -> Tolerance {
    Tolerance { greatest, root }
}

#[test]
fn mixtures_of_experts_have_transformers_logits() {
    check("moe-bf16", within(3e-2, 2.5e-2), 200);
    check("moe-sharded-bf16", within(2e-2, 2e-2), 40);
    check("moe-fp8", within(1.4e-2, 1.4e-2), 40);
    check_each("moe-mixed-f32", 40, |len| if len == 7 { TIE } else { within(2.5e-2, 2.8e-2) });
}

#[test]
fn dense_fp8_models_have_the_logits_of_transformers() {
    check("fp8", within(1.5e-2, 1.6e-2), 200);
}

#[test]
fn gpt_oss_has_the_logits_of_transformers() {
    check_each("gpt-oss-bf16", 200, |len| if len == 7 { TIE } else { within(3.2e-2, 2.8e-2) });
    check("gpt-oss-mxfp4", within(1.8e-2, 1.9e-2), 200);
    check("gpt-oss-wide-mxfp4", within(7e-2, 7.5e-2), 40);
}

#[test]
fn compressed_caches_have_the_logits_of_transformers() {
    check("deepseek-bf16", within(1.4e-2, 1.5e-2), 200);
    check("deepseek-fp8", within(2.6e-2, 2.4e-2), 40);
    check("deepseek-yarn-f32", within(4.2e-2, 4.3e-2), 40);
}

#[test]
fn glm_has_the_logits_of_transformers() {
    for name in ["glm4-lite-bf16", "glm4-lite-mixed-f32", "glm4-moe-bf16", "glm4-moe-norms-f32"] {
        check(name, within(4.5e-2, 4.5e-2), 40);
    }
}

#[test]
fn trained_families_have_the_logits_of_transformers() {
    check("gpt-oss-tiny", TRAINED, 119);
    check("kimi-tiny", TRAINED, 125);
}

#[test]
fn clear_greedy_tokens_of_families_are_transformers() {
    for (name, least) in [("gpt-oss-tiny", 45), ("kimi-tiny", 30)] {
        let compared = check_greedy(name, 0.25, 40);
        assert!(compared >= least, "{name}: only {compared} tokens were far enough ahead");
    }
}

/// Logits of the last row of each part.
fn logits(runner: &mut CudaRunner, parts: &[Part<'_>]) -> Vec<Vec<f32>> {
    runner.forward(&batch(parts)).unwrap();
    let vocab = runner.shape().vocab;
    runner.step_logits().chunks_exact(vocab).map(<[f32]>::to_vec).collect()
}

/// Steps have at most eight rows, and the same kernels compute all of them, so bits can be
/// compared.
#[test]
fn row_logits_do_not_depend_on_what_is_beside_it() {
    for name in ["moe-bf16", "gpt-oss-mxfp4", "deepseek-fp8", "kimi-tiny"] {
        let mut runner = load(device(), name, &options(), &mut |_| {}).unwrap();
        let prompts = [&[3, 1, 4, 1, 5][..], &[9, 2], &[6, 5, 3, 5, 8, 9, 7], &[9, 3, 2]];
        let decode = |lane: u32| Part {
            lane,
            tokens: &[[11], [12], [13], [14]][lane as usize],
            from: prompts[lane as usize].len(),
        };
        for (lane, tokens) in (0..).zip(prompts) {
            logits(&mut runner, &[Part { lane, tokens, from: 0 }]);
        }
        let alone: Vec<_> = (0..4).flat_map(|lane| logits(&mut runner, &[decode(lane)])).collect();
        let four: Vec<_> = (0..4).map(decode).collect();
        assert_eq!(logits(&mut runner, &four), alone, "{name}: a full graph");
        assert_eq!(logits(&mut runner, &four[..3]), alone[..3], "{name}: a padded graph");
        let prompt = Part { lane: 5, tokens: &[1, 2, 3, 4], from: 0 };
        let prompt_alone = logits(&mut runner, std::slice::from_ref(&prompt));
        let mixed = logits(&mut runner, &[four[0].clone(), four[1].clone(), prompt]);
        assert_eq!(mixed[..2], alone[..2], "{name}: beside a prompt");
        assert_eq!(mixed[2..], prompt_alone, "{name}: a prompt beside others");
        assert_ne!(alone[0], alone[1], "{name}");
    }
}
