//! Histories in short form: a line per transaction, its ending, then its operations. `c r1[2,3] a4:5` has committed, read
//! list 1 as [2,3] and appended 5 to list 4. Endings: `c`ommitted, `a`borted, `u`nknown, `f`inal read; `R` before
//! the ending means replica 1.

use pgmeter_isolation::{Ending, History, Level, Operation, Place, Transaction, check};

pub fn history(text: &str) -> History {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    History { transactions: lines.zip(0..).map(|(line, number)| transaction(line, number)).collect() }
}

fn transaction(line: &str, number: u32) -> Transaction {
    let mut words = line.split_whitespace();
    let ending = words.next().unwrap();
    let (place, ending) = match ending.strip_prefix('R') {
        Some(ending) => (Place::Replica(1), ending),
        None => (Place::Primary, ending),
    };
    let is_final = ending == "f";
    let ending = match ending {
        "c" | "f" => Ending::Committed,
        "a" => Ending::Aborted,
        "u" => Ending::Unknown,
        other => panic!("no ending: {other}"),
    };
    Transaction {
        client: number,
        place,
        operations: words.map(operation).collect(),
        ending,
        begun: u64::from(number) * 2,
        ended: u64::from(number) * 2 + 1,
        is_final,
    }
}

fn operation(word: &str) -> Operation {
    if let Some((key, element)) = word.strip_prefix('a').and_then(|rest| rest.split_once(':')) {
        return Operation::Append { key: key.parse().unwrap(), element: element.parse().unwrap() };
    }
    let (key, list) = word.strip_prefix('r').and_then(|rest| rest.split_once('[')).unwrap();
    let list = list.strip_suffix(']').unwrap();
    let elements = list.split(',').filter(|text| !text.is_empty()).map(|text| text.parse().unwrap());
    Operation::Read { key: key.parse().unwrap(), elements: Some(elements.collect()) }
}

/// What is found at a level: `name: cases`, with `!` if it is forbidden, and the first witness as `0 -rw(1)-> 1 …`.
pub fn found(text: &str, level: Level) -> Vec<String> {
    let findings = check(&history(text), level).unwrap();
    let line = |finding: &pgmeter_isolation::Finding| {
        let mark = if finding.is_forbidden { "!" } else { "" };
        let witness = &finding.witnesses[0];
        let numbers = witness.transactions.iter();
        let shown = match witness.edges.as_slice() {
            [] => numbers.map(ToString::to_string).collect::<Vec<_>>().join(" "),
            edges => {
                let edges = edges.iter().map(|edge| {
                    format!(
                        "{} -{}({})-> ",
                        witness.transactions[edge.from],
                        edge.dependency.name(),
                        edge.key
                    )
                });
                edges.collect::<String>() + &witness.transactions[0].to_string()
            }
        };
        format!("{}{mark} {}: {shown}", finding.anomaly.row().name, finding.cases)
    };
    findings.anomalies.iter().map(line).collect()
}
