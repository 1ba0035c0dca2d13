//! Marks of the tables that `init` made: a line in the comment of the table, with the workload, the scale, the seed, the
//! index set, the state, and the object that it was made for. A later `init` drops a table only if its mark was made for
//! this table in this database; runs find the scale in every mark.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use connect::Session;
use connect::quote::literal;
use stats::Scale;

use crate::WorkloadError;
use crate::contract::digests::{DIGEST_OF_RELATION, definition, digest};
use crate::contract::load::{InitOptions, query_catalogs};
use crate::contract::object_kinds::PLAIN_KINDS;
use crate::contract::sql_names;

/// Beginning of the line.
pub const BEGINNING: &str = "pgmeter: workload=";
/// Beginning of the key of a parameter.
const PARAMETER: &str = "parameter.";
/// Beginning of the key of a number of rows.
const ROWS: &str = "rows.";

/// A mark.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mark {
    pub(crate) workload: String,
    pub(crate) loaded: Loaded,
    /// The folder that it was loaded from; empty for a built-in workload, and if it does not say so.
    pub(crate) folder: String,
    /// The object that it was made for; `None` if it does not say so.
    pub(crate) object: Option<ObjectId>,
}

/// A database among all servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DatabaseId {
    oid: String,
    /// The server's system identifier; `None` if the user may not read it.
    system: Option<String>,
}

/// An object among all servers: a copy of it has another identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectId {
    pub(crate) oid: String,
    /// With its schema, quoted.
    pub(crate) name: String,
    /// Digest of its definition: of a table the columns, of a view its query too, of a function its body; otherwise empty.
    pub(crate) digest: String,
    /// Digest of the owner and of what else ALTER changes: of a function everything, of a type its constraints and labels, of a
    /// sequence its parameters. Empty if unknown: not all marks have it.
    pub(crate) definition: String,
    /// Digests of the objects that belong to a relation or schema and were made by the loading, or while it has not ended, by
    /// users; `None` if unknown.
    pub(crate) dependents: Option<String>,
    /// The number of rows of a table at the end of its loading (`row_counts`).
    pub(crate) rows: Option<u64>,
    /// The foreign keys that the schema gives a table, in the form of `mark_checks`. Empty without one.
    pub(crate) foreign_keys: String,
    pub(crate) database: DatabaseId,
}

/// SQL for the words of a relation's mark after the OID; `oid` and `identity` are expressions.
pub(crate) fn object_words(oid: &str, identity: &str, database: &DatabaseId) -> String {
    // The escapes of [`escaped`].
    let name = ["%", " ", "\n", "\r"].iter().fold(identity.to_owned(), |name, character| {
        format!("replace({name}, {}, {})", literal(character), literal(&escaped(character)))
    });
    format!(
        "concat('name=', {name}, ' digest=', {}, {})",
        DIGEST_OF_RELATION.replace('$', oid),
        literal(&format!(" {database}"))
    )
}

impl DatabaseId {
    /// That of the current database.
    pub(crate) fn read(session: &mut Session) -> Result<DatabaseId, WorkloadError> {
        let sql = "select oid, has_function_privilege('pg_control_system()', 'execute') from pg_database \
                   where datname = current_database()";
        let rows = query_catalogs(session, sql)?;
        let oid = rows.first().and_then(|row| row.get(0)).unwrap_or_default().to_owned();
        let mut system = None;
        if rows.first().and_then(|row| row.get(1)) == Some("t") {
            let rows = query_catalogs(session, "select system_identifier from pg_control_system()")?;
            system = rows.first().and_then(|row| row.get(0)).map(str::to_owned);
        }
        Ok(DatabaseId { oid, system })
    }

    /// An object of this database, without a digest.
    pub(crate) fn object(&self, oid: impl Into<String>, name: impl Into<String>) -> ObjectId {
        let (digest, definition) = (String::new(), String::new());
        let (oid, name, database) = (oid.into(), name.into(), self.clone());
        let foreign_keys = String::new();
        ObjectId { oid, name, digest, definition, dependents: None, rows: None, foreign_keys, database }
    }

    /// An object of this database, from its catalog.
    pub(crate) fn described(
        &self,
        session: &mut Session,
        catalog: &str,
        oid: &str,
    ) -> Result<ObjectId, WorkloadError> {
        let (class, number) = (format!("{}::regclass", literal(catalog)), format!("{}::oid", literal(oid)));
        let sql = format!(
            "select identity, {}, {} from pg_identify_object({class}, {number}, 0)",
            digest(&class, &number),
            definition(&class, &number)
        );
        let rows = query_catalogs(session, &sql)?;
        let text = |column| rows.first().and_then(|row| row.get(column)).unwrap_or_default();
        let (digest, definition) = (text(1).to_owned(), text(2).to_owned());
        Ok(ObjectId { digest, definition, ..self.object(oid, text(0)) })
    }
}

impl fmt::Display for DatabaseId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "database={}", self.oid)?;
        self.system.iter().try_for_each(|system| write!(out, " system={system}"))
    }
}

impl ObjectId {
    /// Whether both are the same object, unchanged.
    fn is(&self, other: &ObjectId) -> bool {
        self.is_same(other) && self.is_like(other)
    }

    /// Whether both are the same object, perhaps with another name. Without the system identifier of both, the other numbers
    /// decide.
    fn is_same(&self, other: &ObjectId) -> bool {
        let (own, others) = (&self.database, &other.database);
        let is_elsewhere = own.system.as_ref().zip(others.system.as_ref()).is_some_and(|(a, b)| a != b);
        self.oid == other.oid && own.oid == others.oid && !is_elsewhere
    }

    /// Whether this object of a mark has the same name and definition. A table that was renamed or got a column, and a function
    /// that was replaced, belong to the user who did it.
    fn is_like(&self, other: &ObjectId) -> bool {
        let is_defined_alike = self.definition.is_empty() || self.definition == other.definition;
        self.name == other.name && self.digest == other.digest && is_defined_alike
    }
}

/// Options and state of tables that `init` made.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The scale.
    pub scale: Scale,
    /// The seed, if one was given.
    pub seed: Option<u64>,
    /// The index set, if one was chosen.
    pub indexes: Option<String>,
    /// Values of parameters that were given, except secret ones.
    pub parameters: BTreeMap<String, String>,
    /// Numbers of rows that were given, by the names of tables.
    pub rows: BTreeMap<String, u64>,
    /// Whether the loading has ended.
    pub complete: bool,
}

impl Loaded {
    /// The options of a loading that has begun.
    pub(crate) fn begun(options: &InitOptions) -> Loaded {
        let InitOptions { scale, seed, indexes, parameters, secret_parameters, rows, .. } = options;
        let (indexes, mut parameters) = (indexes.clone(), parameters.clone());
        // Everyone who can connect can read the comment on a table.
        parameters.retain(|name, _| !secret_parameters.contains(name));
        Loaded { scale: *scale, seed: *seed, indexes, parameters, rows: rows.clone(), complete: false }
    }

    /// The options in the text of a mark or of [`Self::options_text`].
    pub(crate) fn parse(text: &str) -> Option<Loaded> {
        let mut loaded = Loaded::begun(&InitOptions { scale: Scale::ONE, ..InitOptions::default() });
        for (key, value) in text.split(' ').filter_map(|word| word.split_once('=')) {
            match key {
                "scale" => loaded.scale = value.parse().ok()?,
                "seed" => loaded.seed = Some(value.parse().ok()?),
                "indexes" => loaded.indexes = Some(value.to_owned()),
                "state" => loaded.complete = value == "loaded",
                // Of a parameter, of the object, or of a later version.
                _ => {
                    if let Some(name) = key.strip_prefix(PARAMETER) {
                        loaded.parameters.insert(name.to_owned(), unescaped(value)?);
                    } else if let Some(table) = key.strip_prefix(ROWS) {
                        loaded.rows.insert(unescaped(table)?, value.parse().ok()?);
                    }
                }
            }
        }
        Some(loaded)
    }

    /// The first option that differs: `--scale was 30 and is now 31`; `None` if all are the same.
    pub(crate) fn difference(&self, now: &Loaded) -> Option<String> {
        let values = |loaded: &Loaded| {
            let seed = loaded.seed.map(|seed| seed.to_string());
            let parameters = loaded.parameters.iter().map(|(name, value)| format!("{name}={value}"));
            let parameters: Vec<String> = parameters.collect();
            let parameters = (!parameters.is_empty()).then(|| parameters.join(" -D "));
            let rows: Vec<String> =
                loaded.rows.iter().map(|(table, rows)| format!("{table}={rows}")).collect();
            let rows = (!rows.is_empty()).then(|| rows.join(" --rows "));
            [
                ("--scale", Some(loaded.scale.to_string())),
                ("--random-seed", seed),
                ("--indexes", loaded.indexes.clone()),
                ("--rows", rows),
                ("-D", parameters),
            ]
        };
        let mut pairs = values(self).into_iter().zip(values(now));
        let ((option, before), (_, now)) = pairs.find(|(before, now)| before != now)?;
        let text = |value: Option<String>| value.unwrap_or_else(|| "not given".to_owned());
        Some(format!("{option} was {} and is now {}", text(before), text(now)))
    }

    /// `scale=0.5 seed=7 indexes=keys`, for messages and for the journal.
    pub(crate) fn options_text(&self) -> String {
        let mut text = format!("scale={}", self.scale);
        if let Some(seed) = self.seed {
            text.push_str(&format!(" seed={seed}"));
        }
        if let Some(indexes) = &self.indexes {
            text.push_str(&format!(" indexes={indexes}"));
        }
        for (name, value) in &self.parameters {
            text.push_str(&format!(" {PARAMETER}{name}={}", escaped(value)));
        }
        for (table, rows) in &self.rows {
            text.push_str(&format!(" {ROWS}{}={rows}", escaped(table).replace('=', "%3D")));
        }
        text
    }
}

/// Without the characters that end a word or a line of a mark, by the escapes of URLs.
pub(crate) fn escaped(value: &str) -> String {
    let mut text = String::new();
    for character in value.chars() {
        match character {
            '%' | ' ' | '\n' | '\r' => text.push_str(&format!("%{:02X}", u32::from(character))),
            other => text.push(other),
        }
    }
    text
}

/// `None` if it is not the text of [`escaped`].
pub(crate) fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut value = parts.next()?.to_owned();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        value.push(u8::from_str_radix(code, 16).ok().filter(u8::is_ascii)?.into());
        value.push_str(rest);
    }
    Some(value)
}

impl fmt::Display for Mark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mark { workload, loaded, folder, object } = self;
        let state = if loaded.complete { "loaded" } else { "loading" };
        write!(out, "{BEGINNING}{workload} {} state={state}", loaded.options_text())?;
        if !folder.is_empty() {
            write!(out, " folder={folder}")?;
        }
        object.iter().try_for_each(
            |ObjectId { oid, name, digest, definition, dependents, rows, foreign_keys, database }| {
                write!(out, " oid={oid} name={} digest={digest}", escaped(name))?;
                if !definition.is_empty() {
                    write!(out, " definition={definition}")?;
                }
                if let Some(dependents) = dependents {
                    write!(out, " dependents={dependents}")?;
                }
                rows.iter().try_for_each(|rows| write!(out, " rows={rows}"))?;
                if !foreign_keys.is_empty() {
                    write!(out, " foreign_keys={foreign_keys}")?;
                }
                write!(out, " {database}")
            },
        )
    }
}

impl Mark {
    /// The mark of an object.
    pub(crate) fn of(&self, object: ObjectId) -> Mark {
        Mark { object: Some(object), ..self.clone() }
    }

    /// The mark in a comment; `None` if it has none.
    pub(crate) fn parse(comment: &str) -> Option<Mark> {
        let line = comment.lines().rev().find_map(|line| line.strip_prefix(BEGINNING))?;
        let mut words = line.split(' ');
        let workload = words.next()?.to_owned();
        let words: Vec<(&str, &str)> = words.filter_map(|word| word.split_once('=')).collect();
        let value =
            |key: &str| words.iter().find(|(own, _)| *own == key).map(|(_, value)| (*value).to_owned());
        let database = |oid| DatabaseId { oid, system: value("system") };
        let name = value("name").and_then(|name| unescaped(&name));
        let object = value("oid").zip(value("database")).zip(name).map(|((oid, db), name)| ObjectId {
            digest: value("digest").unwrap_or_default(),
            definition: value("definition").unwrap_or_default(),
            dependents: value("dependents"),
            rows: value("rows").and_then(|rows| rows.parse().ok()),
            foreign_keys: value("foreign_keys").unwrap_or_default(),
            ..database(db).object(oid, name)
        });
        let folder = value("folder").unwrap_or_default();
        Some(Mark { workload, loaded: Loaded::parse(line)?, folder, object })
    }

    /// The comment with this mark instead of an earlier one.
    pub(crate) fn added_to(&self, comment: &str) -> String {
        let own = comment.lines().filter(|line| !line.starts_with(BEGINNING));
        let lines: Vec<String> = own.map(str::to_owned).chain([self.to_string()]).collect();
        lines.join("\n")
    }
}

/// A marked object.
#[derive(Clone, Debug)]
pub(crate) struct MarkedObject {
    /// As DROP and COMMENT name it: `table`, `view`, `type`.
    pub(crate) kind: String,
    /// Its schema, quoted; empty for a schema.
    pub(crate) schema: String,
    /// With its schema, quoted.
    pub(crate) identity: String,
    pub(crate) comment: String,
    pub(crate) mark: Mark,
    /// The object as it is.
    pub(crate) object: ObjectId,
    /// Whether the mark was made for this object: not if it was restored from a dump, if its comment was copied, or if it was
    /// renamed or got another column.
    pub(crate) is_own: bool,
}

impl MarkedObject {
    /// Whether the mark was made for this object, whose columns may have changed since.
    pub(crate) fn is_same(&self) -> bool {
        self.mark.object.as_ref().is_some_and(|object| object.is_same(&self.object))
    }

    /// Whether another folder with the same name of its workload has made it. A folder that was moved makes objects of the same
    /// names (`created`).
    pub(crate) fn is_of_another(&self, folder: &str, created: &BTreeSet<String>) -> bool {
        let is_created =
            || sql_names::of_identity(&self.identity).is_some_and(|it| created.contains(&it.name));
        self.mark.folder != folder && !is_created()
    }
}

/// A text as a pattern of LIKE with the escape character `!`.
fn like_text(text: &str) -> String {
    text.replace('!', "!!").replace('%', "!%").replace('_', "!_")
}

/// All objects with a mark of the workload in the current database. The server estimates that few rows match such a pattern,
/// and plans accordingly.
pub(crate) fn find(session: &mut Session, workload: &str) -> Result<Vec<MarkedObject>, WorkloadError> {
    find_like(session, workload, "")
}

/// Those whose mark knows the dependents of users: not the objects of a loading that has not ended.
pub(crate) fn find_with_dependents(
    session: &mut Session,
    workload: &str,
) -> Result<Vec<MarkedObject>, WorkloadError> {
    find_like(session, workload, " dependents=%")
}

fn find_like(
    session: &mut Session,
    workload: &str,
    pattern: &str,
) -> Result<Vec<MarkedObject>, WorkloadError> {
    let sql = format!(
        "select o.type, coalesce(o.schema, ''), o.identity, d.description, d.objoid, \
         {}, {} from pg_description d \
         cross join lateral pg_identify_object(d.classoid, d.objoid, 0) o \
         where d.objsubid = 0 and d.classoid in ('pg_class'::regclass, 'pg_type'::regclass, \
         'pg_proc'::regclass, 'pg_namespace'::regclass, {}) and d.description like {} escape '!' order by d.objoid",
        digest("d.classoid", "d.objoid"),
        definition("d.classoid", "d.objoid"),
        PLAIN_KINDS.map(|(_, catalog, _)| format!("'{catalog}'::regclass")).join(", "),
        literal(&format!("%{} %{pattern}", like_text(&format!("{BEGINNING}{workload}"))))
    );
    let rows = query_catalogs(session, &sql)?;
    let database = DatabaseId::read(session)?;
    let object = |row: &connect::Row| {
        let text = |column| row.get(column).unwrap_or_default().to_owned();
        let mark = Mark::parse(&text(3)).filter(|mark| mark.workload == workload)?;
        let (digest, definition) = (text(5), text(6));
        let found = ObjectId { digest, definition, ..database.object(text(4), text(2)) };
        let is_own = mark.object.as_ref().is_some_and(|object| object.is(&found));
        Some(MarkedObject {
            kind: text(0),
            schema: text(1),
            identity: text(2),
            comment: text(3),
            mark,
            object: found,
            is_own,
        })
    };
    Ok(rows.iter().filter_map(object).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(complete: bool) -> Mark {
        let scale = "0.5".parse().expect("a scale");
        let parameters = BTreeMap::from([("source".to_owned(), "/a b/50%.csv".to_owned())]);
        let indexes = Some("keys".to_owned());
        let rows = BTreeMap::from([("a=b c".to_owned(), 5)]);
        let loaded = Loaded { scale, seed: Some(7), indexes, parameters, rows, complete };
        let database = DatabaseId { oid: "5".to_owned(), system: Some("76".to_owned()) };
        Mark {
            workload: "shop".to_owned(),
            loaded,
            folder: "5eed".to_owned(),
            object: Some(database.object("16385", "public.\"a b\"")),
        }
    }

    #[test]
    fn a_mark_is_a_line_after_the_own_comment() {
        let comment = mark(false).added_to("All customers\nsince 2020");
        assert_eq!(
            comment,
            "All customers\nsince 2020\npgmeter: workload=shop scale=0.5 seed=7 indexes=keys \
             parameter.source=/a%20b/50%25.csv rows.a%3Db%20c=5 state=loading folder=5eed oid=16385 name=public.\"a%20b\" digest= database=5 system=76"
        );
        assert_eq!(Mark::parse(&comment), Some(mark(false)));
        let again = mark(true).added_to(&comment);
        assert_eq!(Mark::parse(&again), Some(mark(true)));
        assert_eq!(again.lines().count(), 3, "{again}");
    }

    #[test]
    fn other_comments_are_no_marks() {
        for comment in ["", "pgmeter", "pgmeter: workload=shop scale=x", "see pgmeter: workload=shop scale=1"]
        {
            assert_eq!(Mark::parse(comment), None, "{comment}");
        }
    }

    #[test]
    fn a_mark_is_for_one_object_of_one_server() {
        let object = |oid: &str, database: &str, system: Option<&str>| {
            DatabaseId { oid: database.to_owned(), system: system.map(str::to_owned) }.object(oid, "public.a")
        };
        let own = object("16385", "5", Some("76"));
        assert!(own.is(&own) && own.is(&object("16385", "5", None)));
        for other in
            [object("16386", "5", Some("76")), object("16385", "6", None), object("16385", "5", Some("7"))]
        {
            assert!(!own.is(&other), "{other:?}");
        }
        let renamed = ObjectId { name: "public.a_2025".to_owned(), ..own.clone() };
        let altered = ObjectId { digest: "d41d".to_owned(), ..own.clone() };
        assert!(!own.is(&renamed) && !own.is(&altered));
        let defined = ObjectId { definition: "d41d".to_owned(), ..own.clone() };
        assert!(own.is(&defined), "an earlier mark does not have it");
        assert!(!defined.is(&ObjectId { definition: "e99a".to_owned(), ..own.clone() }));
    }

    #[test]
    fn the_first_option_that_differs_is_named() {
        let Mark { loaded: before, .. } = mark(false);
        assert_eq!(before.difference(&Loaded { complete: true, ..before.clone() }), None);
        let parsed = Loaded::parse(&before.options_text()).expect("options");
        assert_eq!(parsed, before);
        let now = Loaded { rows: BTreeMap::new(), ..before.clone() };
        assert_eq!(before.difference(&now).as_deref(), Some("--rows was a=b c=5 and is now not given"));
        let now = Loaded { seed: None, ..before.clone() };
        assert_eq!(before.difference(&now).as_deref(), Some("--random-seed was 7 and is now not given"));
        let now = Loaded { scale: Scale::ONE, ..now };
        assert_eq!(before.difference(&now).as_deref(), Some("--scale was 0.5 and is now 1"));
    }
}
