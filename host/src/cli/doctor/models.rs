//! The models: whether each could be served, and what it needs.

use std::path::Path;

use anyhow::Context;
use model::{Examination, Examiner, MemoryNeed, ModelLoadError, NotFound, SharedOptions, free_memory};

use super::findings::{Findings, Level};
use crate::cli::launch::CODEX_CONTEXT;
use crate::cli::load::with_switch;
use crate::cli::parser::{Foreseen, Foresight, MOST_DERIVED, ParserMaker};
use crate::cli::serve_arguments::ServeArguments;

/// Tokens of context that coding agents need, as many as the most demanding one.
const AGENT_CONTEXT: usize = CODEX_CONTEXT as usize;

pub(super) fn examine(findings: &mut Findings, arguments: &ServeArguments) {
    let Some(access) = arguments.access.access(false).ok() else { return };
    let owners = access.keys.owners();
    let Some(limits) = findings.value("limits", arguments.limits(owners)) else { return };
    let Some((first, others)) = findings.value("model", arguments.models.models()) else { return };
    let shared = arguments.models.shared(owners);
    // A cache that isn't there yet isn't made.
    let parser_cache = shared.parser_cache.clone().filter(|folder| folder.exists());
    let shared = SharedOptions { parser_cache, ..shared };
    let examiner = Examiner::new(&shared, &limits.model).map_err(with_switch);
    let Some(examiner) = findings.value("model", examiner) else { return };
    let mut foresight = Foresight::new(ParserMaker {
        cache: shared.parser_cache.clone(),
        plugins: arguments.models.plugins().to_owned(),
        limits: limits.model.parser.clone(),
    });
    let mut need = 0;
    for options in std::iter::once(&first).chain(&others) {
        let found = examiner.examine(options).map_err(with_switch);
        let found = if others.is_empty() { found } else { found.context(options.served_names[0].clone()) };
        if let Err(error) = &found
            && is_to_download(error)
        {
            findings.warn("model", format!("{error:#}, or the start downloads it"));
            continue;
        }
        let Some(found) = findings.value("model", found) else { continue };
        need += show(findings, &found);
        if let Some(files) = &found.lacks_parser {
            derived(findings, &found.name, foresight.of(files));
        }
    }
    if let Some(free) = free_memory(Path::new("/")) {
        let (level, advice) = if need > free {
            (Level::Fail, ": --quantize q8 or q4, a shorter --context or a smaller --kv-cache take less")
        } else {
            (Level::Ok, "")
        };
        findings.add(level, "memory", format!("models take {} of {} free{advice}", size(need), size(free)));
    }
}

/// Whether a start would first download the model.
fn is_to_download(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<ModelLoadError>().map(ModelLoadError::cause);
    matches!(cause, Some(ModelLoadError::Locate(NotFound::Cache { .. })))
}

/// Adds what a start derives for a model whose calls no parser reads.
fn derived(findings: &mut Findings, name: &str, foreseen: Foreseen) {
    match foreseen {
        Foreseen::Derived(how) => findings.ok("parser", format!("derived for {name}: {how}")),
        Foreseen::Refused(reason) => {
            findings.warn("parser", format!("none can be derived for {name}: {reason}"));
        }
        Foreseen::Untried => {
            let why = format!(
                "that takes seconds a template, and {MOST_DERIVED} were tried; the start tries it while it serves"
            );
            findings.warn("parser", format!("not tried whether one can be derived for {name}: {why}"));
        }
    }
}

/// Adds what was found of a model; returns the bytes that it takes of this machine's memory.
fn show(findings: &mut Findings, model: &Examination) -> u64 {
    let Examination { name, files, parser, engine, context, memory, warnings, .. } = model;
    let taken = match memory {
        None => String::new(),
        Some(MemoryNeed { weights, kv_cache: 0, .. }) => format!(", {} of weights", size(*weights)),
        Some(MemoryNeed { weights, kv_cache, .. }) => {
            format!(", {} of weights, {} of KV cache", size(*weights), size(*kv_cache))
        }
    };
    findings.ok("model", format!("{name} in {files}: {context} tokens of context, {engine}{taken}"));
    let level = if parser.is_doubtful { Level::Warn } else { Level::Ok };
    findings.add(level, "parser", format!("{} {} for {name}: {}", parser.name, parser.version, parser.why));
    for warning in warnings {
        findings.warn("model", format!("{name}: {warning}"));
    }
    if *context < AGENT_CONTEXT {
        findings.warn(
            "agents",
            format!("{name} has {context} tokens of context; coding agents need {AGENT_CONTEXT}"),
        );
    }
    match memory {
        Some(MemoryNeed { weights, gpu: Some(most), .. }) => {
            if weights > most {
                findings
                    .fail("memory", format!("{name} takes {} of the GPU's {}", size(*weights), size(*most)));
            }
            0
        }
        Some(MemoryNeed { weights, kv_cache, gpu: None }) => weights + kv_cache,
        None => 0,
    }
}

fn size(bytes: u64) -> String {
    match bytes.div_ceil(1 << 20) {
        mib @ 0..10_240 => format!("{mib} MiB"),
        mib => format!("{} GiB", mib >> 10),
    }
}
