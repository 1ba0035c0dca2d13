//! The record: everything that is kept of one run, as one versioned document.
//! Not how it gets to the disk (`write`, `read`) nor what is shown of it (`report`).
//! Made by `cli` from the engine's outcome.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use stats::{PartitionMethod, Scale};

use crate::safe_text::indented;
use crate::upgrade::RECORD;
use crate::{
    Annotation, Environment, Interval, Measured, Observation, Plan, Rank, Relations, ServiceLevel, Severity,
    StageSummary, Status, Summary, UtcTime, Verification, Warning,
};

/// The schema that this version writes, and the newest it reads.
pub const SCHEMA_VERSION: u32 = RECORD.version();

/// One run: what was asked, where, what came out, and whether it came to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "The record of a run of pgmeter")]
pub struct Record {
    /// The version of the format.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub schema_version: u32,
    /// The version of pgmeter that measured.
    pub pgmeter_version: String,
    /// How that was built.
    pub pgmeter_build: PgmeterBuild,
    /// The user's label and note.
    #[serde(flatten)]
    pub annotation: Annotation,
    /// Whether the run came to its end.
    pub status: Status,
    /// When it started, warm-up included.
    pub started_at: UtcTime,
    /// What was asked.
    pub plan: Plan,
    /// Where it ran and against what.
    pub environment: Environment,
    /// The tables of the workload.
    pub tables: Tables,
    /// The tables and indexes that the scripts' statements use, before the run; `null` if unknown.
    pub relations: Option<Relations>,
    /// Seconds until all clients were connected; `null` if they never were.
    pub connection_time_s: Option<f64>,
    /// What was measured, in all and per script.
    pub summary: Summary,
    /// The same over time, with histograms that can be merged again.
    pub intervals: Vec<Interval>,
    /// What the server was doing meanwhile; `null` if nobody looked.
    pub observation: Option<Observation>,
    /// What became of the commits that the clients sent; absent if the run was not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// What to know before relying on the figures.
    pub warnings: Vec<Warning>,
}

/// The tables of a run's workload; each fact is `null` where nobody looked.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tables {
    /// The scale at which the workload's tables were loaded, as found or as told.
    pub scale: Option<Scale>,
    /// How the workload's largest table is partitioned; `null` also where it is not.
    pub partition_method: Option<PartitionMethod>,
    /// Into how many partitions; 0 if it is not partitioned.
    pub partitions: Option<u32>,
}

/// How a pgmeter was built.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PgmeterBuild {
    /// To be fast.
    Release,
    /// With checks that make it slow.
    Debug,
}

impl PgmeterBuild {
    /// How this very pgmeter was built.
    pub fn of_this() -> PgmeterBuild {
        if cfg!(debug_assertions) { PgmeterBuild::Debug } else { PgmeterBuild::Release }
    }

    /// That it is too slow to measure with.
    pub fn warning(self) -> Option<Warning> {
        (self == PgmeterBuild::Debug).then_some(Warning::DebugBuild)
    }
}

impl Record {
    /// The record of a run that started at `started_at`. Warnings are added by the caller.
    pub fn new(
        started_at: UtcTime,
        status: Status,
        plan: Plan,
        environment: Environment,
        tables: Tables,
        measured: Measured<'_>,
    ) -> Record {
        let mut summary = Summary::of(&measured, &plan);
        if !plan.is_changing() {
            // A mean over different loads has no interval, and no steady state.
            summary.add_confidence(&measured.intervals, plan.rate_tps);
        }
        summary.stages = StageSummary::all(&plan, &measured.intervals, summary.duration_s);
        summary.service_level = ServiceLevel::new(&plan, &status, &summary.counts);
        let ranks = &measured.ranks;
        let rank = |rank| Rank::new(rank, ranks.len(), &plan, [summary.duration_s, summary.tail_s]);
        summary.ranks = ranks.iter().map(rank).collect();
        summary.generator = measured
            .introspection
            .as_ref()
            .and_then(|introspection| summary.generator_of_run(introspection, &plan, &environment.host));
        Record {
            schema_version: SCHEMA_VERSION,
            pgmeter_version: env!("CARGO_PKG_VERSION").to_owned(),
            pgmeter_build: PgmeterBuild::of_this(),
            annotation: Annotation::default(),
            status,
            started_at,
            plan,
            environment,
            tables,
            relations: None,
            connection_time_s: measured.connection_time.map(|time| time.as_secs_f64()),
            summary,
            intervals: measured.intervals,
            observation: None,
            verification: None,
            warnings: Vec::new(),
        }
    }

    /// Whether transactions failed and none succeeded.
    pub fn everything_failed(&self) -> bool {
        self.summary.counts.failed > 0 && self.summary.counts.succeeded == 0
    }

    /// The warnings without which the figures are misleading.
    pub fn cautions(&self) -> impl Iterator<Item = &Warning> {
        self.warnings.iter().filter(|warning| warning.severity() == Severity::Caution)
    }

    /// The others.
    pub fn notes(&self) -> impl Iterator<Item = &Warning> {
        self.warnings.iter().filter(|warning| warning.severity() == Severity::Note)
    }

    /// The JSON Schema (draft 2020-12) of the documents that are written; descriptions are those of the fields.
    pub fn json_schema() -> String {
        let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        let schema = generator.into_root_schema_for::<Record>();
        indented(&schema)
    }

    /// The document, indented for people. Bytes that are not UTF-8 are replaced.
    pub fn to_json(&self) -> String {
        encoding::shown(&indented(self)).into_owned()
    }
}
