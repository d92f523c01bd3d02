//! Families whose parser is a reader. A factory of `dynamo-parsers-v2` is a plain function and is
//! told no family, so each family here has a function of its own.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use anyhow::Result;
use dynamo_parsers_v2::{
    Tool, UnifiedParser, UnifiedParserFactory, canonical_unified_family, register_unified_parser,
};

use super::parser::DynamoParser;
use reader::Reader;

/// Maximum number of families.
const FAMILIES: usize = 16;

/// The readers, each in the slot of its family.
static READERS: [OnceLock<RwLock<Arc<Reader>>>; FAMILIES] = [const { OnceLock::new() }; FAMILIES];

/// Names of the families, in the order of their slots.
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// There are as many families as there can be.
#[derive(Debug)]
pub struct NoRoom;

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{FAMILIES} families have a parser of Sluice, which is all there is room for: register one of them again"
        )
    }
}

impl std::error::Error for NoRoom {}

/// Makes `reader` the parser of a family, before a parser of that name which the crate ships or
/// that was registered earlier. Streams that were started keep theirs. To be called before requests
/// come; `dynamo_parsers_v2::unregister_unified_parser` undoes it.
///
/// # Errors
/// Sixteen other families have a reader.
pub fn register(family: &str, reader: Reader) -> Result<(), NoRoom> {
    let name = canonical_unified_family(family).unwrap_or(family);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = names.iter().position(|known| known == name);
    let slot = known.unwrap_or(names.len());
    let (Some(place), Some(factory)) = (READERS.get(slot), FACTORIES.get(slot)) else { return Err(NoRoom) };
    if known.is_none() {
        names.push(name.to_owned());
    }
    let reader = Arc::new(reader);
    let held = place.get_or_init(|| RwLock::new(Arc::clone(&reader)));
    *held.write().unwrap_or_else(PoisonError::into_inner) = reader;
    register_unified_parser(name, *factory);
    Ok(())
}

fn start<const SLOT: usize>(tools: &[Tool]) -> Result<Box<dyn UnifiedParser>> {
    let reader = READERS[SLOT].get().ok_or_else(|| anyhow::anyhow!("no reader was registered"))?;
    let reader = Arc::clone(&reader.read().unwrap_or_else(PoisonError::into_inner));
    Ok(Box::new(DynamoParser::new(reader, tools)))
}

/// The function of each slot.
const FACTORIES: [UnifiedParserFactory; FAMILIES] = [
    start::<0>,
    start::<1>,
    start::<2>,
    start::<3>,
    start::<4>,
    start::<5>,
    start::<6>,
    start::<7>,
    start::<8>,
    start::<9>,
    start::<10>,
    start::<11>,
    start::<12>,
    start::<13>,
    start::<14>,
    start::<15>,
];
