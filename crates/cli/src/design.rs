//! The arguments that make a design: sizes, and one choice per policy in place of a preset's own.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use pageway::choices::{Policy, Reading, choices};
use pageway::spec::DEFAULTS;
use pageway::{BuildOptions, Overrides, Result, Sizes};

/// Numbers that a design leaves open.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Sizes")]
pub(crate) struct SizeArguments {
    /// Longest adjacency list (R); 24 to 96 are usual
    #[arg(long, value_name = "R", default_value_t = DEFAULTS.degree)]
    pub(crate) degree: u32,

    /// Candidate list size of the searches of a build (L), where its graph is made by searches; at
    /// least the degree
    #[arg(long, value_name = "L", default_value_t = DEFAULTS.build_list)]
    pub(crate) build_list: u32,

    /// Slack of the prune rule; larger keeps more long edges
    #[arg(long, value_name = "A", default_value_t = DEFAULTS.alpha)]
    pub(crate) alpha: f32,

    /// Bytes of a page: 4096 to 65536, a power of two
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULTS.page_bytes)]
    pub(crate) page_size: u32,

    /// Reads in flight (W) [default: the design's own]
    #[arg(long, value_name = "W")]
    pub(crate) beam: Option<u32>,
}

impl SizeArguments {
    /// Options with these numbers; what was not asked has its default.
    pub(crate) fn options(&self) -> BuildOptions {
        BuildOptions::default()
            .with_degree(self.degree)
            .with_build_list(self.build_list)
            .with_alpha(self.alpha)
            .with_page_bytes(self.page_size)
            .with_beam(self.beam)
    }

    /// The same as a design takes them.
    pub(crate) fn sizes(&self) -> Sizes {
        self.options().sizes()
    }
}

/// One choice per policy, each an argument of the table's. What is not chosen stays as the preset
/// has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChoiceArguments(Vec<(&'static str, String)>);

impl ChoiceArguments {
    /// The choices, with what they leave open from `sizes`.
    ///
    /// # Errors
    /// `InvalidInput` for what cannot be read, with what could be.
    pub(crate) fn overrides(&self, sizes: &Sizes) -> Result<Overrides> {
        let typed = |policy: &'static Policy| {
            let mut all = self.0.iter();
            let (_, text) = all.find(|(name, _)| *name == policy.name)?;
            Some((policy, text.as_str()))
        };
        Overrides::read(choices().filter_map(typed), sizes)
    }
}

impl Args for ChoiceArguments {
    fn augment_args(command: Command) -> Command {
        let command = command.next_help_heading("Choices in place of the preset's own");
        choices().map(argument).fold(command, Command::arg)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ChoiceArguments {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let typed = |policy: &Policy| {
            let text = matches.get_one::<String>(policy.name)?;
            Some((policy.name, text.clone()))
        };
        Ok(Self(choices().filter_map(typed).collect()))
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn argument(policy: &'static Policy) -> Arg {
    let argument = Arg::new(policy.name)
        .long(policy.flag.trim_start_matches('-'))
        .value_name(match policy.reading {
            Reading::Share => "SHARE",
            Reading::Flag => "BOOL",
            Reading::CodeBytes => "N",
            Reading::Named(_) | Reading::Size | Reading::Told | _ => "NAME",
        })
        .help(policy.about);
    if matches!(policy.reading, Reading::Flag) {
        argument.value_parser(["true", "false"])
    } else {
        argument
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use pageway::spec::{CodecSpec, GraphSpec, QuantizerSpec, ScheduleSpec};

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        sizes: SizeArguments,
        #[command(flatten)]
        choices: ChoiceArguments,
    }

    fn overrides(line: &str) -> Result<Overrides> {
        let words = std::iter::once("x").chain(line.split_whitespace());
        let typed = Typed::try_parse_from(words).unwrap();
        typed.choices.overrides(&typed.sizes.sizes())
    }

    #[test]
    fn every_choice_is_an_argument_with_the_help_of_its_policy() {
        let command = Typed::command();
        for policy in choices() {
            let mut arguments = command.get_arguments();
            let argument = arguments.find(|argument| argument.get_id() == policy.name);
            let argument = argument.unwrap();
            assert_eq!(argument.get_help().unwrap().to_string(), policy.about);
            assert_eq!(argument.get_long(), policy.flag.strip_prefix("--"));
            if !matches!(policy.reading, Reading::Flag) {
                let error = overrides(&format!("{} x", policy.flag)).unwrap_err();
                assert!(error.context().starts_with(policy.flag), "{error}");
            }
        }
    }

    #[test]
    fn nothing_chosen_overrides_nothing() {
        let sizes = "--degree 24 --beam 9 --page-size 8192";
        assert_eq!(overrides(sizes).unwrap(), Overrides::default());
    }

    #[test]
    fn sizes_fill_what_a_choice_leaves_open() {
        let chosen = overrides("--graph nsg --schedule pipelined --degree 20 --beam 3").unwrap();
        let graph = GraphSpec::Nsg {
            max_degree: 20,
            build_list: 100,
            knn: 40,
        };
        assert_eq!(chosen.graph, Some(graph));
        assert_eq!(chosen.schedule.map(ScheduleSpec::beam), Some(3));
        let chosen = overrides("--schedule pipelined --codec page_node --degree 31").unwrap();
        assert_eq!(chosen.schedule.map(ScheduleSpec::beam), Some(32));
        assert_eq!(chosen.codec, Some(CodecSpec::PageNode { min_degree: 16 }));
    }

    #[test]
    fn a_second_code_can_be_given_and_taken_away() {
        assert_eq!(overrides("").unwrap().second_quantizer, None);
        let given = overrides("--second-code-bytes 7").unwrap().second_quantizer;
        assert_eq!(given, Some(Some(QuantizerSpec::Pq { code_bytes: 7 })));
        let taken = overrides("--second-code-bytes 0").unwrap().second_quantizer;
        assert_eq!(taken, Some(None));
    }
}
