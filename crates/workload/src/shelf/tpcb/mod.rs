//! The workload of pgbench: its four TPC-B-like tables, loaded as `pgbench -i` does it, and its three scripts.
//! The drop-in for pgbench takes its words and its SQL from here.

mod existing;
mod load;
mod obstacles;
mod phase;
mod rows;
mod schema;
mod scripts;
mod tables;

use std::borrow::Cow;
use std::sync::LazyLock;

use connect::{Session, Target};
use stats::Scale;

use crate::WorkloadError;
use loading::contract::about::About;
use loading::contract::check::Check;
use loading::contract::load::{InitOptions, InitReport, Progress};
use loading::contract::scripts::Script;
use loading::contract::workload::{TablePreparation, Tables, Workload};

pub use loading::contract::init_steps::{STEPS, Step, StepFacts};
pub use scripts::{SCRIPTS, script, script_list};
pub use tables::{ACCOUNTS_NAME, COUNT_BRANCHES};

/// The TPC-B-like tables and scripts of pgbench.
#[derive(Copy, Clone, Debug)]
pub struct Tpcb;

impl Tpcb {
    /// The name of the workload.
    pub const NAME: &str = "tpcb";
    /// What it is.
    pub const TITLE: &str = "TPC-B-like tables";
}

/// `pgmeter init -s 10` on PostgreSQL 18.6: 156,966,912 bytes by `pg_total_relation_size`, of which 156,852,224 are of
/// pgbench_accounts and its index.
const BYTES_PER_SCALE: u64 = 15_700_000;

static ABOUT: About = About {
    name: Cow::Borrowed(Tpcb::NAME),
    title: Cow::Borrowed(Tpcb::TITLE),
    source: Some(Cow::Borrowed("https://www.postgresql.org/docs/current/pgbench.html")),
    licence: None,
    needs: None,
    notice: None,
};

static CHECKS: LazyLock<[Check; 2]> = LazyLock::new(|| {
    let counted = |table: &str, each: u64| Check {
        name: table.to_owned(),
        sql: format!(
            "select found, branches from (select pg_catalog.count(*) as found from {table}) as a, \
             (select pg_catalog.count(*) as branches from {branches}) as b where found <> branches * {each}",
            branches = schema::BRANCHES.name
        ),
    };
    [schema::TELLERS, schema::ACCOUNTS].map(|table| counted(table.name, table.rows_per_scale))
});

impl Workload for Tpcb {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn scripts(&self) -> &[Script] {
        &SCRIPTS
    }

    /// In pgbench's words.
    fn script(&self, name: &str) -> Result<&Script, WorkloadError> {
        script(name)
    }

    fn quickstart(&self) -> Vec<Vec<&Script>> {
        let shown = ["tpcb-like", "select-only"];
        shown.iter().map(|name| SCRIPTS.iter().filter(|script| script.name == *name).collect()).collect()
    }

    fn quickstart_scale(&self) -> Scale {
        Scale::from(10)
    }

    fn init_command(&self) -> String {
        "pgmeter init".to_owned()
    }

    fn check_options(&self, options: &InitOptions) -> Result<(), WorkloadError> {
        load::check(options)
    }

    fn load(
        &self,
        target: &Target,
        session: &mut Session,
        options: &InitOptions,
        progress: &mut Progress<'_>,
    ) -> Result<InitReport, WorkloadError> {
        load::init(target, session, options, progress)
    }

    fn find_tables(&self, session: &mut Session) -> Result<Tables, WorkloadError> {
        tables::find(session)
    }

    fn scale_table(&self) -> Option<&str> {
        Some(schema::BRANCHES.name)
    }

    fn bytes_per_scale(&self) -> Option<u64> {
        Some(BYTES_PER_SCALE)
    }

    fn prepared(&self) -> Vec<TablePreparation> {
        tables::prepared()
    }

    fn vacuumed(&self) -> Vec<TablePreparation> {
        vec![TablePreparation::VacuumAnalyze(schema::ACCOUNTS.name.to_owned())]
    }

    fn table_names(&self) -> Vec<String> {
        schema::VACUUMED.iter().map(|table| table.name.to_owned()).collect()
    }

    fn checks(&self) -> &[Check] {
        &*CHECKS
    }
}
