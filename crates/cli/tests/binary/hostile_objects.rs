//! A superuser measures in databases where another role may create objects and has set `search_path`: nothing of what
//! pgmeter asks by itself runs anything of that role's. Each function and operator of the server has a counterpart in
//! `public`, which comes first on the path, and leaves a file with its name when it is called.

use testkit::cluster::Cluster;

use crate::harness::Bench;

/// For all databases of the server, those that a lab makes included.
const SETTINGS: [(&str, &str); 3] = [
    ("search_path", "public, pg_catalog"),
    ("shared_preload_libraries", "pg_stat_statements"),
    ("track_io_timing", "on"),
];

/// Counterparts with the same types, which hide the server's own, and with `text` for each `name`, which fit literals
/// better. `internal` and the like can be no types of theirs. A superuser makes them, so that they can write files.
const COUNTERPARTS: &str = r#"
SET search_path = pg_catalog;
GRANT CREATE ON SCHEMA public TO PUBLIC;
CREATE FUNCTION public.captures() RETURNS integer LANGUAGE plpgsql AS $do$
DECLARE
  body constant text := $$BEGIN EXECUTE format('COPY (SELECT 1) TO %L',
    current_setting('data_directory') || '/captured_' || $$;
  ending constant text := $$); RETURN NULL; END$$;
  made integer := 0;
  number integer := 0;
  it record;
  types text;
BEGIN
  FOR it IN SELECT p.proname, p.prorettype::regtype::text AS result, p.proargtypes, p.proretset
    FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace
      AND p.oid NOT IN (SELECT aggfnoid FROM pg_aggregate) AND p.provariadic = 0
  LOOP
    FOR types IN SELECT DISTINCT kind FROM unnest(ARRAY[
        (SELECT coalesce(string_agg(t::regtype::text, ', ' ORDER BY n), '') FROM unnest(it.proargtypes) WITH ORDINALITY u(t, n)),
        (SELECT coalesce(string_agg(CASE WHEN t = 'name'::regtype THEN 'text' ELSE t::regtype::text END, ', ' ORDER BY n), '')
           FROM unnest(it.proargtypes) WITH ORDINALITY u(t, n))]) kind
    LOOP
      BEGIN
        EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS %s %s LANGUAGE plpgsql SET search_path = pg_catalog AS %L',
          it.proname, types, CASE WHEN it.proretset THEN 'SETOF' ELSE '' END, it.result,
          CASE WHEN it.proretset THEN replace(body || quote_literal(it.proname) || ending, 'RETURN NULL', 'RETURN')
               ELSE body || quote_literal(it.proname) || ending END);
        made := made + 1;
      EXCEPTION WHEN OTHERS THEN NULL;
      END;
    END LOOP;
  END LOOP;
  FOR it IN SELECT o.oprname, o.oprleft::regtype::text AS l, o.oprright::regtype::text AS r, o.oprresult::regtype::text AS result
    FROM pg_operator o WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprleft <> 0 AND o.oprright <> 0
  LOOP
    number := number + 1;
    BEGIN
      EXECUTE format('CREATE FUNCTION public.operator_%s(%s, %s) RETURNS %s LANGUAGE plpgsql SET search_path = pg_catalog AS %L',
        number, it.l, it.r, it.result,
        body || quote_literal('operator ' || replace(it.oprname, '/', 'slash') || it.l || ' ' || it.r) || ending);
      EXECUTE format('CREATE OPERATOR public.%s (leftarg = %s, rightarg = %s, procedure = public.operator_%s)',
        it.oprname, it.l, it.r, number);
      made := made + 1;
    EXCEPTION WHEN OTHERS THEN NULL;
    END;
  END LOOP;
  RETURN made;
END$do$;
SELECT public.captures();
"#;

const SCRIPT: &str = "TABLE ledger;\nSELECT 1;\n\\sleep 2 ms\n";

const EXPERIMENT: &str = r#"
name = "trapped"
[server]
dsn = "DSN"
[data]
workload = "none"
[load]
duration = "500ms"
rate = 50
warmup = "0s"
script = "one.sql"
[design]
repeats = 1
"#;

const STEPS: &str = r#"
name = "steps"
[server]
dsn = "DSN"
[data]
workload = "none"
init_steps = "dt"
[design]
repeats = 1
[[step]]
init = "all"
[[step]]
name = "fill"
sql = "CREATE TABLE IF NOT EXISTS t (id int)"
"#;

fn files(cluster: &Cluster) -> Vec<String> {
    let files =
        std::fs::read_dir(cluster.directory().join("data")).expect("the data directory can be listed");
    let names = files.map(|file| file.expect("it can be listed").file_name().to_string_lossy().into_owned());
    let mut captured: Vec<_> = names.filter(|name| name.starts_with("captured_")).collect();
    captured.sort_unstable();
    captured
}

#[test]
fn nothing_of_another_role_runs_in_a_question_of_pgmeters_own() {
    for version in Cluster::versions(["18", "13", "9.6"]) {
        let bench = Bench::new();
        let cluster = Cluster::start_with(version, &SETTINGS);
        let conninfo = cluster.conninfo().replace("dbname=postgres", "dbname=template1");
        let mut session = Cluster::session(&conninfo);
        let objects =
            "CREATE TABLE public.ledger (id int); CREATE EXTENSION IF NOT EXISTS pg_stat_statements";
        session.execute(objects).expect("they can be made");
        let rows = session.query(COUNTERPARTS).expect("they can be made");
        let made: u32 = rows[0].get(0).expect("it is counted").parse().expect("a number");
        assert!(made > 2500, "{version}: {made}");
        drop(session);
        cluster.execute("CREATE DATABASE trapped TEMPLATE template1");
        let dsn = cluster.conninfo().replace("dbname=postgres", "dbname=trapped");

        // It works: a question without schemas meets them.
        let _ =
            Cluster::session(&dsn).query("SELECT pg_has_role('pg_monitor', 'usage') WHERE 'a'::text = 'b'");
        assert!(!files(&cluster).is_empty(), "{version}: the counterparts do nothing");
        for file in files(&cluster) {
            std::fs::remove_file(cluster.directory().join("data").join(file)).expect("it can be removed");
        }

        bench.file("one.sql", SCRIPT);
        bench.file("trapped.toml", &EXPERIMENT.replace("DSN", &dsn));
        bench.file("steps.toml", &STEPS.replace("DSN", &dsn));
        let compare =
            ["compare", "--factor", "settings.geqo=on,off", "--key", "workload=none", "-f", "one.sql"];
        let load = "bench -n -c 2 -T 1 -R 50 --observe full -f one.sql".split(' ');
        let load: Vec<&str> = load.chain([dsn.as_str()]).collect();
        let runs: [(&[&str], i32); 6] = [
            (&load, 0),
            (&["init", "--scale", "1", &dsn], 0),
            (&["init", "--scale", "1", "--resume", &dsn], 0),
            (&["lab", "run", "trapped.toml", "--store", "out/"], 0),
            (&["lab", "run", "steps.toml", "--store", "out/"], 0),
            (
                &[&compare[..], &["--budget", "2s", "--block", "0.1", "--store", "out/", "--dsn", &dsn]]
                    .concat(),
                3,
            ),
        ];
        for (words, status) in runs {
            let out = bench.run(words).exits(status);
            assert_eq!(files(&cluster), [""; 0], "{version}: {words:?}\n{}", out.stderr);
        }
        let record = bench.record();
        let settings = record.environment.server.expect("the server was asked").non_default_settings;
        assert_eq!(settings.get("search_path"), Some("public, pg_catalog"), "{version}");
        let observation = record.observation.expect("it was observed");
        assert!(
            !observation.missing.iter().any(|missing| missing.what == "pg_stat_statements"),
            "{:?}",
            observation.missing
        );
        let tables = observation.counters.iter().any(|table| table.view == "pg_stat_user_tables");
        assert!(tables, "{version}: {:?}", observation.missing);
    }
}
