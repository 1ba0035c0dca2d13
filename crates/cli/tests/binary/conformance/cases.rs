//! What a case is, and comparing one: both programs run it at the same time in folders and databases of their own;
//! what they left is brought to one form and must be equal. The areas make the cases.

use std::fs;
use std::path::PathBuf;

use connect::Session;
use testkit::cluster::Cluster;
use testkit::null::{NullOptions, NullServer};

use crate::conformance::programs::{self, Program};
use crate::conformance::running::{Ended, run};
use crate::conformance::tally::Tally;
use crate::conformance::versions;

/// What stands in a case's arguments and environment for the connection string of a program's own database.
pub(crate) const DATABASE: &str = "{database}";

/// One command line with all that belongs to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) arguments: Vec<String>,
    /// Names and contents.
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
    pub(crate) environment: Vec<(&'static str, String)>,
    pub(crate) input: Vec<u8>,
}

impl Case {
    /// A case whose arguments are the words of `arguments`, which is also its name.
    pub(crate) fn new(arguments: &str) -> Self {
        let words = arguments.split_whitespace().map(str::to_owned).collect();
        Self { name: arguments.to_owned(), arguments: words, ..Self::default() }
    }

    pub(crate) fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    pub(crate) fn file(mut self, name: &'static str, text: impl AsRef<[u8]>) -> Self {
        self.files.push((name, text.as_ref().to_vec()));
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }
}

/// A program, its folder, its database.
pub(crate) struct Side {
    pub(crate) program: Program,
    pub(crate) folder: tempfile::TempDir,
    /// How to connect to its database; empty where the cases of the area need no server.
    pub(crate) conninfo: String,
}

/// The two programs and the account of what they agree about.
pub(crate) struct Bench {
    pub(crate) sides: [Side; 2],
    pub(crate) tally: Tally,
    /// One in each database, for the statements of the area itself; empty where there is no database.
    sessions: Vec<Session>,
    /// For cases of which the server sees nothing: no process is started for their connections.
    null_server: Option<NullServer>,
}

/// How an area looks at what a program left, after versions and names are dealt with.
pub(crate) type View = fn(&mut Ended);

impl Bench {
    /// Without a server. Nothing if there is no pgbench to compare with, which is said.
    pub(crate) fn new(area: &'static str) -> Option<Self> {
        let tally = Tally::new(area);
        let Some(programs) = programs::find() else {
            tally.skipped();
            return None;
        };
        let side = |program| {
            let folder = tempfile::Builder::new().prefix("pgmeter-test-").tempdir();
            Side {
                program,
                folder: folder.expect("a temporary directory can be made"),
                conninfo: String::new(),
            }
        };
        Some(Self { sides: programs.map(side), tally, sessions: Vec::new(), null_server: None })
    }

    /// With a database for each.
    pub(crate) fn with_databases(area: &'static str) -> Option<Self> {
        let mut bench = Self::new(area)?;
        let cluster = Cluster::shared("18");
        for side in &mut bench.sides {
            side.conninfo = cluster.database(area);
            bench.sessions.push(Cluster::session(&side.conninfo));
        }
        Some(bench)
    }

    /// Runs statements in both databases.
    pub(crate) fn execute(&mut self, sql: &str) {
        for session in &mut self.sessions {
            let done = session.execute(sql);
            done.unwrap_or_else(|error| panic!("\"{sql}\": {error}"));
        }
    }

    /// What a query gives in each database, as text.
    pub(crate) fn query(&mut self, sql: &str) -> [String; 2] {
        let [one, other] = &mut self.sessions[..] else { panic!("the area has databases") };
        [one, other].map(|session| {
            let rows = session.query(sql);
            let rows = rows.unwrap_or_else(|error| panic!("\"{sql}\": {error}"));
            let line = |row: &connect::Row| {
                (0..row.len()).map(|column| row.get(column).unwrap_or("NULL")).collect::<Vec<_>>().join("|")
            };
            rows.iter().map(line).collect::<Vec<_>>().join("\n")
        })
    }

    /// Runs a case with both at a null server and compares: for scripts of which the server sees nothing, or only that it
    /// is asked something.
    pub(crate) fn compare_without_database(&mut self, case: &Case, view: View) {
        let server = self.null_server.get_or_insert_with(|| {
            NullServer::on_unix_socket(NullOptions::default()).expect("a null server can be started")
        });
        let mut case = case.clone();
        let conninfo = server.conninfo();
        case.arguments.iter_mut().for_each(|word| *word = word.replace(DATABASE, &conninfo));
        self.compare(&case, view);
    }

    /// Runs a case with both and compares; what they left is returned as well, versions and names dealt with.
    pub(crate) fn compare(&mut self, case: &Case, view: View) -> [Ended; 2] {
        let ended = self.run([case, case]);
        self.judge(case, ended, view)
    }

    /// Counts a comparison of texts that the area got some other way.
    pub(crate) fn compare_texts(&mut self, name: &str, texts: &[String; 2]) {
        self.tally.count(name, texts, &[]);
    }

    /// The same with a variable that has another value for each.
    pub(crate) fn compare_apart(
        &mut self,
        case: &Case,
        variable: &'static str,
        values: &[&str; 2],
        view: View,
    ) {
        let cases = values.map(|value| case.clone().env(variable, value));
        let ended = self.run([&cases[0], &cases[1]]);
        self.judge(case, ended, view);
    }

    fn run(&self, cases: [&Case; 2]) -> [Ended; 2] {
        let [one, other] = &self.sides;
        std::thread::scope(|scope| {
            let one = scope.spawn(|| run(one, cases[0]));
            let other = run(other, cases[1]);
            [one.join().expect("the program ran"), other]
        })
    }

    fn judge(&mut self, case: &Case, mut ended: [Ended; 2], view: View) -> [Ended; 2] {
        let programs = self.sides.each_ref().map(|side| &side.program);
        let differences = versions::reconcile(programs, &mut ended);
        let whole = ended.clone();
        ended.iter_mut().for_each(view);
        self.tally.count(&case.name, &ended.each_ref().map(Ended::text), &differences);
        whole
    }
}

impl Side {
    /// Writes the case's files and says where they are.
    pub(crate) fn prepare(&self, case: &Case) -> PathBuf {
        let folder = self.folder.path();
        for (name, text) in &case.files {
            fs::write(folder.join(name), text).expect("a file can be written");
        }
        folder.to_owned()
    }

    /// Replaces the placeholder for the database.
    pub(crate) fn fill(&self, text: &str) -> String {
        text.replace(DATABASE, &self.conninfo)
    }

    /// The name of its database.
    pub(crate) fn database(&self) -> &str {
        let word = self.conninfo.split_whitespace().find_map(|word| word.strip_prefix("dbname="));
        word.unwrap_or("no database")
    }
}
