//! The workload `tpch`, derived from TPC-H: eight tables made by the crate `tpchgen`, 22 queries with their expected
//! answers, refresh functions. docs/tpc.md describes it for users.

mod answers;
mod checks;
mod copy_row;
mod load;
mod parameters;
mod queries;
mod refresh;
mod rows;
mod schema;
mod scripts;

use std::borrow::Cow;

use connect::{Session, Target};
use stats::Scale;

use crate::WorkloadError;
use loading::contract::about::About;
use loading::contract::check::Check;
use loading::contract::load::{InitOptions, InitReport, Progress};
use loading::contract::query_set::{Answer, IndexSet, Query, QueryChoice};
use loading::contract::scripts::Script;
use loading::contract::workload::{TablePreparation, Tables, Workload};

use schema::{INDEX_SETS, TpchTable};

/// The tables and queries derived from TPC-H.
#[derive(Copy, Clone, Debug)]
pub struct Tpch;

impl Tpch {
    /// The name of the workload.
    pub const NAME: &str = "tpch";
    /// What it is.
    pub const TITLE: &str = "TPC-H-derived: 8 tables, 22 queries";
}

static ABOUT: About = About {
    name: Cow::Borrowed(Tpch::NAME),
    title: Cow::Borrowed(Tpch::TITLE),
    source: Some(Cow::Borrowed("https://github.com/datafusion-contrib/tpcgen-rs (crate tpchgen 4.0)")),
    licence: Some(Cow::Borrowed("Apache-2.0 (crate tpchgen); the queries are material of the TPC")),
    needs: Some(Cow::Borrowed(
        "scale 1: 2 GB of disk, 500 MB of memory; loading takes about 30 s, the 22 queries about 20 s",
    )),
    notice: Some(Cow::Borrowed(
        "The workload tpch is derived from TPC-H. Its results are not TPC results and cannot be compared with \
         published results of TPC-H.",
    )),
};

impl Workload for Tpch {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn scripts(&self) -> &[Script] {
        &scripts::SCRIPTS
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
        load::find(session)
    }

    fn scale_table(&self) -> Option<&str> {
        Some(TpchTable::Supplier.name())
    }

    fn table_names(&self) -> Vec<String> {
        TpchTable::ALL.map(|table| table.name().to_owned()).into()
    }

    /// PostgreSQL 15, scale 1: `pg_total_relation_size` of all tables with the index set `foreign_keys`.
    fn bytes_per_scale(&self) -> Option<u64> {
        Some(1_705_000_000)
    }

    fn vacuumed(&self) -> Vec<TablePreparation> {
        TpchTable::ALL.map(|table| TablePreparation::VacuumAnalyze(table.name().to_owned())).into()
    }

    fn checks(&self) -> &[Check] {
        &*checks::CHECKS
    }

    fn index_sets(&self) -> &[IndexSet] {
        &INDEX_SETS
    }

    fn query_texts(&self) -> &[&'static str] {
        &queries::TEXTS
    }

    fn has_queries(&self) -> bool {
        true
    }

    fn queries(&self, choice: &QueryChoice) -> Result<Vec<Query>, WorkloadError> {
        queries::all(choice)
    }

    fn answers(&self, choice: &QueryChoice) -> Vec<Answer> {
        answers::expected(choice)
    }

    fn refresh(&self, scale: Scale, pair: u32) -> Option<[Query; 2]> {
        Some(refresh::pair(scale, pair))
    }
}
