//! Places both sides on servers. They share one server if they differ only in the load or in settings that each
//! connection can set. Otherwise two servers run at the same time and are recreated several times, because each start
//! and load has random effects on performance.

use connect::Stopwatch;
use std::collections::BTreeSet;
use std::io;

use connect::{Password, Patience, Target};
use experiment::{Cell, Comparable, Configuration, SessionSettings, setup_s};
use results::DrawnAnew;
use run::{Circumstances, Control, RunError, RunRequest, Runner, StorePlaces, fresh_seed};

use super::block::{BlockResult, BlockStart, Side};
use super::server_set::ServerSet;
use super::state::BlockLengths;
use super::time_plan::ServerStarts;
use crate::event::Listener;
use crate::schema_change::SchemaCost;
use crate::session_options::{refused_by_server, with_settings};
use crate::trial;

/// The servers of both sides.
#[derive(Clone, Debug)]
pub(super) enum ServerLayout {
    /// One server, with the names of the settings that connections set for themselves.
    Shared(BTreeSet<String>),
    /// Two servers.
    Apart,
}

impl ServerLayout {
    /// Names of the settings that differ per connection.
    pub(super) fn session_settings(&self) -> Vec<String> {
        let ServerLayout::Shared(names) = self else { return Vec::new() };
        names.iter().cloned().collect()
    }
}

/// Everything that is needed to prepare both sides, any number of times.
pub(super) struct Layout<'a> {
    pub(super) what: Comparable,
    /// A, then B.
    pub(super) cells: [Cell; 2],
    pub(super) seed: u64,
    /// How long changes of the schema of a database in place wait for locks.
    pub(super) patience: Patience,
    /// The store, which notes changes of schemas.
    pub(super) places: &'a StorePlaces,
    pub(super) ask_password: Option<fn() -> io::Result<Password>>,
    pub(super) listener: Listener<'a>,
    pub(super) control: &'a Control,
}

/// Both sides, ready for load. Dropping this removes their servers.
pub(super) struct ReadySides<'a> {
    pub(super) sides: [Side; 2],
    /// Time to start and load their servers.
    pub(super) starting_s: f64,
    /// One for both, or one for each.
    servers: Vec<ServerSet<'a>>,
}

/// The servers of both sides, with the targets of their clients. Dropping this removes the servers.
pub(super) struct PlacedSides<'a> {
    pub(super) targets: [Target; 2],
    /// One for both, or one for each.
    servers: Vec<ServerSet<'a>>,
}

impl PlacedSides<'_> {
    /// Gives a shared server the schema of a side.
    pub(super) fn switch_schema(&mut self, at: usize) -> Result<(), RunError> {
        if let [shared] = self.servers.as_mut_slice() { shared.switch_schema(at) } else { Ok(()) }
    }

    /// Undoes the change of the schema that the last load had.
    pub(super) fn restore_schema(&mut self) -> Result<(), RunError> {
        self.servers.iter_mut().try_for_each(ServerSet::restore_schema)
    }
}

impl ReadySides<'_> {
    /// A side on a shared server, with the schema that it is measured with.
    pub(super) fn side(&mut self, at: usize) -> Result<&mut Side, RunError> {
        if let [shared] = self.servers.as_mut_slice() {
            shared.switch_schema(at)?;
        }
        Ok(&mut self.sides[at])
    }

    /// Runs a block of a side. A block that fails is repeated once, on new connections.
    pub(super) fn run_block(
        &mut self,
        at: usize,
        lengths: BlockLengths,
        seed: u64,
        start: BlockStart,
        layout: &Layout<'_>,
    ) -> Result<BlockResult, RunError> {
        let control = layout.control;
        let failure = match self.side(at).and_then(|side| side.run(lengths, seed, start, control)) {
            Err(failure) if !failure.is_interruption() => failure,
            other => return other,
        };
        control.check()?;
        layout.listener.warn(format_args!("a block failed and is repeated once: {failure}"));
        self.sides[at].reconnect(control)?;
        self.side(at)?.run(lengths, seed, start, control)
    }

    /// Undoes the change of the schema that the last block had.
    pub(super) fn restore_schema(&mut self) -> Result<(), RunError> {
        self.servers.iter_mut().try_for_each(ServerSet::restore_schema)
    }

    /// What changes of the schema have cost so far.
    pub(super) fn cost_of_schema(&self) -> SchemaCost {
        self.servers.first().map(ServerSet::cost_of_schema).unwrap_or_default()
    }
}

impl<'a> Layout<'a> {
    /// Determines the layout and prepares it.
    pub(super) fn first(&self, budget_s: f64) -> Result<(ServerLayout, ReadySides<'a>), RunError> {
        let passed = Stopwatch::start();
        let (layout, placed) = self.placed(budget_s)?;
        let ready = self.sides(placed)?;
        // A shared server is never restarted.
        let starting_s = if matches!(layout, ServerLayout::Apart) { passed.seconds() } else { 0.0 };
        Ok((layout, ReadySides { starting_s, ..ready }))
    }

    /// Determines the layout and starts the servers.
    pub(super) fn placed(&self, budget_s: f64) -> Result<(ServerLayout, PlacedSides<'a>), RunError> {
        let [a, b] = [&self.cells[0].configuration, &self.cells[1].configuration];
        let runs_already = a.server.origin.dsn().is_some();
        let is_one_place = a.server.origin == b.server.origin
            && a.server.tablespaces == b.server.tablespaces
            && a.server.instrumentation == b.server.instrumentation
            && a.server.standbys == b.server.standbys
            && a.server.standby_network == b.server.standby_network
            && a.server.synchronous_standbys == b.server.synchronous_standbys;
        let is_one_data_set = a.data == b.data && a.setup == b.setup;
        if !is_one_place || !is_one_data_set {
            if is_one_place && runs_already {
                return Err(RunError::Usage(
                    "the sides have different data, but a running server holds one data set at a time: use \
                     --pg-version instead of --dsn"
                        .to_owned(),
                ));
            }
            self.warn_of_short_budget(budget_s);
            return Ok((ServerLayout::Apart, self.placed_apart(0)?));
        }
        // Both have all settings that sessions are known to be able to set; of others, the server is asked.
        let others = [only_in(a, b), only_in(b, a)];
        let mut servers = self.shared_servers(&others)?;
        let mut session = self.control.connect(&servers.ready(0)?)?;
        let refused = refused_by_server(&mut session, others.iter().flat_map(SessionSettings::keys))?;
        drop(session);
        if refused.is_empty() {
            let names = others.iter().chain([&a.session, &b.session]).flat_map(SessionSettings::keys);
            let layout = ServerLayout::Shared(names.cloned().collect());
            // Both are prepared first, because preparing one may recreate the trial's database.
            let (a, b) = (servers.ready(0)?, servers.ready(1)?);
            let targets = [with_settings(a, &others[0]), with_settings(b, &others[1])];
            return Ok((layout, PlacedSides { targets, servers: vec![servers] }));
        }
        drop(servers);
        self.warn_of_short_budget(budget_s);
        Ok((ServerLayout::Apart, self.placed_apart(0)?))
    }

    /// Before anything is loaded, from estimates. After the first set-up, the time that it took decides.
    fn warn_of_short_budget(&self, budget_s: f64) {
        short_budget(&self.cells, budget_s).into_iter().for_each(|warning| self.listener.warn(warning));
    }

    /// One server for both, with their common settings.
    fn shared_servers(&self, others: &[SessionSettings; 2]) -> Result<ServerSet<'a>, RunError> {
        let mut cells = self.cells.to_vec();
        for (cell, own) in cells.iter_mut().zip(others) {
            cell.configuration.server.settings.retain(|name, _| !own.contains_key(name));
        }
        ServerSet::new(&self.what, cells, self.patience, self.places, self.listener, self.control)
    }

    /// Recreates both servers, and prepares the sides.
    pub(super) fn apart(&self, draw: usize) -> Result<ReadySides<'a>, RunError> {
        let passed = Stopwatch::start();
        let ready = self.sides(self.placed_apart(draw)?)?;
        Ok(ReadySides { starting_s: passed.seconds(), ..ready })
    }

    /// Recreates both servers; a random one is first.
    fn placed_apart(&self, draw: usize) -> Result<PlacedSides<'a>, RunError> {
        let first = stats::comparison::order(!self.seed, draw, 1);
        let mut made: [Option<(Target, ServerSet<'a>)>; 2] = [None, None];
        for side in first {
            let at = place(side);
            let cells = vec![self.cells[at].clone()];
            let mut servers =
                ServerSet::new(&self.what, cells, self.patience, self.places, self.listener, self.control)?;
            let target = servers.ready(0)?;
            self.control.check()?;
            made[at] = Some((target, servers));
        }
        match made {
            [Some((a, servers_a)), Some((b, servers_b))] => {
                Ok(PlacedSides { targets: [a, b], servers: vec![servers_a, servers_b] })
            }
            _ => Err(RunError::Usage("a pair has two sides".to_owned())),
        }
    }

    /// Prepares the load of both sides.
    fn sides(
        &self,
        PlacedSides { targets: [a, b], servers }: PlacedSides<'a>,
    ) -> Result<ReadySides<'a>, RunError> {
        Ok(ReadySides { sides: [self.side(0, a)?, self.side(1, b)?], starting_s: 0.0, servers })
    }

    fn side(&self, at: usize, target: Target) -> Result<Side, RunError> {
        let mark = format!("pgmeter {:016x}", fresh_seed());
        let mut target = target;
        let mut control = run::connect(&mut target, self.ask_password, self.control)?;
        if self.cells[at].configuration.server.in_place {
            // Each side has a session of its own for the whole comparison, and the load is that of one side at a time.
            let clients = self.cells[at].configuration.load.clients.max(1) as usize;
            let wanted = clients + self.cells.len() - 1 - at;
            let work = format!("the comparison needs {wanted} more");
            run::check_pool_places(&mut control, &target, wanted, &work, self.control)?;
        }
        // Like a trial, a block ends if its server stops responding.
        let circumstances =
            Circumstances { silence_limit: Some(trial::SILENCE_LIMIT), ..Circumstances::default() };
        let request = RunRequest {
            in_turns: true,
            ..trial::request(&self.cells[at], self.seed, target.clone(), Vec::new())?
        };
        let runner = Runner::new(request)?.under(circumstances);
        let is_in_place = self.cells[at].configuration.server.in_place;
        Side::prepare(runner, target, control, &mark, is_in_place, self.listener, self.control)
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

/// A warning if the budget is less than an answer from two servers needs, by the estimates of their set-up.
fn short_budget(cells: &[Cell; 2], budget_s: f64) -> Option<String> {
    if cells.iter().any(|cell| cell.configuration.server.origin.dsn().is_some()) {
        return None;
    }
    let setup_s: f64 = cells.iter().map(|cell| setup_s(&cell.configuration)).sum();
    let needed_s = ServerStarts::budget_for_an_answer_s(setup_s);
    (needed_s > budget_s).then(|| {
        format!(
            "--budget {budget_s}s may be too short for an answer: setting up the two servers takes about {setup_s:.0} s (an \
             estimate), and an answer needs three set-ups, each under load for as long. --budget {:.0}s is enough",
            needed_s.ceil()
        )
    })
}

/// Index of a side in arrays.
pub(super) fn place(side: stats::comparison::Side) -> usize {
    match side {
        stats::comparison::Side::A => 0,
        stats::comparison::Side::B => 1,
    }
}

/// Settings of the first that the second lacks or has with another value.
fn only_in(one: &Configuration, other: &Configuration) -> SessionSettings {
    let differs =
        |(name, value): &(&String, &String)| other.server.settings.get(*name).is_none_or(|it| it != *value);
    let settings = one.server.settings.iter().filter(differs);
    settings.map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::Origin;

    #[test]
    fn a_budget_too_short_for_three_set_ups_is_told_before_anything_is_loaded_and_the_one_it_names_is_enough()
    {
        let mut cells =
            [(); 2].map(|()| Cell { levels: Vec::new(), configuration: Configuration::default() });
        let warning = short_budget(&cells, 1.0).expect("no server is set up in a fifth of a second");
        assert!(warning.starts_with("--budget 1s may be too short for an answer"), "{warning}");
        let enough = warning.rsplit("--budget ").next().and_then(|rest| rest.split('s').next()).unwrap();
        let enough_s: f64 = enough.parse().expect(&warning);
        assert_eq!(short_budget(&cells, enough_s), None);
        assert!(short_budget(&cells, enough_s - 1.0).is_some());
        // Servers that run already are not set up.
        cells[1].configuration.server.origin = Origin::Running("host=b".to_owned());
        assert_eq!(short_budget(&cells, 1.0), None);
    }
}
