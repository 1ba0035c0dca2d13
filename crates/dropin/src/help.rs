//! Texts of `--help` and `--version`: descriptions of pgbench's options in pgmeter's words. A test compares the text
//! with the table in `options`.

use crate::message::PROGRAM;

/// The compatible release of pgbench.
pub(crate) const PGBENCH_VERSION: &str = "19";

/// `19 (pgmeter 0.1.0)`, as in the banner.
pub fn version() -> String {
    format!("{PGBENCH_VERSION} (pgmeter {})", env!("CARGO_PKG_VERSION"))
}

/// The line of `--version`.
pub fn version_line() -> String {
    format!("{PROGRAM} (PostgreSQL) {}\n", version())
}

/// The text of `--help`.
pub const HELP: &str = "\
pgbench runs a workload on a PostgreSQL server and reports its throughput.
This is pgmeter in pgbench's clothes; `pgmeter bench` measures the same with percentiles.

Usage:
  pgbench [OPTION]... [DBNAME]

Initialization options:
  -i, --initialize         make and fill the tables instead of running a workload
  -I, --init-steps=STEPS   what to do, letter by letter (default \"dtgvp\"):
                           d drop the tables, t create them, g generate rows here,
                           G generate rows on the server, v vacuum,
                           p primary keys, f foreign keys
  -F, --fillfactor=PERCENT how full pages are packed, 10 to 100 (default 100)
  -n, --no-vacuum          leave step v out
  -q, --quiet              show progress only every 5 seconds
  -s, --scale=N            100,000 accounts for each N (default 1)
  --foreign-keys           also step f
  --index-tablespace=NAME  where the indexes go
  --partition-method=range|hash
                           how the accounts are split (default range)
  --partitions=N           split the accounts into N partitions (default 0: do not)
  --tablespace=NAME        where the tables go
  --unlogged-tables        make the tables unlogged

Options to select what to run:
  -b, --builtin=NAME[@W]   a built-in script with weight W (default 1); \"list\" lists them
  -f, --file=FILE[@W]      a script of your own with weight W (default 1); - is stdin
  -N, --skip-some-updates  short for -b simple-update
  -S, --select-only        short for -b select-only

Benchmarking options:
  -c, --client=N           sessions at a time (default 1)
  -C, --connect            a new connection for each transaction
  -D, --define=NAME=VALUE  give a variable of the scripts a value
  -j, --jobs=N             threads (default 1)
  -l, --log                write each transaction to a file
  -L, --latency-limit=MS   count what takes longer as late
  -M, --protocol=simple|extended|prepared
                           how queries travel (default simple)
  -n, --no-vacuum          do not vacuum the tables first
  -P, --progress=SECONDS   say every so many seconds how it goes
  -r, --report-per-command report latencies, failures and retries of each command
  -R, --rate=TPS           start transactions at this rate
  -s, --scale=N            what :scale is for scripts of your own, and is reported
  -t, --transactions=N     transactions of each client (default 10)
  -T, --time=SECONDS       how long to run
  -v, --vacuum-all         vacuum all four tables first
  --aggregate-interval=SECONDS
                           log sums of so many seconds instead of each transaction
  --continue-on-error      an SQL error fails its transaction and not the client
  --exit-on-abort          end everything as soon as one client is aborted
  --failures-detailed      tell failures apart by their kind
  --log-prefix=PATH        what names of log files begin with (default \"pgbench_log\")
  --max-tries=N            try a transaction up to N times (default 1; 0: no limit)
  --progress-timestamp     begin progress lines with the Unix time
  --random-seed=SEED       \"time\", \"rand\" or a number
  --sampling-rate=SHARE    log only this share of transactions, such as 0.01
  --show-script=NAME       print a built-in script and end
  --verbose-errors         say which errors fail or repeat transactions

Common options:
  --debug                  say more about what goes on
  -d, --dbname=DBNAME      database, conninfo string or URI
  -h, --host=HOST          server, or the directory of its socket
  -p, --port=PORT          port of the server
  -U, --username=ROLE      role to connect as
  -V, --version            print the version and end
  -?, --help               print this and end

Found a mistake? Report it to the project that this pgmeter came from.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::getopt::Spelling;
    use crate::options::spellings;

    #[test]
    fn help_knows_every_option_and_no_other() {
        for Spelling { long, letter, .. } in spellings() {
            let written = match letter {
                Some(letter) => format!("-{}, --{long}", char::from(letter)),
                None => format!("--{long}"),
            };
            assert!(HELP.contains(&written), "{written}");
        }
        let known: Vec<&str> = spellings().iter().map(|spelling| spelling.long).collect();
        for written in HELP.split("--").skip(1) {
            let name: String = written.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
            assert!(["version", "help"].contains(&name.as_str()) || known.contains(&name.as_str()), "{name}");
        }
    }

    #[test]
    fn help_has_its_five_sections_in_order() {
        let sections = [
            "\nUsage:\n",
            "\nInitialization options:\n",
            "\nOptions to select what to run:\n",
            "\nBenchmarking options:\n",
            "\nCommon options:\n",
        ];
        let places: Vec<_> = sections.iter().map(|section| HELP.find(section)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
    }
}
