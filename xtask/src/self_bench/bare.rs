//! The bare programs (`crates/null/examples/bare`): what exchanging, connecting or waiting takes on this machine when
//! nothing else is done. Builds and runs them, and reads what they print.

use std::path::PathBuf;
use std::process::Command;

use super::lab::{build_release, target};
use super::processes::run;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Bare {
    program: PathBuf,
}

/// How late a thread is that only waits, in µs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Late {
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
    /// The share of the time in which it waited for a core that others of this system had, in percent; not known of
    /// pgmeter, which is measured from outside.
    pub(super) queued_percent: Option<f64>,
}

impl Bare {
    /// Builds it, as pgmeter is built.
    pub(super) fn build() -> Result<Self, String> {
        build_release(&["--package", "pgmeter-null", "--example", "bare"])?;
        Ok(Self { program: target().join("release/examples/bare") })
    }

    /// CPU time of the client for an exchange, in µs, over `io_uring` or `epoll`.
    pub(super) fn exchange_us(
        &self,
        way: &str,
        clients: u32,
        seconds: u32,
        conninfo: &str,
    ) -> Result<f64, String> {
        let words = ["exchange", way, &clients.to_string(), &seconds.to_string(), conninfo];
        figure(&self.said(&words)?, "cpu_us")
    }

    /// Time until all are connected, so many on their way at once, in seconds.
    pub(super) fn connecting_s(&self, clients: u32, at_once: u32, conninfo: &str) -> Result<f64, String> {
        let words = ["connect", &clients.to_string(), &at_once.to_string(), conninfo];
        figure(&self.said(&words)?, "seconds")
    }

    /// Waits for `rate` moments per second, beside a thread that uses this share of a core.
    pub(super) fn wait(&self, rate: u32, seconds: u32, share: f64) -> Result<Late, String> {
        let said = self.said(&["wait", &rate.to_string(), &seconds.to_string(), &share.to_string()])?;
        let figure = |name| figure(&said, name);
        Ok(Late {
            p50: figure("p50_us")?,
            p99: figure("p99_us")?,
            max: figure("max_us")?,
            queued_percent: Some(figure("queued_percent")?),
        })
    }

    fn said(&self, words: &[&str]) -> Result<String, String> {
        run(Command::new(&self.program).args(words)).map(|ended| ended.stdout)
    }
}

/// Of the lines, each a name and a number.
fn figure(said: &str, name: &str) -> Result<f64, String> {
    let mut lines = said.lines().filter_map(|line| line.split_once(' '));
    let found = lines.find(|(first, _)| *first == name).and_then(|(_, rest)| rest.trim().parse().ok());
    found.ok_or_else(|| format!("the bare program did not say {name}:\n{said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_their_names() {
        assert_eq!(figure("exchanges 12\ncpu_us 2.5\n", "cpu_us"), Ok(2.5));
        assert!(figure("exchanges 12\n", "cpu_us").is_err_and(|text| text.contains("cpu_us")));
    }
}
