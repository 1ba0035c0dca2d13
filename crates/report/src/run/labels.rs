//! The labels of runs that stand side by side: what the user called them, what differs between them, or their names. Also
//! the title of their page.

use std::collections::BTreeSet;

use super::Run;
use crate::figures::counted;
use crate::prose::{cut, enumerate, escaped_line};

/// Characters of a label.
const LABEL_LEN_MAX: usize = 28;
/// Characters of a title's part.
const NAME_LEN_MAX: usize = 40;
/// Differences that a label has.
const DIFFERENCES_MAX: usize = 2;
/// Runs that a title names.
const NAMED_MAX: usize = 4;

/// A short label for each run, no two alike.
pub(crate) fn labels(runs: &[Run<'_>]) -> Vec<String> {
    let given = runs.iter().map(|run| run.record.annotation.label.as_ref());
    let given = given.map(|label| label.map_or(String::new(), |label| escaped_line(label.as_str())));
    let candidates = [given.collect(), differences(runs), runs.iter().map(name).collect::<Vec<_>>()];
    let short = |texts: Vec<String>| texts.iter().map(|text| cut(text, LABEL_LEN_MAX)).collect::<Vec<_>>();
    let found = candidates.into_iter().map(short).find(|texts| are_distinct(texts));
    found.unwrap_or_else(|| (0..runs.len()).map(letter).collect())
}

/// `runA (simple) against runB (prepared)`; of more than two runs, what differs.
pub(crate) fn title(runs: &[Run<'_>]) -> String {
    let given =
        |run: &Run<'_>| run.record.annotation.label.as_ref().map(|label| escaped_line(label.as_str()));
    let names: Vec<String> = runs.iter().map(|run| given(run).unwrap_or_else(|| name(run))).collect();
    let differences = differences(runs);
    let part = |(name, difference): (&String, &String)| {
        let name = cut(name, NAME_LEN_MAX);
        match difference.is_empty() || *difference == name {
            true => name,
            false => format!("{name} ({})", cut(difference, NAME_LEN_MAX)),
        }
    };
    let parts: Vec<String> = names.iter().zip(&differences).map(part).collect();
    match parts.as_slice() {
        [first, second] if are_distinct(&parts) => format!("{first} against {second}"),
        parts if parts.len() <= NAMED_MAX && are_distinct(parts) => enumerate(parts),
        parts => format!("{} runs side by side", parts.len()),
    }
}

/// Whether each text says something, and something else than the others.
fn are_distinct(texts: &[String]) -> bool {
    let distinct: BTreeSet<&String> = texts.iter().collect();
    distinct.len() == texts.len() && texts.iter().all(|text| !text.is_empty())
}

/// The name that the reader gave it; of a path, the file's.
fn name(run: &Run<'_>) -> String {
    let name = run.name.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(run.name);
    escaped_line(name.strip_suffix(".json").unwrap_or(name))
}

/// What of the load and the server differs, in words of each run; empty texts if nothing known does.
fn differences(runs: &[Run<'_>]) -> Vec<String> {
    let aspect = |of: &dyn Fn(&Run<'_>) -> String| -> Vec<String> { runs.iter().map(of).collect() };
    let aspects = [
        aspect(&|run| run.record.plan.protocol.name().to_owned()),
        aspect(&|run| counted(run.record.plan.clients.into(), "client", "clients")),
        aspect(&|run| run.scripts()),
        aspect(&|run| run.server()),
        aspect(&|run| counted(run.record.plan.workers.into(), "worker", "workers")),
    ];
    let aspects = aspects.into_iter().chain(settings(runs));
    let differing: Vec<Vec<String>> =
        aspects.filter(|texts| texts.windows(2).any(|pair| pair[0] != pair[1])).collect();
    if let Some(sufficient) = differing.iter().find(|texts| are_distinct(texts)) {
        return sufficient.clone();
    }
    let joined = |at: usize| {
        let parts: Vec<&str> =
            differing.iter().take(DIFFERENCES_MAX).map(|texts| texts[at].as_str()).collect();
        parts.join(", ")
    };
    (0..runs.len()).map(joined).collect()
}

/// Settings that say where a server is: two servers always differ in them, and nothing follows from that.
pub(super) const PLACES: [&str; 4] =
    ["port", "unix_socket_directories", "data_directory", "listen_addresses"];

/// Each setting of the servers with its value in each run.
fn settings(runs: &[Run<'_>]) -> Vec<Vec<String>> {
    let of_run = |run: &Run<'_>| {
        let server = run.record.environment.server.as_ref();
        server.map(|server| server.non_default_settings.clone()).unwrap_or_default()
    };
    let each: Vec<_> = runs.iter().map(of_run).collect();
    let names: BTreeSet<&str> =
        each.iter().flat_map(|settings| settings.iter().map(|(name, _)| name)).collect();
    let values = |name: &str| -> Vec<String> {
        let text = |value: Option<String>| {
            format!("{} {}", escaped_line(name), value.unwrap_or_else(|| "default".to_owned()))
        };
        each.iter().map(|settings| text(settings.get(name).map(escaped_line))).collect()
    };
    names.into_iter().filter(|name| !PLACES.contains(name)).map(values).collect()
}

/// The letter of a run that nothing else tells from the others: `A` … `Z`, then `A2` … `Z2`.
fn letter(index: usize) -> String {
    let letter = char::from(b'A' + u8::try_from(index % 26).unwrap_or(0));
    match index / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{}", round + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_on_behind_the_last_one() {
        assert_eq!([0, 1, 25, 26, 52].map(letter), ["A", "B", "Z", "A2", "A3"]);
    }

    #[test]
    fn texts_that_are_empty_or_alike_tell_nothing_apart() {
        let of = |texts: &[&str]| are_distinct(&texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        assert!(of(&["simple", "prepared"]) && !of(&["simple", "simple"]) && !of(&["", "prepared"]));
    }
}
