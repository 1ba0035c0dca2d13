//! Combinations that a configuration must not have: loads, data, poolers, standbys and actions with each other and with
//! the server. Errors have no position, because a configuration no longer has those of its keys.

use std::time::Duration;

use results::{Fault, FaultKind};
use run::{RunToCheck, check_run};
use stats::{PoolMode, Protocol};

use crate::configuration::{Configuration, DataSpec, Restore, ServerSpec};
use crate::network::Network;
use crate::session_settings;
use crate::standbys::{StandbyMode, Synchronous};

impl Configuration {
    /// Why a fault among the actions is impossible.
    fn impossible_action(&self) -> Option<String> {
        let first = self.faults().next()?;
        if self.server.origin.dsn().is_some() {
            return Some(format!(
                "the action {} requires an embedded server: set version in [server] instead of dsn; on a server that \
                 pgmeter did not start, only sql is possible",
                first.name()
            ));
        }
        if self.load.verify && self.has_two_primaries() {
            return Some(
                "with verify, clients must not write to two primaries, because the verification reads one: stop or kill the \
                 primary before promote, and do not start it again; or use switchover; a fault of the network or a pause \
                 does not stop it"
                    .to_owned(),
            );
        }
        let names: Vec<&str> = self.server.standbys.iter().map(|standby| standby.name.as_str()).collect();
        let unknown = |kind: &&FaultKind| kind.standby().is_some_and(|name| !names.contains(&name.as_str()));
        let kind = self.faults().find(unknown)?;
        let known = match names.as_slice() {
            [] => "and the experiment has none: add [[standby]]".to_owned(),
            names => format!("and the standbys are {}", names.join(", ")),
        };
        let name = kind.standby().map_or("", |name| name.as_str());
        Some(format!("the action {} requires the standby {name}, {known}", kind.name()))
    }

    /// Whether the old primary runs beside a promoted standby, before or after it.
    fn has_two_primaries(&self) -> bool {
        let faults = self.load.actions.iter().filter_map(|action| Some((action.at, action.fault()?)));
        let mut faults: Vec<(Duration, &Fault)> = faults.collect();
        faults.sort_by_key(|(at, _)| *at);
        let is_beside = |promoted_at: Duration, promotion: &FaultKind| {
            let before = faults.iter().filter(|(at, _)| *at <= promoted_at);
            let is_down = before.fold(false, |is_down, (at, fault)| match &fault.kind {
                FaultKind::Kill | FaultKind::Stop { .. } => {
                    fault.lasts.is_none_or(|lasts| at.saturating_add(lasts) > promoted_at)
                }
                FaultKind::Start | FaultKind::Restart { .. } => false,
                _ => is_down,
            });
            let comes_back = faults.iter().any(|(at, fault)| {
                *at >= promoted_at && matches!(fault.kind, FaultKind::Start | FaultKind::Restart { .. })
            });
            let goes_down = is_down || matches!(promotion, FaultKind::Switchover { .. });
            !goes_down || comes_back
        };
        let promotions = faults.iter().filter(|(_, fault)| fault.kind.standby().is_some());
        promotions.into_iter().any(|(at, fault)| is_beside(*at, &fault.kind))
    }

    /// The key of this configuration that requires data of pgmeter's own.
    fn key_of_own_data(&self) -> Option<&'static str> {
        let (data, usual) = (&self.data, DataSpec::default());
        let keys = [
            ("setup", self.setup.is_some()),
            ("data_setup", data.setup.is_some()),
            ("init_steps", data.init_steps != usual.init_steps),
            ("fillfactor", data.fillfactor != usual.fillfactor),
            ("unlogged", data.unlogged),
            ("partitions", data.partitions != 0),
            ("foreign_keys", data.foreign_keys),
            ("tablespace", data.tablespace.is_some()),
            ("index_tablespace", data.index_tablespace.is_some()),
            ("indexes", data.indexes.is_some()),
            ("data_seed", data.data_seed.is_some()),
            ("restore", data.restore != usual.restore),
            ("step", !self.steps.is_empty()),
        ];
        keys.into_iter().find(|(_, is_set)| *is_set).map(|(key, _)| key)
    }

    /// Checks that the parts are compatible; the error is a sentence.
    // Long because: a list of independent conditions.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Self { server, data, load, .. } = self;
        let has_ddl = self.ddl.is_some();
        let is_running = server.origin.dsn().is_some();
        // With standbys, load_balance_hosts is about the target that means all of them.
        let balances = self.load_balance.is_some() && (is_running || server.standbys.is_empty());
        let has_hosts = !self.hosts.is_empty() || balances;
        let rules = [
            (
                self.queries.is_some() && data.workload.is_none(),
                "[queries] requires a workload, and workload is \"none\"",
            ),
            (
                self.search.is_some() && load.goals.is_empty(),
                "[search] looks for the highest rate that keeps a promise: set goal in [load], such as \"p99 < 20ms\"",
            ),
            (self.search.is_some() && load.rate_tps.is_some(), "[search] finds the rate: remove rate"),
            (
                self.search.is_some() && !load.actions.is_empty(),
                "[search] cannot be combined with actions: each load of a search must be alike",
            ),
            (
                self.search.is_some() && self.pooler.mode.is_some(),
                "[search] cannot be combined with [pooler]: its loads connect to the server itself",
            ),
            (load.check && data.workload.is_none(), "check requires a workload, and workload is \"none\""),
            (
                has_hosts && self.network != Network::default(),
                "hosts and load_balance_hosts cannot be combined with network: each defines how clients reach \
                 the server",
            ),
            (
                has_ddl && !server.in_place,
                "ddl changes the schema of a database in place: set in_place (--in-place); for tables of pgmeter's own use \
                 data_setup",
            ),
            (
                has_ddl && !self.allow_ddl,
                "ddl changes the schema of your database, and needs locks on its tables: allow it with allow_ddl \
                 (--allow-ddl)",
            ),
            (
                self.staleness && server.standbys.is_empty(),
                "staleness is measured on standbys: add a [[standby]], or remove staleness",
            ),
            (self.ddl_undo.is_some() && !has_ddl, "ddl_undo has nothing to undo: set ddl"),
            (
                is_running && !server.tablespaces.is_empty(),
                "tablespaces are created on embedded servers only: with a dsn, set tablespace to an existing one",
            ),
            (
                is_running && data.restore == Restore::Files,
                "restore = \"files\" stops the server and therefore requires an embedded server: use \
                 \"template\" with a dsn",
            ),
            (
                has_hosts && !is_running,
                "hosts and load_balance_hosts require a running server: set dsn in [server]",
            ),
        ];
        if server.in_place && !is_running {
            return Err("in_place requires a running server: set dsn in [server]; dsn = \"\" means the server of PGHOST and the \
                        other PG variables"
                .to_owned());
        }
        if let Some(key) = self.key_of_own_data().filter(|_| server.in_place) {
            return Err(format!(
                "{key} changes the database or needs a copy of it, and in_place uses it as it is: remove {key} or in_place"
            ));
        }
        server.check_standbys()?;
        let refused = |(name, _): (&String, &String)| session_settings::refused(name, &server.origin);
        check_pooler(self)?;
        let surface = self.surface;
        let known = RunToCheck { spec: load, surface, scripts: None, pooling: None, place: None };
        let refused_load = || check_run(&known).err().map(|error| error.to_string());
        let impossible_action = || self.impossible_action();
        if let Some(sentence) =
            self.settings().find_map(refused).or_else(refused_load).or_else(impossible_action)
        {
            return Err(sentence);
        }
        if let Some((_, sentence)) = rules.iter().find(|(is_broken, _)| *is_broken) {
            return Err((*sentence).to_owned());
        }
        let is_known =
            |name: &String| is_running || server.tablespaces.contains_key(name) || name == "pg_default";
        match [&data.tablespace, &data.index_tablespace].into_iter().flatten().find(|name| !is_known(name)) {
            Some(name) => Err(format!(
                "there is no tablespace {name}: define it in [server], for example tablespaces = {{ {name} = \
                 \"/dev/shm\" }}"
            )),
            None => Ok(()),
        }
    }
}

/// What cannot be combined with a pooler; a sentence.
fn check_pooler(configuration: &Configuration) -> Result<(), String> {
    let Configuration { pooler, server, load, .. } = configuration;
    let Some(mode) = pooler.mode else { return Ok(()) };
    if server.origin.dsn().is_some() {
        return Err("[pooler] starts a pooler in front of an embedded server, and a dsn names a running one: set version or \
                    bin_dir in [server]; to measure through a pooler of your own, name its address with hosts in [load]"
            .to_owned());
    }
    if !configuration.is_load() {
        return Err("[pooler] applies to loads: timed steps and queries are measured in one session, with settings of its \
                    own; remove [pooler], or set mode = \"none\""
            .to_owned());
    }
    if configuration.promotes() {
        return Err("[pooler] forwards to the first server only, and an action promotes a standby: remove the action, or set \
                    mode = \"none\""
            .to_owned());
    }
    if mode == PoolMode::Session && !load.reconnect && pooler.pool_size < load.clients {
        return Err(format!(
            "session pooling keeps a connection to the server for each client as long as it is connected: {0} clients need \
             pool_size = {0} or more in [pooler], and it is {1}; or use mode = \"transaction\"",
            load.clients, pooler.pool_size
        ));
    }
    let keeps_none = pooler.max_prepared_statements == Some(0);
    if mode != PoolMode::Session && load.protocol == Protocol::Prepared && keeps_none {
        return Err(format!(
            "with max_prepared_statements = 0 in [pooler], {} pooling loses prepared statements, and protocol = \"prepared\" \
             needs them: remove the key, or use protocol = \"extended\" or mode = \"session\"",
            mode.name()
        ));
    }
    Ok(())
}

impl ServerSpec {
    /// Checks that the standbys are possible; the error is a sentence.
    fn check_standbys(&self) -> Result<(), String> {
        if self.standbys.is_empty() {
            return Ok(());
        }
        if self.origin.dsn().is_some() {
            return Err(
                "standbys are made of embedded servers only: remove [[standby]], or dsn from [server]"
                    .to_owned(),
            );
        }
        for (at, standby) in self.standbys.iter().enumerate() {
            let (name, before) = (&standby.name, &self.standbys[..at]);
            if before.iter().any(|other| other.name == *name) {
                return Err(format!("there are two standbys {name}: give each its own name"));
            }
            let Some(upstream) = &standby.upstream else { continue };
            if before.iter().all(|other| other.name != *upstream) {
                return Err(format!(
                    "the standby {name} receives WAL from {upstream}, which is no standby before it: define {upstream} first"
                ));
            }
            if standby.mode == StandbyMode::Synchronous {
                return Err(format!(
                    "the standby {name} cannot be synchronous: a commit waits only for standbys of the primary itself, \
                     and it receives WAL from {upstream}"
                ));
            }
        }
        if self.settings.contains_key("synchronous_standby_names") {
            return Err(
                "synchronous_standby_names follows from mode = \"synchronous\" of each standby: remove it \
                        from the settings"
                    .to_owned(),
            );
        }
        let names = self.synchronous_names().len();
        match self.synchronous_standbys {
            Some(Synchronous { number, .. }) if number > names => Err(format!(
                "synchronous_standbys waits for {number}, and mode = \"synchronous\" is set for {names}"
            )),
            _ => Ok(()),
        }
    }
}
