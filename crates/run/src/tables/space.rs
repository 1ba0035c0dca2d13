//! The space that loading a workload will need, compared with the free space of the server. Free space is known only of
//! a server on this host: SQL does not tell it.

use std::fmt;
use std::fs;
use std::io::{BufRead, Write};
use std::path::PathBuf;

use connect::quote::literal as quote_literal;
use connect::{Session, Target};
use rustix::fs::statvfs;
use workload::listing::size;
use workload::{InitOptions, InitProgress, InitReport, LoadLimit, Step, Workload, WorkloadError};

use crate::control::Control;
use crate::error::RunError;
use crate::tables::loading::load;

/// Without known free space, a load above this needs consent: few servers have it, and a scale with a digit too many does.
const UNKNOWN_MAX_BYTES: u64 = 1_000_000_000_000;
/// Below this no forecast is shown.
const SHOWN_FROM_BYTES: u64 = 1_000_000_000;

/// The space that a load will need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SpaceForecast {
    /// Approximate bytes of tables and indexes, without those that existing tables of the workload have already.
    needed_bytes: u64,
    /// Free bytes for the server's data; `None`: not known.
    free_bytes: Option<u64>,
}

impl SpaceForecast {
    /// The forecast for these options; `None` if the size of the workload is unknown, or its rows are not loaded.
    fn new(
        workload: &dyn Workload,
        session: &mut Session,
        options: &InitOptions,
        control: &Control,
    ) -> Option<Self> {
        let total_bytes = total_bytes(workload, options)?;
        control.guard(session, |session| {
            // The tables of the workload are replaced or continued.
            let present_bytes = present_bytes(workload, session).unwrap_or(0);
            let needed_bytes = total_bytes.saturating_sub(present_bytes);
            Some(Self { needed_bytes, free_bytes: free_bytes(session, options) })
        })
    }

    /// Refuses a load that needs more than is free, unless `consent` confirms it. Returns the forecast if it is worth a line.
    ///
    /// # Errors
    /// The load is too large, and it was not confirmed.
    fn check(
        workload: &dyn Workload,
        session: &mut Session,
        options: &InitOptions,
        control: &Control,
        consent: Option<&mut Consent<'_>>,
    ) -> Result<Option<Self>, RunError> {
        let Some(forecast) = Self::new(workload, session, options, control) else { return Ok(None) };
        if !forecast.needs_consent() {
            return Ok(Some(forecast).filter(Self::is_shown));
        }
        if let Some(consent) = consent
            && consent.ask(&forecast, control)?
        {
            return Ok(None);
        }
        Err(RunError::Usage(format!(
            "{forecast}: use a smaller --scale, or --yes to load anyway; nothing was changed"
        )))
    }

    /// Whether the load is so large that its user must confirm it.
    fn needs_consent(&self) -> bool {
        self.needed_bytes > self.free_bytes.unwrap_or(UNKNOWN_MAX_BYTES)
    }

    /// Whether the forecast is worth a line.
    fn is_shown(&self) -> bool {
        self.needed_bytes >= SHOWN_FROM_BYTES || self.needs_consent()
    }
}

impl fmt::Display for SpaceForecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "loading needs about {} of disk space on the server", size(self.needed_bytes))?;
        match self.free_bytes {
            Some(free) => write!(f, ", and {} are free", size(free)),
            None => write!(f, ", and its free space is not known from here"),
        }
    }
}

/// Where a user confirms a large load: the input for the answer, and the output for the question.
pub struct Consent<'a> {
    input: Box<dyn BufRead + 'a>,
    output: Box<dyn Write + 'a>,
}

impl fmt::Debug for Consent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Consent")
    }
}

impl<'a> Consent<'a> {
    /// An input for the answer, and an output for the question.
    pub fn new(input: impl BufRead + 'a, output: impl Write + 'a) -> Consent<'a> {
        Consent { input: Box::new(input), output: Box::new(output) }
    }

    fn ask(&mut self, forecast: &dyn fmt::Display, control: &Control) -> Result<bool, RunError> {
        let question = format!("{forecast}. Load anyway? [y/N] ");
        control.leave_at_once(|| confirm(&question, &mut self.input, &mut self.output))
    }
}

/// The limit of a load without consent: the free space, with that of the tables which are replaced.
fn limit(
    workload: &dyn Workload,
    session: &mut Session,
    options: &InitOptions,
    control: &Control,
) -> LoadLimit {
    control.guard(session, |session| {
        let present_bytes = present_bytes(workload, session).unwrap_or(0);
        LoadLimit { free_bytes: free_bytes(session, options).map(|free| free.saturating_add(present_bytes)) }
    })
}

/// Receives the progress of a load.
pub type Told<'a> = &'a mut dyn FnMut(InitProgress<'_>);

/// As [`load`], but a load that is larger than the free space, 10 GB or 10 minutes needs the consent of its user.
///
/// # Errors
/// As [`load`], and a large load without consent.
pub fn load_with_consent(
    workload: &dyn Workload,
    target: &Target,
    session: &mut Session,
    options: &InitOptions,
    control: &Control,
    (mut consent, told): (Option<Consent<'_>>, Told<'_>),
) -> Result<InitReport, RunError> {
    if !workload.knows_its_rows() && !options.is_confirmed {
        let forecast = SpaceForecast::check(workload, session, options, control, consent.as_mut())?;
        forecast.iter().for_each(|forecast| told(InitProgress::Forecast(&forecast.to_string())));
    }
    if options.is_confirmed {
        return load(workload, target, session, options, control, told);
    }
    let limited = InitOptions { limit: Some(limit(workload, session, options, control)), ..options.clone() };
    let loaded = load(workload, target, session, &limited, control, told);
    if let (Err(RunError::Workload(WorkloadError::LoadTooLarge { forecast })), Some(mut consent)) =
        (&loaded, consent)
        && consent.ask(forecast, control)?
    {
        return load(workload, target, session, options, control, told);
    }
    loaded
}

/// Asks a question; true if the answer is y or yes.
fn confirm(question: &str, input: &mut dyn BufRead, output: &mut dyn Write) -> bool {
    let mut answer = String::new();
    let asked = output.write_all(question.as_bytes()).and_then(|()| output.flush());
    let is_read = asked.and_then(|()| input.read_line(&mut answer)).is_ok();
    is_read && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Approximate bytes of all tables and indexes.
fn total_bytes(workload: &dyn Workload, options: &InitOptions) -> Option<u64> {
    let loads = [Step::GenerateClientSide, Step::GenerateServerSide];
    let per_scale =
        workload.bytes_per_scale().filter(|_| loads.iter().any(|step| options.steps.contains(step)))?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an estimate; `as` saturates"
    )]
    let bytes = (per_scale as f64 * options.scale.units()) as u64;
    Some(bytes / u64::from(options.fillfactor.max(1)) * 100)
}

/// Bytes of the workload's tables that are there, by the pages that VACUUM and ANALYZE counted last: the functions for exact
/// sizes would wait for locks.
fn present_bytes(workload: &dyn Workload, session: &mut Session) -> Option<u64> {
    let mut oids = Vec::new();
    for name in workload.table_names() {
        // A name that is no table here counts as nothing.
        let sql = format!("select pg_catalog.to_regclass({})::pg_catalog.oid", quote_literal(&name));
        let rows = session.query(&sql).ok()?;
        oids.extend(rows.first()?.get(0).map(str::to_owned));
    }
    if oids.is_empty() {
        return None;
    }
    let tables = oids.join(", ");
    let sql = format!(
        "select coalesce(sum(relpages), 0) * current_setting('block_size')::bigint from pg_class where oid in ({tables}) \
         or oid = any (array(select reltoastrelid from pg_class where oid in ({tables}))) \
         or oid = any (array(select indexrelid from pg_index where indrelid in ({tables})))"
    );
    session.query_catalogs(&sql).ok()?.first()?.get(0)?.parse().ok()
}

/// Free bytes for the new tables, if the server runs on this host.
fn free_bytes(session: &mut Session, options: &InitOptions) -> Option<u64> {
    let about = statvfs(&data_directory(session, options)?).ok()?;
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}

/// The directory of the new tables, if the server runs on this host.
fn data_directory(session: &mut Session, options: &InitOptions) -> Option<PathBuf> {
    let tablespace = match &options.tablespace {
        Some(name) => quote_literal(name),
        None => "(select t.spcname from pg_tablespace t join pg_database d on t.oid = d.dattablespace \
                 where d.datname = current_database())"
            .to_owned(),
    };
    // A role that may not see the directory gets no row.
    let sql = format!(
        "select pg_backend_pid(), s.setting, pg_tablespace_location(t.oid) from pg_settings s, pg_tablespace t \
         where s.name = 'data_directory' and t.spcname = {tablespace}"
    );
    let rows = session.query_catalogs(&sql).ok()?;
    let row = rows.first()?;
    let pid: u32 = row.get(0)?.parse().ok()?;
    let title = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    let path = row.get(2).filter(|location| !location.is_empty()).or_else(|| row.get(1))?;
    let path = PathBuf::from(path);
    (title.starts_with("postgres: ") && path.is_dir()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{Scale, Tpcb};

    #[test]
    fn a_load_that_exceeds_the_free_space_or_a_terabyte_needs_consent() {
        let check = |needed_bytes, free_bytes, expected| {
            let forecast = SpaceForecast { needed_bytes, free_bytes };
            assert_eq!(forecast.needs_consent(), expected, "{forecast}");
        };
        check(10, Some(9), true);
        check(10, Some(10), false);
        check(u64::MAX, Some(0), true);
        check(UNKNOWN_MAX_BYTES, None, false);
        check(UNKNOWN_MAX_BYTES + 1, None, true);
        check(UNKNOWN_MAX_BYTES + 1, Some(u64::MAX), false);
    }

    #[test]
    fn only_a_yes_confirms() {
        for (answer, expected) in [
            ("y\n", true),
            ("Yes\n", true),
            ("\n", false),
            ("n\n", false),
            ("", false),
            ("yesterday\n", false),
        ] {
            let mut shown = Vec::new();
            assert_eq!(confirm("Load anyway? ", &mut answer.as_bytes(), &mut shown), expected, "{answer:?}");
            assert_eq!(shown, b"Load anyway? ");
        }
    }

    #[test]
    fn the_forecast_says_both_sizes() {
        let known = SpaceForecast { needed_bytes: 15_700_000_000_000_000, free_bytes: Some(4_200_000_000) };
        assert_eq!(
            known.to_string(),
            "loading needs about 14 PB of disk space on the server, and 4005 MB are free"
        );
        let unknown = SpaceForecast { free_bytes: None, ..known };
        assert!(unknown.to_string().ends_with("and its free space is not known from here"), "{unknown}");
    }

    #[test]
    fn the_size_grows_with_scale_and_fillfactor_and_is_none_without_rows() {
        let options = |scale: u32| InitOptions { scale: Scale::from(scale), ..InitOptions::default() };
        let one = total_bytes(&Tpcb, &options(1)).expect("known");
        assert_eq!(total_bytes(&Tpcb, &options(1_000_000_000)), Some(one / 100 * 100_000_000_000));
        let half = InitOptions { fillfactor: 50, ..options(1) };
        assert_eq!(total_bytes(&Tpcb, &half), Some(one / 50 * 100));
        let keys_only = InitOptions { steps: vec![Step::PrimaryKeys], ..options(1) };
        assert_eq!(total_bytes(&Tpcb, &keys_only), None);
    }
}
