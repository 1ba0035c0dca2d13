//! Loads the tables of a schema: the server describes them, `generated` makes their rows, `loader` sends them.
//! The dry run ends before the rows.

use std::sync::Arc;

use connect::{Session, Target};
use datagen::{Description, Generation};

use crate::WorkloadError;
use crate::contract::load::{self, InitOptions, InitProgress, InitReport, Progress};
use crate::contract::marks::{DatabaseId, Mark};
use crate::loader::execution::{self, LeftOut};
use crate::loader::generated::{self, Described, GeneratedTables, LoadForecast, Rows};
use crate::loader::protection::existing_tables::Protection;
use crate::loader::schema_files::SchemaFiles;
use crate::loader::unavailable;

/// The loading of the tables of a schema.
pub(crate) struct SchemaLoad<'a> {
    pub(crate) tables: &'a GeneratedTables,
    pub(crate) mark: Mark,
    /// The command, for messages.
    pub(crate) init: String,
    /// The space that it needs is checked by its definition.
    pub(crate) is_built_in: bool,
    /// The files that directives may name.
    pub(crate) files: SchemaFiles,
    /// The seed of the workload.
    pub(crate) seed: Option<u64>,
    pub(crate) options: &'a InitOptions,
}

impl SchemaLoad<'_> {
    /// Creates the tables, and generates and loads their rows.
    pub(crate) fn load(
        &self,
        target: &Target,
        session: &mut Session,
        progress: &mut Progress<'_>,
    ) -> Result<InitReport, WorkloadError> {
        let (tables, options) = (self.tables, self.options);
        let (described, rows) = self.compiled(session, progress)?;
        if let Some(limit) = options.limit.filter(|_| !options.resumes && !self.is_built_in)
            && let Some(forecast) = LoadForecast::new(&rows, &described)
        {
            forecast.check(limit)?;
            if forecast.is_large() {
                self.tell(InitProgress::Forecast(&forecast.to_string()), progress)?;
            }
        }
        self.tell_notes(&described, rows.notes(), progress)?;
        let database = DatabaseId::read(session)?;
        let mut set =
            tables.table_set(&self.mark, self.init.clone(), rows, &described, (options, &database))?;
        generated::fit_to(&mut set, session.server_version_num());
        if !options.is_strict
            && let Some(sentence) = unavailable::leave_out(session, &mut set)?
        {
            self.tell(InitProgress::Found(&sentence), progress)?;
        }
        let again = |session: &mut Session| {
            let Some(described) = tables.described_again(session, &described)? else { return Ok(None) };
            Ok(Some(self.rows(&described)?.load_tables(&described)))
        };
        execution::load_tables(target, session, (&set, &again), options, progress)
    }

    /// The tables with the generators of their columns, as text. Nothing is changed.
    pub(crate) fn dry_run(
        &self,
        session: &mut Session,
        progress: &mut Progress<'_>,
    ) -> Result<String, WorkloadError> {
        let (described, rows) = self.compiled(session, progress)?;
        self.tell_notes(&described, rows.notes(), progress)?;
        Ok(generated::dry_run(&rows, &described))
    }

    /// The rows of all tables that get some, without loading them.
    pub(crate) fn generation(
        &self,
        options: &datagen::Options,
        session: &mut Session,
        progress: &mut Progress<'_>,
    ) -> Result<Generation, WorkloadError> {
        let (description, left_out) = self.description(session, progress)?;
        let described = self.tables.described(description, Arc::new(left_out))?;
        let generation = Generation::new(&described.schema, options, &self.files)?;
        self.tell_notes(&described, generation.notes(), progress)?;
        Ok(generation)
    }

    /// What the user should know of the statements and the numbers of rows.
    fn tell_notes(
        &self,
        described: &Described,
        of_rows: &[String],
        progress: &mut Progress<'_>,
    ) -> Result<(), WorkloadError> {
        let of_schema = self.tables.note().into_iter().chain(described.notes());
        for note in of_schema.chain(of_rows.iter().cloned()) {
            self.tell(InitProgress::Found(&note), progress)?;
        }
        Ok(())
    }

    fn tell(&self, what: InitProgress<'_>, progress: &mut Progress<'_>) -> Result<(), WorkloadError> {
        let stopped = |_| WorkloadError::InterruptedTables { init: self.init.clone() };
        load::tell(progress, what).map_err(stopped)
    }

    /// The tables as the server describes them, with their rows. Nothing is changed.
    fn compiled(
        &self,
        session: &mut Session,
        progress: &mut Progress<'_>,
    ) -> Result<(Described, Rows), WorkloadError> {
        let mut protection = Protection::default();
        self.tables.statements(self.options).for_each(|sql| protection.statement(sql));
        protection.check(session, &self.mark.workload, &self.init, self.options.drops)?;
        let (description, left_out) = self.description(session, progress)?;
        let described = self.tables.described(description, Arc::new(left_out))?;
        self.tables.check_scale(&described.schema, &self.mark)?;
        let rows = self.rows(&described)?;
        Ok((described, rows))
    }

    fn rows(&self, described: &Described) -> Result<Rows, WorkloadError> {
        self.tables.rows(&described.schema, &self.files, self.options, self.seed)
    }

    /// What the server says about the schema.
    fn description(
        &self,
        session: &mut Session,
        progress: &mut Progress<'_>,
    ) -> Result<(Description, LeftOut), WorkloadError> {
        let mut trial = self.tables.trial(&self.mark, self.init.clone());
        generated::fit_to(&mut trial, session.server_version_num());
        if !self.options.is_strict {
            unavailable::leave_out(session, &mut trial)?;
        }
        execution::describe(session, &trial, self.options, progress)
    }
}
