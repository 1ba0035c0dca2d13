//! An experiment as defined by its file: the base configuration, factors and levels, design, charts. Reads and checks
//! the file; `matrix` builds the combinations, and `plan` orders the trials.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::str::FromStr;

use config::{Complaint, Entry, Folder, Node, Place, Table, Value, unknown_key};

use queries::QuerySetSpec;
use results::{Annotation, ChartSpec, ContrastSpec, TrialOrder};
use run::options::percent;
use stats::{PoolMode, SCREENED_MAX};

use crate::ExperimentError;
use crate::configuration::{Configuration, SearchSpec};
use crate::factors::{Factor, Level, add_level, check_combination, checked_combination, combination, label};
use crate::fields::REPEATS_MAX;
use crate::keys::{self, Section};
use crate::presentation::{self, Presentation};
use crate::{fields, step_tables};

/// The two versions of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The whole experiment.
    Full,
    /// The small version of section `[quick]`, which takes minutes.
    Quick,
}

impl Profile {
    /// As in the store and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Full => "full",
            Profile::Quick => "quick",
        }
    }
}

/// An experiment in one profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Short name, for tables and directories.
    pub name: String,
    /// Title in reports.
    pub title: String,
    /// The publication that the experiment reproduces.
    pub source: Option<String>,
    /// Description in reports.
    pub description: Option<String>,
    /// Label and note of its results.
    pub annotation: Annotation,
    /// The configuration that all trials share.
    pub base: Configuration,
    /// Factors in the order of the file; the first one varies slowest.
    pub factors: Vec<Factor>,
    /// Excluded combinations: all pairs of factor and level must match.
    pub exclude: Vec<Vec<(String, String)>>,
    /// Repeats and order.
    pub design: Design,
    /// Charts of the report.
    pub charts: Vec<ChartSpec>,
    /// Named differences between combinations.
    pub differences: Vec<ContrastSpec>,
    /// Named ratios between combinations.
    pub ratios: Vec<ContrastSpec>,
}

/// Number and order of trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// Trials of each combination.
    pub repeats: u32,
    /// Order of the trials.
    pub order: TrialOrder,
    /// Seed of the order and of the trials' seeds.
    pub seed: u64,
    /// The seed if the file sets it; `None` for the default.
    pub seed_given: Option<u64>,
    /// The baseline of ratios, as factors and levels; empty: none.
    pub base: Vec<(String, String)>,
    /// The combinations of levels that are run.
    pub combinations: Combinations,
}

/// The combinations of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Combinations {
    /// All of them, except those that are excluded.
    All,
    /// Those of a screening design, which shows the main effects of many factors with two levels each. Effects within
    /// ± this share do not matter.
    Screening {
        /// Above 0 and below 1.
        tolerance: f64,
    },
}

/// Maximum length of a file in bytes.
const FILE_LENGTH_MAX: u64 = 1 << 20;
/// Maximum number of levels of a factor; more are a mistake.
const LEVELS_MAX: usize = 1_000;
/// Keys of sections that may be at the top too, as `[[action]]`.
const ACTION: &str = "action";
const STANDBY: &str = "standby";
const STAGE: &str = "stage";
/// Keys of `[load]` that are written together.
const POPULATION: &str = "population";
/// The factor whose levels are defined by `cases`.
const CASE: &str = "case";

/// The error that there is no such file.
fn missing(path: &Path) -> ExperimentError {
    let file = path.display();
    let folder = path.parent().unwrap_or(Path::new(""));
    let hint = match config::similar_file(path) {
        Some(similar) => format!("did you mean: pgmeter lab run {}", folder.join(similar).display()),
        None if path.extension().is_none() => {
            format!("if {file} is a database, name it with -d {file}, as in pgmeter bench -d {file}")
        }
        None => "for one change without a file, use: pgmeter compare --factor clients=1,8".to_owned(),
    };
    ExperimentError::Combination(format!("cannot read the experiment {file}: there is no such file; {hint}"))
}

impl Experiment {
    /// Reads and checks a file. Files that it names are relative to it.
    ///
    /// # Errors
    /// The file cannot be read or is invalid; the error contains the position.
    pub fn read(path: &Path, profile: Profile) -> Result<Experiment, ExperimentError> {
        let file = path.display().to_string();
        let unreadable = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => missing(path),
            _ => ExperimentError::Read { file: file.clone(), source },
        };
        let text = config::text_of(path, FILE_LENGTH_MAX).map_err(unreadable)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        Experiment::parse(&text, &file, folder, profile)
    }

    /// Parses `text`; `file` is its name in messages.
    ///
    /// # Errors
    /// The text is invalid; the error contains the position.
    pub fn parse<'a>(
        text: &str,
        file: &str,
        folder: impl Into<Folder<'a>>,
        profile: Profile,
    ) -> Result<Experiment, ExperimentError> {
        let folder = folder.into();
        let experiment = config::read(text).and_then(|top| Reader { folder, profile }.experiment(top));
        Ok(experiment.map_err(|complaint| complaint.in_file(file))?)
    }

    /// Runs on this server instead of that of the file; `None` changes nothing.
    ///
    /// # Errors
    /// A factor of the file selects the server, or the connection string is invalid.
    pub fn connect_to(&mut self, dsn: Option<&str>) -> Result<(), ExperimentError> {
        let Some(dsn) = dsn else { return Ok(()) };
        let complain = |what: String| ExperimentError::Typed { option: "-d".to_owned(), what };
        let selecting = self.factors.iter().find(|factor| {
            let mut keys = factor.levels.iter().flat_map(|level| &level.sets).map(|(key, _)| key.as_str());
            keys.any(|key| keys::SERVER_CHOICES.contains(&keys::canonical(key).as_str()))
        });
        if let Some(factor) = selecting {
            let name = &factor.name;
            return Err(complain(format!(
                "the factor {name} of the file selects the server: leave out the connection"
            )));
        }
        let node = Node { value: Value::Text(dsn.to_owned()), place: Place::default() };
        keys::set(&mut self.base, "dsn", &node, Folder::Typed).map_err(|complaint| complain(complaint.what))
    }
}

/// A text of a type with rules.
fn parsed<T: FromStr<Err = String>>(node: &Node) -> Result<T, Complaint> {
    node.text()?.parse().map_err(|what: String| Complaint::at(node.place, what))
}

/// Gives the keys of `[population]` their names in `[load]`.
fn population_keys(table: &mut Table) -> Result<(), Complaint> {
    table.check_keys("[population]", &fields::names(fields::POPULATION))?;
    for entry in &mut table.entries {
        let name = fields::OF_LOAD.iter().find(|(short, _)| *short == entry.key);
        if let Some((_, name)) = name {
            entry.key = (*name).to_owned();
        }
    }
    Ok(())
}

/// No key of `[population]` is in `[load]` too.
fn check_one_place(population: &Table, top: &Table) -> Result<(), Complaint> {
    let Some(load) = top.entries.iter().find(|entry| entry.key == Section::Load.name()) else {
        return Ok(());
    };
    let load = load.node.clone().into_table()?;
    let twice = load.entries.iter().find(|entry| population.entries.iter().any(|it| it.key == entry.key));
    twice.map_or(Ok(()), |entry| {
        let what = format!("\"{}\" is in [population] too: write it in one place", entry.key);
        Err(Complaint::at(entry.place, what))
    })
}

/// State of the parser.
struct Reader<'a> {
    folder: Folder<'a>,
    profile: Profile,
}

impl Reader<'_> {
    fn experiment(&self, mut top: Table) -> Result<Experiment, Complaint> {
        top.check_keys("the experiment", &fields::names(fields::TOP))?;
        let place = top.place;
        let needs_name =
            || Complaint::at(place, "an experiment requires a name, such as name = \"fillfactor\"");
        let name = top.read("name", name)?.ok_or_else(needs_name)?;
        let title = top.text("title")?.unwrap_or_else(|| name.clone());
        let (source, description) = (top.text("source")?, top.text("description")?);
        let annotation = Annotation { label: top.read("label", parsed)?, note: top.read("note", parsed)? };
        let mut base = self.base(&mut top)?;
        let is_timed = !base.is_load();
        let designed = top.entries.iter().find(|entry| entry.key == "design");
        let place_of_design = designed.map_or(place, |entry| entry.place);
        let mut design = design(top.table("design")?)?;
        let mut levels = top.table("levels")?;
        let factors = top.table("factors")?.entries.into_iter();
        let mut factors = factors
            .map(|entry| self.factor(&entry.key, entry.place, entry.node, &mut levels))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(cases) = top.take("cases") {
            if factors.iter().any(|factor| factor.name == CASE) {
                let what = "cases define the levels of the factor \"case\", which is also in [factors]; remove \
                            one of them";
                return Err(Complaint::at(cases.place, what));
            }
            factors.insert(0, self.cases(cases)?);
        }
        let known: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
        levels.check_keys("[levels]", &known)?;
        let quick = top.table("quick")?;
        let all_factors = factors.clone();
        if self.profile == Profile::Quick {
            self.quick(quick, &mut base, &mut design, &mut factors)?;
        } else {
            self.quick(quick, &mut base.clone(), &mut design.clone(), &mut factors.clone())?;
        }
        let exclude = exclude(&mut top, &all_factors)?;
        check_combination(&design.base, &factors)
            .map_err(|what| Complaint::at(place_of_design, self.of_profile(format!("base: {what}"))))?;
        if exclude.iter().any(|pairs| pairs.iter().all(|pair| design.base.contains(pair))) {
            let what = "base is a combination that exclude leaves out";
            return Err(Complaint::at(place_of_design, what));
        }
        let Presentation { charts, differences, ratios } =
            presentation::presentation(&mut top, &factors, is_timed)?;
        if design.combinations != Combinations::All {
            check_screening(&factors, &exclude, &design)
                .map_err(|what| Complaint::at(place_of_design, self.of_profile(what)))?;
        }
        let experiment = Experiment {
            name,
            title,
            source,
            description,
            annotation,
            base,
            factors,
            exclude,
            design,
            charts,
            differences,
            ratios,
        };
        self.try_levels(&experiment)?;
        Ok(experiment)
    }

    /// The configuration that all trials share.
    fn base(&self, top: &mut Table) -> Result<Configuration, Complaint> {
        let steps = step_tables::steps(top.one_or_more("step"), self.folder)?;
        let mut base = Configuration { steps, ..Configuration::default() };
        if let Some(entry) = top.entries.iter().find(|entry| entry.key == Section::Queries.name()) {
            if !base.is_load() {
                let what = "[queries] cannot be combined with steps: a trial is one of both";
                return Err(Complaint::at(entry.place, what));
            }
            base.queries = Some(QuerySetSpec::default());
        }
        if let Some(entry) = top.entries.iter().find(|entry| entry.key == Section::Search.name()) {
            if !base.is_load() {
                let what = "[search] cannot be combined with steps or [queries]: a trial is one of them";
                return Err(Complaint::at(entry.place, what));
            }
            base.search = Some(SearchSpec::default());
        }
        if top.entries.iter().any(|entry| entry.key == Section::Pooler.name()) {
            // PgBouncer's own default.
            base.pooler.mode = Some(PoolMode::Session);
        }
        let mut population = top.table(POPULATION)?;
        population_keys(&mut population)?;
        check_one_place(&population, top)?;
        self.section(&mut base, Section::Load, population)?;
        for (section, _) in keys::KEYS {
            self.section(&mut base, section, top.table(section.name())?)?;
        }
        let in_sections = [
            (ACTION, !base.load.actions.is_empty(), "actions are defined in [load] too"),
            (STAGE, !base.load.stages.is_empty(), "stages are defined in [load] too"),
            (STANDBY, !base.server.standbys.is_empty(), "standbys are defined in [server] too"),
        ];
        for (key, is_defined, where_too) in in_sections {
            let Some(entry) = top.entries.iter().find(|entry| entry.key == key) else { continue };
            if is_defined {
                let what = format!("{where_too}: define all of them in one place");
                return Err(Complaint::at(entry.place, what));
            }
            let key = if key == STAGE { "stages" } else { key };
            self.set(&mut base, &Entry { key: key.to_owned(), ..entry.clone() })?;
        }
        Ok(base)
    }

    /// Sets a key of the base configuration.
    fn set(&self, base: &mut Configuration, entry: &Entry) -> Result<(), Complaint> {
        step_tables::check_key(base, &entry.key, entry.place)?;
        keys::set(base, &entry.key, &entry.node, self.folder)
    }

    /// `[server]`, `[data]`, `[load]`, `[queries]`, `[search]`.
    fn section(&self, base: &mut Configuration, section: Section, mut table: Table) -> Result<(), Complaint> {
        keys::check_exclusive(keys::places(&table.entries))?;
        for entry in &mut table.entries {
            entry.key = section.complete(&entry.key);
        }
        for entry in table.entries {
            let what = match keys::section_of(&entry.key) {
                Some(found) if found == section => None,
                Some(other) => Some(format!("\"{}\" belongs into [{}]", entry.key, other.name())),
                None if matches!(section, Section::Queries | Section::Pooler) => {
                    let known: Vec<&str> =
                        keys::names_in(section).into_iter().map(|name| section.short(name)).collect();
                    let table = format!("[{}]", section.name());
                    Some(unknown_key(section.short(&entry.key), &table, &known))
                }
                None if keys::canonical(&entry.key) != entry.key => {
                    Some(format!("\"{0}\" is a setting: write settings.{0}", entry.key))
                }
                None => {
                    let (table, known) = (format!("[{}]", section.name()), keys::names_in(section));
                    Some(unknown_key(&entry.key, &table, &known))
                }
            };
            if let Some(what) = what {
                return Err(Complaint::at(entry.place, what));
            }
            self.set(base, &entry)?;
        }
        Ok(())
    }

    /// A line of `[factors]`. If the factor is not a key, `[levels.NAME.LEVEL]` defines its levels.
    fn factor(&self, name: &str, place: Place, node: Node, levels: &mut Table) -> Result<Factor, Complaint> {
        let mut described = levels.take(name).map(Node::into_table).transpose()?;
        if !keys::is_key(name) && described.is_none() {
            let help = keys::near(name).map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
            let what = format!("\"{name}\" is not a key, and no [levels.{name}.LEVEL] defines it{help}");
            return Err(Complaint::at(place, what));
        }
        let nodes = node.clone().into_list()?;
        if nodes.is_empty() || nodes.len() > LEVELS_MAX {
            let what = format!("a factor must have 1 to {LEVELS_MAX} levels; this one has {}", nodes.len());
            return Err(Complaint::at(node.place, what));
        }
        let mut factor = Factor { name: name.to_owned(), levels: Vec::new() };
        for node in nodes {
            let (label, place) = (label(&node)?, node.place);
            let own = described.as_mut().and_then(|table| table.take(&label));
            let sets = match own {
                Some(table) => self.settings_of_level(table)?,
                None if keys::is_key(name) => vec![(name.to_owned(), node)],
                None => Vec::new(),
            };
            add_level(&mut factor.levels, Level { label, sets }, place)?;
        }
        if let Some(left) = described {
            let known: Vec<&str> = factor.levels.iter().map(|level| level.label.as_str()).collect();
            left.check_keys(&format!("[levels.{name}]"), &known)?;
        }
        Ok(factor)
    }

    /// The keys of one level, from any section.
    fn settings_of_level(&self, node: Node) -> Result<Vec<(String, Node)>, Complaint> {
        let mut table = node.into_table()?;
        keys::check_exclusive(keys::places(&table.entries))?;
        // Names of scripts depend on the workload.
        table.entries.sort_by_key(|entry| entry.key != "workload");
        let mut sets = Vec::new();
        for entry in table.entries {
            if !keys::is_key(&entry.key) {
                return Err(Complaint::at(entry.place, keys::unknown(&entry.key, "a level", &[])));
            }
            sets.push((entry.key, entry.node));
        }
        Ok(sets)
    }

    /// `cases = [{ name = "…", … }, …]`: each case adds its keys to those of the previous one.
    fn cases(&self, node: Node) -> Result<Factor, Complaint> {
        let mut factor = Factor { name: CASE.to_owned(), levels: Vec::new() };
        let mut sets: Vec<(String, Node)> = Vec::new();
        let nodes = node.clone().into_list()?;
        if nodes.is_empty() || nodes.len() > LEVELS_MAX {
            let what =
                format!("an experiment must have 1 to {LEVELS_MAX} cases; this one has {}", nodes.len());
            return Err(Complaint::at(node.place, what));
        }
        for node in nodes {
            let place = node.place;
            let mut table = node.into_table()?;
            let name = table.take("name").ok_or_else(|| Complaint::at(place, "a case requires a name"))?;
            let label = name.text()?.to_owned();
            if factor.levels.iter().any(|level| level.label == label) {
                return Err(Complaint::at(name.place, format!("the case {label} is defined twice")));
            }
            sets.extend(self.settings_of_level(Node { place, value: Value::Table(table.entries) })?);
            factor.levels.push(Level { label, sets: sets.clone() });
        }
        Ok(factor)
    }

    /// `[quick]`: keys of all sections, `repeats`, and the levels to keep of some factors.
    fn quick(
        &self,
        mut table: Table,
        base: &mut Configuration,
        design: &mut Design,
        factors: &mut [Factor],
    ) -> Result<(), Complaint> {
        if let Some(repeats) = table.read("repeats", |node| node.whole(1, REPEATS_MAX))? {
            design.repeats = repeats;
        }
        for entry in table.table("factors")?.entries {
            let known: Vec<String> = factors.iter().map(|factor| factor.name.clone()).collect();
            let Some(factor) = factors.iter_mut().find(|factor| factor.name == entry.key) else {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                return Err(Complaint::at(entry.place, unknown_key(&entry.key, "the factors", &known)));
            };
            let mut levels: Vec<Level> = Vec::new();
            for node in entry.node.into_list()? {
                let label = label(&node)?;
                let Some(level) = factor.levels.iter().find(|level| level.label == label) else {
                    let what = format!("{} has no level {label} of which this could be a part", factor.name);
                    return Err(Complaint::at(node.place, what));
                };
                add_level(&mut levels, level.clone(), node.place)?;
            }
            if levels.is_empty() {
                return Err(Complaint::at(entry.place, "at least one level must remain"));
            }
            factor.levels = levels;
        }
        keys::check_exclusive(keys::places(&table.entries))?;
        table.read("times", |node| {
            if base.steps.is_empty() {
                return Err(Complaint::at(node.place, "\"times\" requires a [[step]]"));
            }
            let most = step_tables::times(node)?;
            base.steps.iter_mut().for_each(|step| step.times = step.times.min(most));
            Ok(())
        })?;
        for entry in table.entries {
            // Tables of settings and variables are merged.
            let is_whole = entry.key != "settings" && entry.key != "variables";
            let decides =
                |factor: &&Factor| is_whole && factor.levels.iter().all(|level| level.sets_key(&entry.key));
            if let Some(factor) = factors.iter().find(decides) {
                let what = format!(
                    "\"{}\" has no effect here: each level of {} sets it; instead, select the levels to \
                     keep in the factors of [quick]",
                    entry.key, factor.name
                );
                return Err(Complaint::at(entry.place, what));
            }
            if !keys::is_key(&entry.key) {
                let what = keys::unknown(&entry.key, "[quick]", &["repeats", "factors", "times"]);
                return Err(Complaint::at(entry.place, what));
            }
            self.set(base, &entry)?;
        }
        Ok(())
    }

    /// Explains an error that occurs only because `[quick]` removes a level.
    fn of_profile(&self, what: String) -> String {
        if self.profile == Profile::Quick {
            format!("{what}, among the levels that [quick] keeps")
        } else {
            what
        }
    }

    /// Applies each level once, so that errors are reported before the first trial. Two factors must not set the same
    /// key, not even by different names: the later one would override the earlier one, whose levels would all mean
    /// the same.
    fn try_levels(&self, experiment: &Experiment) -> Result<(), Complaint> {
        let mut before: BTreeMap<String, (Place, &str)> = BTreeMap::new();
        for factor in &experiment.factors {
            let sets = factor.levels.iter().flat_map(|level| &level.sets);
            let own: BTreeMap<String, Place> =
                sets.flat_map(|(name, node)| names_set(name, node).map(|name| (name, node.place))).collect();
            for (name, place) in &own {
                if let Some((first, other)) = before.get(name) {
                    let what = format!(
                        "\"{name}\" is set by the factor {} and, in line {}, by the factor {other}: only one \
                         factor can set a key",
                        factor.name, first.line
                    );
                    return Err(Complaint::at(*place, what));
                }
                for (other, (at, _)) in &before {
                    keys::check_exclusive([(other.as_str(), *at), (name.as_str(), *place)].into_iter())?;
                }
            }
            before.extend(own.into_iter().map(|(name, place)| (name, (place, factor.name.as_str()))));
        }
        for level in experiment.factors.iter().flat_map(|factor| &factor.levels) {
            let mut tried = experiment.base.clone();
            for (name, node) in &level.sets {
                step_tables::check_key(&tried, name, node.place)?;
                keys::set(&mut tried, name, node, self.folder)?;
            }
        }
        Ok(())
    }
}

/// The keys that an entry sets, with each setting or variable of a table separately.
fn names_set<'a>(name: &'a str, node: &'a Node) -> Box<dyn Iterator<Item = String> + 'a> {
    match &node.value {
        Value::Table(entries) if keys::PARENTS.contains(&name) => {
            Box::new(entries.iter().map(move |entry| format!("{name}.{}", entry.key)))
        }
        _ => Box::new(std::iter::once(keys::canonical(name))),
    }
}

fn name(node: &Node) -> Result<String, Complaint> {
    let name = node.text()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(plain) {
        return Ok(name.to_owned());
    }
    Err(node.expected("a short name of letters, digits, - and _"))
}

fn design(mut table: Table) -> Result<Design, Complaint> {
    const ORDERS: [(&str, TrialOrder); 2] =
        [("interleaved", TrialOrder::Interleaved), ("sequential", TrialOrder::Sequential)];
    table.check_keys("[design]", &fields::names(fields::DESIGN))?;
    let seed_given = table.read("seed", |node| node.whole(0, i64::MAX.unsigned_abs()))?;
    Ok(Design {
        repeats: table.read("repeats", |node| node.whole(1, REPEATS_MAX))?.unwrap_or(3),
        order: table.read("order", |node| node.one_of(&ORDERS))?.unwrap_or(TrialOrder::Interleaved),
        seed: seed_given.unwrap_or(1),
        seed_given,
        base: table.read("base", combination)?.unwrap_or_default(),
        combinations: combinations(&mut table)?,
    })
}

/// The usual share within which effects of a screening do not matter.
pub(crate) const TOLERANCE: f64 = 0.05;

fn combinations(table: &mut Table) -> Result<Combinations, Complaint> {
    const WORDS: [(&str, bool); 2] = [("all", false), ("screening", true)];
    let is_screening = table.read("combinations", |node| node.one_of(&WORDS))?.unwrap_or(false);
    let place = table.place;
    let percent =
        |node: &Node| percent(node.text()?).map_err(|_| node.expected("a percentage, such as \"5%\""));
    match (is_screening, table.read("tolerance", percent)?) {
        (true, tolerance) => Ok(Combinations::Screening { tolerance: tolerance.unwrap_or(TOLERANCE) }),
        (false, None) => Ok(Combinations::All),
        (false, Some(_)) => {
            Err(Complaint::at(place, "tolerance applies to combinations = \"screening\" only: remove it"))
        }
    }
}

/// Checks that a screening design exists for these factors; the error is a sentence.
fn check_screening(
    factors: &[Factor],
    exclude: &[Vec<(String, String)>],
    design: &Design,
) -> Result<(), String> {
    if let Some(factor) = factors.iter().find(|factor| factor.levels.len() != 2) {
        let (name, levels) = (&factor.name, factor.levels.len());
        return Err(format!("a screening requires factors with two levels each; {name} has {levels}"));
    }
    if factors.is_empty() || factors.len() > SCREENED_MAX {
        return Err(format!("a screening requires 1 to {SCREENED_MAX} factors; there are {}", factors.len()));
    }
    if !exclude.is_empty() || !design.base.is_empty() {
        return Err("exclude and base apply to combinations = \"all\" only: remove them".to_owned());
    }
    Ok(())
}

/// In the quick profile, an exclusion of a removed level has no effect.
fn exclude(top: &mut Table, factors: &[Factor]) -> Result<Vec<Vec<(String, String)>>, Complaint> {
    let read = |node: Node| match checked_combination(&node, factors)? {
        pairs if pairs.is_empty() => {
            let what = "this would exclude all combinations: name at least one factor";
            Err(Complaint::at(node.place, what))
        }
        pairs => Ok(pairs),
    };
    top.list("exclude")?.into_iter().map(read).collect()
}
