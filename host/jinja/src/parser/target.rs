//! What an assignment or a loop assigns to.

use super::{Parser, describe};
use crate::ast::{Symbol, Target};
use crate::error::Result;

impl Parser {
    /// Parses what is assigned to.
    pub(super) fn target(&mut self, with_attributes: bool) -> Result<Target> {
        let mut targets = Vec::new();
        let mut is_tuple = false;
        while !self.is_tuple_end() {
            targets.push(self.one_target(with_attributes)?);
            if !self.skip_operator(",") {
                break;
            }
            is_tuple = true;
        }
        match targets.pop() {
            Some(only) if !is_tuple => Ok(only),
            Some(last) => {
                targets.push(last);
                Ok(Target::Tuple(targets))
            }
            None => self.fail(format!("expected a name to assign to, got {}", describe(self.peek()))),
        }
    }

    fn one_target(&mut self, with_attributes: bool) -> Result<Target> {
        if self.skip_operator("(") {
            let inner = self.nested(|parser| parser.target(with_attributes))?;
            self.expect_operator(")")?;
            return Ok(inner);
        }
        let name = self.expect_name()?;
        if matches!(&*name, "true" | "false" | "none" | "True" | "False" | "None") {
            return self.fail(format!("can't assign to '{name}'"));
        }
        if &*name == "loop" && self.loops > 0 {
            return self.fail("Can't assign to special loop variable in for-loop");
        }
        let symbol = self.symbol(&name);
        if with_attributes && self.skip_operator(".") {
            return Ok(Target::Attribute(symbol, self.expect_name()?));
        }
        Ok(Target::Name(symbol))
    }

    pub(super) fn check_loop_target(&mut self, target: &Target) -> Result<()> {
        let is_loop = |symbol: &Symbol| &*self.names[*symbol as usize] == "loop";
        match target {
            Target::Name(symbol) if is_loop(symbol) => {
                self.fail("Can't assign to special loop variable in for-loop target")
            }
            _ => Ok(()),
        }
    }
}
