//! Reports of query sets: one set and several side by side, in all formats and in a browser.
//! The figures agree in all formats; executions at the limit are bounds and never missing.

use std::fs;

use pgmeter_report::{Format, Subject, TextStyle, formatted};
use results::{AnswerCheck, RegressionPlan, RegressionSide, StepsRecord};
use serde_json::Value;
use testkit::extent::choose;

use crate::pages::browser::{artefact, assert_quiet, browser};
use crate::pages::html::HOSTILE;
use crate::pages::query_sets::{self, INDEXED, SEQUENTIAL, Set, limit, step};

pub(crate) const STYLE: TextStyle = TextStyle { colour: false, width: 100 };

fn shown(sets: &[(String, StepsRecord)], format: Format) -> String {
    let shown = formatted(Subject::Queries(sets), format, &STYLE).expect("there is memory");
    String::from_utf8(shown).expect("it is text")
}

fn named(name: &str, record: StepsRecord) -> (String, StepsRecord) {
    (name.to_owned(), record)
}

/// With a query that always reaches the limit, one that sometimes does, an error and another answer.
pub fn troubled() -> StepsRecord {
    let mut record = query_sets::record(&Set::default());
    limit(&mut record, "q20", 1);
    limit(&mut record, "q17", 4);
    let failing = step(&mut record, "q5");
    for time in &mut failing.times {
        time.error = Some("out of memory".into());
        (time.rows, time.checksum) = (None, None);
    }
    failing.answer = Some(AnswerCheck::Unknown);
    let different = AnswerCheck::Different { expected_rows: 4, expected_checksum: Some("ff".to_owned()) };
    step(&mut record, "q15").answer = Some(different);
    record
}

/// An older server and a newer one: some queries are faster, q9 has a worse plan, q20 reached the limit only before.
pub fn pair() -> Vec<(String, StepsRecord)> {
    let mut old = query_sets::record(&Set { version: "16.4", ..Set::default() });
    let factor = |number| match number {
        9 => 3.0,
        n if n % 5 == 0 => 0.6,
        n if n % 7 == 0 => 1.2,
        _ => 0.99,
    };
    let mut new = query_sets::record(&Set { factor, ..Set::default() });
    step(&mut old, "q9").plan = Some(query_sets::plan(INDEXED, 120.0).into());
    step(&mut new, "q9").plan = Some(query_sets::plan(SEQUENTIAL, 900.0).into());
    step(&mut old, "q7").plan = Some(query_sets::plan(SEQUENTIAL, 100.0).into());
    step(&mut new, "q7").plan = Some(query_sets::plan(SEQUENTIAL, 130.0).into());
    limit(&mut old, "q20", 1);
    limit(&mut new, "q17", 1);
    step(&mut new, "q3").times.iter_mut().for_each(|time| time.checksum = Some("0f".to_owned()));
    step(&mut new, "q4").times.iter_mut().for_each(|time| time.rows = Some(5));
    vec![named("queries 1", old), named("queries 2", new)]
}

/// A set of 300 queries in two classes; `factor` multiplies the durations of the second one.
pub fn many(factor: u64) -> StepsRecord {
    let mut record = query_sets::record(&Set::default());
    let model = record.steps[0].clone();
    let numbered = |number: u64| {
        let class = if number <= 200 { "and" } else { "phrase" };
        let mut step = results::StepResult { name: format!("{class}_{number:05}"), ..model.clone() };
        for time in &mut step.times {
            time.duration_us = number * 1_000 * if number <= 200 { 1 } else { factor };
            time.measured_us = time.duration_us;
        }
        step
    };
    record.steps = (1..=300).map(numbered).collect();
    record
}

/// All formats that a reader sees, with ordinary spaces.
fn read_by_people(sets: &[(String, StepsRecord)]) -> Vec<String> {
    let formats = [Format::Text, Format::Markdown, Format::Html];
    formats.into_iter().map(|format| shown(sets, format).replace('\u{a0}', " ").replace('\\', "")).collect()
}

fn json(sets: &[(String, StepsRecord)]) -> Value {
    serde_json::from_str(&shown(sets, Format::Json)).expect("it is JSON")
}

/// Documents that have each number of query sets at least once.
pub(crate) fn documents() -> Vec<Value> {
    let refreshes = |streams: u32| {
        named(
            "queries 1",
            query_sets::record(&Set { refreshes: true, repeats: 1, streams, ..Set::default() }),
        )
    };
    let mut all_known = query_sets::record(&Set::default());
    for time in all_known.steps.iter_mut().flat_map(|step| &mut step.times) {
        (time.buffers.disk, time.workers_cpu_us) = (Some(1), Some(10_000));
    }
    let sets =
        [in_turns(), pair(), vec![named("queries 1", troubled())], vec![named("queries 1", all_known)]];
    let sets = sets.into_iter().chain([1, 2].map(|streams| vec![refreshes(streams)]));
    sets.map(|sets| json(&sets)).collect()
}

#[test]
fn one_query_set_has_its_notice_first_and_a_row_for_each_query() {
    let text = shown(&[named("queries 1", troubled())], Format::Text);
    insta::assert_snapshot!(text);
    assert!(text.starts_with("These results are derived from TPC-H"), "{text}");
}

#[test]
fn two_query_sets_are_side_by_side_with_ratios_and_their_plans() {
    insta::assert_snapshot!(shown(&pair(), Format::Text));
}

#[test]
fn plans_of_slower_queries_have_the_node_that_differs_marked_and_json_names_the_change() {
    let sets = pair();
    let page = shown(&sets, Format::Html).replace('\u{a0}', " ");
    assert!(page.contains("≠ marks the first node in which the shapes of the plans differ."), "{page}");
    assert!(page.contains("≠   -&gt; Index Scan using lineitem_pkey on lineitem"), "{page}");
    assert!(page.contains("≠   -&gt; Seq Scan on lineitem") && !page.contains("≠ GroupAggregate"), "{page}");
    let json = json(&sets);
    let change = |set: usize, query: usize| json["query_sets"][set]["queries"][query]["plan_change"].clone();
    assert_eq!(change(1, 8), "shape");
    assert_eq!(change(1, 6), "nothing");
    assert!(change(0, 8).is_null() && change(1, 0).is_null(), "the base and queries without plans have none");
}

/// The sides A and B of one measurement: q9 is slower on B, q5 is faster, q2 reached the limit on B, q4 on both.
pub fn in_turns() -> Vec<(String, StepsRecord)> {
    let side = |side, factor: fn(u64) -> f64, version| {
        let mut record =
            query_sets::record(&Set { version, repeats: 25, queries: 6, factor, ..Set::default() });
        let plan = RegressionPlan { side, limit: 0.03, order_seed: Some(0) };
        record.query_set.as_mut().expect("it is a query set").regression = Some(plan);
        record
    };
    let mut a = side(RegressionSide::A, |_| 1.0, "16.4");
    let mut b = side(RegressionSide::B, |number| if number == 5 { 0.6 } else { 1.0 }, "18.1");
    step(&mut a, "q6").name = "q9".to_owned();
    step(&mut b, "q6").name = "q9".to_owned();
    step(&mut b, "q9").times.iter_mut().for_each(|time| time.duration_us = time.duration_us * 3 / 2);
    limit(&mut b, "q2", 1);
    limit(&mut a, "q4", 25);
    limit(&mut b, "q4", 25);
    step(&mut a, "q9").plan = Some(query_sets::plan(INDEXED, 120.0).into());
    step(&mut b, "q9").plan = Some(query_sets::plan(SEQUENTIAL, 900.0).into());
    vec![named("query set s1", a), named("query set s2", b)]
}

#[test]
fn query_sets_in_turns_have_a_verdict_on_each_query() {
    let sets = in_turns();
    insta::assert_snapshot!(shown(&sets, Format::Text));
    let json = json(&sets);
    let regressions = &json["regressions"];
    assert_eq!(regressions["slower"], serde_json::json!(["q2", "q9"]));
    assert_eq!(regressions["undecided"], serde_json::json!(["q4"]));
    assert_eq!((&regressions["limit"], &regressions["false_discovery_rate"]), (&3.0.into(), &0.05.into()));
    let verdicts: Vec<_> = regressions["queries"].as_array().expect("a list").iter().collect();
    let of = |query: &str| *verdicts.iter().find(|it| it["query"] == query).expect("it is in the list");
    assert_eq!((&of("q1")["verdict"], &of("q1")["sequences"]), (&"not_slower".into(), &12.into()));
    assert_eq!((&of("q2")["bound"], &of("q2")["low"]), (&"at_least".into(), &Value::Null));
    assert!((of("q9")["ratio"].as_f64().expect("a ratio") - 1.5).abs() < 1e-3, "{}", of("q9"));
    let xml = shown(&sets, Format::Junit);
    assert!(xml.contains("slower on B by more than 3 %: ×1.50"), "{xml}");
    assert_eq!(xml.matches("<failure").count(), 2, "{xml}");
    for format in read_by_people(&sets) {
        assert!(format.contains("2 of 6 queries are slower on B by more than 3 %: q2 and q9"), "{format}");
    }
    // Other sets have no verdicts, whatever their order.
    for other in [pair(), sets.iter().rev().cloned().collect()] {
        assert!(self::json(&other)["regressions"].is_null());
    }
}

#[test]
fn query_sets_in_turns_have_one_ratio_in_all_places() {
    let mut sets = in_turns();
    // The mean of A is far above its executions but one; ranks are not moved by it.
    let q3 = step(&mut sets[0].1, "q3");
    q3.times.last_mut().expect("an execution").duration_us *= 40;
    let json = json(&sets);
    let of = |list: &Value, query: &str| {
        let list = list["queries"].as_array().expect("a list").clone();
        list.into_iter().find(|it| it["query"] == query).expect("it is in the list")
    };
    let (a, b) = (&json["query_sets"][0], &json["query_sets"][1]);
    let number = |value: &Value| value.as_f64().expect("a number");
    for query in ["q1", "q3", "q5", "q9"] {
        let regression = of(&json["regressions"], query);
        let ratio = &of(b, query)["ratio"];
        for name in ["ratio", "low", "high"] {
            assert_eq!(ratio[name], regression[name], "{query}");
        }
        let durations = number(&of(b, query)["duration_ms"]) / number(&of(a, query)["duration_ms"]);
        assert!((durations / number(&ratio["ratio"]) - 1.0).abs() < 1e-9, "{query}: {durations} {ratio}");
    }
    assert!((number(&of(b, "q3")["ratio"]["ratio"]) - 1.0).abs() < 0.05);
    let total = |set: &Value| number(&set["total_ms"]);
    assert!(total(b) / total(a) > 0.9, "an outlier of A makes B no faster: {} {}", total(a), total(b));
    let page = shown(&sets, Format::Html);
    assert!(page.contains("slower by more than the limit") && !page.contains("the interval contains 1"));
}

#[test]
fn the_figures_of_a_query_are_the_same_in_all_formats() {
    let one = [named("queries 1", troubled())];
    let json = json(&one);
    let queries = json["queries"].as_array().unwrap();
    assert_eq!(queries.len(), 22);
    let q1 = &queries[0];
    assert_eq!((&q1["query"], &q1["rows"], &q1["answer"]), (&"q1".into(), &1.into(), &"equal".into()));
    // The mean of the three later executions; half of the interval is 4.303 · s ÷ √3.
    let us =
        step(&mut troubled(), "q1").times[1..].iter().map(|time| time.duration_us as f64).collect::<Vec<_>>();
    let mean = us.iter().sum::<f64>() / 3.0;
    let deviation = (us.iter().map(|us| (us - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
    assert!((q1["duration_ms"].as_f64().unwrap() - mean / 1e3).abs() < 1e-6, "{q1}");
    let half = 4.3027 * deviation / 3f64.sqrt();
    assert!((q1["high_ms"].as_f64().unwrap() - (mean + half) / 1e3).abs() < 1e-2, "{q1}");
    for format in read_by_people(&one) {
        for figure in ["± 3.7 %", "2,621", "1,118", "> 300 s", "4 of 4", "out of memory"] {
            assert!(format.replace("&gt;", ">").contains(figure), "no {figure} in {format}");
        }
    }
    let csv = shown(&one, Format::Csv);
    let line = csv.lines().find(|line| line.contains(",q1,")).expect("it has a line");
    assert!(line.contains(&format!(",{},", q1["duration_ms"])), "{line}");
    let columns = csv.lines().next().unwrap().split(',').count();
    assert!(csv.lines().count() == 23 && csv.lines().all(|line| line.split(',').count() == columns), "{csv}");
}

/// A page without the values that its charts tell at the pointer.
fn without_values(page: &str) -> String {
    let mut parts = page.split("<script type=\"application/json\">");
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.filter_map(|part| part.split_once("</script>")).map(|(_, rest)| rest).collect::<String>()
}

#[test]
fn many_queries_have_a_row_for_each_class_and_the_extremes_alone() {
    let one = [named("queries 1", many(1))];
    let two = [named("queries 1", many(1)), named("queries 2", many(3))];
    for text in read_by_people(&one).iter().map(|text| without_values(text)) {
        for word in ["class", "phrase", "The 15 slowest of 300 queries", "phrase_00300", "phrase_00286"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert!(!text.contains("phrase_00285") && !text.contains("and_00200"), "{text}");
    }
    for text in read_by_people(&two).iter().map(|text| without_values(text)) {
        for word in ["The 16 of 300 queries with the greatest and the smallest ratios", "×3.00", "×1.00"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert!(text.matches("and_00").count() <= 100, "{}", text.matches("and_00").count());
    }
    // The sum of 1 to 200, and of 201 to 300, in ms.
    let text = shown(&one, Format::Text).replace('\u{a0}', " ");
    let total = |class: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(class)).expect("its line");
        line.split_whitespace().skip(1).take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!([total("and "), total("phrase ")], [["200", "20,100"], ["100", "25,050"]]);
    assert_eq!(json(&one)["queries"].as_array().map(Vec::len), Some(300));
    let svg = shown(&two, Format::Html);
    assert!(svg.contains("a dot for each query, sorted"), "the ratios are sorted");
}

#[test]
fn a_ratio_is_the_quotient_of_the_durations_beside_it_in_all_formats() {
    let mut sets = pair();
    // Executions that vary much, so that geometric means of executions have another quotient.
    for (number, (_, record)) in sets.iter_mut().enumerate() {
        *record = query_sets::record(&Set { version: ["16.4", "18.1"][number], ..Set::default() });
        for (step, times) in (1u64..).zip(record.steps.iter_mut().map(|step| &mut step.times)) {
            times[2].duration_us *= 2 + (step + number as u64) % 4;
        }
    }
    let json = json(&sets);
    let [old, new] = [&json["query_sets"][0], &json["query_sets"][1]];
    let quotient =
        |old: &Value, new: &Value, name: &str| new[name].as_f64().unwrap() / old[name].as_f64().unwrap();
    let is_near = |a: f64, b: f64, error: f64| (a / b - 1.0).abs() < error;
    let of_sets = new["ratio"]["ratio"].as_f64().unwrap();
    assert!(is_near(of_sets, quotient(old, new, "geometric_mean_ms"), 1e-9), "{}", new["ratio"]);
    let text = shown(&sets, Format::Text).replace("\u{a0}", " ").replace(",", "").replace(" or more", "");
    let csv = shown(&sets, Format::Csv);
    for (old, new) in old["queries"].as_array().unwrap().iter().zip(new["queries"].as_array().unwrap()) {
        let ratio = &new["ratio"];
        let value = ratio["ratio"].as_f64().unwrap();
        assert!(is_near(value, quotient(old, new, "duration_ms"), 1e-9), "{new}");
        assert!(ratio["low"].as_f64().unwrap() < value && value < ratio["high"].as_f64().unwrap(), "{ratio}");
        assert!(csv.contains(&format!(",{},{},", ratio["ratio"], ratio["low"])), "{ratio} is not in {csv}");
        let name = new["query"].as_str().unwrap();
        let row = text.lines().find(|line| line.split_whitespace().next() == Some(name)).expect(name);
        let words: Vec<&str> = row.split_whitespace().collect();
        let after =
            |sign: &str, from: usize| from + words[from..].iter().position(|word| *word == sign).unwrap();
        let (first, of_second) = (words[1], after("%", 1) + 1);
        let printed = words.iter().find_map(|word| word.strip_prefix('×')).unwrap().parse::<f64>().unwrap();
        let [first, second] = [first, words[of_second]].map(|word| word.parse::<f64>().expect(row));
        assert!(is_near(printed, second / first, 0.08), "{row}");
    }
}

#[test]
fn the_head_of_a_set_says_how_many_answers_are_the_expected_ones() {
    let head = |record: &StepsRecord| {
        shown(&[named("queries 1", record.clone())], Format::Text).replace('\u{a0}', " ")
    };
    let mut record = query_sets::record(&Set::default());
    let text = head(&record);
    assert!(text.contains("22 of 22 equal to the expected ones"), "{text}");
    assert!(text.contains("validation parameters") && text.contains("in steps of 10 ms"), "{text}");
    step(&mut record, "q5").answer = None;
    let text = head(&record);
    assert!(text.contains("21 of 21 equal to the expected ones; 1 query has no answer"), "{text}");
    step(&mut record, "q5").answer = Some(AnswerCheck::Equal);
    let different = AnswerCheck::Different { expected_rows: 4, expected_checksum: Some("ff".to_owned()) };
    step(&mut record, "q7").answer = Some(different.clone());
    step(&mut record, "q3").answer = Some(different);
    let text = head(&record);
    assert!(text.contains("2 of 22 differ: q3 and q7"), "{text}");
    record.steps.iter_mut().for_each(|step| step.answer = Some(AnswerCheck::Unknown));
    let plan = record.query_set.as_mut().expect("it is a query set");
    (plan.workload, plan.text) = ("shop".to_owned(), None);
    let text = head(&record);
    assert!(text.contains("not known for these parameters at scale 1"), "{text}");
    assert!(!text.contains("validation parameters"), "{text}");
    record.steps.iter_mut().for_each(|step| step.answer = None);
    assert!(!head(&record).contains("answers "), "they were not compared");
}

#[test]
fn a_set_without_intervals_says_how_to_get_them() {
    let thrice = query_sets::record(&Set { repeats: 3, ..Set::default() });
    let words = |sets: &[(String, StepsRecord)]| {
        shown(sets, Format::Text).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = words(&[named("queries 1", thrice.clone())]);
    assert!(text.contains("needs --repeat 4 or more") && !text.contains('±'), "{text}");
    let text = words(&[named("a", thrice.clone()), named("b", thrice)]);
    assert!(text.contains("Confidence intervals need --repeat 4 or more"), "{text}");
}

#[test]
fn an_execution_at_the_limit_is_a_bound_in_durations_totals_and_ratios() {
    let sets = pair();
    let json = json(&sets);
    let [old, new] = [&json["query_sets"][0], &json["query_sets"][1]];
    let query = |set: &Value, name: &str| {
        set["queries"].as_array().unwrap().iter().find(|it| it["query"] == name).expect(name).clone()
    };
    assert!(old["at_least"] == true && query(old, "q20")["duration_ms"] == 300_000.0);
    assert_eq!((&query(old, "q20")["rows"], &query(old, "q20")["low_ms"]), (&Value::Null, &Value::Null));
    assert_eq!(query(new, "q20")["ratio"]["bound"], "at_most");
    assert_eq!(query(new, "q17")["ratio"]["bound"], "at_least");
    assert_eq!(query(new, "q9")["ratio"]["bound"], Value::Null);
    assert!((query(new, "q9")["ratio"]["ratio"].as_f64().unwrap() - 3.0).abs() < 1e-3);
    // Both sets have a bound, so nothing is known of all queries together.
    assert_eq!(new["ratio_without_limited"], true);
    for format in read_by_people(&sets) {
        for words in ["> 300 s", "> 628", "q20 (4 of 4)", "leaves out the queries that reached the limit"] {
            let format = format.replace("&gt;", ">").split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(format.contains(words), "no {words} in {format}");
        }
    }
    let mut only_new = pair();
    only_new[0].1 = query_sets::record(&Set { version: "16.4", ..Set::default() });
    let json = self::json(&only_new);
    assert_eq!(json["query_sets"][1]["ratio"]["bound"], "at_least");
}

#[test]
fn answers_that_differ_are_the_first_words_and_only_where_they_must_be_the_same() {
    let differ = "The answers of PostgreSQL 16.4 and PostgreSQL 18.1 differ: q3 (the same 3 rows, but other values) and \
                  q4 (4 and 5 rows).";
    let mut sets = pair();
    for format in read_by_people(&sets) {
        let format = format.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(format.contains(differ), "{format}");
    }
    assert_eq!(json(&sets)["warnings"][0], differ);
    sets[1].1.query_set.as_mut().expect("it is a query set").seed = Some(7);
    let text = shown(&sets, Format::Text);
    assert!(!text.contains("The answers of") && text.contains("The parameters differ: validation"), "{text}");
    let one = json(&[named("queries 1", troubled())]);
    assert_eq!(one["warnings"][0], "Answers that differ from the expected ones: q15.");
    assert_eq!(
        (&one["queries"][14]["answer"], &one["queries"][14]["expected_rows"]),
        (&"different".into(), &4.into())
    );
}

#[test]
fn a_query_set_of_one_pass_is_of_first_executions_and_is_compared_with_those() {
    let once = query_sets::record(&Set { version: "16.4", repeats: 1, ..Set::default() });
    let text = shown(&[named("queries 1", once.clone())], Format::Text);
    assert!(text.contains("of the first execution of each") && !text.contains('±'), "{text}");
    let both = [named("queries 1", once), named("queries 2", query_sets::record(&Set::default()))];
    let text = shown(&both, Format::Text);
    assert!(text.contains("so the first executions are") && text.contains("×1.00"), "{text}");
    assert!(!text.contains('±') && json(&both)["query_sets"][1]["warm"] == false, "{text}");
}

#[test]
fn power_and_throughput_are_of_sets_with_refresh_functions() {
    let power = query_sets::record(&Set { refreshes: true, repeats: 1, ..Set::default() });
    let seconds: Vec<f64> = power.steps.iter().map(|step| step.times[0].duration_us as f64 / 1e6).collect();
    assert_eq!(seconds.len(), 24);
    let mean = (seconds.iter().map(|it| it.ln()).sum::<f64>() / 24.0).exp();
    let one = json(&[named("queries 1", power.clone())]);
    assert!((one["power"].as_f64().unwrap() - 3_600.0 / mean).abs() < 1e-6, "{}", one["power"]);
    assert_eq!(
        (&one["queries_per_hour_times_scale"], &one["queries"][22]["refresh"]),
        (&Value::Null, &true.into())
    );
    let streams = query_sets::record(&Set { refreshes: true, repeats: 1, streams: 2, ..Set::default() });
    let two = json(&[named("queries 1", streams.clone())]);
    // Pairs of refresh functions are not executions of a later round.
    assert_eq!((&two["warm"], &two["queries"][22]["executions"]), (&false.into(), &2.into()));
    // 44 queries in the time of the stream that took longer.
    let of_stream = |stream: u32| -> u64 {
        let times = streams.steps.iter().flat_map(|step| &step.times);
        times.filter(|time| time.stream == Some(stream)).map(|time| time.measured_us).sum()
    };
    let per_hour = 44.0 * 3_600.0 / (of_stream(0).max(of_stream(1)) as f64 / 1e6);
    assert!(
        (two["queries_per_hour_times_scale"].as_f64().unwrap() - per_hour).abs() < 1e-6
            && two["power"].is_null()
    );
    for format in read_by_people(&[named("queries 1", streams)]) {
        assert!(format.contains("throughput (queries per hour × scale)"), "{format}");
        let words = format.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("are not results of a TPC benchmark"), "{format}");
        assert!(format.contains("refresh functions") && format.contains("not comparable"), "{format}");
    }
    let mut failed = power;
    step(&mut failed, "q3").times[0].error = Some("cancelled".into());
    assert!(json(&[named("queries 1", failed)])["power"].is_null());
}

#[test]
fn queries_per_hour_do_not_depend_on_the_time_between_executions() {
    let mut record = query_sets::record(&Set { refreshes: true, ..Set::default() });
    let executing_us: u64 =
        record.steps.iter().flat_map(|step| &step.times).map(|time| time.measured_us).sum();
    let per_hour = 88.0 * 3_600.0 / (executing_us as f64 / 1e6);
    // Before PostgreSQL 15, reading the counters takes longer than a short query.
    for duration_us in [60_000_000, 600_000_000] {
        record.streams[0].duration_us = duration_us;
        let one = json(&[named("queries 1", record.clone())]);
        assert!((one["queries_per_hour"].as_f64().unwrap() / per_hour - 1.0).abs() < 1e-9, "{one}");
        assert_eq!(one["elapsed_ms"], duration_us as f64 / 1e3);
        assert!((one["executing_ms"].as_f64().unwrap() * 1e3 - executing_us as f64).abs() < 1e-3, "{one}");
    }
    let text = shown(&[named("queries 1", record.clone())], Format::Text);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("elapsed 600 s executing queries "), "{text}");
    // Time of failed executions counts, but not their number.
    step(&mut record, "q1").times.iter_mut().for_each(|time| time.error = Some("x".into()));
    let one = json(&[named("queries 1", record)]);
    assert!((one["queries_per_hour"].as_f64().unwrap() / per_hour * 88.0 / 84.0 - 1.0).abs() < 1e-9, "{one}");
}

#[test]
fn a_query_set_that_was_interrupted_says_so_and_totals_are_of_what_both_have() {
    let mut interrupted = query_sets::record(&Set::default());
    interrupted.status = results::Status::Interrupted;
    interrupted.steps.truncate(3);
    let base = query_sets::record(&Set { version: "16.4", ..Set::default() });
    let text = shown(&[named("a", base), named("b", interrupted)], Format::Text);
    assert!(text.contains("PostgreSQL 18.1: The query set was interrupted."), "{text}");
    assert!(
        text.contains("leave out queries without a duration: q4, q5,") && text.contains("and 7 more"),
        "{text}"
    );
    let nothing =
        StepsRecord { steps: Vec::new(), streams: Vec::new(), query_set: None, ..pair().remove(0).1 };
    for format in [Format::Text, Format::Json, Format::Csv, Format::Html, Format::Svg, Format::Markdown] {
        shown(&[named("nothing", nothing.clone())], format);
        shown(&[], format);
    }
}

#[test]
fn no_text_of_a_record_or_a_plan_breaks_out_of_a_report() {
    const STEERING: &str = "=a\x1b]0;title\x07\u{9b}8m\u{202e}\r";
    let mut sets = pair();
    for (name, record) in &mut sets {
        *name = format!("{HOSTILE}{STEERING}");
        record.notes = vec![HOSTILE.into(), STEERING.into()];
        let plan = record.query_set.as_mut().expect("it is a query set");
        plan.notice = Some(format!("{HOSTILE}{STEERING}"));
        plan.workload = format!("{HOSTILE}{STEERING}");
        plan.command_line = Some(HOSTILE.into());
        for step in &mut record.steps {
            step.name += HOSTILE;
            let nodes = step.plan.as_ref().map(|plan| plan.as_str().replace("orders", "<script>x\\u001b[2J"));
            step.plan = nodes.map(|plan| plan.as_str().into());
        }
    }
    for format in
        [Format::Text, Format::Json, Format::Csv, Format::Html, Format::Svg, Format::Markdown, Format::Junit]
    {
        let shown = shown(&sets, format);
        let steers = |character| results::steers(character) && character != '\n' && character != '\t';
        assert!(!shown.contains(steers), "{format:?}: {shown:?}");
        if matches!(format, Format::Html | Format::Svg) {
            assert!(!shown.contains("<script>window.hostile") && !shown.contains("<img"), "{shown}");
            assert!(!shown.contains("<script>x"), "{shown}");
        }
    }
    sets[1].1.steps[8].plan = Some("{\"Plan\": 7".into());
    assert!(!shown(&sets, Format::Text).contains("Only in"), "a plan that cannot be read is left out");
}

#[test]
fn junit_has_a_case_for_each_query() {
    let record = troubled();
    let xml = shown(&[named("queries 1", record.clone())], Format::Junit);
    for step in &record.steps {
        let seconds = step.times.iter().map(|time| time.measured_us).sum::<u64>() as f64 / 1e6;
        let case = format!("name=\"{}\" time=\"{seconds:.3}\"", step.name);
        assert!(xml.contains(&case), "the time of {case} is that of its executions: {xml}");
    }
    assert!(xml.contains("tests=\"23\" failures=\"1\" errors=\"3\""), "{xml}");
    assert!(xml.contains("the answer differs from the expected one: 15 rows, expected 4"), "{xml}");
}

#[test]
fn pictures_have_a_mark_for_each_query_and_arrows_for_bounds() {
    let svg = shown(&pair(), Format::Svg);
    assert!(svg.contains(">q22</text>") && svg.contains("Total duration") && !svg.contains("NaN"), "{svg}");
    assert!(svg.contains("not comparable with published"), "the notice is in the picture");
    let png = formatted(Subject::Queries(&pair()), Format::Png, &STYLE).unwrap();
    fs::write(artefact("queries.png"), &png).expect("it can be written");
}

#[test]
fn the_page_of_query_sets_has_its_charts_and_plans_in_every_width_and_theme_and_is_quiet() {
    let Some(mut browser) = browser() else { return };
    let many = |version, factor| {
        let set = Set { version, queries: 99, repeats: 3, factor, ..Set::default() };
        named(version, query_sets::record(&set))
    };
    let of_99 = [
        many("16.4", |_| 1.0),
        many("17.2", |n| 0.5 + (n % 9) as f64 / 6.0),
        many("18.1", |n| 1.0 / n as f64),
    ];
    let one = [named("queries 1", troubled())];
    for (name, sets, rows) in
        [("one", &one[..], 2 * (21 + 1)), ("pair", &pair()[..], 2 + 23), ("99", &of_99[..], 3 + 200)]
    {
        let path = artefact(&format!("queries-{name}.html"));
        fs::write(&path, shown(sets, Format::Html)).expect("it can be written");
        // A page that scrolls sideways does it in the narrow window.
        let windows = [(1280, false), (1280, true), (375, false)];
        for (width, dark) in windows.into_iter().skip(choose(2, 0)) {
            browser.window(width, 900, dark);
            browser.open(&path);
            let theme = if dark { "dark" } else { "light" };
            browser.keep_screenshot(&artefact(&format!("queries-{name}-{width}-{theme}.png")));
            assert_eq!(
                browser.value("document.querySelectorAll('#top .bar-row, #charts .bar-row').length"),
                rows,
                "{name}"
            );
            let wide = browser.value("[document.documentElement.scrollWidth, innerWidth]");
            assert_eq!(wide[0], wide[1], "the page {name} scrolls sideways at {width} pixels");
            assert_quiet(&browser);
        }
    }
    let path = artefact("queries-pair.html");
    browser.window(1280, 900, false);
    browser.open(&path);
    let plans = "[...document.querySelectorAll('#plans details')].map(it => { it.open = true; \
                 return [...it.querySelectorAll('pre')].map(pre => pre.getBoundingClientRect().top); })";
    let plans = browser.value(plans);
    assert_eq!(plans.as_array().map(Vec::len), Some(2));
    assert_eq!(plans[0][0], plans[0][1], "two plans stand beside each other");
    browser.keep_screenshot(&artefact("queries-plans.png"));
}

#[test]
fn query_sets_are_called_by_their_labels_or_by_what_they_differ_in() {
    let mut sets =
        [named("s1", query_sets::record(&Set::default())), named("s2", query_sets::record(&Set::default()))];
    let columns = |sets: &[(String, StepsRecord)]| {
        let markdown = shown(sets, Format::Markdown).replace('\\', "");
        let line = markdown.lines().find(|line| line.starts_with("| query |")).map(str::to_owned);
        line.expect("there is a table of queries")
    };
    assert!(columns(&sets).starts_with("| query | s1, ms | s2, ms |"), "{}", columns(&sets));
    let plan = sets[1].1.query_set.as_mut().expect("it is a query set");
    plan.text = Some("rewritten".to_owned());
    assert!(
        columns(&sets).starts_with("| query | text given, ms | text rewritten, ms |"),
        "{}",
        columns(&sets)
    );
    for ((_, record), label) in sets.iter_mut().zip(["before", "after"]) {
        record.annotation.label = serde_json::from_value(label.into()).expect("it is a label");
    }
    assert!(columns(&sets).starts_with("| query | before, ms | after, ms |"), "{}", columns(&sets));
    let text = shown(&sets[..1], Format::Text);
    assert!(text.contains("label           before"), "{text}");
    // On the terminal, a name stands for a label that has no room above a column.
    sets[1].1.annotation.label = serde_json::from_value("after all of the changes".into()).ok();
    assert!(shown(&sets, Format::Text).contains("  after all of the changes "));
    sets[1].1.annotation.label = serde_json::from_value("after all of the changes!".into()).ok();
    let text = shown(&sets, Format::Text);
    assert!(text.lines().any(|line| line.starts_with("  query") && line.contains(" s1, ms ")), "{text}");
    assert!(text.lines().any(|line| line.starts_with("  s2  ")), "{text}");
    assert!(text.contains("after all of the changes! (s2)"), "{text}");
    assert!(columns(&sets).contains("after all of the changes!, ms"), "{}", columns(&sets));
}
