//! Values of parameters, and the delimiters that may end them.

use parser_sdk::Output;
use parser_sdk::params::{Doubt, unquoted};

use crate::ResponseTemplate;
use crate::in_call::{InCall, Item};
use crate::table::{Within, are_ends};

/// The list whose items were written last: its key, and the number of its items.
#[derive(Debug, Default)]
pub(crate) struct Items {
    key: String,
    count: u32,
}

impl ResponseTemplate {
    /// Begins a parameter's value, after the end of the previous value.
    pub(crate) fn begin_value(&mut self, key: &str, keep: usize, out: &mut Output) {
        self.call = match std::mem::replace(&mut self.call, InCall::No) {
            InCall::Parameters(mut arguments, _) | InCall::Ended(mut arguments, _) => {
                arguments.end(keep, out);
                let parameter = self.table.parameter(self.region);
                if parameter.is_some_and(|parameter| parameter.spaced) {
                    arguments.skip_line();
                }
                let key = unquoted(key);
                let merges = parameter.is_some_and(|parameter| parameter.merges);
                if self.items.key != key {
                    self.items = Items::default();
                }
                if merges && self.items.key == key && self.items.count > 0 {
                    arguments.begin_item(key, self.items.count, out);
                    self.items.count += 1;
                } else if arguments.is_given(key) {
                    return self.break_off(keep, out);
                } else if merges && arguments.is_list(key) {
                    let item = Item { key: key.to_owned(), text: String::new() };
                    return self.call = InCall::Item(arguments, item);
                } else {
                    arguments.begin(key, out);
                }
                if keep == 0 {
                    arguments.text("", 0, out);
                }
                InCall::Value(arguments, false)
            }
            other => other,
        };
    }

    /// Reads `text` in a call before its first parameter, behind which nothing is held: white space
    /// and ends of elements, or the body of a call whose arguments are plain text. Other words
    /// belong to nothing.
    pub(crate) fn before_parameters(&mut self, text: &str, out: &mut Output) {
        let InCall::Parameters(arguments, ends) = &mut self.call else { return };
        ends.push(text);
        if are_ends(ends.behind(), true) && !ends.is_long() {
            if are_ends(ends.behind(), false) {
                out.drop(out.held());
                ends.clear();
            }
            return;
        }
        if !arguments.is_untouched() {
            return self.break_off(0, out);
        }
        if let InCall::Parameters(mut arguments, ends) = std::mem::replace(&mut self.call, InCall::No) {
            arguments.begin_body();
            arguments.text(ends.text(), 0, out);
            self.call = InCall::Value(arguments, false);
        }
    }

    /// Ends the call as incomplete, since it has words that belong to nothing, or a value that was
    /// given already, and drops what is held before the `keep` youngest bytes.
    pub(crate) fn break_off(&mut self, keep: usize, out: &mut Output) {
        out.drop(out.held() - keep);
        out.message("");
        self.call = InCall::Broken;
    }

    /// Begins the value that may be a first item, if one is to begin, with its text that is held
    /// before the `keep` youngest bytes.
    pub(crate) fn begin_item(&mut self, keep: usize, out: &mut Output) {
        if !matches!(self.call, InCall::Item(..)) {
            return;
        }
        self.call = match std::mem::replace(&mut self.call, InCall::No) {
            InCall::Item(mut arguments, Item { key, text }) => {
                if text.trim_start().starts_with('[') {
                    arguments.begin(&key, out);
                } else {
                    arguments.begin_item(&key, 0, out);
                    self.items = Items { key, count: 1 };
                }
                arguments.text(&text, keep, out);
                InCall::Value(arguments, false)
            }
            other => other,
        };
    }

    /// Takes `written` for the end of the value until the text after it decides. An earlier end
    /// that was in doubt is part of the value.
    pub(crate) fn doubt_end(&mut self, written: &str, keep: usize, out: &mut Output) {
        self.begin_item(written.len() + keep, out);
        self.call = match std::mem::replace(&mut self.call, InCall::No) {
            InCall::Value(arguments, _) => InCall::Ended(arguments, Doubt::of(written)),
            InCall::Ended(mut arguments, doubt) => {
                arguments.text(doubt.text(), written.len() + keep, out);
                InCall::Ended(arguments, Doubt::of(written))
            }
            other => other,
        };
    }

    /// Makes a delimiter in doubt part of the value, at the end of the turn, if text stands behind
    /// it.
    pub(crate) fn settle_doubt(&mut self, keep: usize, out: &mut Output) {
        if let InCall::Ended(_, doubt) = &self.call
            && !are_ends(doubt.behind(), false)
        {
            self.resume(keep, out);
        }
    }

    /// Goes on with the value after text that didn't end it: all text in doubt is part of the
    /// value.
    pub(crate) fn resume(&mut self, keep: usize, out: &mut Output) {
        self.call = match std::mem::replace(&mut self.call, InCall::No) {
            InCall::Ended(mut arguments, doubt) => {
                arguments.text(doubt.text(), keep, out);
                InCall::Value(arguments, true)
            }
            other => other,
        };
    }

    /// Puts the close of a call inside a value in doubt: it counts only if something outside calls
    /// follows. Returns whether it is in doubt.
    pub(crate) fn doubt_close(&mut self, written: &str) -> bool {
        let is_doubted = matches!(self.call.within(), Within::Value | Within::Line);
        if is_doubted {
            self.closed = Some(Doubt::of(written));
        }
        is_doubted
    }

    /// Makes a close that was in doubt part of the value, with the text behind it.
    pub(crate) fn reopen(&mut self, out: &mut Output) {
        if let Some(doubt) = self.closed.take() {
            self.read(doubt.text(), out);
        }
    }
}
