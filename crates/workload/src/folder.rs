//! A workload defined by a directory: its SQL files load and check the data, its scripts run. Built in or
//! user-defined. `manifest` parses the directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use connect::quote::literal;
use connect::{Session, Stopwatch, Target};
use datagen::Source;
use stats::Scale;

use crate::acting_on_all;
use crate::archives::NamedArchive;
use crate::before_run::Preparation;
use crate::check::Check;
use crate::digests::checksum;
use crate::existing_objects::ExistingObjects;
use crate::foreign_objects::ForeignObjects;
use crate::generated::{self, GeneratedTables, OwnCode};
use crate::init_steps::Step;
use crate::load::{self, query, with_locks};
use crate::load::{InitOptions, InitProgress, InitReport, Logging, Progress, StepTime};
use crate::loaded_tables::{incomplete, loaded};
use crate::manifest::{BeforeRun, Manifest, TableEntry};
use crate::marks::{Loaded, Mark};
use crate::protection::Protection;
use crate::schema_files::SchemaFiles;
use crate::schema_load::SchemaLoad;
use crate::scripts::{PerMinute, Script};
use crate::sql_file::SqlFile;
use crate::standard::Standard;
use crate::step_guard::{StepEffect, StepGuard};
use crate::table_name::TableName;
use crate::user_files::{self, Files, MANIFEST, ManifestText};
use crate::workload::{NOT_GENERATED, ONLY_TPCB, Tables, Workload, check_indexes, missing_table};
use crate::{
    Answer, IndexSet, Query, QueryChoice, WorkloadError, completion, init_lock, marks, names, query_files,
};

/// Why the scale of a schema cannot be chosen.
const FIXED_SIZES: &str =
    "each of its tables has a directive size. Leave out --scale, or replace size by mult in schema.sql";

/// A workload defined by a directory.
#[derive(Clone, Debug)]
pub struct Folder {
    manifest: Manifest,
    /// The tables, if their rows are generated.
    generated: Option<GeneratedTables>,
    own: OwnCode,
    /// The directory or the file with the schema. Empty if it is built in.
    folder: PathBuf,
    /// Its name in `--workload`.
    place: String,
}

impl Folder {
    /// Reads a directory with all its files, or a file with a schema.
    ///
    /// # Errors
    /// A file cannot be read or is invalid; the error contains the position.
    pub fn read(folder: &Path) -> Result<Folder, WorkloadError> {
        Folder::read_with(folder, false)
    }

    /// The same. With `allows_files`, the schema may include files outside of the directory.
    fn read_with(folder: &Path, allows_files: bool) -> Result<Folder, WorkloadError> {
        let ManifestText { file, text } = ManifestText::read(folder)?;
        let named = file.as_deref().unwrap_or(folder).display().to_string();
        let mut manifest = Manifest::parse(&text, &named, user_files::files_of(folder))?;
        manifest.files.splice(0..0, file.map(|file| (file, text)));
        Folder::new(manifest, folder, names::argument_of(folder), OwnCode::default(), allows_files)
    }

    /// A built-in directory: names and texts of its files.
    ///
    /// # Errors
    /// As [`Folder::read`].
    pub fn embedded(files: &[(&str, &str)]) -> Result<Folder, WorkloadError> {
        Folder::built_in(files, OwnCode::default())
    }

    /// The same with rows or queries that code makes.
    pub(crate) fn built_in(files: &[(&str, &str)], own: OwnCode) -> Result<Folder, WorkloadError> {
        let text = files.iter().find(|(name, _)| *name == MANIFEST).map_or("", |(_, text)| *text);
        let mut manifest = Manifest::parse(text, MANIFEST, Files::Embedded(files))?;
        manifest.files.clear();
        let place = manifest.name.clone();
        Folder::new(manifest, Path::new(""), place, own, false)
    }

    fn new(
        mut manifest: Manifest,
        folder: &Path,
        place: String,
        own: OwnCode,
        allows_files: bool,
    ) -> Result<Folder, WorkloadError> {
        let generated = match &manifest.schema {
            None => None,
            Some(SqlFile { file, sql, .. }) => {
                let files = SchemaFiles::new(user_files::directory_of(folder), allows_files);
                let files = files.with_archives(&manifest.archives);
                let mut read = Vec::new();
                let source = Source::with_included(sql, file, &mut |name| {
                    let included = files.included(name)?;
                    read.push((PathBuf::from(&included.file), included.text.clone()));
                    Ok(included)
                })?;
                let source = source.with_directives(&manifest.file, &manifest.generated.directives);
                manifest.files.extend(read);
                Some(GeneratedTables::new(
                    source,
                    &manifest.indexes,
                    &manifest.before_rows,
                    (own.rows, manifest.size),
                )?)
            }
        };
        Ok(Folder { manifest, generated, own, folder: folder.to_owned(), place })
    }

    /// The same folder with the files that the schema includes from elsewhere, if the options allow them.
    fn with_allowed_files(&self, options: &InitOptions) -> Result<Option<Folder>, WorkloadError> {
        match self.generated.as_ref().and_then(GeneratedTables::refused_file) {
            None => Ok(None),
            Some(_) if options.allows_files => Folder::read_with(&self.folder, true).map(Some),
            Some(refused) => Err(refused.clone().into()),
        }
    }

    /// The options with what the folder says about them.
    fn completed(&self, options: &InitOptions) -> InitOptions {
        let mut options = options.with_index_set(self);
        for (table, rows) in &self.manifest.generated.rows {
            options.rows.entry(table.clone()).or_insert(*rows);
        }
        options
    }

    /// Runs all load steps on one session. A lost connection ends the loading, because the SQL may not be safe to repeat.
    fn run_steps(
        &self,
        session: &mut Session,
        options: &InitOptions,
        progress: &mut Progress<'_>,
    ) -> Result<InitReport, WorkloadError> {
        let variables = (self as &dyn Workload).variables(&options.parameters, options.scale);
        let mut report = InitReport::default();
        let tell = |progress: &mut Progress<'_>, what: InitProgress<'_>| {
            load::tell(progress, what).map_err(|_| self.interrupted())
        };
        let (protection, replaced) = self.protection(session, options, &variables)?;
        if !replaced.is_empty() {
            let sentence = format!("drops or changes tables of an earlier init: {}", replaced.join(", "));
            tell(progress, InitProgress::Dropping(&sentence))?;
        }
        let mark = self.mark(options);
        let mut marked = marks::find(session, self.name())?;
        marked.retain(|object| !object.is_of_another(&mark.folder, &protection.names));
        let mut guard = StepGuard {
            existing: ExistingObjects::read(session)?,
            foreign: ForeignObjects::read_beside(session, self.name(), marked)?,
            drops: options.drops,
            mark: mark.clone(),
            made: (!options.drops).then(|| protection.own_dependents.clone()),
        };
        // Earlier notices do not belong to the loading.
        session.take_notices();
        for step in &self.manifest.load {
            tell(progress, InitProgress::Started { doing: &format!("running {}", step.file) })?;
            let stopwatch = Stopwatch::start();
            let done = with_locks(session, progress, |session, locking, tell| {
                guard.run(session, step, &variables, locking, &mut |effect| match effect {
                    StepEffect::Changes(objects) => {
                        let sentence = format!("{} drops or changes {}", step.file, objects.join(", "));
                        tell(InitProgress::Dropping(&sentence))
                    }
                    StepEffect::ActsOnAll(sentence) => tell(InitProgress::Found(sentence)),
                })
            });
            for notice in session.take_notices() {
                tell(progress, InitProgress::Notice(&notice))?;
            }
            // After a rollback, the tables are those of before, and so are their marks.
            let is_undone = done.is_err() && step.is_transaction;
            let marked = if session.is_lost() || is_undone {
                Ok(())
            } else {
                let marks = protection.marks(session, &guard.mark, guard.made.as_ref());
                marks.and_then(|marks| guard.execute_own(session, &marks))
            };
            done.and(marked)?;
            let time = StepTime { name: step.name.clone(), took: stopwatch.passed() };
            tell(progress, InitProgress::Finished(&time))?;
            report.steps.push(time);
        }
        guard.mark.loaded.complete = true;
        let own = protection.marks(session, &guard.mark, guard.made.as_ref())?;
        guard.execute_own(session, &own)?;
        let completions =
            completion::completions(session, self.name(), guard.made.as_ref(), &BTreeMap::new())?;
        guard.execute_own(session, &completions)?;
        Ok(report)
    }

    /// The mark of a loading that begins.
    fn mark(&self, options: &InitOptions) -> Mark {
        let path = self.folder.canonicalize().unwrap_or_default();
        let is_built_in = path.as_os_str().is_empty();
        let folder = if is_built_in {
            String::new()
        } else {
            checksum(path.as_os_str().as_encoded_bytes().iter().copied())
        };
        Mark { workload: self.name().to_owned(), loaded: Loaded::begun(options), folder, object: None }
    }

    /// Examines the tables that the load steps would change.
    fn protection(
        &self,
        session: &mut Session,
        options: &InitOptions,
        variables: &BTreeMap<String, String>,
    ) -> Result<(Protection, Vec<String>), WorkloadError> {
        let mut protection = Protection::default();
        for step in &self.manifest.load {
            for statement in script::statements(&step.file, &step.sql, variables)? {
                protection.statement(&statement.sql);
            }
        }
        for table in &self.manifest.tables {
            protection.table(table.table_name());
        }
        let replaced = protection.check(session, self.name(), &self.init_command(), options.drops)?;
        Ok((protection, replaced))
    }

    /// The loading of generated rows, if the rows are generated.
    fn schema_load<'a>(&'a self, options: &'a InitOptions) -> Option<SchemaLoad<'a>> {
        Some(SchemaLoad {
            tables: self.generated.as_ref()?,
            mark: self.mark(options),
            init: self.init_command(),
            is_built_in: self.folder.as_os_str().is_empty(),
            files: self.files(options),
            seed: self.manifest.seed,
            options,
        })
    }

    /// The files that directives may name.
    fn files(&self, options: &InitOptions) -> SchemaFiles {
        SchemaFiles::new(user_files::directory_of(&self.folder), options.allows_files)
            .with_archives(&self.manifest.archives)
    }

    /// The first option in use that is for pgbench's tables.
    fn unsupported(options: &InitOptions) -> Option<&'static str> {
        let refused = [
            (options.steps != Step::DEFAULT, Step::CHOICE),
            (options.fillfactor != InitOptions::default().fillfactor, "a fillfactor"),
            (options.partitioning.is_some(), "--partitions"),
            (options.logging != Logging::All, "--unlogged-tables"),
            (options.tablespace.is_some(), "a tablespace"),
            (options.index_tablespace.is_some(), "an index tablespace"),
        ];
        refused.iter().find(|(is_asked, _)| *is_asked).map(|(_, option)| *option)
    }

    /// Rejects options for generated rows.
    fn check_generated(&self, options: &InitOptions) -> Result<(), WorkloadError> {
        let workload = || self.name().to_owned();
        if self.generated.is_none() {
            let refused = [
                (options.resumes, "--resume", "its SQL files may not be safe to repeat"),
                (options.seed.is_some(), "--random-seed", "its SQL files create its rows"),
                (options.is_strict, "--strict", "each statement of its SQL files is executed"),
                (!options.rows.is_empty(), "--rows", "its SQL files create its rows"),
                (
                    !options.without_extensions.is_empty(),
                    "--without-extension",
                    "each statement of its SQL files is executed",
                ),
                (
                    options.allows_files,
                    "--allow-files",
                    "it has no schema.sql whose directives could name files",
                ),
            ];
            if let Some((_, option, reason)) = refused.into_iter().find(|(is_asked, ..)| *is_asked) {
                return Err(WorkloadError::OptionUnsupported { option, workload: workload(), reason });
            }
        }
        if self.own.rows.is_some() && !options.rows.is_empty() {
            let (option, reason) = ("--rows", "the numbers of its rows follow from the scale");
            return Err(WorkloadError::OptionUnsupported { option, workload: workload(), reason });
        }
        let seed_refused =
            self.own.rows.and_then(|rows| rows.seed_refused).filter(|_| options.seed.is_some());
        if let Some(reason) = seed_refused {
            return Err(WorkloadError::OptionUnsupported {
                option: "--random-seed",
                workload: workload(),
                reason,
            });
        }
        let refused = |tables: &GeneratedTables| match tables.has_fixed_sizes() {
            true if options.scale != Scale::ONE => Some(FIXED_SIZES),
            _ => tables.refused(options.scale),
        };
        if let Some(reason) = self.generated.as_ref().and_then(refused) {
            let (workload, scale) = (workload(), options.scale);
            return Err(WorkloadError::ScaleUnsupported { workload, scale, reason });
        }
        self.generated.as_ref().map_or(Ok(()), |tables| tables.check_extensions(options))?;
        check_indexes(self, options)
    }
}

impl TableEntry {
    fn table_name(&self) -> TableName {
        match self.name.split_once('.') {
            Some((schema, name)) => TableName { schema: Some(schema.to_owned()), name: name.to_owned() },
            None => TableName::new(self.name.clone()),
        }
    }

    /// The name quoted for SQL.
    fn quoted(&self) -> String {
        self.table_name().quoted()
    }
}

impl Workload for Folder {
    fn name(&self) -> &str {
        &self.manifest.name
    }

    fn title(&self) -> &str {
        &self.manifest.title
    }

    fn source(&self) -> Option<&str> {
        self.manifest.source.as_deref()
    }

    fn licence(&self) -> Option<&str> {
        self.manifest.licence.as_deref()
    }

    fn notice(&self) -> Option<&str> {
        self.manifest.notice.as_deref()
    }

    fn per_minute(&self) -> Option<&PerMinute> {
        self.manifest.per_minute.as_ref()
    }

    fn standard(&self) -> Option<&Standard> {
        self.manifest.standard.as_ref()
    }

    fn needs(&self) -> Option<&str> {
        self.manifest.needs.as_deref()
    }

    fn parameters(&self) -> &BTreeMap<String, String> {
        &self.manifest.parameters
    }

    fn bytes_per_scale(&self) -> Option<u64> {
        let generated = || self.generated.as_ref()?.bytes_per_scale(&self.files(&InitOptions::default()));
        self.manifest.bytes_per_scale.or_else(generated)
    }

    fn archives(&self) -> &[NamedArchive] {
        &self.manifest.archives
    }

    fn scripts(&self) -> &[Script] {
        &self.manifest.scripts
    }

    fn init_command(&self) -> String {
        format!("pgmeter init --workload {}", self.place)
    }

    /// Its SQL files define the tables, so options for pgbench's tables are rejected.
    fn check_options(&self, options: &InitOptions) -> Result<(), WorkloadError> {
        if let Some(folder) = self.with_allowed_files(options)? {
            return folder.check_options(options);
        }
        if let Some(option) = Self::unsupported(options) {
            let (workload, reason) = (self.name().to_owned(), ONLY_TPCB);
            return Err(WorkloadError::OptionUnsupported { option, workload, reason });
        }
        if let Some(least) = self.manifest.scale_min.filter(|least| options.scale < *least) {
            let (workload, scale) = (self.name().to_owned(), options.scale);
            return Err(WorkloadError::ScaleTooSmall { workload, scale, least });
        }
        self.check_generated(options)?;
        let workload = || self.name().to_owned();
        let known = self.parameters();
        match options.parameters.keys().find(|name| !known.contains_key(*name)) {
            None => Ok(()),
            Some(name) => {
                let known: Vec<&str> = known.keys().map(String::as_str).collect();
                let known = match config::nearest(name, &known) {
                    _ if known.is_empty() => "it has no parameters except scale".to_owned(),
                    Some(nearest) => format!("did you mean {nearest}?"),
                    None => format!("it has {}", known.join(", ")),
                };
                Err(WorkloadError::UnknownParameter { workload: workload(), name: name.clone(), known })
            }
        }
    }

    fn load(
        &self,
        target: &Target,
        session: &mut Session,
        options: &InitOptions,
        progress: &mut Progress<'_>,
    ) -> Result<InitReport, WorkloadError> {
        if let Some(folder) = self.with_allowed_files(options)? {
            return folder.load(target, session, options, progress);
        }
        self.check_options(options)?;
        init_lock::hold(session, self.name(), |session| {
            let known: BTreeSet<String> = acting_on_all::sentences(session)?.into_iter().collect();
            let progress = &mut acting_on_all::once(known.clone(), progress);
            let completed = &self.completed(options);
            let report = match self.schema_load(completed) {
                Some(load) => load.load(target, session, progress),
                None => self.run_steps(session, options, progress),
            };
            // Those of statements outside of transactions. After an error, they remain too.
            let Ok(now) = acting_on_all::sentences(session) else { return report };
            for sentence in now.iter().chain(&acting_on_all::dropped_slots(&known, &now)) {
                let told = load::tell(progress, InitProgress::Found(sentence));
                // The first error is reported.
                if report.is_ok() {
                    told.map_err(|_| self.interrupted())?;
                }
            }
            report
        })
    }

    fn dry_run(
        &self,
        session: &mut Session,
        options: &InitOptions,
        progress: &mut Progress<'_>,
    ) -> Result<String, WorkloadError> {
        if let Some(folder) = self.with_allowed_files(options)? {
            return folder.dry_run(session, options, progress);
        }
        self.check_options(options)?;
        match self.schema_load(&self.completed(options)).filter(|load| !load.is_built_in && !options.resumes)
        {
            Some(load) => load.dry_run(session, progress),
            None => {
                let (workload, reason) = (self.name().to_owned(), NOT_GENERATED);
                Err(WorkloadError::OptionUnsupported { option: "--dry-run", workload, reason })
            }
        }
    }

    fn knows_its_rows(&self) -> bool {
        self.generated.is_some() && !self.folder.as_os_str().is_empty()
    }

    fn interrupted(&self) -> WorkloadError {
        if self.generated.is_some() {
            return WorkloadError::InterruptedTables { init: self.init_command() };
        }
        WorkloadError::InterruptedForGood { init: self.init_command() }
    }

    fn find_tables(&self, session: &mut Session) -> Result<Tables, WorkloadError> {
        let mut scale = None;
        if self.generated.is_some() {
            match loaded(session, self)? {
                None => return Err(missing_table(session, "of this workload", self, None)),
                Some(loaded) if !loaded.complete => {
                    return Err(incomplete(self));
                }
                Some(loaded) => scale = Some(loaded.scale),
            }
        }
        for table in &self.manifest.tables {
            let (name, quoted) = (&table.name, table.quoted());
            let is_there = format!("select pg_catalog.to_regclass({}) is not null", literal(&quoted));
            let found = query(session, &is_there)?;
            if found.first().and_then(|row| row.get(0)) != Some("t") {
                return Err(missing_table(session, name, self, None));
            }
            let Some(rows_per_scale) = table.rows_per_scale else { continue };
            let counted = query(session, &format!("select pg_catalog.count(*) from {quoted}"))?;
            let rows = counted.first().and_then(|row| row.get(0)).unwrap_or("no").to_owned();
            let units = rows.parse::<u64>().ok().map(|rows| rows / rows_per_scale);
            let units =
                units.and_then(|units| u32::try_from(units).ok()).filter(|units| *units > 0).map(Scale::from);
            let (table, init) = (name.clone(), self.init_command());
            scale = Some(units.ok_or(WorkloadError::ScaleUnusable { table, rows, init })?);
        }
        Ok(Tables { scale, partitioning: None })
    }

    fn scale_table(&self) -> Option<&str> {
        let table = self.manifest.tables.iter().find(|table| table.rows_per_scale.is_some())?;
        Some(&table.name)
    }

    fn prepare_run(&self, preparation: &mut Preparation<'_>) {
        for table in &self.manifest.tables {
            match table.before_run {
                BeforeRun::Nothing => {}
                BeforeRun::Vacuum => preparation.vacuum("vacuum", &table.quoted()),
                BeforeRun::VacuumAnalyze => preparation.vacuum("vacuum analyze", &table.quoted()),
                BeforeRun::Truncate => preparation.truncate_own(&table.table_name(), self.name(), &[]),
            }
        }
    }

    fn vacuum_all(&self, preparation: &mut Preparation<'_>) {
        let tables: Vec<String> = match &self.generated {
            Some(tables) => tables.vacuumed().iter().map(TableName::quoted).collect(),
            None => self.manifest.tables.iter().map(TableEntry::quoted).collect(),
        };
        tables.iter().for_each(|table| preparation.vacuum("vacuum analyze", table));
    }

    fn checks(&self) -> &[Check] {
        &self.manifest.checks
    }

    fn table_names(&self) -> Vec<String> {
        match &self.generated {
            Some(tables) => tables.names().iter().map(ToString::to_string).collect(),
            None => self.manifest.tables.iter().map(|table| table.name.clone()).collect(),
        }
    }

    fn data_checks(&self, loaded: &Loaded) -> Result<Vec<Check>, WorkloadError> {
        let Some(tables) = &self.generated else { return Ok(Vec::new()) };
        let Ok(schema) = tables.read() else { return Ok(Vec::new()) };
        if !self.folder.as_os_str().is_empty() {
            return Ok(generated::checks::all(schema, None));
        }
        let Loaded { scale, seed, rows, .. } = loaded;
        let (scale, rows) = (*scale, rows.clone());
        let options = InitOptions { scale, seed: *seed, rows, allows_files: true, ..InitOptions::default() };
        let rows = tables.rows(schema, &self.files(&options), &options, self.manifest.seed)?;
        let seed = seed.or(self.manifest.seed).unwrap_or(generated::SEED);
        let own = self.own.rows.map(|own| (own.checks)(scale, seed)).unwrap_or_default();
        Ok(own.into_iter().chain(generated::checks::all(schema, Some(&rows))).collect())
    }

    fn index_sets(&self) -> &[IndexSet] {
        self.generated.as_ref().map_or(&[], GeneratedTables::index_sets)
    }

    fn has_queries(&self) -> bool {
        self.own.queries.is_some() || !self.manifest.queries.is_empty()
    }

    fn queries(&self, choice: &QueryChoice) -> Result<Vec<Query>, WorkloadError> {
        let variables = (self as &dyn Workload).variables(&choice.parameters, choice.scale);
        if let Some(own) = self.own.queries {
            let choice = QueryChoice { parameters: variables, ..choice.clone() };
            return (own.read)(&self.manifest.archives, &self.place, &choice);
        }
        query_files::read(&self.manifest.queries, &variables)
    }

    fn answers(&self, choice: &QueryChoice) -> Vec<Answer> {
        let parameters = (self as &dyn Workload).variables(&choice.parameters, choice.scale);
        let choice = QueryChoice { parameters, ..choice.clone() };
        self.own.queries.map(|own| (own.answers)(&choice)).unwrap_or_default()
    }

    fn files(&self) -> &[(PathBuf, String)] {
        &self.manifest.files
    }
}
