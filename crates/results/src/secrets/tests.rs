//! Texts with secrets and what is left of them, by the way in which each is written; and that no text can trip the
//! search. Where texts come from is tested in `cli`.

use proptest::prelude::*;

use super::*;

fn check(input: &str, expected: &str) {
    let masked = mask(input, Kind::Plain);
    assert_eq!(masked, expected);
    assert_eq!(mask(&masked, Kind::Plain), expected, "masking twice changes nothing");
}

fn check_sql(input: &str, expected: &str) {
    let masked = mask(input, Kind::Sql);
    assert_eq!(masked, expected);
    assert_eq!(mask(&masked, Kind::Sql), expected, "masking twice changes nothing");
}

#[test]
fn passwords_in_connection_strings_are_masked() {
    check("host=a password=sec&ret port=1", "host=a password=*** port=1");
    check("PGPASSWORD = secret psql", "PGPASSWORD = *** psql");
    check("user=x sslpassword=secret", "user=x sslpassword=***");
    check(r"password='se cr\'et' dbname=d", "password='***' dbname=d");
    check(r"password=se\ cret dbname=d", "password=*** dbname=d");
    check("password=\"se cret\" dbname=d", "password=\"***\" dbname=d");
    check("password='never closed dbname=d", "password='***");
    check("password=", "password=");
    check("'host=a password=***' -S", "'host=a password=***' -S");
    check("password=s€crét é", "password=*** é");
    check("dsn = \"host=a password=secret\"", "dsn = \"host=a password=***\"");
    check("-D token=abc -Dapi_key=abc --define=pwd=abc", "-D token=*** -Dapi_key=*** --define=pwd=***");
}

#[test]
fn literals_after_password_are_masked_however_they_are_written() {
    check_sql(
        "ALTER ROLE a PASSWORD 'se''cret' VALID UNTIL 'x'",
        "ALTER ROLE a PASSWORD '***' VALID UNTIL 'x'",
    );
    check_sql(r"create role a password E'se\'cret' login", "create role a password E'***' login");
    check_sql("ALTER ROLE a PASSWORD $$secret$$;", "ALTER ROLE a PASSWORD $$***$$;");
    check_sql("ALTER ROLE a PASSWORD $x$se$$cret$x$;", "ALTER ROLE a PASSWORD $x$***$x$;");
    check_sql(r"ALTER ROLE a PASSWORD U&'\0073ecret' LOGIN", "ALTER ROLE a PASSWORD U&'***' LOGIN");
    check_sql("ALTER ROLE a PASSWORD/* so */'secret'", "ALTER ROLE a PASSWORD/* so */'***'");
    check_sql("ALTER ROLE a PASSWORD -- so\n 'se'\n 'cret';", "ALTER ROLE a PASSWORD -- so\n '***';");
    check_sql(
        "OPTIONS (user 'me', password 'secret', api_key 'x')",
        "OPTIONS (user 'me', password '***', api_key '***')",
    );
    check_sql("ALTER ROLE a PASSWORD 'never closed; x", "ALTER ROLE a PASSWORD '***");
    check_sql("ALTER ROLE a PASSWORD 'se'\n'cret, never closed \u{fc}", "ALTER ROLE a PASSWORD '***");
    check_sql("ALTER ROLE a PASSWORD $$never closed; x", "ALTER ROLE a PASSWORD $$***");
    check_sql(
        "ALTER ROLE a PASSWORD NULL; ALTER ROLE a PASSWORD :pw",
        "ALTER ROLE a PASSWORD NULL; ALTER ROLE a PASSWORD :pw",
    );
}

#[test]
fn literals_within_literals_are_masked() {
    check_sql(
        "SELECT 'ALTER ROLE a PASSWORD ''abc'' x', 'y'",
        "SELECT 'ALTER ROLE a PASSWORD ''***'' x', 'y'",
    );
    check("password='' dbname=''", "password='' dbname=''");
    check_sql("f(password => '', x => '')", "f(password => '', x => '')");
}

#[test]
fn a_backslash_before_a_quote_hides_no_secret_in_either_reading() {
    let statement = r"ALTER ROLE a PASSWORD 'one\'; ALTER ROLE b PASSWORD 'two';";
    check_sql(statement, r"ALTER ROLE a PASSWORD '***'***';");
}

#[test]
fn values_of_secret_names_in_scripts_are_masked() {
    check_sql("SELECT 1 WHERE api_token = 'abc'", "SELECT 1 WHERE api_token = '***'");
    check_sql(
        "SET app.secret TO 'abc'; SET app.secret = abc1",
        "SET app.secret TO '***'; SET app.secret = ***",
    );
    check_sql("SELECT f(token => 'abc')", "SELECT f(token => '***')");
    check_sql("SELECT set_config('app.token', 'abc', true)", "SELECT set_config('app.token', '***', true)");
    check_sql("\\set pwd 12345\nSELECT 1;\n", "\\set pwd ***\nSELECT 1;\n");
    check_sql("\\setshell token echo abc\n", "\\setshell token ***\n");
    check_sql("-- password=abc\nSELECT 1;", "-- password=***\nSELECT 1;");
    check_sql("SELECT dblink('host=a password=abc')", "SELECT dblink('host=a password=***')");
    check_sql("SELECT dblink($$host=a password=abc$$)", "SELECT dblink($$host=a password=***$$)");
    check_sql("SELECT 'postgres://u:abc@h/d'", "SELECT 'postgres://u:***@h/d'");
}

#[test]
fn what_a_benchmark_does_with_keys_stays_readable() {
    for text in [
        "UPDATE t SET key = key + 1 WHERE key = :key AND token = :token;",
        "SELECT v FROM kv WHERE key = 42 AND t.key_id = $1;",
        "\\set key random(1, 100000 * :scale)\n\\set keys 1000\n\\set token_id 1 + :client_id\n",
        "\\if :key = 5\n",
        "DO $$BEGIN UPDATE t SET key = other; END$$",
        "CREATE TABLE t (key int PRIMARY KEY, token text DEFAULT NULL)",
    ] {
        check_sql(text, text);
    }
    check_sql("WHERE key = 'abc'", "WHERE key = '***'");
    check_sql("\\set api_key 917364501\n", "\\set api_key ***\n");
}

#[test]
fn json_is_masked_in_all_its_quotes() {
    check(
        r#"{"user": "me", "password": "s\"ecret", "n": 1}"#,
        r#"{"user": "me", "password": "***", "n": 1}"#,
    );
    check(r#"{\"token\": \"secret\", \"n\": 1}"#, r#"{\"token\": \"***\", \"n\": 1}"#);
    check(r#"{"token":12345,"n":1}"#, r#"{"token":***,"n":1}"#);
    check(
        r#"{"tokens": ["a", "b"], "n": {"secret": {"x": "a"}}}"#,
        r#"{"tokens": [***], "n": {"secret": {***}}}"#,
    );
    check("{'passwd': 'secret'}", "{'passwd': '***'}");
    check_sql(r#"SELECT '{"api_key": "abc"}'::jsonb"#, r#"SELECT '{"api_key": "***"}'::jsonb"#);
    check_sql(
        "SELECT jsonb_build_object('token', 'abc', 'n', 1)",
        "SELECT jsonb_build_object('token', '***', 'n', 1)",
    );
    check_sql("WHERE doc->>'token' = 'abc'", "WHERE doc->>'token' = '***'");
}

#[test]
fn toml_can_be_read_as_before() {
    check(
        "token = \"abc\"\nforeign_keys = true\nkeys = [1, 2]\n",
        "token = \"***\"\nforeign_keys = true\nkeys = [1, 2]\n",
    );
    check("variables.secret = \"\"\"\nabc \"d\" \"\"\"\nx = 1", "variables.secret = \"\"\"***\"\"\"\nx = 1");
}

#[test]
fn passwords_in_uris_are_masked() {
    check("postgresql://me:secret@host:5432/db", "postgresql://me:***@host:5432/db");
    check("postgres://me:se@cret@host/db?x=y", "postgres://me:***@host/db?x=y");
    check("postgres://host/db?user=me&password=secret", "postgres://host/db?user=me&password=***");
    check("postgres://host/db?password=secret&user=me", "postgres://host/db?password=***&user=me");
    check("postgres://h/d?pass%77ord=secret&x=y z", "postgres://h/d?pass%77ord=***&x=y z");
    check("postgres://h/d?%50%61ssword=s&ssl%70assword=", "postgres://h/d?%50%61ssword=***&ssl%70assword=");
    check("either postgres://a:b@c or http://d:e@f.", "either postgres://a:***@c or http://d:***@f.");
    check("postgres://me:sec/ret@host/db", "postgres://me:***@host/db");
    check("postgresql://me:se%63ret@host", "postgresql://me:***@host");
}

#[test]
fn text_without_secrets_stays_as_it_is() {
    for text in [
        "",
        "FATAL:  password authentication failed for user \"me\"",
        "password_encryption = scram-sha-256",
        "postgresql://me@host:5432/db",
        "postgresql://host:5432/db",
        "10 % of 5:40 @ 3 / 4",
        "a line is keyword=value; expected KEY=A,B, such as",
        "x.toml:9:1: unknown key \"scripts\" in [load]; did you mean \"script\"?",
        "duplicate key value violates unique constraint \"t_pkey\"",
        "DETAIL:  Key (aid)=(5) already exists.",
    ] {
        check(text, text);
    }
}

#[test]
fn values_are_masked_by_their_names() {
    for (name, value, expected) in [
        ("scale", "10", "10"),
        ("api_Token", "abc d", "***"),
        ("token", "12", "***"),
        ("key", "12", "12"),
        ("key", "abc", "***"),
        ("dsn", "postgresql://u:abc@h/d", "postgresql://u:***@h/d"),
        ("password", "", ""),
    ] {
        assert_eq!(mask_named(name, value), expected, "{name}");
    }
}

proptest! {
    /// Whatever is around it, a literal in any of its forms does not survive.
    #[test]
    fn a_planted_secret_is_never_left(
        before in "[a-z ;'\"$=\\\\\n]{0,12}",
        form in 0..8usize,
        after in "[a-z ;'\"$=\\\\\n]{0,12}",
        kind in prop_oneof![Just(Kind::Plain), Just(Kind::Sql)],
    ) {
        const SECRET: &str = "Pl4nted";
        let forms = ["PASSWORD '<>'", "PASSWORD E'<>'", "PASSWORD $$<>$$", "PASSWORD U&'<>'", "token='<>'",
            "{\"secret\": \"<>\"}", "passwd = \"<>\"", "postgres://u:<>@h/"];
        let text = format!("{before} {} {after}", forms[form].replace("<>", SECRET));
        let masked = mask(&text, kind);
        prop_assert!(!masked.contains(SECRET), "{text:?} {masked:?}");
    }

    #[test]
    fn any_text_can_be_masked(text in "(PASSWORD '|token|key|'\n'|\u{fc}|[\"'$\\\\=:{}\\[\\]/@ \n]|://|.){0,40}") {
        for kind in [Kind::Plain, Kind::Sql] {
            mask(&text, kind);
        }
    }
}
