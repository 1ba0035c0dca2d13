//! A database with the tables of a small workload, and that workload: some queries, expected answers, refresh functions.
//! The servers are those of the test process.

use std::sync::Arc;

use connect::{Session, Target};
use pgmeter_queries::{Measured, QueryEvent, QuerySet, QuerySetSpec};
use results::StepResult;
use run::{Control, RunError};
use stats::Scale;
use testkit::cluster::Cluster;
use workload::{
    About, Answer, Check, InitOptions, InitReport, Progress, Query, QueryChoice, Script, Tables, Workload,
    WorkloadError,
};

const TABLES: &str = "create table numbers (n numeric, f double precision);
    insert into numbers values (1.50, 1.1), (2, 2.2), (null, 'NaN');
    create table texts (t text);
    insert into texts values (null), (''), (E'x\\ty'), ('z');
    create table fresh (id int);
    create sequence counter";

/// A database of its own.
pub struct Bench {
    conninfo: String,
    target: Target,
}

impl Bench {
    pub fn new(version: &str, name: &str) -> Bench {
        let conninfo = Cluster::shared(version).database(name);
        let environment = connect::Environment::default();
        let target = connect::resolve(Some(&conninfo), &connect::Overrides::default(), &environment);
        let bench = Bench { conninfo, target: target.expect("a connection string") };
        bench.session().execute(TABLES).expect("the tables");
        bench
    }

    pub fn conninfo(&self) -> String {
        self.conninfo.clone()
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    pub fn session(&self) -> Session {
        Session::connect(&self.target).expect("a server")
    }

    pub fn run(&self, workload: Small, spec: &QuerySetSpec) -> Measured {
        self.run_with(workload, spec, &Control::default(), &mut |_| {})
    }

    pub fn run_with(
        &self,
        workload: Small,
        spec: &QuerySetSpec,
        control: &Control,
        listener: &mut dyn FnMut(QueryEvent),
    ) -> Measured {
        self.try_to_run(workload, spec, control, listener).expect("a record")
    }

    /// The sentence with which it is refused.
    pub fn refused(&self, workload: Small, spec: &QuerySetSpec) -> String {
        self.try_to_run(workload, spec, &Control::default(), &mut |_| {}).expect_err("a refusal").to_string()
    }

    fn try_to_run(
        &self,
        workload: Small,
        spec: &QuerySetSpec,
        control: &Control,
        listener: &mut dyn FnMut(QueryEvent),
    ) -> Result<Measured, RunError> {
        let place = tempfile::tempdir().expect("a temporary directory");
        let set =
            QuerySet::for_tables(Arc::new(workload), spec.clone(), Some(Scale::ONE), &mut self.session())?;
        set.run(&self.target, control, place.path(), listener)
    }
}

/// Queries whose text is the same on all servers.
pub fn queries() -> Vec<Query> {
    vec![
        Query::new("floats", "select n, n * 2.00, f, f * 3, n::real from numbers"),
        Query::new("texts", "select t from texts"),
        Query {
            before: vec!["create view total as select sum(n) as n from numbers".to_owned()],
            after: vec!["drop view total".to_owned()],
            ..Query::new("view", "select * from total")
        },
        Query::new("empty", "select id from fresh where id < 0"),
    ]
}

pub fn fails(name: &str) -> Query {
    Query::new(name, "select 1 / 0")
}

/// The workload.
#[derive(Debug)]
pub struct Small {
    queries: Vec<Query>,
    pub answers: Vec<Answer>,
    about: About,
}

impl Small {
    pub fn new(queries: Vec<Query>) -> Small {
        let about = About { name: "small".into(), title: "Small tables".into(), ..About::default() };
        Small { queries, answers: Vec::new(), about }
    }

    /// Expects the answer of this execution.
    pub fn expect(&mut self, step: &StepResult) {
        let time = &step.times[0];
        self.answers.push(Answer {
            query: step.name.clone().into(),
            rows: time.rows.expect("rows"),
            checksum: Some(time.checksum.clone().expect("a checksum").into()),
        });
    }
}

impl Workload for Small {
    fn about(&self) -> &About {
        &self.about
    }

    fn scripts(&self) -> &[Script] {
        &[]
    }

    fn init_command(&self) -> String {
        String::new()
    }

    fn check_options(&self, _: &InitOptions) -> Result<(), WorkloadError> {
        Ok(())
    }

    fn load(
        &self,
        _: &Target,
        _: &mut Session,
        _: &InitOptions,
        _: &mut Progress<'_>,
    ) -> Result<InitReport, WorkloadError> {
        Ok(InitReport::default())
    }

    fn find_tables(&self, _: &mut Session) -> Result<Tables, WorkloadError> {
        Ok(Tables::default())
    }

    fn scale_table(&self) -> Option<&str> {
        None
    }

    fn checks(&self) -> &[Check] {
        &[]
    }

    fn query_texts(&self) -> &[&'static str] {
        &["given", "rewritten"]
    }

    /// Each stream has a view of its own.
    fn queries(&self, choice: &QueryChoice) -> Result<Vec<Query>, WorkloadError> {
        let own = |sql: &String| sql.replace("total", &format!("total{}", choice.stream));
        let query = |query: &Query| Query {
            name: query.name.clone(),
            before: query.before.iter().map(own).collect(),
            sql: own(&query.sql),
            after: query.after.iter().map(own).collect(),
            has_ties: query.has_ties,
        };
        Ok(self.queries.iter().map(query).collect())
    }

    fn answers(&self, _: &QueryChoice) -> Vec<Answer> {
        self.answers.clone()
    }

    fn refresh(&self, _: Scale, pair: u32) -> Option<[Query; 2]> {
        Some([
            Query::new("insert", format!("insert into fresh values ({pair})")),
            Query::new("delete", format!("delete from fresh where id = {pair}")),
        ])
    }
}
