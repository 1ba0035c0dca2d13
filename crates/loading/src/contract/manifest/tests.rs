//! Tests of reading a workload.toml: its keys, its defaults, and mistakes with their places.
//! `workload/tests/tables` tests the behaviour of such workloads.

use super::*;

const FILES: [(&str, &str); 5] = [
    ("schema.sql", "CREATE TABLE t (a int);"),
    ("sub/run.sql", "\\set a random(1, :scale)\nSELECT :a;"),
    ("sub/share.sql", "SELECT 1, 2;"),
    ("empty.sql", "-- nothing\n"),
    ("meta.sql", "SELECT 1;\n\\set a 1\n"),
];
const LEAST: &str = "name = \"shop\"\nload = [\"schema.sql\"]\nscripts = [\"sub/run.sql\"]\n";

fn parse(text: &str) -> Result<Manifest, String> {
    Manifest::parse(text, "w.toml", Files::Embedded(&FILES), ReservedNames::NONE)
        .map_err(|error| error.to_string())
}

/// The refusal of a sound manifest with these lines more.
#[track_caller]
fn check(more: &str, expected: &str) {
    assert_eq!(parse(&format!("{LEAST}{more}")).expect_err(more), expected);
}

#[test]
fn what_is_not_given_has_its_default() {
    let manifest = parse(LEAST).expect("it is sound");
    let expected = About { name: "shop".into(), title: "shop".into(), ..About::default() };
    assert_eq!(manifest.about, expected);
    assert!(manifest.parameters.is_empty() && manifest.tables.is_empty() && manifest.checks.is_empty());
    assert_eq!((manifest.load[0].name.as_str(), manifest.load[0].is_transaction), ("schema", true));
    let script = &manifest.scripts[0];
    assert_eq!((&*script.name, &*script.description, script.weight), ("run", "<shop: run>", 1));
    assert!(!script.only_reads);
    assert_eq!(manifest.files.len(), 2, "each file once");
}

#[test]
fn all_keys_are_understood() {
    let manifest = parse(
        "name = \"shop\"\ntitle = \"A shop\"\nsource = \"me\"\nlicence = \"CC0-1.0\"\nbytes_per_scale = 150000\n\
         load = [{ file = \"schema.sql\", name = \"tables\", transaction = false }]\n\
         scripts = [\"sub/run.sql\", { file = \"sub/run.sql\", name = \"again\", weight = 0, only_reads = true }]\n\
         checks = [{ file = \"schema.sql\", name = \"sound\" }]\n\
         [parameters]\nitems = 5\nword = \"a b\"\n\
         [[tables]]\nname = \"app.t\"\nrows_per_scale = 1000\n\
         [[tables]]\nname = \"Orders\"\nbefore_run = \"vacuum analyze\"\n",
    )
    .expect("it is sound");
    assert_eq!((&*manifest.about.title, manifest.about.licence.as_deref()), ("A shop", Some("CC0-1.0")));
    assert_eq!(manifest.bytes_per_scale, Some(150_000));
    assert_eq!((manifest.load[0].name.as_str(), manifest.load[0].is_transaction), ("tables", false));
    assert_eq!((&*manifest.scripts[1].name, manifest.scripts[1].weight), ("again", 0));
    assert!(manifest.scripts[1].only_reads);
    assert_eq!(manifest.checks[0].name, "sound");
    assert_eq!(manifest.parameters["items"], "5");
    assert_eq!(manifest.tables[0].rows_per_scale, Some(1000));
    assert_eq!(manifest.tables[1].before_run, BeforeRun::VacuumAnalyze);
}

#[test]
fn a_mistake_is_one_line_with_its_place() {
    check(
        "[per_minute]\nscript = \"rum\"\nlabel = \"x\"",
        "w.toml:5:10: there is no script \"rum\"; did you mean run?",
    );
    check("[per_minute]\nscript = \"run\"", "w.toml:4:1: per_minute requires a script and a label");
    check("titel = \"x\"\n", "w.toml:4:1: unknown key \"titel\" in a workload; did you mean \"title\"?");
    check(
        "tables = [{ name = \"t\", rows = 1 }]\n",
        "w.toml:4:25: unknown key \"rows\" in this list; known are name, rows_per_scale, before_run, directives",
    );
    check(
        "[columns]\nt.a = \"int\"\n",
        "w.toml:5:3: directives and numbers of rows are for a schema.sql without load steps: remove the key",
    );
    check("scale_min = 0\n", "w.toml:4:13: expected a number above 0, found 0");
    check("bytes_per_scale = 0\n", "w.toml:4:19: expected a whole number from 1 to 1099511627776, found 0");
    check(
        "before_rows = [\"triggers\", \"gin\"]\n",
        "w.toml:4:28: expected \"triggers\", or an index set such as \"keys\" of a file indexes/keys.sql, found \"gin\"",
    );
    check("checks = [\"none.sql\"]\n", "w.toml:4:11: there is no file none.sql");
    check(
        "checks = [7]\n",
        "w.toml:4:11: expected a file in quotation marks, or a table with the key file, found 7",
    );
    check("checks = [{ name = \"x\" }]\n", "w.toml:4:11: this requires a file, such as file = \"a.sql\"");
    check("checks = [\"empty.sql\"]\n", "w.toml:4:11: empty command list for script \"empty.sql\"");
    check(
        "checks = [\"meta.sql\"]\n",
        "w.toml:4:11: meta.sql:2: load steps, checks and timed steps must be plain SQL, without meta \
         commands: \\set a 1",
    );
    check("tables = [\"t\", \"t\"]\n", "w.toml:4:16: the table t is defined twice");
    check(
        "tables = [\"a.b.c\"]\n",
        "w.toml:4:11: expected the name of a table, or schema.table, found \"a.b.c\"",
    );
    check(
        "tables = [{ name = \"t\", before_run = \"drop\" }]\n",
        "w.toml:4:38: expected \"nothing\" or \"vacuum\" or \"vacuum analyze\" or \"truncate\", found \"drop\"",
    );
    check(
        "tables = [{ name = \"a\", rows_per_scale = 1 }, { name = \"b\", rows_per_scale = 2 }]\n",
        "w.toml:4:78: the table a already determines the scale: only one table can do so",
    );
    check(
        "[parameters]\nscale = 3\n",
        "w.toml:5:1: scale is a variable of every workload and cannot be a parameter",
    );
    check(
        "[parameters]\n1x = 3\n",
        "w.toml:5:1: \"1x\" is not a valid variable name: use letters, digits and _, and do not begin with a digit",
    );
    check(
        "checks = [\"schema.sql\", \"schema.sql\"]\n",
        "w.toml:4:25: \"schema\" is defined twice: rename one of them",
    );
}

#[test]
fn a_standard_has_rules_of_several_kinds() {
    use stats::rules::{Rule, StandardRule};
    let manifest = parse(&format!(
        "{LEAST}checks = [{{ file = \"schema.sql\", name = \"sound\" }}]\n[standard]\nname = \"S 1\"\nrules = [\n\
         {{ kind = \"response_time\", share = 0.9, below_s = 2, clause = \"6.1\" }},\n\
         {{ kind = \"tps_per_scale\", max = 0.5, script = \"run\" }},\n\
         {{ kind = \"drawn_share\", query = \"sub/share.sql\", share = 0.85 }},\n\
         {{ kind = \"checks\", names = [\"sound\"] }},\n]"
    ));
    let standard = manifest.expect("it is sound").standard.expect("it is there");
    let script = || Some("run".to_owned());
    let expected = [
        (Some("6.1"), Rule::ResponseTime { script: None, share: 0.9, below_s: 2.0 }),
        (None, Rule::TpsPerScale { script: script(), max: 0.5 }),
        (None, Rule::DrawnShare { query: "share".to_owned(), share: 0.85 }),
        (None, Rule::Checks { names: vec!["sound".to_owned()] }),
    ];
    let expected = expected.map(|(clause, rule)| StandardRule { clause: clause.map(str::to_owned), rule });
    assert_eq!((standard.name.as_str(), standard.rules()), ("S 1", &expected[..]));
}

#[test]
fn a_mistake_in_a_rule_is_one_line_with_its_place() {
    let rule = |keys: &str, expected: &str| {
        check(&format!("[standard]\nname = \"S\"\nrules = [{{ {keys} }}]"), expected);
    };
    check("[standard]\nrules = []", "w.toml:4:1: a standard requires a name");
    rule("share = 0.9", "w.toml:6:10: a rule requires a kind");
    rule(
        "kind = \"steady\"",
        "w.toml:6:19: expected \"response_time\" or \"steady_state\" or \"measured_time\" or \"tps_per_scale\" or \
         \"mix_share\" or \"drawn_share\" or \"checks\" or \"durability\", found \"steady\"",
    );
    rule(
        "kind = \"steady_state\", share = 0.9",
        "w.toml:6:35: unknown key \"share\" in a rule of the kind steady_state; known are clause",
    );
    rule("kind = \"response_time\", share = 0.9", "w.toml:6:10: this rule requires below_s");
    rule(
        "kind = \"response_time\", share = 90, below_s = 2",
        "w.toml:6:44: expected a share above 0, at most 1, found 90",
    );
    rule("kind = \"mix_share\", min = 0.4", "w.toml:6:10: this rule requires script");
    rule(
        "kind = \"mix_share\", min = 0.4, script = \"rum\"",
        "w.toml:6:52: there is no script \"rum\"; did you mean run?",
    );
    rule("kind = \"checks\", names = [\"sound\"]", "w.toml:6:38: there is no check \"sound\"");
    rule("kind = \"checks\"", "w.toml:6:10: this rule requires names");
    rule("kind = \"measured_time\", min_s = 9, max_s = 8", "w.toml:6:10: max_s must be at least min_s");
    rule(
        "kind = \"drawn_share\", share = 0.5, query = \"none.sql\"",
        "w.toml:6:55: there is no file none.sql",
    );
}

#[test]
fn a_name_load_steps_and_scripts_are_needed() {
    let refusal = |text: &str| parse(text).expect_err(text);
    assert_eq!(refusal(""), "w.toml:1:1: a workload requires a name, such as name = \"shop\"");
    assert_eq!(
        refusal("name = \"a b\""),
        "w.toml:1:8: expected a name of letters, digits, \"-\", \"_\" and \".\", found \"a b\""
    );
    let files = &FILES[1..];
    let without_schema =
        Manifest::parse("name = \"a\"", "w.toml", Files::Embedded(files), ReservedNames::NONE);
    assert_eq!(
        without_schema.expect_err("nothing to load").to_string(),
        "w.toml:1:1: a workload requires a file schema.sql, or load steps, such as load = [\"rows.sql\"]"
    );
    assert_eq!(
        refusal("name = \"a\"\nload = [\"schema.sql\"]\nscripts = [{ file = \"sub/run.sql\", weight = 0 }]"),
        "w.toml:3:11: a workload requires scripts, at least one of them with a weight above 0, such as \
         scripts = [\"a.sql\"]"
    );
}

#[test]
fn a_schema_is_enough_and_files_in_folders_are_found() {
    let least = parse("name = \"a\"\ntitle = \"b\"").expect("it is complete");
    assert_eq!(least.schema.expect("a schema").sql, "CREATE TABLE t (a int);");
    assert!(least.load.is_empty() && least.scripts.is_empty());
    let files = [
        ("schema.sql", "CREATE TABLE t (a int);"),
        ("queries/q10.sql", "SELECT 10"),
        ("queries/q2.sql", "SELECT 2"),
        ("queries/notes.txt", "no SQL"),
        ("scripts/a.sql", "SELECT 1;"),
        ("checks/c.sql", "SELECT 1 WHERE false;"),
        ("indexes/gin.sql", "CREATE INDEX ON t (a);"),
    ];
    let text = "name = \"a\"\nsize = 0.5\nseed = 7";
    let found =
        Manifest::parse(text, "w.toml", Files::Embedded(&files), ReservedNames::NONE).expect("it is sound");
    let names: Vec<&str> = found.queries.iter().map(|query| query.name.as_str()).collect();
    assert_eq!(names, ["q2", "q10"]);
    assert_eq!((found.scripts.len(), found.checks.len(), found.indexes.len()), (1, 1, 1));
    assert_eq!((found.size, found.seed), (Some(0.5), Some(7)));
}

#[test]
fn a_folder_may_not_take_the_name_of_a_shipped_workload() {
    let (folder, reserved) = (Path::new("/nonexistent"), ReservedNames(|name| name == "built"));
    let refusal = Manifest::parse("name = \"built\"", "w.toml", Files::Folder(folder), reserved);
    let what = "\"built\" is the name of a built-in workload: choose another name";
    assert_eq!(refusal.expect_err("it is reserved").to_string(), format!("w.toml:1:8: {what}"));
}
