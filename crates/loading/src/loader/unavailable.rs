//! Statements of a schema that name objects which this server does not have, and that no row depends on: unknown
//! settings, owners and privileges of roles that do not exist, and other databases. A dump of another server has them.
//! They are left out.

use std::collections::BTreeSet;

use connect::Session;
use connect::quote::literal;

use crate::WorkloadError;
use crate::contract::load::query_catalogs;
use crate::contract::sql_names::{Token, tokens};
use crate::loader::execution::TableSet;

/// Words that name a role without its name.
const ROLES_OF_SESSION: [&str; 4] = ["public", "current_user", "session_user", "current_role"];
/// Words after SET that are no settings.
const NOT_SETTINGS: [&str; 7] = ["role", "time", "names", "constraints", "transaction", "schema", "xml"];
/// Beginnings of statements about databases.
const OF_DATABASES: [&[&str]; 4] =
    [&["create", "database"], &["drop", "database"], &["alter", "database"], &["comment", "on", "database"]];
/// Most names in a sentence.
const NAMES_SHOWN: usize = 5;

/// What a statement needs.
#[derive(Debug, PartialEq, Eq)]
enum Need {
    Setting(String),
    Roles(Vec<String>),
    Database,
    /// A comment on an extension, or its procedural language, which others have if it is there.
    Extension(String),
    /// No transaction, as VACUUM does.
    NoTransaction,
}

/// Why statements are left out.
#[derive(Debug, Default)]
struct LeftOut {
    statements: usize,
    settings: BTreeSet<String>,
    roles: BTreeSet<String>,
    extensions: BTreeSet<String>,
    has_databases: bool,
    has_vacuum: bool,
}

/// Removes the statements from the set. Returns a sentence about them, if there are any.
pub(crate) fn leave_out(session: &mut Session, set: &mut TableSet) -> Result<Option<String>, WorkloadError> {
    let all = || set.schema.iter().chain(set.after.iter().map(|after| &after.statement));
    if all().all(|statement| need(&statement.sql).is_none()) {
        return Ok(None);
    }
    let mut known = |sql: &str| -> Result<BTreeSet<String>, WorkloadError> {
        let rows = query_catalogs(session, sql)?;
        Ok(rows.iter().filter_map(|row| row.get(0).map(str::to_owned)).collect())
    };
    let mut settings = known("select lower(name) from pg_settings")?;
    let mut roles = known("select rolname from pg_roles")?;
    let extensions = known("select extname from pg_extension")?;
    for name in all().filter_map(|statement| setting_of(&statement.sql)) {
        if !settings.contains(&name) && has_setting(session, &name)? {
            settings.insert(name);
        }
    }
    roles.extend(ROLES_OF_SESSION.map(str::to_owned));
    roles.extend(all().filter_map(|statement| created_role(&statement.sql)));
    let mut left_out = LeftOut::default();
    let mut remains = |sql: &str| {
        let missing = match need(sql) {
            None => return true,
            Some(Need::Database) => {
                left_out.has_databases = true;
                true
            }
            Some(Need::NoTransaction) => {
                left_out.has_vacuum = true;
                true
            }
            Some(Need::Extension(name)) => {
                extensions.contains(&name) && {
                    left_out.extensions.insert(name);
                    true
                }
            }
            Some(Need::Setting(name)) => {
                !settings.contains(&name) && {
                    left_out.settings.insert(name);
                    true
                }
            }
            Some(Need::Roles(names)) => {
                let mut missing = names.into_iter().filter(|name| !roles.contains(name)).peekable();
                let is_missing = missing.peek().is_some();
                left_out.roles.extend(missing);
                is_missing
            }
        };
        left_out.statements += usize::from(missing);
        !missing
    };
    set.schema.retain(|statement| remains(&statement.sql));
    set.after.retain(|after| remains(&after.statement.sql));
    Ok((left_out.statements > 0).then(|| left_out.sentence()))
}

/// Whether the server has a setting that `pg_settings` does not list: `seed`, and those that the role may not see.
fn has_setting(session: &mut Session, name: &str) -> Result<bool, WorkloadError> {
    match query_catalogs(session, &format!("select current_setting({}, true) is null", literal(name))) {
        Ok(rows) => Ok(rows.first().and_then(|row| row.get(0)) == Some("f")),
        // The role may not see it.
        Err(WorkloadError::Query { .. }) if !session.is_lost() => Ok(true),
        Err(error) => Err(error),
    }
}

impl LeftOut {
    fn sentence(&self) -> String {
        let statements = match self.statements {
            1 => "1 statement of the schema is".to_owned(),
            many => format!("{many} statements of the schema are"),
        };
        let named = |names: &BTreeSet<String>, one: &str, several: &str| {
            let word = if names.len() == 1 { one } else { several };
            let shown: Vec<&str> = names.iter().take(NAMES_SHOWN).map(String::as_str).collect();
            let more = names.len().saturating_sub(NAMES_SHOWN);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            (!names.is_empty()).then(|| format!("{word} {}{more}", shown.join(", ")))
        };
        let settings = named(&self.settings, "this server has no setting", "this server has no settings");
        let roles = named(&self.roles, "there is no role", "there are no roles");
        let extensions =
            named(&self.extensions, "there is already the extension", "there are already the extensions");
        let databases = self.has_databases.then(|| "databases are not part of a schema".to_owned());
        let vacuum = self.has_vacuum.then(|| "`init` executes VACUUM itself".to_owned());
        let reasons: Vec<String> =
            [settings, roles, extensions, databases, vacuum].into_iter().flatten().collect();
        format!("{statements} left out: {} (--strict executes them)", reasons.join("; "))
    }
}

/// The role that a statement creates.
fn created_role(sql: &str) -> Option<String> {
    let tokens = tokens(sql);
    let [create, kind, name, ..] = &tokens[..] else { return None };
    (is(create, "create") && ["role", "user", "group"].iter().any(|word| is(kind, word))).then_some(())?;
    name_of(name)
}

/// What a statement needs of the server, if it can be left out.
fn need(sql: &str) -> Option<Need> {
    if OF_DATABASES.iter().any(|words| sql::first_words(sql, words.len()) == *words) {
        return Some(Need::Database);
    }
    let tokens = tokens(sql);
    if let Some(name) = language(&tokens) {
        return Some(Need::Extension(name));
    }
    match tokens.first()? {
        Token::Word(word) if word == "vacuum" => Some(Need::NoTransaction),
        Token::Word(word) if word == "set" => setting(&tokens[1..]),
        Token::Word(word) if word == "alter" && tokens.get(1).is_some_and(|next| is(next, "default")) => {
            let creators = after_word(&tokens, &["role", "user"]);
            Some(Need::Roles(creators.into_iter().chain(grantees(&tokens)).collect()))
        }
        Token::Word(word) if word == "alter" => match &tokens[..] {
            [.., owner, to, name] if is(owner, "owner") && is(to, "to") => {
                Some(Need::Roles(vec![name_of(name)?]))
            }
            _ => None,
        },
        Token::Word(word) if word == "comment" => match &tokens[..] {
            [_, on, extension, name, ..] if is(on, "on") && is(extension, "extension") => {
                Some(Need::Extension(name_of(name)?))
            }
            _ => None,
        },
        Token::Word(word) if word == "grant" || word == "revoke" => Some(Need::Roles(grantees(&tokens))),
        _ => None,
    }
}

/// The procedural language that a statement creates or alters.
fn language(tokens: &[Token]) -> Option<String> {
    let is_one = |token: &Token, words: &[&str]| words.iter().any(|word| is(token, word));
    let (first, rest) = tokens.split_first()?;
    let mut rest = rest.iter().skip_while(|token| is_one(token, &["or", "replace", "trusted", "procedural"]));
    let is_language = is_one(first, &["create", "alter"]) && is(rest.next()?, "language");
    is_language.then(|| name_of(rest.next()?)).flatten()
}

/// The setting that a statement sets.
fn setting_of(sql: &str) -> Option<String> {
    match need(sql)? {
        Need::Setting(name) => Some(name),
        Need::Roles(_) | Need::Database | Need::Extension(_) | Need::NoTransaction => None,
    }
}

/// The setting of a SET, from the word after it.
fn setting(tokens: &[Token]) -> Option<Need> {
    let is_scope = |token: &Token| is(token, "session") || is(token, "local");
    let tokens = if tokens.first().is_some_and(is_scope) { &tokens[1..] } else { tokens };
    let [name, next, ..] = tokens else { return None };
    let is_assigned = *next == Token::Symbol('=') || is(next, "to");
    let name = name_of(name)?.to_lowercase();
    (is_assigned && !NOT_SETTINGS.contains(&name.as_str())).then_some(Need::Setting(name))
}

/// The roles that get or lose privileges.
fn grantees(tokens: &[Token]) -> Vec<String> {
    after_word(tokens, &["to", "from"])
}

/// The names after the last of these words, with commas between them.
fn after_word(tokens: &[Token], words: &[&str]) -> Vec<String> {
    let Some(at) = tokens.iter().rposition(|token| words.iter().any(|word| is(token, word))) else {
        return Vec::new();
    };
    let mut rest = tokens[at + 1..].iter().peekable();
    let mut names = Vec::new();
    rest.next_if(|token| is(token, "group"));
    while let Some(name) = rest.next().and_then(name_of) {
        names.push(name);
        if rest.next_if(|token| **token == Token::Symbol(',')).is_none() {
            break;
        }
        rest.next_if(|token| is(token, "group"));
    }
    names
}

fn is(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(own) if own == word)
}

fn name_of(token: &Token) -> Option<String> {
    match token {
        Token::Word(name) | Token::Quoted(name) => Some(name.clone()),
        Token::Dollar(_) | Token::Symbol(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_roles_and_databases_of_a_dump_are_found() {
        let roles = |names: &[&str]| Some(Need::Roles(names.iter().map(|&name| name.to_owned()).collect()));
        let setting = |name: &str| Some(Need::Setting(name.to_owned()));
        for (sql, expected) in [
            ("SET transaction_timeout = 0", setting("transaction_timeout")),
            ("set local \"DateStyle\" to 'ISO'", setting("datestyle")),
            ("SET SESSION AUTHORIZATION 'app'", None),
            ("SET role app", None),
            ("SET my.own = 1", None),
            ("SET TIME ZONE 'UTC'", None),
            ("ALTER TABLE public.a OWNER TO \"App User\"", roles(&["App User"])),
            ("ALTER FUNCTION f(integer) OWNER TO App", roles(&["app"])),
            ("ALTER TABLE a ADD COLUMN owner text", None),
            ("GRANT SELECT ON TABLE a TO app, GROUP \"B\" WITH GRANT OPTION", roles(&["app", "B"])),
            ("REVOKE ALL ON SCHEMA public FROM PUBLIC", roles(&["public"])),
            (
                "ALTER DEFAULT PRIVILEGES FOR ROLE maker IN SCHEMA s GRANT SELECT ON TABLES TO reader",
                roles(&["maker", "reader"]),
            ),
            ("CREATE OR REPLACE PROCEDURAL LANGUAGE plpgsql", Some(Need::Extension("plpgsql".to_owned()))),
            ("ALTER LANGUAGE plpgsql OWNER TO app", Some(Need::Extension("plpgsql".to_owned()))),
            ("CREATE OR REPLACE FUNCTION language() returns int", None),
            ("CREATE DATABASE shop", Some(Need::Database)),
            ("COMMENT ON DATABASE shop IS 'x'", Some(Need::Database)),
            ("CREATE TABLE a (b int)", None),
        ] {
            assert_eq!(need(sql), expected, "{sql}");
        }
        assert_eq!(created_role("CREATE ROLE \"App\" LOGIN"), Some("App".to_owned()));
    }

    #[test]
    fn the_sentence_has_a_few_names_and_the_number_of_the_others() {
        let names = (1..=7).map(|number| format!("r{number}")).collect();
        let left_out = LeftOut { statements: 9, roles: names, ..LeftOut::default() };
        assert_eq!(
            left_out.sentence(),
            "9 statements of the schema are left out: there are no roles r1, r2, r3, r4, r5 and 2 more (--strict executes them)"
        );
    }
}
