//! `pgmeter screen`: which of many settings matter for a script. Writes an experiment with a screening design into a
//! directory of its own, with the scripts, so that `lab resume` and reports treat it like any other. The campaign runs it.

pub(crate) mod directory;
mod settings;

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use config::{Entry, Node, OutputFolder, Value};
use connect::{Environment, Overrides};
use experiment::{
    Cell, Configuration, Experiment, ExperimentError, Memory, Origin, Plan, Profile, Subject, Typed, counted,
    rough, section_name, set_key,
};
use results::NewDirectories;
use run::{Control, RunError, ScriptSource, ScriptSpec, StorePlaces};
use server::Locations;

use crate::campaign::{Campaign, CampaignLimits, read_experiment};
use crate::error::LabError;
use crate::event::Listener;
use crate::files::text_of;
use crate::preflight::preflight;
use crate::server_host::find_host;
use crate::servers::{self, Programs};
use crate::session_options::refused_by_server;
use crate::trial::{self, ExecutionContext};
use directory::FILE_NAME;
use settings::{Host, Screened};

pub use directory::directory_of_screenings;

/// The user's choices.
#[derive(Clone, Debug)]
pub struct ScreenOptions {
    /// Keys and scripts; it has no factor.
    pub typed: Typed,
    /// File with the settings and their levels; `None`: those that come with pgmeter.
    pub settings: Option<PathBuf>,
    /// Time for all trials, including the server's starts.
    pub budget: Duration,
    /// Effects within ± this share do not matter.
    pub tolerance: f64,
    /// Seed of the order and of the trials.
    pub seed: u64,
    /// Directory in which the experiment gets a directory of its own.
    pub directory: PathBuf,
}

/// A screening, ready to run.
pub struct PreparedScreening {
    /// Its experiment.
    pub subject: Subject,
    /// Settings that are not tried, with the reasons, as sentences.
    pub left_out: Vec<String>,
    files: ScreeningFiles,
}

/// The directory of a screening and its files.
struct ScreeningFiles {
    directory: PathBuf,
    new: NewDirectories,
    scripts: Vec<Script>,
}

impl ScreeningFiles {
    /// Removes them if the directory is new.
    fn remove(&self) {
        self.new.remove_with_files(self.scripts.iter().map(|script| script.name.as_str()).chain([FILE_NAME]));
    }

    /// An error that names the user's scripts instead of their copies.
    fn in_users_files(&self, error: LabError) -> LabError {
        let LabError::Run(error @ (RunError::Usage(_) | RunError::Script(_) | RunError::Statement(_))) =
            error
        else {
            return error;
        };
        let named = self.scripts.iter().fold(error.to_string(), |text, script| {
            text.replace(&self.directory.join(&script.name).display().to_string(), &script.path)
        });
        usage(named)
    }
}

/// Runs the trials of a screening.
///
/// # Errors
/// As for a campaign.
pub fn run_screening(
    prepared: PreparedScreening,
    places: StorePlaces,
    limits: &CampaignLimits,
    context: &ExecutionContext<'_>,
) -> Result<(), LabError> {
    let PreparedScreening { subject, files, .. } = prepared;
    let mut campaign = Campaign::begin(subject, places, context.listener)?;
    let ran = campaign.run(limits, context).map_err(LabError::from);
    if !campaign.is_forgotten() {
        return ran;
    }
    files.remove();
    ran.map_err(|error| files.in_users_files(error))
}

/// Trials of a combination that are planned if the budget allows for them; more repeats are better than longer trials.
const REPEATS: u32 = 4;
/// Shortest and longest measured time of a trial, in seconds.
const TRIAL_MIN_S: f64 = 3.0;
const TRIAL_MAX_S: f64 = 30.0;
/// Warm-up, as a share of the measured time, at least a second.
const WARMUP_SHARE: f64 = 0.2;
/// Share of the budget that is planned; the rest is for estimates that were too low.
const PLANNED_SHARE: f64 = 0.95;
/// Maximum number of repeats.
const REPEATS_MAX: f64 = 100.0;

/// Writes the experiment of a screening.
///
/// # Errors
/// An option is invalid, the budget cannot hold one trial of each combination, the server cannot be asked, or the files
/// cannot be written.
pub fn prepare_screening(
    options: &ScreenOptions,
    control: &Control,
    listener: Listener<'_>,
) -> Result<PreparedScreening, LabError> {
    let mut typed = options.typed.clone();
    let has = |typed: &Typed, key: &str| typed.keys.iter().any(|(name, _)| name == key);
    if has(&typed, "in_place") && !has(&typed, "dsn") {
        typed.keys.push(("dsn".to_owned(), String::new()));
    }
    let mut base = Configuration::default();
    let mut sections: [(&str, String); 3] = ["server", "data", "load"].map(|name| (name, String::new()));
    // in_place changes the defaults of other keys.
    typed.keys.sort_by_key(|(key, _)| key != "in_place");
    for (key, text) in &typed.keys {
        let text = if key == "bin_dir" { absolute(text)? } else { text.clone() };
        let node = set_key(&mut base, key, &text)
            .map_err(|what| ExperimentError::Typed { option: key.clone(), what })?;
        let section = section_name(key).unwrap_or("load");
        if let Some((_, lines)) = sections.iter_mut().find(|(name, _)| *name == section) {
            let key: Vec<String> = key.splitn(2, '.').map(quoted).collect();
            let _ = writeln!(lines, "{} = {}", key.join("."), toml(&node.value));
        }
    }
    // Mistakes in scripts are told before a server is asked.
    base.load.scripts.clone_from(&typed.scripts);
    trial::check(&[Cell { levels: Vec::new(), configuration: base.clone() }])?;
    let (screened, left_out) = screened(options, &base, control, listener)?;
    let fixed = |it: &&Screened| has(&typed, &format!("settings.{}", it.name));
    if let Some(it) = screened.iter().find(fixed) {
        return Err(usage(format!(
            "--set {0} cannot be combined with a screening of {0}: remove it, or list the settings in a file for --settings",
            it.name
        )));
    }
    if screened.is_empty() {
        return Err(usage(format!("no setting is left to try: {}", left_out.join("; "))));
    }
    let (name, scripts) = scripts(&typed)?;
    let directory = options.directory.join(&name);
    let new = NewDirectories::of(&directory);
    let files = ScreeningFiles { directory: directory.clone(), new, scripts };
    let text = |time: Times| file_text(options, &name, &sections, &files.scripts, &screened, time);
    let subject =
        write(&files, |file| Ok(text(times(options, |times| estimate(&text(times), file, &directory))?)));
    let subject =
        subject.and_then(|subject| preflight(&subject.plan, control).map(|()| subject).map_err(Into::into));
    match subject {
        Ok(subject) => Ok(PreparedScreening { subject, left_out, files }),
        Err(error) => {
            files.remove();
            Err(files.in_users_files(error))
        }
    }
}

/// Writes the files of a screening and reads its experiment.
fn write(
    files: &ScreeningFiles,
    text: impl FnOnce(&Path) -> Result<String, LabError>,
) -> Result<Subject, LabError> {
    let ScreeningFiles { directory, scripts, .. } = files;
    let unwritable = |error| RunError::System { what: format!("write {}", directory.display()), error };
    let output = OutputFolder::create(directory).map_err(unwritable)?;
    for script in scripts {
        if let Some(content) = &script.content {
            output.replace(script.name.as_ref(), content.as_bytes()).map_err(unwritable)?;
        }
    }
    let file = directory.join(FILE_NAME);
    write_private(&output.path().join(FILE_NAME), &text(&file)?).map_err(unwritable)?;
    read_experiment(&file, Profile::Full, None, Some(&find_host))
}

/// Writes a file that only this user can read: a connection string may contain a password, which `lab resume` needs.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// `24 combinations of 12 settings, 4 trials of each, about 18 min; continue …`
pub fn screening_in_words(prepared: &PreparedScreening) -> String {
    let Subject { experiment, plan, file, .. } = &prepared.subject;
    format!(
        "{} of {}, {} of each, about {}; continue an interrupted screening with pgmeter lab resume {}",
        counted(plan.cells.len(), "combination", "combinations"),
        counted(experiment.factors.len(), "setting", "settings"),
        counted(experiment.design.repeats as usize, "trial", "trials"),
        rough(plan.estimate().total()),
        file.display(),
    )
}

fn usage(sentence: String) -> LabError {
    RunError::Usage(sentence).into()
}

fn absolute(path: &str) -> Result<String, RunError> {
    let absolute = std::path::absolute(path)
        .map_err(|error| RunError::System { what: format!("find {path}"), error })?;
    Ok(absolute.display().to_string())
}

/// The settings that can be tried on this server, and sentences about the others.
fn screened(
    options: &ScreenOptions,
    base: &Configuration,
    control: &Control,
    listener: Listener<'_>,
) -> Result<(Vec<Screened>, Vec<String>), LabError> {
    let mut session = match base.server.origin.dsn() {
        Some(dsn) => {
            let target = connect::resolve(Some(dsn), &Overrides::default(), &Environment::of_process())
                .map_err(RunError::from)?;
            Some(control.connect(&target)?)
        }
        None => None,
    };
    let major = match (&session, &base.server.origin) {
        (Some(session), _) => session.server_version_num() / 10_000,
        (None, origin) => {
            let (version, bin_dir) = match origin {
                Origin::Version(version) => (version.as_str(), None),
                Origin::Programs(directory) => ("", Some(directory.as_path())),
                Origin::Running(_) => ("", None),
            };
            let locations =
                Locations::from_environment(&server::Environment::of_process()).map_err(RunError::from)?;
            let programs = Programs { version, bin_dir, checksum: None };
            let version = servers::obtain(programs, &locations, listener)?.version.to_string();
            version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0)
        }
    };
    let (all, mut left_out) = match &options.settings {
        Some(file) => (settings::read(file)?, Vec::new()),
        None => {
            let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            let shared_buffers_bytes = server::default_shared_buffers();
            settings::shipped(&Host { cores, shared_buffers_bytes }, major)
        }
    };
    let mut screened = Vec::new();
    for setting in all {
        let refused = match &mut session {
            Some(session) => refused_by_server(session, [&setting.name])?.into_iter().next(),
            None => None,
        };
        match refused {
            Some(why) => left_out.push(format!("{} is not tried: {why}", setting.name)),
            None => screened.push(setting),
        }
    }
    Ok((screened, left_out))
}

/// A script of the load; `content` is that of a file, which is copied.
struct Script {
    name: String,
    /// As the user named it.
    path: String,
    weight: u32,
    content: Option<String>,
}

/// The name of the screening, and its scripts.
fn scripts(typed: &Typed) -> Result<(String, Vec<Script>), RunError> {
    let mut scripts: Vec<Script> = Vec::new();
    for ScriptSpec { source, weight } in &typed.scripts {
        let name = source.name();
        let (path, content) = match source {
            ScriptSource::File(path) => (path.display().to_string(), Some(text_of(path)?)),
            ScriptSource::Text { text, .. } => (name.clone(), Some(text.clone())),
            ScriptSource::OfWorkload(_) => (name.clone(), None),
        };
        let mut script = Script { name, path, weight: *weight, content };
        if script.content.is_some() {
            if script.name == "-" {
                script.name = "stdin".to_owned();
            }
            if !script.name.ends_with(".sql") {
                script.name += ".sql";
            }
            if scripts.iter().any(|other| other.name == script.name) {
                script.name = format!("{}-{}", scripts.len() + 1, script.name);
            }
        }
        scripts.push(script);
    }
    let first = scripts.first().map_or("tpcb-like", |script| script.name.trim_end_matches(".sql"));
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    Ok((format!("screen-{}", first.chars().map(plain).collect::<String>()), scripts))
}

/// Length and number of the trials.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Times {
    measured_s: f64,
    warmup_s: f64,
    repeats: u32,
}

impl Times {
    fn new(measured_s: f64, repeats: u32) -> Times {
        Times { measured_s, warmup_s: (measured_s * WARMUP_SHARE).floor().max(1.0), repeats }
    }

    fn total_s(self) -> f64 {
        self.measured_s + self.warmup_s
    }
}

/// Number of combinations and estimated time of a plan.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    combinations: usize,
    total_s: f64,
}

/// The times that fill the budget: four repeats if trials are long enough, otherwise fewer; more if trials would be
/// longer than needed. The error names the smallest budget that holds one repeat.
fn times(
    options: &ScreenOptions,
    estimate: impl Fn(Times) -> Result<Estimate, LabError>,
) -> Result<Times, LabError> {
    let budget_s = options.budget.as_secs_f64() * PLANNED_SHARE;
    let shortest = Times::new(TRIAL_MIN_S, 1);
    let (once, twice) = (estimate(shortest)?, estimate(Times { repeats: 2, ..shortest })?);
    let trials = once.combinations as f64;
    let repeat_s = twice.total_s - once.total_s;
    let beside_s = repeat_s - trials * shortest.total_s();
    let start_s = once.total_s - repeat_s;
    if once.total_s > budget_s {
        let needed = Duration::from_secs_f64((once.total_s / PLANNED_SHARE / 60.0).ceil() * 60.0);
        return Err(usage(format!(
            "a budget of {} is too short for one trial of each of the {} combinations; at least {} are needed. Raise \
             --budget, or try fewer settings with --settings FILE",
            exact(options.budget),
            once.combinations,
            rough(needed),
        )));
    }
    let measured = |repeats: f64| {
        let of_trial = ((budget_s - start_s) / repeats - beside_s) / trials;
        ((of_trial / (1.0 + WARMUP_SHARE)).min(of_trial - 1.0) * 2.0).floor() / 2.0
    };
    let longest = Times::new(TRIAL_MAX_S, 1).total_s();
    let most = ((budget_s - start_s) / (beside_s + trials * longest)).floor().min(REPEATS_MAX);
    if most > f64::from(REPEATS) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 4 and 100
        return Ok(Times::new(TRIAL_MAX_S, most as u32));
    }
    let repeats =
        (1..=REPEATS).rev().find(|repeats| measured(f64::from(*repeats)) >= TRIAL_MIN_S).unwrap_or(1);
    Ok(Times::new(measured(f64::from(repeats)).clamp(TRIAL_MIN_S, TRIAL_MAX_S), repeats))
}

/// A time as the user gave it, not rounded.
fn exact(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds >= 60.0 && seconds % 60.0 == 0.0 => format!("{} min", seconds / 60.0),
        seconds => format!("{seconds} s"),
    }
}

fn estimate(text: &str, file: &Path, folder: &Path) -> Result<Estimate, LabError> {
    let file = file.display().to_string();
    let experiment = Experiment::parse(text, &file, folder, Profile::Full)?;
    let plan = Plan::within(&experiment, &file, folder, &Memory::PLENTY, None)?;
    Ok(Estimate { combinations: plan.cells.len(), total_s: plan.estimate().total().as_secs_f64() })
}

/// The experiment file.
fn file_text(
    options: &ScreenOptions,
    name: &str,
    sections: &[(&str, String); 3],
    scripts: &[Script],
    screened: &[Screened],
    times: Times,
) -> String {
    let names: Vec<&str> = scripts.iter().map(|script| script.name.as_str()).collect();
    let title = if names.is_empty() { "tpcb-like".to_owned() } else { names.join(", ") };
    let mut out = "# Written by pgmeter screen; pgmeter lab resume continues it.\n".to_owned();
    let _ = writeln!(out, "name = {}", quoted(name));
    let _ = writeln!(out, "title = {}", quoted(&format!("Which settings matter for {title}")));
    for (section, lines) in sections {
        let _ = write!(out, "\n[{section}]\n{lines}");
        if *section == "load" {
            let script = |it: &Script| format!("{{ script = {}, weight = {} }}", quoted(&it.name), it.weight);
            if !scripts.is_empty() {
                let list: Vec<String> = scripts.iter().map(script).collect();
                let _ = writeln!(out, "script = [{}]", list.join(", "));
            }
            let _ = writeln!(out, "duration = \"{}s\"\nwarmup = \"{}s\"", times.measured_s, times.warmup_s);
        }
    }
    out += "\n[factors]\n";
    for Screened { name, levels: [low, high] } in screened {
        let _ =
            writeln!(out, "{} = [{}, {}]", quoted(&format!("settings.{name}")), quoted(low), quoted(high));
    }
    let _ = writeln!(
        out,
        "\n[design]\ncombinations = \"screening\"\ntolerance = \"{}%\"\nrepeats = {}\nseed = {}",
        (options.tolerance * 1e6).round() / 1e4,
        times.repeats,
        options.seed
    );
    out
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            it if it.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(it));
            }
            it => out.push(it),
        }
    }
    out + "\""
}

fn toml(value: &Value) -> String {
    let entry = |Entry { key, node, .. }: &Entry| format!("{} = {}", quoted(key), toml(&node.value));
    let item = |Node { value, .. }: &Node| toml(value);
    match value {
        Value::Text(text) => quoted(text),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Boolean(truth) => truth.to_string(),
        Value::List(nodes) => format!("[{}]", nodes.iter().map(item).collect::<Vec<_>>().join(", ")),
        Value::Table(entries) => {
            format!("{{ {} }}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(budget_s: u64) -> ScreenOptions {
        ScreenOptions {
            typed: Typed::default(),
            settings: None,
            budget: Duration::from_secs(budget_s),
            tolerance: 0.05,
            seed: 1,
            directory: PathBuf::new(),
        }
    }

    /// 24 combinations, 10 s to start, 3 s beside each trial.
    fn chosen(budget_s: u64) -> Result<Times, String> {
        let estimate = |times: Times| {
            let trials = 24.0 * f64::from(times.repeats);
            Ok(Estimate { combinations: 24, total_s: 10.0 + trials * (times.total_s() + 3.0) })
        };
        times(&options(budget_s), estimate).map_err(|error| error.to_string())
    }

    #[test]
    fn trials_fill_the_budget_in_four_repeats_and_a_budget_that_is_too_small_is_refused() {
        for budget_s in [240, 600, 1200, 3600, 86_400] {
            let times = chosen(budget_s).expect("enough time");
            let total_s = 10.0 + 24.0 * f64::from(times.repeats) * (times.total_s() + 3.0);
            assert!(total_s <= budget_s as f64, "{budget_s} s: {times:?} takes {total_s} s");
            assert!(times.measured_s >= TRIAL_MIN_S && times.measured_s <= TRIAL_MAX_S, "{times:?}");
        }
        assert_eq!(chosen(1200).map(|times| times.repeats), Ok(4));
        assert_eq!(chosen(240).map(|times| times.repeats), Ok(1));
        assert!(chosen(86_400).is_ok_and(|times| times.repeats > 50 && times.measured_s == TRIAL_MAX_S));
        let refusal = chosen(60).unwrap_err();
        assert!(refusal.contains("24 combinations; at least 4 min are needed"), "{refusal}");
        for (budget_s, shown) in [(1, "1 s"), (60, "1 min"), (61, "61 s")] {
            let refusal = chosen(budget_s).unwrap_err();
            assert!(refusal.starts_with(&format!("a budget of {shown} is too short")), "{refusal}");
        }
    }

    #[test]
    fn the_file_is_an_experiment_with_the_typed_keys() {
        let screened = [("work_mem", ["4MB", "64MB"]), ("shared_buffers", ["128MB", "1GB"])]
            .map(|(name, levels)| Screened { name: name.to_owned(), levels: levels.map(str::to_owned) });
        let sections =
            [("server", ""), ("data", "\"scale\" = 2\n"), ("load", "\"variables\".\"a\" = \"1\"\n")]
                .map(|(name, lines)| (name, lines.to_owned()));
        let scripts = [Script {
            name: "select-only".to_owned(),
            path: "select-only".to_owned(),
            weight: 1,
            content: None,
        }];
        let text = file_text(&options(60), "screen-x", &sections, &scripts, &screened, Times::new(7.5, 2));
        let experiment = Experiment::parse(&text, "f", Path::new("."), Profile::Full).expect(&text);
        let plan = Plan::of(&experiment, "f", Path::new(".")).expect("a plan");
        assert_eq!((plan.cells.len(), plan.trials.len(), plan.servers.len()), (4, 8, 1));
        let cell = &plan.cells[0].configuration;
        assert_eq!(cell.applied.keys().collect::<Vec<_>>(), ["shared_buffers"]);
        assert_eq!(cell.session.keys().collect::<Vec<_>>(), ["work_mem"]);
        assert_eq!((cell.data.scale.units(), cell.load.variables.len()), (2.0, 1));
        assert_eq!(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000A\"");
    }
}
