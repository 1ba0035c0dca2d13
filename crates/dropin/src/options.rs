//! The options of pgbench as a table: spelling, mode, action. Options are processed one by one, from left to right, as
//! in pgbench; `decision` checks their combination.

use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;

use connect::Overrides;
use engine::Grace;
use results::ObserveLevel;
use run::options::PROTOCOLS;
use run::{RunSpec, SCRIPTS_MAX, ScriptText, Scripts, TooFewDescriptors};
use workload::{InitOptions, Logging, PartitionMethod, Scale, Step, Tpcb, WorkloadError};

use crate::getopt::{Argument, CommandLine, Found, Order, Spelling};
use crate::message::{Level, Message, Stop};
use crate::numbers::{self, BadInteger};
use crate::{scripts, seed};

/// The mode that an option belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Initialization,
    Benchmark,
    Both,
}

/// Receives messages while options are processed.
type Told<'a> = &'a mut dyn FnMut(Message);

type Act = fn(&mut Options, &OsStr, Told<'_>) -> Result<(), Stop>;

/// An option: long name, letter, argument, mode, action.
struct Row(&'static str, Option<u8>, Argument, Mode, Act);

use Argument::{None as Alone, Required as With};
use Mode::{Benchmark as Run, Both, Initialization as Init};

/// All options: first those with a letter by name, then the others; getopt lists candidates in this order.
const ROWS: [Row; 45] = [
    Row("builtin", Some(b'b'), With, Run, |o, a, _| o.add_builtin(a)),
    Row("client", Some(b'c'), With, Run, |o, a, _| o.set_clients(a)),
    Row("connect", Some(b'C'), Alone, Run, |o, _, _| set(&mut o.spec.reconnect)),
    Row("dbname", Some(b'd'), With, Both, |o, a, _| text(&mut o.connection.dbname, a)),
    Row("define", Some(b'D'), With, Run, |o, a, _| o.define(a)),
    Row("file", Some(b'f'), With, Run, |o, a, _| o.add_file(a)),
    Row("fillfactor", Some(b'F'), With, Init, |o, a, _| {
        int(&mut o.init.fillfactor, a, "-F/--fillfactor", 10..=100)
    }),
    Row("host", Some(b'h'), With, Both, |o, a, _| text(&mut o.connection.host, a)),
    Row("initialize", Some(b'i'), Alone, Both, |o, _, _| set(&mut o.initialize)),
    Row("init-steps", Some(b'I'), With, Init, |o, a, _| o.set_steps(a)),
    Row("jobs", Some(b'j'), With, Run, |o, a, _| int(&mut o.spec.workers, a, "-j/--jobs", ANY_COUNT)),
    Row("log", Some(b'l'), Alone, Run, |o, _, _| set(&mut o.log)),
    Row("latency-limit", Some(b'L'), With, Run, |o, a, _| positive(&mut o.latency_limit, a, "latency limit")),
    Row("no-vacuum", Some(b'n'), Alone, Both, |o, _, _| set(&mut o.no_vacuum)),
    Row("port", Some(b'p'), With, Both, |o, a, _| text(&mut o.connection.port, a)),
    Row("progress", Some(b'P'), With, Run, |o, a, _| some_int(&mut o.progress, a, "-P/--progress")),
    Row("protocol", Some(b'M'), With, Run, |o, a, _| o.set_protocol(a)),
    Row("quiet", Some(b'q'), Alone, Init, |o, _, _| set(&mut o.quiet)),
    Row("report-per-command", Some(b'r'), Alone, Run, |o, _, _| set(&mut o.per_command)),
    Row("rate", Some(b'R'), With, Run, |o, a, _| positive(&mut o.rate, a, "rate limit")),
    Row("scale", Some(b's'), With, Both, |o, a, _| {
        let mut scale = None;
        some_int(&mut scale, a, "-s/--scale")?;
        o.spec.scale = scale.map(Scale::from);
        Ok(())
    }),
    Row("select-only", Some(b'S'), Alone, Run, |o, _, _| o.add_builtin(OsStr::new("select-only"))),
    Row("skip-some-updates", Some(b'N'), Alone, Run, |o, _, _| o.add_builtin(OsStr::new("simple-update"))),
    Row("time", Some(b'T'), With, Run, |o, a, _| some_int(&mut o.duration, a, "-T/--time")),
    Row("transactions", Some(b't'), With, Run, |o, a, _| {
        some_int(&mut o.transactions, a, "-t/--transactions")
    }),
    Row("username", Some(b'U'), With, Both, |o, a, _| text(&mut o.connection.user, a)),
    Row("vacuum-all", Some(b'v'), Alone, Run, |o, _, _| set(&mut o.vacuum_all)),
    Row("unlogged-tables", None, Alone, Init, |o, _, _| {
        o.init.logging = Logging::NoneAsPgbench;
        Ok(())
    }),
    Row("tablespace", None, With, Init, |o, a, _| text(&mut o.init.tablespace, a)),
    Row("index-tablespace", None, With, Init, |o, a, _| text(&mut o.init.index_tablespace, a)),
    Row("sampling-rate", None, With, Run, |o, a, _| o.set_sampling_rate(a)),
    Row("aggregate-interval", None, With, Run, |o, a, _| {
        some_int(&mut o.aggregate_interval, a, "--aggregate-interval")
    }),
    Row("progress-timestamp", None, Alone, Run, |o, _, _| set(&mut o.progress_timestamp)),
    Row("log-prefix", None, With, Run, |o, a, _| path(&mut o.log_prefix, a)),
    Row("foreign-keys", None, Alone, Init, |o, _, _| set(&mut o.foreign_keys)),
    Row("random-seed", None, With, Run, |o, a, d| o.set_seed(a, "--random-seed option", d)),
    Row("show-script", None, With, Both, |_, a, _| {
        Err(Stop::done(scripts::shown(scripts::builtin(&encoding::decode(a.as_bytes()))?)))
    }),
    Row("partitions", None, With, Init, |o, a, _| int(&mut o.partitions, a, "--partitions", 0..=i32::MAX)),
    Row("partition-method", None, With, Init, |o, a, _| o.set_partition_method(a)),
    Row("failures-detailed", None, Alone, Run, |o, _, _| set(&mut o.failures_detailed)),
    Row("max-tries", None, With, Run, |o, a, _| o.set_max_tries(a)),
    Row("verbose-errors", None, Alone, Run, |o, _, _| set(&mut o.verbose_errors)),
    Row("exit-on-abort", None, Alone, Run, |o, _, _| set(&mut o.spec.exit_on_abort)),
    Row("debug", None, Alone, Both, |o, _, _| set(&mut o.debug)),
    Row("continue-on-error", None, Alone, Run, |o, _, _| set(&mut o.spec.continue_on_error)),
];

const ANY_COUNT: RangeInclusive<i32> = 1..=i32::MAX;

/// The requested options. [`crate::decide`] sets fields that depend on several options or their order; other fields
/// have the names of their options.
#[derive(Debug, Default)]
#[allow(missing_docs)] // the options of pgbench, by their names
pub struct Options {
    pub initialize: bool,
    /// An option was used that is allowed only in this mode.
    pub(crate) initialization_option: bool,
    pub(crate) benchmark_option: bool,
    pub connection: Overrides,
    pub debug: bool,
    pub(crate) no_vacuum: bool,

    /// How tables are initialized.
    pub init: InitOptions,
    pub quiet: bool,
    pub(crate) foreign_keys: bool,
    pub(crate) partitions: u32,
    pub(crate) partition_method: Option<PartitionMethod>,

    /// How transactions are run; the next field has their scripts.
    pub spec: RunSpec,
    pub scripts: Scripts,
    pub log: bool,
    pub log_prefix: Option<OsString>,
    pub sampling_rate: Option<f64>,
    pub aggregate_interval: Option<u32>,
    /// In milliseconds.
    pub(crate) latency_limit: Option<f64>,
    pub progress: Option<u32>,
    pub progress_timestamp: bool,
    pub per_command: bool,
    pub(crate) rate: Option<f64>,
    pub(crate) transactions: Option<u32>,
    pub(crate) duration: Option<u32>,
    pub(crate) vacuum_all: bool,
    pub failures_detailed: bool,
    pub verbose_errors: bool,
}

impl Options {
    /// Processes each option; also returns the other arguments. `typed` is the program's name in messages of getopt.
    ///
    /// # Errors
    /// An option or its argument is invalid, or ends the program.
    pub fn act_on(
        arguments: Vec<OsString>,
        typed: &str,
        told: Told<'_>,
    ) -> Result<(Self, Vec<OsString>), Stop> {
        let mut options = Self::default();
        options.init.jobs = run::loading_sessions();
        // As pgbench, it replaces any tables with these names.
        options.init.drops = true;
        options.init.waits_as_pgbench = true;
        options.init.is_confirmed = true;
        options.spec = RunSpec {
            grace: Grace::Unlimited,
            observe: ObserveLevel::Off,
            seed: Some(seed::of_time()),
            ..RunSpec::default()
        };
        if let Some(text) = std::env::var_os("PGBENCH_RANDOM_SEED") {
            options.set_seed(&text, "PGBENCH_RANDOM_SEED environment variable", told)?;
        }
        let order =
            if std::env::var_os("POSIXLY_CORRECT").is_some() { Order::Posix } else { Order::Permuted };
        let table = spellings();
        let mut line = CommandLine::new(&table, arguments, order);
        loop {
            let found = line.next().map_err(|sentence| {
                let bare = Stop { messages: Vec::new(), code: 1 };
                bare.and(Level::Bare, format_args!("{typed}: {sentence}\n")).with_help_hint()
            })?;
            let (row, argument) = match found {
                Found::Option(row, argument) => (&ROWS[row], argument),
                Found::Rest(others) => return Ok((options, others)),
            };
            let Row(_, _, _, mode, act) = row;
            match mode {
                Init => options.initialization_option = true,
                Run => options.benchmark_option = true,
                Both => {}
            }
            act(&mut options, &argument, told)?;
        }
    }
}

/// The table in the form for getopt.
pub(crate) fn spellings() -> Vec<Spelling> {
    ROWS.iter()
        .map(|Row(long, letter, argument, ..)| Spelling { long, letter: *letter, argument: *argument })
        .collect()
}

/// Actions of single options.
impl Options {
    fn add_builtin(&mut self, argument: &OsStr) -> Result<(), Stop> {
        let text = encoding::decode(argument.as_bytes());
        let (name, weight) = scripts::weighted(&text)?;
        if name == "list" {
            return Err(Stop::done(scripts::builtin_list()));
        }
        let builtin = scripts::builtin(name)?;
        self.add_script(ScriptText { weight, ..ScriptText::of_workload(builtin, &Tpcb) })
    }

    fn add_file(&mut self, argument: &OsStr) -> Result<(), Stop> {
        let text = encoding::decode(argument.as_bytes());
        let (path, weight) = scripts::weighted(&text)?;
        self.add_script(scripts::read(path, weight)?)
    }

    pub(crate) fn add_script(&mut self, text: ScriptText) -> Result<(), Stop> {
        self.scripts.add(text).map_err(Stop::error)?;
        if self.scripts.texts.len() > SCRIPTS_MAX {
            return Err(Stop::error(format_args!("at most {} SQL scripts are allowed", SCRIPTS_MAX)));
        }
        Ok(())
    }

    fn define(&mut self, argument: &OsStr) -> Result<(), Stop> {
        let text = encoding::decode(argument.as_bytes());
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() && !value.is_empty() => {
                if !script::Symbols::is_valid_name(name) {
                    return Err(Stop::error(format_args!("option: invalid variable name: \"{name}\"")));
                }
                // The last definition of a name has precedence.
                self.spec.variables.insert(name.to_owned(), value.to_owned());
                Ok(())
            }
            _ => Err(Stop::error(format_args!("invalid variable definition: \"{text}\""))),
        }
    }

    fn set_clients(&mut self, argument: &OsStr) -> Result<(), Stop> {
        int(&mut self.spec.clients, argument, "-c/--client", ANY_COUNT)?;
        run::provide_descriptors(u64::from(self.spec.clients)).map_err(
            |TooFewDescriptors { needed, limit }| {
                Stop::error(format_args!("need at least {needed} open files, but system limit is {limit}"))
                    .and(Level::Hint, "Ask for fewer clients, or raise the limit with ulimit -n.")
            },
        )
    }

    fn set_steps(&mut self, argument: &OsStr) -> Result<(), Stop> {
        let steps = Step::parse_list(&encoding::decode(argument.as_bytes()));
        self.init.steps = steps.map_err(|error| match error {
            WorkloadError::UnknownStep { letter, .. } => {
                Stop::error(format_args!("unrecognized initialization step \"{letter}\""))
                    .and(Level::Detail, format_args!("Allowed step characters are: \"{STEP_LETTERS}\"."))
            }
            other => Stop::error(other),
        })?;
        Ok(())
    }

    fn set_sampling_rate(&mut self, argument: &OsStr) -> Result<(), Stop> {
        let rate = numbers::atof(argument.as_bytes());
        if rate <= 0.0 || rate > 1.0 {
            return Err(invalid("sampling rate", argument));
        }
        // NaN is accepted, and counts as not given.
        self.sampling_rate = (rate > 0.0).then_some(rate);
        Ok(())
    }

    fn set_max_tries(&mut self, argument: &OsStr) -> Result<(), Stop> {
        let tries = u32::try_from(numbers::atoi(argument.as_bytes()));
        let tries = tries.map_err(|_| invalid("number of maximum tries", argument))?;
        self.spec.max_tries = NonZeroU32::new(tries);
        Ok(())
    }

    fn set_protocol(&mut self, argument: &OsStr) -> Result<(), Stop> {
        let named = PROTOCOLS.iter().find(|(name, _)| argument == *name);
        self.spec.protocol = named.ok_or_else(|| invalid("query mode (-M)", argument))?.1;
        Ok(())
    }

    fn set_partition_method(&mut self, argument: &OsStr) -> Result<(), Stop> {
        let methods = [("range", PartitionMethod::Range), ("hash", PartitionMethod::Hash)];
        let named = methods.into_iter().find(|(name, _)| argument.eq_ignore_ascii_case(name));
        let (_, method) = named.ok_or_else(|| {
            let given = encoding::decode(argument.as_bytes());
            Stop::error(format_args!(
                "invalid partition method, expecting \"range\" or \"hash\", got: \"{given}\""
            ))
        })?;
        self.partition_method = Some(method);
        Ok(())
    }

    fn set_seed(&mut self, text: &OsStr, origin: &str, told: Told<'_>) -> Result<(), Stop> {
        let seed = seed::named(text, origin)?;
        self.spec.seed = Some(seed);
        told(Message { level: Level::Info, text: format!("setting random seed to {seed}") });
        Ok(())
    }
}

/// The letters of `-I`, as listed in the message about an invalid one.
const STEP_LETTERS: &str = "dtgGvpf";

fn set(flag: &mut bool) -> Result<(), Stop> {
    *flag = true;
    Ok(())
}

fn text(place: &mut Option<String>, argument: &OsStr) -> Result<(), Stop> {
    *place = Some(encoding::decode(argument.as_bytes()).into_owned());
    Ok(())
}

fn path(place: &mut Option<OsString>, argument: &OsStr) -> Result<(), Stop> {
    *place = Some(argument.to_owned());
    Ok(())
}

fn int<T: TryFrom<i32>>(
    place: &mut T,
    argument: &OsStr,
    name: &str,
    range: RangeInclusive<i32>,
) -> Result<(), Stop> {
    let value = numbers::integer(argument.as_bytes(), range.clone());
    let value = value.and_then(|value| T::try_from(value).map_err(|_| BadInteger::OutOfRange));
    *place = value.map_err(|bad| match bad {
        BadInteger::Invalid => {
            let given = encoding::decode(argument.as_bytes());
            Stop::error(format_args!("invalid value \"{given}\" for option {name}"))
        }
        BadInteger::OutOfRange => {
            let (low, high) = range.into_inner();
            Stop::error(format_args!("{name} must be in range {low}..{high}"))
        }
    })?;
    Ok(())
}

/// A number above 0. NaN is accepted, as in pgbench.
fn positive(place: &mut Option<f64>, argument: &OsStr, what: &str) -> Result<(), Stop> {
    let number = numbers::atof(argument.as_bytes());
    if number <= 0.0 {
        return Err(invalid(what, argument));
    }
    *place = Some(number);
    Ok(())
}

fn some_int(place: &mut Option<u32>, argument: &OsStr, name: &str) -> Result<(), Stop> {
    int(place.insert(0), argument, name, ANY_COUNT)
}

fn invalid(what: &str, argument: &OsStr) -> Stop {
    Stop::error(format_args!("invalid {what}: \"{}\"", encoding::decode(argument.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_and_no_letter_stands_twice() {
        for (at, Row(long, letter, ..)) in ROWS.iter().enumerate() {
            for Row(other, other_letter, ..) in &ROWS[..at] {
                assert_ne!(long, other);
                assert!(letter.is_none() || letter != other_letter, "{long} {other}");
            }
        }
    }

    #[test]
    fn the_letters_are_those_of_pgbench() {
        let mut written = String::new();
        let mut letters: Vec<_> = ROWS
            .iter()
            .filter_map(|Row(_, letter, argument, ..)| Some((letter.as_ref()?, argument)))
            .collect();
        letters.sort_by_key(|(letter, _)| (letter.to_ascii_lowercase(), letter.is_ascii_uppercase()));
        for (letter, argument) in letters {
            written.push(char::from(*letter));
            if *argument == Argument::Required {
                written.push(':');
            }
        }
        assert_eq!(written, "b:c:Cd:D:f:F:h:iI:j:lL:M:nNp:P:qrR:s:St:T:U:v");
    }

    #[test]
    fn the_message_about_a_wrong_step_lists_every_letter() {
        let letters: String = workload::tpcb::STEPS.iter().map(|facts| facts.letter).collect();
        assert_eq!(STEP_LETTERS, letters);
    }
}
