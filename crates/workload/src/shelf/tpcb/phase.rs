//! The tasks of loading as data: steps grouped into phases, each with first tasks, parallel tasks and last tasks.
//! Takes existing tables into account; does not use a server. `loader` carries it out.

use std::ops::Range;
use std::sync::Arc;

use super::existing::ExistingTables;
use super::rows::{ACCOUNT_ROWS, BRANCH_ROWS, FILLED, NumberedRows, PgbenchRows, TELLER_ROWS};
use super::schema::{self, ACCOUNTS, BRANCHES, HISTORY, TELLERS, Table};
use loading::contract::init_steps::{Step, StepFacts};
use loading::contract::load::{InitOptions, Partitioning};
use loading::loader::execution::{Job, Part, Plan, StatementOf, StepName, Task};
use stats::PartitionMethod;

/// Maximum number of partitions loaded in parallel; beyond it there is no gain, and the list of tasks gets long.
const SIDE_BY_SIDE_PARTITIONS_MAX: u32 = 10_000;
/// From this version on, a partitioned table can have a primary key.
const KEYS_ON_PARTITIONED_FROM: u32 = 110_000;
/// From this version on, a partitioned table can be analyzed without its partitions.
const ANALYZES_ONLY_FROM: u32 = 180_000;

/// Steps that are done together.
#[derive(Debug)]
pub(crate) struct LoadPhase {
    /// One step, or several whose work overlaps, in the order asked for.
    pub steps: Vec<Step>,
    /// Tasks of one session before everything else.
    pub opening: Vec<Job>,
    /// Chains of tasks: each is done by one session, several in parallel.
    pub chains: Vec<Vec<Job>>,
    /// Tasks of one session after all chains.
    pub closing: Vec<Job>,
}

fn step_name(step: Step) -> StepName {
    let StepFacts { name, doing, .. } = step.facts();
    StepName { name: (*name).into(), doing: (*doing).into() }
}

/// The input of the phases.
#[derive(Copy, Clone, Debug)]
pub(crate) struct LoadContext<'a> {
    pub options: &'a InitOptions,
    /// The server's version as libpq counts.
    pub version: u32,
    pub existing: &'a ExistingTables,
}

impl LoadPhase {
    /// Keeps only the creation of partitions: the four tables were dropped and created before.
    pub(crate) fn leave_partitions(&mut self) {
        self.opening.retain(|job| matches!(job.task, Task::CreatePartitions { .. }));
    }
}

impl LoadPhase {
    /// The plan of the loader.
    pub(crate) fn into_plan(self) -> Plan {
        let LoadPhase { steps, opening, chains, closing } = self;
        let mut plan = Plan { steps: steps.into_iter().map(step_name).collect(), jobs: Vec::new() };
        let opened = plan.add_chain(opening, &[]);
        let ends: Vec<usize> = chains.into_iter().flat_map(|chain| plan.add_chain(chain, &opened)).collect();
        plan.add_chain(closing, if ends.is_empty() { &opened } else { &ends });
        plan
    }
}

/// Groups the steps whose work may overlap.
pub(crate) fn grouped(context: LoadContext<'_>) -> Vec<Vec<Step>> {
    let steps = &context.options.steps;
    let mut groups: Vec<Vec<Step>> = Vec::new();
    let mut is_open = false;
    for (place, &step) in steps.iter().enumerate() {
        let is_shared = context.works_side_by_side(&steps[..place], step);
        let may_follow = is_shared && matches!(step, Step::Vacuum | Step::PrimaryKeys);
        match groups.last_mut() {
            Some(group) if is_open && may_follow && !group.contains(&step) => group.push(step),
            _ => {
                groups.push(vec![step]);
                is_open = is_shared;
            }
        }
    }
    groups
}

impl LoadContext<'_> {
    /// Whether several sessions may share a step's work: work on partitions that these same steps created. Only then
    /// their state is known; and a table that others refer to cannot be truncated by partition.
    fn works_side_by_side(self, before: &[Step], step: Step) -> bool {
        let options = self.options;
        let Some(Partitioning { method, partitions }) = options.partitioning else { return false };
        let is_made = before.contains(&Step::CreateTables) || self.existing.has_tables;
        let is_referred_to = before.contains(&Step::ForeignKeys);
        let is_possible = match step {
            // Only the server knows the partition of a row with hash partitioning.
            Step::GenerateClientSide => method == PartitionMethod::Range && !is_referred_to,
            Step::Vacuum => true,
            Step::PrimaryKeys => self.version >= KEYS_ON_PARTITIONED_FROM,
            _ => false,
        };
        let is_worthwhile = options.jobs > 1 && (2..=SIDE_BY_SIDE_PARTITIONS_MAX).contains(&partitions);
        is_made && is_possible && is_worthwhile
    }

    /// The work of one group of steps; `before` are the steps of earlier groups.
    pub(crate) fn phase(self, before: &[Step], steps: Vec<Step>) -> LoadPhase {
        let partitions = self.options.partitioning.map_or(0, |partitioning| partitioning.partitions);
        let mut phase = LoadPhase { steps, opening: Vec::new(), chains: Vec::new(), closing: Vec::new() };
        if !phase.steps.iter().all(|&step| self.works_side_by_side(before, step)) {
            for place in 0..phase.steps.len() {
                let tasks = self.serial(phase.steps[place]);
                phase.opening.extend(tasks.into_iter().map(|task| Job::new(place, task)));
            }
            return phase;
        }
        if phase.steps[0] == Step::GenerateClientSide && !self.existing.has_branches {
            let parts = vec![self.whole(&BRANCH_ROWS), self.whole(&TELLER_ROWS)];
            let truncate = schema::truncate_tables();
            phase.opening.push(Job::new(0, Task::Load { truncate, parts }));
        }
        // The total number of rows, for the progress.
        let missing = (1..=partitions).filter(|number| !self.existing.partitions.contains(number));
        let total =
            missing.map(|number| self.numbers(number, partitions)).map(|rows| rows.end - rows.start).sum();
        let chain = |task: &dyn Fn(Step) -> Option<Task>| -> Vec<Job> {
            let jobs = phase.steps.iter().enumerate();
            jobs.filter_map(|(place, &step)| Some(Job::new(place, task(step)?))).collect()
        };
        let mut chains: Vec<_> = (1..=partitions)
            .map(|number| chain(&|step| self.of_partition(number, partitions, total, step)))
            .collect();
        chains.push(chain(&|step| self.of_tables(step, &[BRANCHES, TELLERS, HISTORY])));
        let closing = chain(&|step| self.of_parent(step));
        chains.retain(|chain| !chain.is_empty());
        LoadPhase { chains, closing, ..phase }
    }

    /// A step done by one session, as in pgbench.
    fn serial(self, step: Step) -> Vec<Task> {
        let (options, existing) = (self.options, self.existing);
        match step {
            Step::DropTables | Step::CreateTables if existing.has_tables => Vec::new(),
            Step::GenerateClientSide | Step::GenerateServerSide if existing.has_accounts => Vec::new(),
            Step::DropTables => vec![Task::Each(vec![schema::drop_tables()])],
            Step::CreateTables => {
                let statements = schema::create_tables(options).into();
                // A loading that ends between two of them would leave tables that look like those of somebody else.
                let tables = match options.waits_as_pgbench {
                    true => Task::Each(statements),
                    false => Task::Together(statements),
                };
                let create_partitions = |partitioning: Partitioning| {
                    let statement = schema::create_partition(options, partitioning);
                    let statement = StatementOf(Box::new(statement));
                    Task::CreatePartitions { partitions: partitioning.partitions, statement }
                };
                [tables].into_iter().chain(options.partitioning.map(create_partitions)).collect()
            }
            Step::GenerateClientSide => {
                let parts = FILLED.iter().map(|rows| self.whole(rows)).collect();
                vec![Task::Load { truncate: schema::truncate_tables(), parts }]
            }
            Step::GenerateServerSide => {
                let statements = [schema::truncate_tables()].into_iter();
                vec![Task::Together(
                    statements.chain(schema::generate_rows(schema::branches(options))).collect(),
                )]
            }
            Step::Vacuum | Step::PrimaryKeys => self.of_tables(step, &schema::VACUUMED).into_iter().collect(),
            Step::ForeignKeys => {
                let missing = |(name, _): &(String, String)| !existing.foreign_keys.contains(name);
                let statements = schema::foreign_keys().into_iter().filter(missing).map(|(_, sql)| sql);
                not_empty(statements.collect(), Task::Each).into_iter().collect()
            }
        }
    }

    /// The work of a step on one partition.
    fn of_partition(self, number: u32, partitions: u32, total: u64, step: Step) -> Option<Task> {
        let existing = self.existing;
        let relation = schema::partition_name(number);
        match step {
            Step::GenerateClientSide => {
                let numbers = self.numbers(number, partitions);
                if existing.partitions.contains(&number) || numbers.is_empty() {
                    return None;
                }
                let truncate = schema::truncate(&relation);
                let part = part(&ACCOUNT_ROWS, relation, numbers, total);
                Some(Task::Load { truncate, parts: vec![part] })
            }
            // Analyzing the parent includes the partitions, unless the server supports ONLY.
            Step::Vacuum if self.version >= ANALYZES_ONLY_FROM => {
                self.vacuum(&relation, schema::vacuum(&relation)).map(|sql| Task::Each(vec![sql]))
            }
            Step::Vacuum => {
                self.vacuum(&relation, format!("vacuum {relation}")).map(|sql| Task::Each(vec![sql]))
            }
            Step::PrimaryKeys => self.key(&relation, ACCOUNTS.key).map(|sql| Task::BuildKeys(vec![sql])),
            _ => None,
        }
    }

    /// The work of vacuuming or adding keys on some tables.
    fn of_tables(self, step: Step, tables: &[Table]) -> Option<Task> {
        let tables = tables.iter();
        match step {
            Step::Vacuum => {
                let vacuum = |table: &Table| self.vacuum(table.name, schema::vacuum(table.name));
                not_empty(tables.filter_map(vacuum).collect(), Task::Each)
            }
            Step::PrimaryKeys => not_empty(
                tables.filter_map(|table| self.key(table.name, table.key)).collect(),
                Task::BuildKeys,
            ),
            _ => None,
        }
    }

    /// The work of a step on the partitioned table itself, after its partitions.
    fn of_parent(self, step: Step) -> Option<Task> {
        let name = ACCOUNTS.name;
        match step {
            Step::Vacuum => {
                let only = if self.version >= ANALYZES_ONLY_FROM { "only " } else { "" };
                self.vacuum(name, format!("analyze {only}{name}")).map(|sql| Task::Each(vec![sql]))
            }
            Step::PrimaryKeys => self.key(name, ACCOUNTS.key).map(|sql| Task::BuildKeys(vec![sql])),
            _ => None,
        }
    }

    /// The statement, if the relation still has to be vacuumed.
    fn vacuum(self, relation: &str, sql: String) -> Option<String> {
        (!self.existing.vacuumed.contains(relation)).then_some(sql)
    }

    /// What adds the primary key of a relation, if it has one and does not have it yet.
    fn key(self, relation: &str, column: Option<&str>) -> Option<String> {
        let place = self.options.index_tablespace.as_deref();
        let column = column.filter(|_| !self.existing.keyed.contains(relation));
        column.map(|column| schema::primary_key(relation, column, place))
    }

    /// The rows of a range partition.
    fn numbers(self, number: u32, partitions: u32) -> Range<u64> {
        let accounts = schema::branches(self.options) * ACCOUNTS.rows_per_scale;
        schema::partition_rows(accounts, number, partitions)
    }

    /// All rows of a table.
    fn whole(self, rows: &'static PgbenchRows) -> Part {
        let total = schema::branches(self.options) * rows.table.rows_per_scale;
        part(rows, rows.table.name.to_owned(), 0..total, total)
    }
}

/// Rows of a table; `total` is the number of all rows that this phase loads into the table.
fn part(rows: &'static PgbenchRows, relation: String, numbers: Range<u64>, total: u64) -> Part {
    let source = Arc::new(NumberedRows { rows, numbers });
    Part::new(source, relation, (rows.table.name.into(), total))
}

/// One task of these statements, or none without statements.
fn not_empty(statements: Vec<String>, task: fn(Vec<String>) -> Task) -> Option<Task> {
    (!statements.is_empty()).then(|| task(statements))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEWEST: u32 = 180_000;

    fn options(letters: &str, partitions: u32, method: PartitionMethod) -> InitOptions {
        let steps = Step::parse_list(letters).expect("letters of steps");
        let partitioning = (partitions > 0).then_some(Partitioning { method, partitions });
        InitOptions { steps, partitioning, ..InitOptions::default() }
    }

    /// The groups as letters, for a server of this version.
    fn groups(options: &InitOptions, version: u32) -> Vec<String> {
        let context = LoadContext { options, version, existing: &ExistingTables::default() };
        let letters = |group: Vec<Step>| group.iter().map(|step| step.facts().letter).collect();
        grouped(context).into_iter().map(letters).collect()
    }

    /// What a job does, in few words.
    fn words(job: &Job) -> String {
        match &job.task {
            Task::Each(statements) | Task::BuildKeys(statements) | Task::Together(statements) => {
                statements.join("; ")
            }
            Task::CreatePartitions { .. } => "partitions".to_owned(),
            Task::Chunks { .. } | Task::Noted { .. } | Task::Repair { .. } => {
                "not of pgbench's tables".to_owned()
            }
            Task::Load { parts, .. } => {
                let parts = parts.iter().map(|part| format!("{} {:?}", part.relation, part.source));
                format!("load {}", parts.collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn all_words(jobs: &[Job]) -> Vec<String> {
        jobs.iter().map(words).collect()
    }

    #[test]
    fn only_neighbours_on_partitions_that_these_steps_made_overlap() {
        let range = |letters| options(letters, 4, PartitionMethod::Range);
        assert_eq!(groups(&options("dtgvp", 0, PartitionMethod::Range), NEWEST), ["d", "t", "g", "v", "p"]);
        assert_eq!(groups(&range("dtgvp"), NEWEST), ["d", "t", "gvp"]);
        assert_eq!(groups(&range("dtgpv"), NEWEST), ["d", "t", "gpv"]);
        assert_eq!(groups(&range("dtgvvp"), NEWEST), ["d", "t", "gv", "vp"]);
        assert_eq!(groups(&range("dtGvpf"), NEWEST), ["d", "t", "G", "vp", "f"]);
        assert_eq!(groups(&range("gvp"), NEWEST), ["g", "v", "p"], "who knows what is there");
        assert_eq!(groups(&range("dtpfgv"), NEWEST), ["d", "t", "p", "f", "g", "v"], "emptied together");
        assert_eq!(groups(&range("dtgvp"), 100_000), ["d", "t", "gv", "p"], "10 has no such keys");
        assert_eq!(groups(&options("dtgvp", 4, PartitionMethod::Hash), NEWEST), ["d", "t", "g", "vp"]);
        assert_eq!(groups(&InitOptions { jobs: 1, ..range("dtgv") }, NEWEST), ["d", "t", "g", "v"]);
    }

    #[test]
    fn partitions_are_chains_and_the_parent_comes_last() {
        let options = options("dtgvp", 2, PartitionMethod::Range);
        let existing = ExistingTables::default();
        let context = LoadContext { options: &options, version: NEWEST, existing: &existing };
        let steps = Step::parse_list("gvp").expect("letters of steps");
        let phase = context.phase(&options.steps[..2], steps);
        assert_eq!(all_words(&phase.opening), ["load pgbench_branches 0..1, pgbench_tellers 0..10"]);
        assert_eq!(
            all_words(&phase.chains[1]),
            [
                "load pgbench_accounts_2 50000..100000",
                "vacuum analyze pgbench_accounts_2",
                "alter table pgbench_accounts_2 add primary key (aid)",
            ]
        );
        assert_eq!(phase.chains.len(), 3, "two partitions, and the small tables");
        assert_eq!(
            all_words(&phase.closing),
            ["analyze only pgbench_accounts", "alter table pgbench_accounts add primary key (aid)"]
        );
    }

    #[test]
    fn what_stands_is_left_out() {
        let options = options("dtgvp", 2, PartitionMethod::Range);
        let mut existing =
            ExistingTables { has_tables: true, has_branches: true, ..ExistingTables::default() };
        existing.partitions.insert(1);
        existing.keyed.insert("pgbench_accounts_1".to_owned());
        let context = LoadContext { options: &options, version: 170_000, existing: &existing };
        assert!(context.phase(&[], vec![Step::CreateTables]).opening.is_empty());
        let steps = Step::parse_list("gvp").expect("letters of steps");
        let phase = context.phase(&options.steps[..2], steps);
        assert!(phase.opening.is_empty());
        assert_eq!(all_words(&phase.chains[0]), ["vacuum pgbench_accounts_1"]);
        assert_eq!(phase.chains[1].len(), 3);
    }
}
