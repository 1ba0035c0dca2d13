//! Places both sides on servers. They share one server if they differ only in the load or in settings that each
//! connection can set. Otherwise two servers run at the same time and are recreated several times, because each start
//! and load has random effects on performance.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use connect::{Password, Target};
use results::DrawnAnew;
use run::{Circumstances, Control, RunError, fresh_seed};

use super::block::Side;
use super::server_set::{Comparable, ServerSet};
use crate::configuration::Configuration;
use crate::event::Listener;
use crate::matrix::Cell;
use crate::stopwatch::Stopwatch;
use crate::trial;

/// The servers of both sides.
#[derive(Clone, Debug)]
pub(super) enum ServerLayout {
    /// One server, with the session settings of A and of B.
    Shared([Settings; 2]),
    /// Two servers.
    Apart,
}

type Settings = BTreeMap<String, String>;

impl ServerLayout {
    /// Names of the settings that differ per connection.
    pub(super) fn session_settings(&self) -> Vec<String> {
        let ServerLayout::Shared(sides) = self else { return Vec::new() };
        let names: BTreeSet<&String> = sides.iter().flat_map(BTreeMap::keys).collect();
        names.into_iter().cloned().collect()
    }
}

/// Everything that is needed to prepare both sides, any number of times.
pub(super) struct Layout<'a> {
    pub(super) what: Comparable,
    /// A, then B.
    pub(super) cells: [Cell; 2],
    pub(super) seed: u64,
    pub(super) ask_password: Option<fn() -> io::Result<Password>>,
    pub(super) listener: Listener<'a>,
    pub(super) control: &'a Control,
}

/// Both sides, ready for load. Dropping this removes their servers.
pub(super) struct ReadySides<'a> {
    pub(super) sides: [Side; 2],
    /// Time to start and load their servers.
    pub(super) starting_s: f64,
    _servers: Vec<ServerSet<'a>>,
}

impl<'a> Layout<'a> {
    /// Determines the layout and prepares it.
    pub(super) fn first(&self) -> Result<(ServerLayout, ReadySides<'a>), RunError> {
        let [a, b] = [&self.cells[0].configuration, &self.cells[1].configuration];
        let runs_already = a.server.origin.dsn().is_some();
        let is_one_place = a.server.origin == b.server.origin
            && a.server.tablespaces == b.server.tablespaces
            && a.server.instrumentation == b.server.instrumentation;
        let is_one_data_set = a.data == b.data && a.setup == b.setup;
        if !is_one_place || !is_one_data_set {
            if is_one_place && runs_already {
                return Err(RunError::Usage(
                    "the sides have different data, but a running server holds one data set at a time: use \
                     --pg-version instead of --dsn"
                        .to_owned(),
                ));
            }
            return Ok((ServerLayout::Apart, self.apart(0)?));
        }
        let session = if runs_already {
            [a.server.settings.clone(), b.server.settings.clone()]
        } else {
            [only_in(a, b), only_in(b, a)]
        };
        let mut servers = self.shared_servers(&session)?;
        let target = servers.ready(0)?;
        let refused = settings_of_the_server(&target, &session, self.control)?;
        if refused.is_empty() {
            let layout = ServerLayout::Shared(session);
            let ready = self.on(servers, &layout)?;
            return Ok((layout, ready));
        }
        if runs_already {
            return Err(RunError::Usage(format!(
                "{} cannot be set per session, and the settings of a running server stay unchanged: use \
                 --pg-version instead of --dsn",
                refused.join(", ")
            )));
        }
        drop(servers);
        Ok((ServerLayout::Apart, self.apart(0)?))
    }

    /// One server for both, with their common settings.
    fn shared_servers(&self, session: &[Settings; 2]) -> Result<ServerSet<'a>, RunError> {
        let mut cells = self.cells.to_vec();
        for (cell, own) in cells.iter_mut().zip(session) {
            cell.configuration.server.settings.retain(|name, _| !own.contains_key(name));
        }
        ServerSet::new(&self.what, cells, self.listener, self.control)
    }

    fn on(&self, mut servers: ServerSet<'a>, layout: &ServerLayout) -> Result<ReadySides<'a>, RunError> {
        let none = [Settings::new(), Settings::new()];
        let session = if let ServerLayout::Shared(session) = layout { session } else { &none };
        // Both are prepared first, because preparing one may recreate the trial's database.
        let (a, b) = (servers.ready(0)?, servers.ready(1)?);
        let sides = [self.side(0, a, &session[0])?, self.side(1, b, &session[1])?];
        // A shared server is never restarted.
        Ok(ReadySides { sides, starting_s: 0.0, _servers: vec![servers] })
    }

    /// Recreates both servers; a random one is first.
    pub(super) fn apart(&self, draw: usize) -> Result<ReadySides<'a>, RunError> {
        let passed = Stopwatch::start();
        let first = stats::comparison::order(!self.seed, draw, 1);
        let mut made: [Option<(Side, ServerSet<'a>)>; 2] = [None, None];
        for side in first {
            let at = place(side);
            let mut servers =
                ServerSet::new(&self.what, vec![self.cells[at].clone()], self.listener, self.control)?;
            let target = servers.ready(0)?;
            self.control.check()?;
            made[at] = Some((self.side(at, target, &Settings::new())?, servers));
        }
        match made {
            [Some((a, servers_a)), Some((b, servers_b))] => Ok(ReadySides {
                sides: [a, b],
                starting_s: passed.seconds(),
                _servers: vec![servers_a, servers_b],
            }),
            _ => Err(RunError::Usage("a pair has two sides".to_owned())),
        }
    }

    fn side(&self, at: usize, target: Target, session: &Settings) -> Result<Side, RunError> {
        let mark = format!("pgmeter {:016x}", fresh_seed());
        let mut target = with_settings(target, session);
        let control = run::connect(&mut target, self.ask_password, self.control)?;
        // Like a trial, a block ends if its server stops responding.
        let circumstances =
            Circumstances { silence_limit: Some(trial::SILENCE_LIMIT), ..Circumstances::default() };
        let runner = trial::runner(&self.cells[at], self.seed, target)?.under(circumstances);
        Side::prepare(runner, control, &mark, self.listener, self.control)
    }

    /// The level at which randomness is drawn again on these servers.
    pub(super) fn draws(&self, layout: &ServerLayout) -> DrawnAnew {
        let runs = |cell: &Cell| cell.configuration.server.origin.dsn().is_some();
        match layout {
            ServerLayout::Apart if !self.cells.iter().any(runs) => DrawnAnew::Servers,
            ServerLayout::Apart | ServerLayout::Shared(_) => DrawnAnew::Connections,
        }
    }
}

/// Index of a side in arrays.
pub(super) fn place(side: stats::comparison::Side) -> usize {
    match side {
        stats::comparison::Side::A => 0,
        stats::comparison::Side::B => 1,
    }
}

/// Settings of the first that the second lacks or has with another value.
fn only_in(one: &Configuration, other: &Configuration) -> Settings {
    let differs =
        |(name, value): &(&String, &String)| other.server.settings.get(*name).is_none_or(|it| it != *value);
    let settings = one.server.settings.iter().filter(differs);
    settings.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The settings that a session cannot change (manual, pg_settings.context).
fn settings_of_the_server(
    target: &Target,
    session: &[Settings; 2],
    control: &Control,
) -> Result<Vec<String>, RunError> {
    let names: BTreeSet<String> = session.iter().flat_map(|settings| settings.keys().cloned()).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut control = control.connect(target)?;
    let rows = control.query_catalogs(
        "SELECT lower(name) FROM pg_settings WHERE context = 'user' OR context = 'superuser' \
         AND (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)",
    )?;
    let settable: Vec<&str> = rows.iter().filter_map(|row| row.get(0)).collect();
    let is_refused = |name: &String| !settable.contains(&name.to_ascii_lowercase().as_str());
    Ok(names.into_iter().filter(is_refused).collect())
}

/// A word for `options` in the startup packet: whitespace and backslashes are escaped with a backslash (manual,
/// message formats, StartupMessage).
fn escaped(text: &str) -> String {
    let mut word = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | ' ' | '\t'..='\r') {
            word.push('\\');
        }
        word.push(character);
    }
    word
}

/// A target whose connections begin with these settings.
fn with_settings(target: Target, settings: &Settings) -> Target {
    if settings.is_empty() {
        return target;
    }
    let mut options: Vec<String> = target.options.clone().into_iter().collect();
    options
        .extend(settings.iter().map(|(name, value)| format!("-c {}", escaped(&format!("{name}={value}")))));
    Target { options: Some(options.join(" ")), ..target }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_with_white_space_is_one_word_of_the_options() {
        assert_eq!(escaped("a=b c\t-c\nd\u{b}\u{c}\r\\é"), "a=b\\ c\\\t-c\\\nd\\\u{b}\\\u{c}\\\r\\\\é");
    }
}
