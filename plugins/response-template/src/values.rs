//! Values of parameters, and the delimiters that may end them.

use parser_sdk::Output;
use parser_sdk::params::Doubt;

use crate::table::are_ends;
use crate::{InCall, ResponseTemplate};

impl ResponseTemplate {
    /// Begins a parameter's value, after the end of the previous value.
    pub(crate) fn begin_value(&mut self, key: &str, keep: usize, out: &mut Output) {
        self.call = match std::mem::replace(&mut self.call, InCall::No) {
            InCall::Parameters(mut arguments) | InCall::Ended(mut arguments, _) => {
                arguments.end(keep, out);
                arguments.begin(key, out);
                if self.table.parameter(self.region).is_some_and(|parameter| parameter.spaced) {
                    arguments.skip_line();
                }
                InCall::Value(arguments)
            }
            other => other,
        };
    }

    /// Takes `written` for the end of the value until the text after it decides. An earlier end that was in doubt is part of the value.
    pub(crate) fn doubt_end(&mut self, written: &str, keep: usize, out: &mut Output) {
        self.call = match std::mem::replace(&mut self.call, InCall::No) {
            InCall::Value(arguments) => InCall::Ended(arguments, Doubt::of(written)),
            InCall::Ended(mut arguments, doubt) => {
                arguments.text(doubt.text(), written.len() + keep, out);
                InCall::Ended(arguments, Doubt::of(written))
            }
            other => other,
        };
    }

    /// Makes a delimiter in doubt part of the value, at the end of the turn, if text stands behind it.
    pub(crate) fn settle_doubt(&mut self, keep: usize, out: &mut Output) {
        if let InCall::Ended(_, doubt) = &self.call
            && !are_ends(doubt.behind(), false)
        {
            self.resume(keep, out);
        }
    }

    /// Goes on with the value after text that didn't end it: all text in doubt is part of the value.
    pub(crate) fn resume(&mut self, keep: usize, out: &mut Output) {
        self.call = match std::mem::replace(&mut self.call, InCall::No) {
            InCall::Ended(mut arguments, doubt) => {
                arguments.text(doubt.text(), keep, out);
                InCall::Value(arguments)
            }
            other => other,
        };
    }
}
