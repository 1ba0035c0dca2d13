//! Command-line flags for the options of a run, generated from the table in `run::options`, and the resulting
//! specification. Each command selects its options and its base specification.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use ::experiment::ServerHost;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser, ValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use run::RunSpec;
use run::options::{Flag, Kind, OPTIONS, RunOption, Value};
use run::rules;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// A command that runs a load.
pub(crate) trait RunCommand: Clone + Send + Sync + 'static {
    /// Names of its options; empty: all that have a flag.
    const OPTIONS: &'static [&'static str] = &[];
    /// Arguments that exclude all options of the run.
    const CONFLICTS: &'static [&'static str] = &[];

    /// The heading of all options; `None`: that of each option.
    const HEADING: Option<Option<&'static str>> = None;
    /// Options with a help of their own; `{help}` stands for the usual one.
    const HELPS: &'static [(&'static str, &'static str)] = &[];

    /// The specification without any option.
    fn base() -> RunSpec;
}

/// The options on a command line.
#[derive(Clone, Debug)]
pub(crate) struct RunOptions<C> {
    /// Lists are parsed later: they may contain secrets, which clap's errors would show.
    given: Vec<(&'static RunOption, Vec<Value>)>,
    command: PhantomData<C>,
}

impl<C: RunCommand> RunOptions<C> {
    /// If clients are given per core of the server's host: sets and says their number. Returns the options that are given
    /// in this way.
    pub(crate) fn set_clients_per_core(
        &self,
        spec: &mut RunSpec,
        host: impl FnOnce() -> Result<ServerHost, Failure>,
        terminal: &Terminal,
    ) -> Result<BTreeMap<String, String>, Failure> {
        let given =
            self.given.iter().flat_map(|(option, values)| values.iter().map(|value| (*option, value)));
        let mut per_core = given.filter_map(|(option, value)| match value {
            Value::PerCore(number) => Some((option.name.to_owned(), *number, value.on_command_line())),
            _ => None,
        });
        let mut relative = BTreeMap::new();
        if let Some((option, number, words)) = per_core.next() {
            let (clients, sentence) =
                ::experiment::clients_per_core(number, host()?).map_err(Failure::Usage)?;
            terminal.say(sentence);
            spec.clients = clients;
            relative.insert(option, words);
        }
        Ok(relative)
    }

    /// The specification with these options. A number of clients per core is not set: its host must be known.
    pub(crate) fn spec(&self) -> Result<RunSpec, Failure> {
        let base = C::base();
        // Given scripts replace the default scripts.
        let mut spec = RunSpec { scripts: Vec::new(), ..base.clone() };
        for (option, value) in self.values()? {
            if !matches!(value, Value::PerCore(_)) {
                (option.set)(&mut spec, value).map_err(Failure::Usage)?;
            }
        }
        if spec.scripts.is_empty() {
            spec.scripts = base.scripts;
        }
        Ok(spec)
    }

    /// The given options with their values, in the order of the table.
    pub(crate) fn values(&self) -> Result<Vec<(&'static RunOption, Value)>, Failure> {
        let value = |(option, given): &(&'static RunOption, Vec<Value>)| {
            let value = match (option.kind, given.as_slice()) {
                (Kind::Words(read), texts) => {
                    let texts: Vec<String> = texts.iter().map(Value::on_command_line).collect();
                    read(&texts).map_err(Failure::Usage)?
                }
                (_, [value]) => value.clone(),
                _ => Value::Unset,
            };
            Ok((*option, value))
        };
        self.given.iter().map(value).collect()
    }
}

fn rows<C: RunCommand>() -> impl Iterator<Item = (&'static RunOption, Flag)> {
    let is_taken = |option: &&RunOption| C::OPTIONS.is_empty() || C::OPTIONS.contains(&option.name);
    OPTIONS.iter().filter(is_taken).filter_map(|option| Some((option, option.flag?)))
}

impl<C: RunCommand> Args for RunOptions<C> {
    fn augment_args(command: Command) -> Command {
        let base = C::base();
        let is_there = |name: &&str| rows::<C>().any(|(option, _)| option.name == *name);
        let argument = |(option, flag): (&'static RunOption, Flag)| {
            let mut argument = argument(option, flag, &base)
                .conflicts_with_all(rules::excluded(option.name).filter(is_there))
                .conflicts_with_all(C::CONFLICTS);
            if let Some(heading) = C::HEADING {
                argument = argument.help_heading(heading);
            }
            match C::HELPS.iter().find(|(name, _)| *name == option.name) {
                Some((_, text)) => argument.help(help(option, &text.replace("{help}", option.help), &base)),
                None => argument,
            }
        };
        command.args(rows::<C>().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<C: RunCommand> FromArgMatches for RunOptions<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let is_given = |option: &RunOption| {
            let source = matches.value_source(option.name);
            matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
        };
        let given = rows::<C>().map(|(option, _)| option).filter(|option| is_given(option));
        let given = given.map(|option| (option, self::given(option, matches))).collect();
        Ok(Self { given, command: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn given(option: &RunOption, matches: &ArgMatches) -> Vec<Value> {
    match option.kind {
        Kind::Flag => vec![Value::Truth(true)],
        _ => matches.get_many(option.name).into_iter().flatten().cloned().collect(),
    }
}

/// The clap argument of an option.
fn argument(option: &RunOption, flag: Flag, base: &RunSpec) -> Arg {
    let help = help(option, option.help, base);
    let mut argument =
        Arg::new(option.name).long(flag.long).aliases(flag.aliases).help(help).help_heading(option.heading);
    if let Some(short) = flag.short {
        argument = argument.short(short);
    }
    if let Some(variable) = flag.env {
        argument = argument.env(variable);
    }
    for needed in rules::required(option.name) {
        argument = argument.requires(needed);
    }
    match option.kind {
        Kind::Flag => argument.action(ArgAction::SetTrue),
        Kind::Words(_) => {
            argument.action(ArgAction::Append).value_name(flag.value_name).value_parser(parser(Kind::Text))
        }
        Kind::Rate | Kind::Scale | Kind::Milliseconds => argument
            .value_name(flag.value_name)
            .value_parser(parser(option.kind))
            .allow_negative_numbers(true),
        kind => argument.value_name(flag.value_name).value_parser(parser(kind)),
    }
}

/// A help text with the default.
fn help(option: &RunOption, text: &str, base: &RunSpec) -> String {
    match option.default(base, Value::on_command_line) {
        Some(default) if !text.contains("[default:") => format!("{text} [default: {default}]"),
        _ => text.to_owned(),
    }
}

fn parser(kind: Kind) -> ValueParser {
    match kind {
        Kind::Count { least, most, .. } => {
            ValueParser::new(RangedU64ValueParser::<u64>::new().range(least..=most).map(Value::Count))
        }
        Kind::Choice(words) => {
            let value = move |word: String| kind.word(&word);
            ValueParser::new(PossibleValuesParser::new(words).try_map(value))
        }
        kind => ValueParser::new(move |word: &str| kind.word(word)),
    }
}
