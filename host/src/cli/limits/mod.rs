//! Switches for the limits that have one (`bounds::Bounded`). `-h` omits them, `--help` shows each
//! with its default and range.

use bounds::{Bound, Bounded};
#[cfg(test)]
mod tests;

use clap::{Arg, ArgMatches, Command};

use super::values::number;

/// Limits: the defaults, changed by the switches.
#[derive(Debug)]
pub(super) struct Switches<L>(pub(super) L);

impl<L: Bounded> clap::Args for Switches<L> {
    fn augment_args(command: Command) -> Command {
        L::BOUNDS.iter().fold(command, |command, bound| command.arg(argument(bound)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<L: Bounded> clap::FromArgMatches for Switches<L> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut switches = Self(L::default());
        switches.update_from_arg_matches(matches)?;
        Ok(switches)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for bound in L::BOUNDS {
            if let Some(value) = matches.get_one::<u64>(bound.switch) {
                bound.set(&mut self.0, *value);
            }
        }
        Ok(())
    }
}

fn argument<L: Bounded>(bound: &Bound<L>) -> Arg {
    let (least, most) = (bound.range.start(), bound.range.end());
    Arg::new(bound.switch)
        .long(bound.switch)
        .value_name(bound.unit.name())
        .value_parser(number::<u64>(bound.range.clone()))
        .help(format!("{} [default: {}; {least} to {most}]", bound.help, bound.default()))
        .help_heading(L::HEADING)
        .hide_short_help(true)
}
