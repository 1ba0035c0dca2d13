//! Suites of cases as JUnit's XML, which most systems for continuous integration read. The one module that writes it; `cases`
//! has the cases of each subject. The form is that of Jenkins (junit-10.xsd): suites, suite, case with failure or error,
//! system-out.

use crate::figures::with_ordinary_spaces;
use crate::prose::markup_escaped;

/// The outcome of a case.
pub(crate) enum CaseOutcome {
    Passed,
    /// The figure is on the wrong side.
    Failure(String),
    /// It could not be told, for a reason of this kind.
    Error(&'static str, String),
}

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) outcome: CaseOutcome,
    /// Time of the case alone; `None`: that of the suite.
    pub(crate) seconds: Option<f64>,
}

impl Case {
    pub(crate) fn new(name: impl Into<String>, outcome: CaseOutcome) -> Case {
        Case { name: name.into(), outcome, seconds: None }
    }
}

/// A run, an experiment or a comparison.
#[derive(Default)]
pub(crate) struct Suite {
    pub(crate) name: String,
    /// Of all cases.
    pub(crate) class: String,
    pub(crate) cases: Vec<Case>,
    pub(crate) seconds: f64,
    pub(crate) started_at: String,
    pub(crate) hostname: String,
    pub(crate) summary: String,
}

/// The suites, with their totals.
pub(crate) fn junit(suites: &[Suite]) -> String {
    let totals = totals(suites.iter().flat_map(|suite| &suite.cases));
    let suites: String = suites.iter().map(suite_xml).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"pgmeter\" {totals}>\n{suites}</testsuites>\n"
    )
}

fn suite_xml(suite: &Suite) -> String {
    let Suite { name, class, cases, seconds, started_at, hostname, summary } = suite;
    let totals = totals(cases);
    let timestamp = started_at.get(..19).unwrap_or(started_at);
    let mut out = format!(
        "  <testsuite name=\"{}\" {totals} skipped=\"0\" time=\"{seconds:.3}\" timestamp=\"{}\" hostname=\"{}\">\n",
        xml(name),
        xml(timestamp),
        xml(hostname)
    );
    for Case { name, outcome, seconds: own } in cases {
        let time = own.unwrap_or(*seconds);
        let head =
            format!("    <testcase classname=\"{}\" name=\"{}\" time=\"{time:.3}\"", xml(class), xml(name));
        out += &match outcome {
            CaseOutcome::Passed => format!("{head}/>\n"),
            CaseOutcome::Failure(text) => element(&head, "failure", "missed", text),
            CaseOutcome::Error(kind, text) => element(&head, "error", kind, text),
        };
    }
    out + &format!("    <system-out>{}</system-out>\n  </testsuite>\n", xml(summary))
}

fn element(head: &str, name: &str, kind: &str, text: &str) -> String {
    let text = xml(&with_ordinary_spaces(text));
    format!("{head}>\n      <{name} message=\"{text}\" type=\"{kind}\">{text}</{name}>\n    </testcase>\n")
}

/// Numbers of cases, of failures and of errors, as attributes.
fn totals<'a>(cases: impl IntoIterator<Item = &'a Case>) -> String {
    let (mut tests, mut failures, mut errors) = (0, 0, 0);
    for case in cases {
        tests += 1;
        match case.outcome {
            CaseOutcome::Passed => {}
            CaseOutcome::Failure(_) => failures += 1,
            CaseOutcome::Error(..) => errors += 1,
        }
    }
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"")
}

/// Characters that XML 1.0 does not allow become U+FFFD.
fn xml(text: &str) -> String {
    markup_escaped(text, |character| match character {
        '\n' | '\t' => None,
        ..' ' | '\u{fffe}' | '\u{ffff}' => Some("\u{fffd}"),
        _ => None,
    })
}
