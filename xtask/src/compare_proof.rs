//! `cargo xtask compare-proof`: how often `pgmeter compare` claims a difference where there is none, and how often and
//! how soon it finds one that is there. A script does its work twice in a known share of its transactions, so that B is
//! slower by a known share; each comparison is told as it ends, so that whoever breaks the proof off has what was done
//! until then.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

/// One row by its key, as select-only has it, and in `:more` of 10,000 transactions once more: the second takes as long
/// as the first.
const SCRIPT: &str = "\\set aid random(1, 100000 * :scale)\n\
    SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\
    \\set other random(1, 10000)\n\
    \\if :other <= :more\n\
    SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\
    \\endif\n";
const TEN_THOUSAND: f64 = 10_000.0;
/// Of comparisons of A with itself, what is usual; a slowdown is looked for until it is found, however small.
const USUAL_TOLERANCE: &str = "2%";
const NO_TOLERANCE: &str = "0.001%";
const CLIENTS: &str = "8";

/// What is to be shown.
struct Wanted {
    pgmeter: PathBuf,
    /// Comparisons of A with itself, and their time.
    same: (usize, String),
    /// Comparisons with each slowdown, and their time.
    slower: (usize, String),
    slowdowns: Vec<f64>,
}

pub(crate) fn run(arguments: &[&str]) -> bool {
    let shown = Wanted::parse(arguments).and_then(|wanted| wanted.show());
    if let Err(reason) = &shown {
        eprintln!("compare-proof: {reason}");
    }
    shown.is_ok()
}

impl Wanted {
    fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut wanted = Self {
            pgmeter: crate::root().join("target/release/pgmeter"),
            same: (60, "40s".to_owned()),
            slower: (20, "5min".to_owned()),
            slowdowns: vec![5.0, 2.0],
        };
        for argument in arguments {
            let (name, value) = argument.split_once('=').ok_or_else(|| usage(argument))?;
            let times = |value: &str| -> Option<(usize, String)> {
                let (number, budget) = value.split_once('x')?;
                Some((number.parse().ok()?, budget.to_owned()))
            };
            match name {
                "--pgmeter" => wanted.pgmeter = PathBuf::from(value),
                "--same" => wanted.same = times(value).ok_or_else(|| usage(argument))?,
                "--slower" => wanted.slower = times(value).ok_or_else(|| usage(argument))?,
                "--slowdowns" => {
                    let numbers: Result<_, _> = value.split(',').map(str::parse).collect();
                    wanted.slowdowns = numbers.map_err(|_| usage(argument))?;
                }
                _ => return Err(usage(argument)),
            }
        }
        Ok(wanted)
    }

    fn show(&self) -> Result<(), String> {
        let place = tempfile::Builder::new().prefix("pgmeter-proof-").tempdir().map_err(|e| e.to_string())?;
        open_to_all(place.path())?;
        let script = place.path().join("proof.sql");
        std::fs::write(&script, SCRIPT).map_err(|error| error.to_string())?;
        let server = Server::start(&self.pgmeter, place.path())?;
        let proof = Proof { wanted: self, place: place.path(), dsn: server.dsn.clone() };
        let (same, budget) = &self.same;
        let found = proof.comparisons(*same, "variables.more=0,0.0", budget, USUAL_TOLERANCE)?;
        println!("no difference: {} of {same} claimed one", found.claimed());
        for slowdown in self.slowdowns.iter().filter(|_| self.slower.0 > 0) {
            // Of (1 + more) times the work in each of so many transactions.
            let more = (1.0 / (1.0 - slowdown / 100.0) - 1.0) * TEN_THOUSAND;
            let (slower, budget) = &self.slower;
            println!("{slowdown} % slower: {more:.0} of 10,000 transactions do twice the work");
            let factor = format!("variables.more=0,{more:.0}");
            let found = proof.comparisons(*slower, &factor, budget, NO_TOLERANCE)?;
            println!("{slowdown} % slower: {}", found.told(*slower));
        }
        drop(server);
        Ok(())
    }
}

fn usage(argument: &str) -> String {
    format!("\"{argument}\"? known are --pgmeter=PATH --same=60x40s --slower=20x5min --slowdowns=5,2")
}

/// The user who runs the server must be able to pass through.
fn open_to_all(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).map_err(|error| error.to_string())
}

/// One server for all comparisons; it is gone when this is dropped.
struct Server<'a> {
    pgmeter: &'a Path,
    place: &'a Path,
    dsn: String,
}

const NAME: &str = "proof";

impl<'a> Server<'a> {
    fn start(pgmeter: &'a Path, place: &'a Path) -> Result<Self, String> {
        let mut server = Self { pgmeter, place, dsn: String::new() };
        server.ask(&["server", "install", NAME])?;
        server.dsn = server.ask(&["server", "start", NAME])?.trim().to_owned();
        Ok(server)
    }

    fn ask(&self, words: &[&str]) -> Result<String, String> {
        let mut command = program(self.pgmeter, self.place);
        let output =
            command.args(words).stderr(Stdio::inherit()).output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() { Ok(text) } else { Err(format!("pgmeter {} failed", words.join(" "))) }
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        let _ = self.ask(&["server", "stop", "--remove", NAME]);
    }
}

fn program(pgmeter: &Path, place: &Path) -> Command {
    let mut command = Command::new(pgmeter);
    command.current_dir(place).env("PGMETER_STATE_DIR", place.join("state"));
    command
}

struct Proof<'a> {
    wanted: &'a Wanted,
    place: &'a Path,
    dsn: String,
}

/// What became of some comparisons.
#[derive(Default)]
struct Found {
    /// Ratio of the throughputs, whether B was found better, and after how many seconds; of each.
    answers: Vec<(f64, Option<bool>, Option<f64>)>,
}

impl Found {
    fn claimed(&self) -> usize {
        self.answers.iter().filter(|(_, different, _)| different.is_some()).count()
    }

    /// `20 of 20 found, 0 on the wrong side; after 31 s (median; longest 70 s); ratio 0.980 on average`.
    fn told(&self, all: usize) -> String {
        let worse = self.answers.iter().filter(|(_, different, _)| *different == Some(false)).count();
        let mut after: Vec<f64> = self.answers.iter().filter_map(|(_, _, after)| *after).collect();
        after.sort_unstable_by(f64::total_cmp);
        let median = after.get(after.len() / 2).copied().unwrap_or(f64::NAN);
        let longest = after.last().copied().unwrap_or(f64::NAN);
        let ratio: f64 =
            self.answers.iter().map(|(ratio, _, _)| ratio).sum::<f64>() / self.answers.len() as f64;
        format!(
            "{worse} of {all} found, {} on the wrong side; after {median:.0} s (median; longest {longest:.0} s); ratio \
             {ratio:.4} on average",
            self.claimed() - worse
        )
    }
}

impl Proof<'_> {
    fn comparisons(
        &self,
        number: usize,
        factor: &str,
        budget: &str,
        tolerance: &str,
    ) -> Result<Found, String> {
        let mut found = Found::default();
        for seed in 1..=number {
            let begun = Instant::now();
            let answer = self.compare(factor, budget, seed, &["--tolerance", tolerance])?;
            let different = finding(&answer).and_then(|finding| finding["different"].as_bool());
            let ratio = figure(&answer, "ratio").unwrap_or(f64::NAN);
            let after = answer["difference_found_after_s"].as_f64();
            println!(
                "{factor} {seed}: ratio {ratio:.4}, a pair scatters by {:.3}, could see {:.4}, {}, found {different:?} after \
                 {after:?} s, {} pairs in {:.0} s",
                figure(&answer, "pair_deviation").unwrap_or(f64::NAN),
                figure(&answer, "smallest_difference").unwrap_or(f64::NAN),
                answer["decision"].as_str().unwrap_or("?"),
                answer["pairs"].as_array().map_or(0, Vec::len),
                begun.elapsed().as_secs_f64()
            );
            found.answers.push((ratio, different, after));
        }
        Ok(found)
    }

    fn compare(&self, factor: &str, budget: &str, seed: usize, more: &[&str]) -> Result<Value, String> {
        let mut command = program(&self.wanted.pgmeter, self.place);
        let seed = seed.to_string();
        command.args(["compare", "--factor", factor, "-f", "proof.sql", "-c", CLIENTS, "-M", "prepared"]);
        command.args(["--key", "restore=never", "--budget", budget]);
        command.args(["--random-seed", &seed, "--format", "json", "--dsn", &self.dsn]).args(more);
        let output = command.stderr(Stdio::piped()).output().map_err(|error| error.to_string())?;
        serde_json::from_slice(&output.stdout)
            .map_err(|_| format!("a comparison came to nothing: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// What was found of the throughput.
fn finding(answer: &Value) -> Option<&Value> {
    answer["findings"].as_array()?.iter().find(|finding| finding["metric"] == "tps")
}

fn figure(answer: &Value, name: &str) -> Option<f64> {
    finding(answer)?[name].as_f64()
}
