//! Every rule about options that are written together, broken once on a command line, in an experiment file and in a
//! program. Each says it in the words of its place.

use std::num::NonZeroU32;

use connect::{Environment, Overrides};
use results::ObserveLevel;
use run::options::option;
use run::rules::{RULES, Relation, Rule, RuleScope};
use run::{RunRequest, RunSpec, Runner, Surface};
use stats::load::ResultFormat;
use stats::{OnDisconnect, Population};

use crate::harness::Bench;

const NOWHERE: &str = "host=/nowhere dbname=d user=u";

/// How a rule is broken; `None` where a place has no words for it.
struct Breach {
    option: &'static str,
    flags: &'static [&'static str],
    keys: Option<&'static str>,
    fields: Option<fn() -> RunSpec>,
}

const BREACHES: [Breach; 14] = [
    // A specification has one limit.
    Breach {
        option: "duration",
        flags: &["-T", "1", "-t", "5"],
        keys: Some("duration = \"1s\"\ntransactions = 5"),
        fields: None,
    },
    // Stages set the limit of a specification.
    Breach {
        option: "stages",
        flags: &["--stages", "1s@5", "-T", "1"],
        keys: Some("stages = \"1s@5\"\nduration = \"1s\""),
        fields: None,
    },
    Breach {
        option: "stages",
        flags: &["--stages", "1s@5", "-t", "5"],
        keys: Some("stages = \"1s@5\"\ntransactions = 5"),
        fields: None,
    },
    // Experiments have a key `vacuum` instead, and a specification has one field.
    Breach { option: "vacuum_all", flags: &["-v", "-n"], keys: None, fields: None },
    // The policy has no effect then; a factor may change on_disconnect.
    Breach {
        option: "reconnect_policy",
        flags: &["--reconnect-policy", "immediate"],
        keys: None,
        fields: None,
    },
    Breach {
        option: "until",
        flags: &["--until", "1%"],
        keys: Some("until = \"1%\"\ntransactions = 5"),
        fields: Some(|| RunSpec { until: Some(0.01), ..RunSpec::default() }),
    },
    Breach {
        option: "think",
        flags: &["--think", "1s", "-R", "5"],
        keys: Some("think = \"1s\"\nrate = 5"),
        fields: Some(|| RunSpec { think: "1s".parse().ok(), rate_tps: Some(5.0), ..RunSpec::default() }),
    },
    Breach {
        option: "active_clients",
        flags: &["--active-clients", "1", "-R", "5"],
        keys: Some("active_clients = \"1\"\nrate = 5"),
        fields: Some(|| RunSpec {
            population: Population { active: "1".parse().ok(), ..Population::default() },
            rate_tps: Some(5.0),
            ..RunSpec::default()
        }),
    },
    Breach {
        option: "session_lifetime",
        flags: &["--session-lifetime", "1s", "-C"],
        keys: Some("session_lifetime = \"1s\"\nreconnect = true"),
        fields: Some(|| RunSpec {
            population: Population { session_lifetime: "1s".parse().ok(), ..Population::default() },
            reconnect: true,
            ..RunSpec::default()
        }),
    },
    Breach {
        option: "reconnect_storm",
        flags: &["--reconnect-storm", "1s", "-C"],
        keys: Some("reconnect_storm = \"1s\"\nreconnect = true"),
        fields: Some(|| RunSpec {
            population: Population { storms: "1s".parse().into_iter().collect(), ..Population::default() },
            reconnect: true,
            ..RunSpec::default()
        }),
    },
    Breach {
        option: "stop_on_miss",
        flags: &["--stop-on-miss"],
        keys: Some("stop_on_miss = true"),
        fields: Some(|| RunSpec { stop_on_miss: true, ..RunSpec::default() }),
    },
    Breach {
        option: "result_format",
        flags: &["--result-format", "binary"],
        keys: Some("result_format = \"binary\""),
        fields: Some(|| RunSpec { result_format: ResultFormat::Binary, ..RunSpec::default() }),
    },
    Breach {
        option: "on_disconnect",
        flags: &["--on-disconnect", "reconnect", "-C"],
        keys: Some("on_disconnect = \"reconnect\"\nreconnect = true"),
        fields: Some(|| RunSpec {
            on_disconnect: OnDisconnect::Reconnect,
            reconnect: true,
            ..RunSpec::default()
        }),
    },
    Breach {
        option: "max_tries",
        flags: &["--max-tries", "0"],
        keys: Some("max_tries = 0\ntransactions = 5"),
        fields: Some(|| RunSpec { max_tries: None::<NonZeroU32>, ..RunSpec::default() }),
    },
];

fn breaches() -> impl Iterator<Item = (&'static Rule, &'static Breach)> {
    let names: Vec<_> = RULES.iter().map(|rule| rule.option.option).collect();
    let broken: Vec<_> = BREACHES.iter().map(|breach| breach.option).collect();
    assert_eq!(names, broken, "each rule is broken once, in the order of the rules");
    RULES.iter().zip(&BREACHES)
}

#[test]
fn a_command_line_breaks_each_rule_and_is_told_in_flags() {
    let bench = Bench::new();
    for (rule, breach) in breaches() {
        let said = bench.run(["bench"].iter().chain(breach.flags).chain(&[NOWHERE])).exits(1).stderr;
        let other = option(rule.others[0].option).and_then(|option| option.flag).expect("a flag").long;
        // The parser of the command line finds what is written or missing; the run finds values.
        let of_parser = match rule.relation {
            Relation::Excludes => "cannot be used with",
            Relation::Requires => "required arguments were not provided",
        };
        let is_of_parser = said.contains(of_parser) && said.contains(&format!("--{other}"));
        assert!(is_of_parser || said.contains(&rule.sentence(Surface::Flags)), "{}: {said}", breach.option);
    }
}

#[test]
fn an_experiment_file_breaks_each_rule_and_is_told_in_keys() {
    let bench = Bench::new();
    for (rule, breach) in breaches() {
        let Some(keys) = breach.keys else { continue };
        let file =
            bench.file("e.toml", &format!("name = \"e\"\n[server]\ndsn = \"{NOWHERE}\"\n[load]\n{keys}\n"));
        let said = bench.run(["lab", "plan", file]).exits(1).stderr;
        let sentence = match rule.holds {
            RuleScope::Values => rule.sentence(Surface::Keys),
            RuleScope::Written => format!(
                "\"{}\" cannot be combined with \"{}\" of line 5: {}",
                rule.others[0].option, rule.option.option, rule.reason
            ),
        };
        assert!(said.contains(&sentence), "{}: {said}", breach.option);
        assert!(!said.contains("--"), "a file has no flags: {said}");
    }
}

#[test]
fn a_program_breaks_each_rule_and_is_told_in_fields() {
    let environment = Environment::default();
    let target = connect::resolve(Some(NOWHERE), &Overrides::default(), &environment).expect("a target");
    for (rule, breach) in breaches() {
        let Some(spec) = breach.fields else { continue };
        let spec = RunSpec { observe: ObserveLevel::Off, ..spec() };
        let refused = Runner::new(RunRequest::on(target.clone(), spec)).err();
        let said = refused.map(|error| error.to_string());
        assert_eq!(said, Some(rule.sentence(Surface::Fields)), "{}", breach.option);
    }
}
