//! Arguments shared by several commands: connection, PostgreSQL installation, location of the store; and parsers of
//! values.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use ::experiment::settings::check_name as check_setting;
use ::lab::{Programs, instrumentation};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args};
use connect::{Environment, Overrides, Target};
use output::ReportedStore;
use results::Annotation;
use run::StorePlaces;
use run::options::seconds;
use server::ServerOptions;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// The server's address. Missing parameters come from the PG* variables, as in psql.
#[derive(Debug, Args)]
pub(crate) struct ConnectionArguments {
    /// Database name, conninfo string ("host=… dbname=…") or URI (postgresql://…)
    #[arg(value_name = "CONNECTION", conflicts_with = "dbname")]
    connection: Option<String>,
    #[command(flatten)]
    server: ServerArguments,
}

/// The server's address as options. Commands with these have `-?` for their help, as pgbench does.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct AddressArguments {
    /// Server host or directory of its socket
    #[arg(short = 'h', long, value_name = "HOST", help_heading = "Server")]
    host: Option<String>,
    /// Server port
    #[arg(short, long, value_name = "PORT", help_heading = "Server")]
    port: Option<String>,
    /// User name on the server
    #[arg(short = 'U', long, value_name = "USER", help_heading = "Server")]
    username: Option<String>,
    /// Database name, conninfo string or URI
    #[arg(short, long, visible_alias = "dsn", value_name = "CONNECTION", help_heading = "Server")]
    dbname: Option<String>,
    /// Print help
    #[arg(short = '?', long, action = ArgAction::Help)]
    help: Option<bool>,
}

impl AddressArguments {
    fn overrides(&self) -> Overrides {
        Overrides {
            host: self.host.clone(),
            port: self.port.clone(),
            user: self.username.clone(),
            dbname: self.dbname.clone(),
            fallback_application_name: None,
        }
    }

    /// The address as one connection string, with one given otherwise; `None` if nothing is given.
    pub(crate) fn text_with(&self, connection: Option<&str>) -> Result<Option<String>, Failure> {
        Ok(connect::connection_text(connection, &self.overrides())?)
    }
}

/// The same with the waits of pgmeter's own statements.
#[derive(Debug, Args)]
pub(crate) struct ServerArguments {
    #[command(flatten)]
    address: AddressArguments,
    /// Longest wait of pgmeter's own statements for a lock that others want too, for each try [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = ::lab::lock_time)]
    lock_timeout: Option<Duration>,
    /// Time after which a statement of pgmeter that does not get its locks is given up [default: 1min]
    #[arg(long, value_name = "TIME", value_parser = ::lab::lock_time)]
    lock_limit: Option<Duration>,
}

impl ConnectionArguments {
    /// The target, from options and environment.
    pub(crate) fn target(&self) -> Result<Target, Failure> {
        self.server.target_or(self.connection.as_deref())
    }

    pub(crate) fn overrides(&self) -> Overrides {
        self.server.address.overrides()
    }
}

impl ServerArguments {
    /// The target, from a connection string, options and environment.
    pub(crate) fn target_or(&self, connection: Option<&str>) -> Result<Target, Failure> {
        let mut target = connect::resolve(connection, &self.address.overrides(), &Environment::of_process())?;
        target.patience.lock_timeout = self.lock_timeout.unwrap_or(target.patience.lock_timeout);
        target.patience.limit = self.lock_limit.unwrap_or(target.patience.limit);
        Ok(target)
    }
}

/// PostgreSQL installation and settings of an embedded server.
#[derive(Debug, Args)]
pub(crate) struct InstallationArguments {
    /// PostgreSQL version: a major one (9.6 to 18) or an exact one (16.4)
    #[arg(long, value_name = "VERSION", default_value = "18")]
    pg_version: String,
    /// Directory with the programs of an installed PostgreSQL, instead of downloading one
    #[arg(long, value_name = "DIR")]
    bin_dir: Option<PathBuf>,
    /// Expected SHA-256 checksum of the downloaded archive
    #[arg(long, value_name = "SHA256", conflicts_with = "bin_dir")]
    checksum: Option<server::Checksum>,
    /// Operating system user that runs the server if pgmeter runs as root [default: postgres if it exists, otherwise nobody]
    #[arg(long, value_name = "USER")]
    server_user: Option<String>,
    /// Server setting, as in postgresql.conf; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// Do not load pg_stat_statements or set track_io_timing
    #[arg(long)]
    pub(crate) no_instrumentation: bool,
}

impl InstallationArguments {
    pub(crate) fn programs(&self) -> Programs<'_> {
        Programs {
            version: &self.pg_version,
            bin_dir: self.bin_dir.as_deref(),
            checksum: self.checksum.as_ref(),
        }
    }

    pub(crate) fn server_options(&self) -> Result<ServerOptions, Failure> {
        let setting = |text: &String| match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                // Programs of the user's own may have other settings.
                let checked = if self.bin_dir.is_none() { check_setting(name.trim()) } else { Ok(()) };
                checked.map_err(|why| Failure::Usage(format!("--set {text}: {why}")))?;
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            }
            _ => Err(Failure::Usage(format!(
                "--set {text}: expected NAME=VALUE, such as --set shared_buffers=1GB"
            ))),
        };
        Ok(ServerOptions {
            settings: self.settings.iter().map(setting).collect::<Result<_, _>>()?,
            server_user: self.server_user.clone(),
            instrumentation: instrumentation(self.no_instrumentation),
            ..ServerOptions::default()
        })
    }
}

/// Location of the store.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StoreArguments {
    /// Database of all runs, or its directory [default: PGMETER_STORE; otherwise ./pgmeter-results if it exists; otherwise
    /// pgmeter in the user's data directory]
    #[arg(long, value_name = "PATH")]
    store: Option<PathBuf>,
    /// Directory of the records, one JSON file per run [default: the directory of the store]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

impl StoreArguments {
    /// The places.
    pub(crate) fn places(&self) -> Result<StorePlaces, Failure> {
        places(self.store.as_deref(), self.results.as_deref())
    }

    /// The places; says which store is used.
    pub(crate) fn announced(&self, terminal: &Terminal) -> Result<StorePlaces, Failure> {
        let places = self.places()?;
        terminal.say(places.line());
        Ok(places)
    }
}

/// Label and note of the results.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AnnotationArguments {
    /// Label by which `report` and `runs` find the results; if several results have it, the newest
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    label: Option<String>,
    /// Note on the results, shown in reports
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    note: Option<String>,
}

impl AnnotationArguments {
    /// The label and the note. Not parsed by clap, whose errors quote the whole text.
    pub(crate) fn annotation(&self) -> Result<Annotation, Failure> {
        Ok(Annotation {
            label: parsed("--label", self.label.as_deref())?,
            note: parsed("--note", self.note.as_deref())?,
        })
    }
}

/// A text of a type with rules; `what` names it in the error.
pub(crate) fn parsed<T: FromStr<Err = String>>(what: &str, text: Option<&str>) -> Result<Option<T>, Failure> {
    text.map(str::parse).transpose().map_err(|reason| Failure::Usage(format!("{what}: {reason}")))
}

/// The places for these options.
pub(crate) fn places(store: Option<&Path>, records: Option<&Path>) -> Result<StorePlaces, Failure> {
    Ok(StorePlaces::locate(store, records, &server::Environment::of_process())?)
}

/// The store for reports.
pub(crate) fn reported(places: &StorePlaces) -> ReportedStore {
    ReportedStore { path: places.store().to_owned(), is_default: places.is_default() }
}

/// A row of a table of words: the word, its help or "", its value.
pub(crate) type Word<T> = (&'static str, &'static str, T);

/// A parser for the words of a table.
pub(crate) fn words<T>(table: &'static [Word<T>]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let value = |(word, help, _): &Word<T>| match *help {
        "" => PossibleValue::new(*word),
        help => PossibleValue::new(*word).help(help),
    };
    PossibleValuesParser::new(table.iter().map(value)).try_map(|typed| {
        let row = table.iter().find(|(word, ..)| word.eq_ignore_ascii_case(&typed));
        row.map(|(.., meaning)| *meaning).ok_or("not one of the possible values")
    })
}

/// Parses a number of seconds above 0.
pub(crate) fn positive_seconds(text: &str) -> Result<f64, String> {
    match seconds(text)? {
        0.0 => Err("must be more than 0".to_owned()),
        seconds => Ok(seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_must_pass_is_not_0() {
        assert_eq!(positive_seconds("0.5s"), Ok(0.5));
        assert!(positive_seconds("0").is_err());
    }
}
