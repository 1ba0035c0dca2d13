//! What the page says, without a browser: nothing from outside is markup, and what a record holds is there.
//! What a browser makes of it is tested in `browser`.

use pgmeter_report::Run;
use results::Record;

use crate::pages::example::{self, Example};
use crate::pages::forms;

/// Text that would run if any of it became markup or ended a script.
pub const HOSTILE: &str =
    "</script><script>window.hostile=1</script><img src=x onerror=window.hostile=1>\"'&<!--";

/// Puts it wherever a user, a file or a server has a say.
pub fn make_hostile(record: &mut Record) {
    let hostile = || HOSTILE.to_owned();
    for script in &mut record.plan.scripts {
        (script.name, script.text, script.description) = (hostile(), hostile(), hostile());
        script.builtin = false;
    }
    for script in &mut record.summary.scripts {
        script.name = hostile();
        script.commands.iter_mut().for_each(|command| command.text = hostile());
    }
    record.environment.host.hostname = hostile();
    if let Some(server) = &mut record.environment.server {
        server.version = hostile();
        server.build.version = hostile();
        server.non_default_settings = [(hostile(), hostile())].into_iter().collect();
    }
    record.warnings.push(results::Warning::SettingsUnread { error: HOSTILE.into() });
    let Some(observation) = &mut record.observation else { return };
    observation.events.iter_mut().for_each(|event| event.detail = HOSTILE.into());
    observation.missing.iter_mut().for_each(|missing| missing.what = hostile());
    observation.statements.iter_mut().for_each(|statement| statement.query = HOSTILE.into());
    for sample in &mut observation.samples {
        sample.waits.iter_mut().for_each(|wait| wait.event = hostile());
    }
    for wait in observation.waits.iter_mut().flat_map(|waits| &mut waits.top) {
        wait.event = hostile();
    }
}

fn page(record: &Record) -> String {
    forms::html(&[Run { name: "a run", record }])
}

#[test]
fn nothing_from_outside_becomes_markup_or_ends_a_script() {
    let mut record = example::full(&Example { seconds: 12, ..Example::default() });
    let scripts = page(&record).matches("<script").count();
    make_hostile(&mut record);
    let page = forms::html(&[Run { name: HOSTILE, record: &record }]);
    assert_eq!(page.matches("<script").count(), scripts);
    assert!(!page.contains("<img"), "markup came through");
    assert!(page.contains("&lt;/script&gt;"));
}

#[test]
fn the_page_forbids_every_request() {
    let page = page(&example::full(&Example { seconds: 2, ..Example::default() }));
    assert!(page.contains("default-src &#39;none&#39;"));
    assert!(!page.contains("unsafe-inline"));
    for loading in [" src=\"", "@import", "url(", "<link rel=\"stylesheet\""] {
        assert!(!page.contains(loading), "the page has {loading}");
    }
}

#[test]
fn what_a_record_holds_is_on_the_page() {
    let page = page(&example::full(&Example { seconds: 5, ..Example::default() }));
    for words in [
        "tpcb-like",
        "PostgreSQL 18.1",
        "with 95",
        "Not limited by pgmeter.",
        "Client and server share this host",
        "WALSync",
        "pgbench_branches",
        "full-page images",
        "client CPU",
        "WAL flushes",
        "pg_wait_sampling",
        "shared_buffers",
        "pgmeter bench -b tpcb-like -c 8 -j 2 -T 5 --warmup 5 -M prepared --max-tries 3 --random-seed 42",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_record_with_nothing_in_it_says_so() {
    let page = page(&example::empty());
    for words in
        ["INTERRUPTED before anything was measured.", "Nothing was measured.", "The server was not observed"]
    {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_damaged_histogram_is_a_warning_and_not_the_end() {
    let mut record = example::full(&Example { seconds: 5, ..Example::default() });
    record.intervals[2].scripts[0].response.histogram = "damaged".to_owned();
    assert!(page(&record).contains("1\u{a0}histogram in the record cannot be read"));
}

#[test]
fn labels_say_of_what_they_are() {
    let mut record = example::full(&Example { seconds: 5, ..Example::default() });
    record.plan.until = Some(0.01);
    let page = page(&record);
    for words in ["<dt>p50</dt>", "<dt>length</dt>", "<dt>precision</dt>", "not reached in time"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn the_lag_of_standbys_is_on_the_page_in_charts_and_in_tables() {
    let mut record = example::full(&Example { seconds: 20, ..Example::default() });
    let observation = record.observation.as_mut().expect("it was observed");
    observation.standbys = example::standbys(20);
    let session = |name: &str, stale_reads| results::StaleSession {
        reads_from: name.into(),
        reads: 1_000,
        stale_reads,
        backward_reads: 7,
        commits_behind_max: 12,
        staleness_us: record.summary.response_us,
    };
    let sessions = vec![session("near", 30), session("far", 990)];
    observation.staleness = Some(results::Staleness { writes: 1_200, sessions });
    let page = page(&record);
    for words in [
        "Replication lag of the standbys",
        "time until recent WAL was replayed",
        "WAL that the standbys lack",
        "5.50 ms / 10.0 ms",
        "110 ms / 200 ms",
        "Staleness of the standbys as clients saw it",
        "commits behind, max",
    ] {
        assert!(page.contains(words) || page.contains(&words.replace(' ', "\u{a0}")), "{words}");
    }
    let csv = forms::csv(&[Run { name: "a run", record: &record }]);
    for line in [
        "a run,summary,,,,,replay_lag_mean_us,110000",
        "a run,summary,,,,,replay_lag_max_us,200000",
        "a run,summary,,,,,replay_lag_max_bytes,60000",
        "a run,standby,,near,0,,replay_lag_us,1000",
        "a run,summary,,,,,stale_read_share,0.99",
        "a run,staleness,,far,,,stale_reads,990",
        "a run,staleness,,near,,,backward_reads,7",
    ] {
        assert!(
            csv.contains(line),
            "{line}: {}",
            csv.lines().filter(|it| it.contains("lag")).collect::<Vec<_>>().join("\n")
        );
    }
    let text = pgmeter_report::text(
        &pgmeter_report::summary(&record, false),
        &pgmeter_report::TextStyle { colour: false, width: 200 },
    );
    for words in ["near (sync) replay lag 5.50 ms, at most 10.0 ms", "stale reads: near 3.0 %, far 99 %"] {
        assert!(text.replace('\u{a0}', " ").contains(words), "{words}: {text}");
    }
    let only = record.observation.as_mut().expect("it was observed");
    only.standbys.truncate(1);
    let page = self::page(&record);
    assert!(page.contains("near, replay") && page.contains("near, flush") && page.contains("near, write"));
}

#[test]
fn counters_of_the_server_and_waits_of_each_script_are_on_the_page() {
    let mut record = example::full(&Example { seconds: 5, ..Example::default() });
    let row = results::CounterRow {
        key: "pgbench_tellers".to_owned(),
        values: [("n_tup_upd".to_owned(), 1_234.0), ("seq_scan".to_owned(), 0.0)].into(),
    };
    let observation = record.observation.as_mut().expect("it was observed");
    observation.counters =
        vec![results::CounterTable { view: "pg_stat_user_tables".to_owned(), rows: vec![row] }];
    let waits = observation.waits.as_mut().expect("they were seen");
    waits.scripts.push(waits.top[..1].to_vec());
    let mut other = record.plan.scripts[0].clone();
    other.name = "other <b>".to_owned();
    record.plan.scripts.push(other);
    let page = page(&record);
    for words in
        ["pg_stat_user_tables", "pgbench_tellers", "n_tup_upd", "1,234", "Wait events of other &lt;b&gt;"]
    {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("seq_scan"), "what did not grow is left out");
    let csv = forms::csv(&[Run { name: "a run", record: &record }]);
    assert!(csv.contains("counter,,pg_stat_user_tables:pgbench_tellers,,,n_tup_upd,1234\n"));
}

/// A page is sent by mail and kept beside its record.
#[test]
fn pages_are_small() {
    let minute = page(&example::full(&Example { seconds: 60, ..Example::default() }));
    assert!(minute.len() < 200_000, "{} bytes", minute.len());
    let hour = page(&example::full(&Example { seconds: 3_600, tps: 100.0, ..Example::default() }));
    assert!(hour.len() < 1_500_000, "{} bytes", hour.len());
}
