//! The checks of a run that need no server, as one list that `Runner::new` evaluates. Plans of experiments evaluate the
//! same list with the facts that they have. `rules` is the table of options that exclude or require others.

pub(crate) mod goal_meters;
pub(crate) mod goals;
pub(crate) mod load_changes;
pub(crate) mod pooling;
pub mod rules;

use engine::Limit;
use stats::PoolMode;

use self::rules::Situation;
use crate::error::RunError;
use crate::spec::RunSpec;
use crate::spec::scripts::Scripts;
use crate::spec::site::FaultSite;
use crate::spec::surface::Surface;

/// The facts about a run before it begins.
#[derive(Clone, Copy)]
pub struct RunToCheck<'a> {
    /// The specification.
    pub spec: &'a RunSpec,
    /// Where it was written.
    pub surface: Surface,
    /// `None`: they are not read yet.
    pub scripts: Option<&'a Scripts>,
    /// The pooler's mode, if there is a pooler.
    pub pooling: Option<PoolMode>,
    /// `None`: it is not known yet.
    pub place: Option<RunPlace<'a>>,
}

/// Where a run takes place.
#[derive(Clone, Copy)]
pub struct RunPlace<'a> {
    /// Names of all additional targets.
    pub targets: &'a [&'a str],
    /// Executes faults.
    pub site: Option<&'a dyn FaultSite>,
    /// Whether the run alternates with others.
    pub in_turns: bool,
}

/// One check.
type RunCheck = fn(&RunToCheck<'_>) -> Result<(), RunError>;

/// All checks, in the order in which they report.
const CHECKS: [RunCheck; 11] = [
    target_names,
    variables,
    variable_values,
    goals::check,
    action_times,
    load_changes::check,
    verify_timeout,
    rules,
    turns,
    faults,
    pooler,
];

/// Checks everything that can be checked of a run without a server.
///
/// # Errors
/// The first thing that is wrong, in the words of the specification's surface.
pub fn check_run(run: &RunToCheck<'_>) -> Result<(), RunError> {
    CHECKS.iter().try_for_each(|check| check(run))
}

fn refuse(sentence: Option<String>) -> Result<(), RunError> {
    sentence.map_or(Ok(()), |sentence| Err(RunError::Usage(sentence)))
}

/// Each target has a name of its own, and those that scripts name are there.
fn target_names(run: &RunToCheck<'_>) -> Result<(), RunError> {
    let Some(RunPlace { targets, .. }) = run.place else { return Ok(()) };
    let target = match run.surface {
        Surface::Flags => "--target",
        Surface::Keys | Surface::Fields => "the target",
    };
    let twice = (1..targets.len()).find(|at| targets[..*at].contains(&targets[*at]));
    refuse(twice.map(|at| format!("{target} {} is specified twice", targets[at])))?;
    let mut named = run
        .scripts
        .into_iter()
        .flat_map(|scripts| &scripts.programs)
        .filter_map(|program| Some((program.name(), program.target()?)));
    let unknown = named.find(|(_, name)| !targets.contains(name));
    refuse(unknown.map(|(script, name)| {
        let definition = match run.surface {
            Surface::Flags => format!("--target {name}=CONNECTION"),
            Surface::Keys => format!("targets = {{ {name} = \"CONNECTION\" }} in [load]"),
            Surface::Fields => "a TargetSpec of this name".to_owned(),
        };
        format!("script {script} uses the undefined target \"{name}\"; define it with {definition}")
    }))
}

/// All variables of the scripts are defined, and no statement has too many.
fn variables(run: &RunToCheck<'_>) -> Result<(), RunError> {
    match run.scripts {
        // pgbench names undefined variables, and parameters that are too many, when it executes the command.
        Some(scripts) if !scripts.is_of_pgbench() => {
            scripts.check_variables(run.spec.variables.keys().map(String::as_str), run.surface)?;
            scripts.check_parameter_counts(run.spec.protocol, run.surface)
        }
        _ => Ok(()),
    }
}

fn variable_values(run: &RunToCheck<'_>) -> Result<(), RunError> {
    let with_zero = run.spec.variables.iter().find(|(_, value)| value.contains('\0'));
    refuse(with_zero.map(|(name, _)| {
        format!("the value of the variable {name} contains a zero byte, which PostgreSQL does not accept")
    }))
}

/// Actions begin before the measurement ends.
fn action_times(run: &RunToCheck<'_>) -> Result<(), RunError> {
    let Limit::Duration(duration) = run.spec.limit else { return Ok(()) };
    let late = run.spec.actions.iter().find(|action| action.at >= duration);
    refuse(late.map(|action| {
        format!(
            "an action is set to begin at {} s, and the measurement lasts {} s: choose an earlier time or a longer duration",
            action.at.as_secs_f64(),
            duration.as_secs_f64()
        )
    }))
}

fn verify_timeout(run: &RunToCheck<'_>) -> Result<(), RunError> {
    let is_wrong = run.spec.verify && run.spec.verify_timeout.is_zero();
    refuse(is_wrong.then(|| format!("{} must be longer than 0 s", run.surface.name("verify_timeout"))))
}

fn rules(run: &RunToCheck<'_>) -> Result<(), RunError> {
    refuse(rules::broken(run.spec, run.surface))
}

fn turns(run: &RunToCheck<'_>) -> Result<(), RunError> {
    let is_in_turns = run.place.is_some_and(|place| place.in_turns);
    refuse(is_in_turns.then(|| rules::impossible(run.spec, Situation::InTurns, run.surface)).flatten())
}

/// Faults are possible at this place.
fn faults(run: &RunToCheck<'_>) -> Result<(), RunError> {
    let Some(RunPlace { site, .. }) = run.place else { return Ok(()) };
    let mut kinds = run.spec.actions.iter().filter_map(|action| Some(&action.fault()?.kind));
    refuse(kinds.find_map(|kind| match site {
        Some(site) => site.refusal(kind),
        None => Some(format!(
            "the action {} is only possible on a server that pgmeter manages: an embedded server of an experiment \
             (pgmeter lab){}; sql is possible on every server",
            kind.name(),
            if kind.is_of_network() {
                ", with a relay before it"
            } else {
                ", or a permanent one over its Unix socket (pgmeter server start)"
            }
        )),
    }))
}

fn pooler(run: &RunToCheck<'_>) -> Result<(), RunError> {
    match (run.pooling, run.scripts) {
        (Some(mode), Some(scripts)) => pooling::check_pooling(mode, scripts).map(|_| ()),
        _ => Ok(()),
    }
}
