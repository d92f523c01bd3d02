//! Tokenisation of whole prompts within a budget: of templates (segments), and as clients wrote them.
//!
//! Invariant: the ids are those that the tokenizer gives for the text as a whole, and a prompt that
//! fits into the context gets them, however long its text. Memory and time are those of a piece, and
//! of a text that has as many tokens as the context. Called by `render` and for raw prompts.

use tokenizers::{Encoding, OffsetType};

use super::added::Split;
use super::budget::{IdsWithin, PromptTooLong, TokenBudget};
use super::pieces::{PlacedToken, WHOLE, in_pieces};
use super::render::RenderError;
use super::segments::Segment;
use super::tokenizer::{TokenizeError, Tokenizer, guarded};

/// Size of a conversation's text relative to the longest prompt: templates leave out reasoning of
/// earlier turns.
const UNSEEN_TEXT: usize = 4;
/// What stands for the text in front of a section that isn't the first.
const LEAD: &str = " ";

impl Tokenizer {
    /// Encodes a prompt, of which text never becomes a control token. `starts`, if it is asked for,
    /// gets the byte of the text at which each token begins.
    ///
    /// # Errors
    /// Text that can't be encoded, or more tokens than `budget` has.
    pub(super) fn encode_prompt(
        &self,
        segments: &[Segment<'_>],
        budget: TokenBudget,
        mut starts: Option<&mut Vec<usize>>,
    ) -> Result<Vec<u32>, RenderError> {
        let (text, splits) = self.split_segments(segments);
        self.check_bytes(text.len(), 1, budget)?;
        if text.len() <= WHOLE {
            let offsets = if starts.is_some() { OffsetType::Byte } else { OffsetType::None };
            let whole = guarded(|| self.encode_splits(&text, &splits, offsets))?;
            if let Some(starts) = starts {
                starts.extend(whole.get_offsets().iter().map(|(start, _)| start));
            }
            return Ok(whole.get_ids().to_vec());
        }
        let mut ids = IdsWithin::new(budget, text.len());
        for split in &splits {
            if let Some(id) = split.id {
                if let Some(starts) = &mut starts {
                    starts.push(split.start);
                }
                ids.extend([id], split.end)?;
                continue;
            }
            in_pieces(
                &text[split.start..split.end],
                self.can_cut(),
                |piece, at| self.encode_section(piece, split.start + at == 0),
                |tokens, end| {
                    if let Some(starts) = &mut starts {
                        starts.extend(tokens.iter().map(|token| split.start + token.start));
                    }
                    Ok(ids.extend(tokens.iter().map(|token| token.id), split.start + end)?)
                },
            )?;
        }
        Ok(ids.finish())
    }

    /// Encodes a whole prompt as [`Self::encode_raw`] does.
    ///
    /// # Errors
    /// Text that can't be encoded, or more tokens than `budget` has.
    pub fn encode_raw_prompt(
        &self,
        text: &str,
        special: bool,
        budget: TokenBudget,
    ) -> Result<Vec<u32>, RenderError> {
        self.check_bytes(text.len(), 1, budget)?;
        if text.len() <= WHOLE {
            return Ok(self.encode_raw(text, special)?);
        }
        let [before, after] = if special { self.special_around()? } else { Default::default() };
        let mut ids = IdsWithin::new(budget, text.len());
        ids.extend(before, 0)?;
        in_pieces(
            text,
            self.can_cut(),
            |piece, _| Ok(placed(&guarded(|| self.encode_placed(piece))?)),
            |tokens, end| Ok(ids.extend(tokens.iter().map(|token| token.id), end)?),
        )?;
        ids.extend(after, text.len())?;
        Ok(ids.finish())
    }

    /// Refuses a conversation of which not even the part that templates show could fit, before it is
    /// copied for one.
    pub(super) fn check_conversation(&self, bytes: usize, budget: TokenBudget) -> Result<(), PromptTooLong> {
        self.check_bytes(bytes, UNSEEN_TEXT, budget)
    }

    /// Most bytes that a conversation may have for a context of `context` tokens, and its tools once
    /// more.
    pub fn most_bytes(&self, context: usize) -> usize {
        self.longest_token()
            .map_or(usize::MAX, |longest| longest.saturating_mul(context).saturating_mul(UNSEEN_TEXT))
    }

    /// Refuses `bytes` of text that have more tokens than the context even if all were the longest
    /// one, and if only one of `share` bytes were in the prompt. What is counted to its end isn't
    /// refused.
    fn check_bytes(&self, bytes: usize, share: usize, budget: TokenBudget) -> Result<(), PromptTooLong> {
        let Some(longest) = self.longest_token().filter(|_| bytes > budget.counted_bytes) else {
            return Ok(());
        };
        let (of_token, context) = (longest.saturating_mul(share).max(1), budget.context);
        let tokens = bytes.div_ceil(of_token);
        if tokens <= context {
            return Ok(());
        }
        Err(PromptTooLong { tokens, context, bytes, read: of_token.saturating_mul(context) })
    }

    /// Tokens of a part of a section's text. `begins`: it is the beginning of the prompt, which some
    /// tokenizers treat in another way.
    fn encode_section(&self, text: &str, begins: bool) -> Result<Vec<PlacedToken>, TokenizeError> {
        let lead = if begins { "" } else { LEAD };
        let whole = [lead, text].concat();
        let lead_token = (!begins).then_some(Split { start: 0, end: lead.len(), id: Some(0) });
        let section = Split { start: lead.len(), end: whole.len(), id: None };
        let splits: Vec<Split> = lead_token.into_iter().chain([section]).collect();
        let encoding = guarded(|| self.encode_splits(&whole, &splits, OffsetType::Byte))?;
        let mut tokens = placed(&encoding).split_off(splits.len() - 1);
        for token in &mut tokens {
            token.start = token.start.saturating_sub(lead.len());
            token.end = token.end.saturating_sub(lead.len());
        }
        Ok(tokens)
    }

    /// The tokens that the tokenizer adds in front of a text and behind it.
    fn special_around(&self) -> Result<[Vec<u32>; 2], TokenizeError> {
        let (plain, all) = (self.encode_raw("a", false)?, self.encode_raw("a", true)?);
        let at = all.windows(plain.len().max(1)).position(|part| part == plain);
        let at = at.ok_or_else(|| TokenizeError("what it adds to a text isn't around it".to_owned()))?;
        Ok([all[..at].to_vec(), all[at + plain.len()..].to_vec()])
    }
}

/// The tokens of an encoding with their places in bytes.
fn placed(encoding: &Encoding) -> Vec<PlacedToken> {
    let tokens = encoding.get_ids().iter().zip(encoding.get_offsets());
    tokens.map(|(&id, &(start, end))| PlacedToken { id, start, end }).collect()
}
