//! A workload defined by a directory: its SQL files load and check the data, its scripts run. Built in or
//! user-defined. `manifest` parses the directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use connect::quote::literal;
use connect::{Session, Stopwatch, Target};
use datagen::Source;
use stats::Scale;

use crate::contract::about::About;
use crate::contract::archives::NamedArchive;
use crate::contract::check::Check;
use crate::contract::digests::checksum;
use crate::contract::load::{self, query, with_locks};
use crate::contract::load::{InitOptions, InitProgress, InitReport, Progress, StepTime};
use crate::contract::manifest::{BeforeRun, Manifest, TableEntry};
use crate::contract::marks;
use crate::contract::marks::{Loaded, Mark};
use crate::contract::names::ReservedNames;
use crate::contract::query_files;
use crate::contract::scripts::{PerMinute, Script};
use crate::contract::sql_file::SqlFile;
use crate::contract::standard::Standard;
use crate::contract::table_name::TableName;
use crate::contract::unsupported::{
    NOT_GENERATED, ROWS_OF_SCALE, check_layout, check_parameters, refuse, unsupported,
};
use crate::contract::user_files::{self, Files, MANIFEST, ManifestText};
use crate::contract::workload::{TablePreparation, Tables, Workload, check_indexes, missing_table};
use crate::loader::generated::{self, GeneratedTables, OwnCode};
use crate::loader::loaded_tables::{incomplete, loaded};
use crate::loader::protection::acting_on_all;
use crate::loader::protection::completion;
use crate::loader::protection::existing_objects::ExistingObjects;
use crate::loader::protection::existing_tables::Protection;
use crate::loader::protection::foreign_objects::ForeignObjects;
use crate::loader::protection::init_lock;
use crate::loader::protection::step_guard::{StepEffect, StepGuard};
use crate::loader::schema_files::SchemaFiles;
use crate::loader::schema_load::SchemaLoad;
use crate::{Answer, IndexSet, Query, QueryChoice, WorkloadError};

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
    reserved: ReservedNames,
}

impl Folder {
    /// Reads a directory with all its files, or a file with a schema. Its name is none of the reserved ones.
    ///
    /// # Errors
    /// A file cannot be read or is invalid; the error contains the position.
    pub fn read(folder: &Path, reserved: ReservedNames) -> Result<Folder, WorkloadError> {
        Folder::read_with(folder, reserved, false)
    }

    /// The same. With `allows_files`, the schema may include files outside of the directory.
    fn read_with(
        folder: &Path,
        reserved: ReservedNames,
        allows_files: bool,
    ) -> Result<Folder, WorkloadError> {
        let ManifestText { file, text } = ManifestText::read(folder, reserved)?;
        let named = file.as_deref().unwrap_or(folder).display().to_string();
        let mut manifest = Manifest::parse(&text, &named, user_files::files_of(folder), reserved)?;
        manifest.files.splice(0..0, file.map(|file| (file, text)));
        let place = reserved.argument_of(folder);
        Folder::new(manifest, folder, (place, reserved), OwnCode::default(), allows_files)
    }

    /// A built-in directory: names and texts of its files.
    ///
    /// # Errors
    /// As [`Folder::read`].
    pub fn embedded(files: &[(&str, &str)]) -> Result<Folder, WorkloadError> {
        Folder::built_in(files, OwnCode::default())
    }

    /// The same with rows or queries that code makes.
    pub fn built_in(files: &[(&str, &str)], own: OwnCode) -> Result<Folder, WorkloadError> {
        let text = files.iter().find(|(name, _)| *name == MANIFEST).map_or("", |(_, text)| *text);
        let mut manifest = Manifest::parse(text, MANIFEST, Files::Embedded(files), ReservedNames::NONE)?;
        manifest.files.clear();
        let place = manifest.about.name.to_string();
        Folder::new(manifest, Path::new(""), (place, ReservedNames::NONE), own, false)
    }

    fn new(
        mut manifest: Manifest,
        folder: &Path,
        (place, reserved): (String, ReservedNames),
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
        Ok(Folder { manifest, generated, own, folder: folder.to_owned(), place, reserved })
    }

    /// The same folder with the files that the schema includes from elsewhere, if the options allow them.
    fn with_allowed_files(&self, options: &InitOptions) -> Result<Option<Folder>, WorkloadError> {
        match self.generated.as_ref().and_then(GeneratedTables::refused_file) {
            None => Ok(None),
            Some(_) if options.allows_files => Folder::read_with(&self.folder, self.reserved, true).map(Some),
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
        let completions = completion::completions(
            session,
            self.name(),
            guard.made.as_ref(),
            &BTreeMap::new(),
            &BTreeMap::new(),
        )?;
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

    /// Rejects options for generated rows.
    fn check_generated(&self, options: &InitOptions) -> Result<(), WorkloadError> {
        if self.generated.is_none() {
            const EXECUTED: &str = "each statement of its SQL files is executed";
            const CREATED: &str = "its SQL files create its rows";
            let refused = [
                (options.resumes, "--resume", "its SQL files may not be safe to repeat"),
                (options.seed.is_some(), "--random-seed", CREATED),
                (options.is_strict, "--strict", EXECUTED),
                (!options.rows.is_empty(), "--rows", CREATED),
                (!options.without_extensions.is_empty(), "--without-extension", EXECUTED),
                (
                    options.allows_files,
                    "--allow-files",
                    "it has no schema.sql whose directives could name files",
                ),
            ];
            refuse(self.name(), &refused)?;
        }
        if let Some(rows) = &self.own.rows {
            let is_seeded = options.seed.is_some() && rows.seed_refused.is_some();
            let refused = [
                (!options.rows.is_empty(), "--rows", ROWS_OF_SCALE),
                (is_seeded, "--random-seed", rows.seed_refused.unwrap_or_default()),
            ];
            refuse(self.name(), &refused)?;
        }
        if let Some(reason) = self.own.rows.and_then(|own| (own.refused)(options.scale)) {
            let (workload, scale) = (self.name().to_owned(), options.scale);
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
    fn about(&self) -> &About {
        &self.manifest.about
    }

    fn per_minute(&self) -> Option<&PerMinute> {
        self.manifest.per_minute.as_ref()
    }

    fn standard(&self) -> Option<&Standard> {
        self.manifest.standard.as_ref()
    }

    fn parameters(&self) -> &BTreeMap<String, String> {
        &self.manifest.parameters
    }

    fn bytes_per_scale(&self) -> Option<u64> {
        self.manifest.bytes_per_scale
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
        check_layout(self.name(), options)?;
        if let Some(least) = self.manifest.scale_min.filter(|least| options.scale < *least) {
            let (workload, scale) = (self.name().to_owned(), options.scale);
            return Err(WorkloadError::ScaleTooSmall { workload, scale, least });
        }
        self.check_generated(options)?;
        check_parameters(self.name(), self.parameters(), options)
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
            None => Err(unsupported(self.name(), "--dry-run", NOT_GENERATED)),
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

    fn prepared(&self) -> Vec<TablePreparation> {
        let prepared = |table: &TableEntry| match table.before_run {
            BeforeRun::Nothing => None,
            BeforeRun::Vacuum => Some(TablePreparation::Vacuum(table.quoted())),
            BeforeRun::VacuumAnalyze => Some(TablePreparation::VacuumAnalyze(table.quoted())),
            BeforeRun::Truncate => {
                let table = table.table_name();
                Some(TablePreparation::Truncate { table, columns: &[], by_name: None })
            }
        };
        self.manifest.tables.iter().filter_map(prepared).collect()
    }

    fn vacuumed(&self) -> Vec<TablePreparation> {
        let tables: Vec<String> = match &self.generated {
            Some(tables) => tables.vacuumed().iter().map(TableName::quoted).collect(),
            None => self.manifest.tables.iter().map(TableEntry::quoted).collect(),
        };
        tables.into_iter().map(TablePreparation::VacuumAnalyze).collect()
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

    fn data_checks(&self, loaded: &Loaded) -> Vec<Check> {
        let seed = loaded.seed.or(self.manifest.seed).unwrap_or(generated::SEED);
        self.own.rows.map(|own| (own.checks)(loaded.scale, seed)).unwrap_or_default()
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
