//! The objects in the way of a loading: those of an earlier one, and with `--drop` those of others. Refuses to drop objects of
//! others without permission, also those that DROP TABLE drops without naming them, and names all that it drops.

use std::collections::BTreeSet;

use connect::Session;
use connect::quote::literal;

use super::journal;
use super::statement::LoadStatement;
use super::table_set::TableSet;
use crate::WorkloadError;
use crate::contract::load::{InitOptions, first, query, query_catalogs, text};
use crate::contract::marks::MarkedObject;
use crate::contract::object_kinds::{PLAIN_KINDS, catalog_of};
use crate::contract::sql_names::{self, CreatedObject};
use crate::contract::table_name::TableName;
use crate::loader::protection::dependents::{self, Dependent};
use crate::loader::protection::existing_tables::{self, Child, refusal};

/// What is dropped before a loading.
#[derive(Debug)]
pub(super) struct Obstacles {
    /// Kinds and identities.
    pub(super) objects: Vec<(String, String)>,
    /// Objects of others that DROP drops with them, described.
    of_others: Vec<String>,
}

impl Obstacles {
    /// Objects of an earlier loading, which are among the `marked` ones of the workload, and with `--drop` all tables with the
    /// names of the workload's tables.
    ///
    /// # Errors
    /// A table exists that `init` did not make, or that it made from another folder, or objects of users belong to a table.
    pub(super) fn find(
        session: &mut Session,
        set: &TableSet,
        options: &InitOptions,
        marked: Vec<MarkedObject>,
    ) -> Result<Obstacles, WorkloadError> {
        let current = first(&query(session, "select pg_catalog.current_schema()")?);
        let created = created(set, &current);
        let journal = journal::find(session, &set.workload)?;
        let mut marked = Marked::new(marked);
        let mut objects = Vec::new();
        let mut foreign = Vec::new();
        for Existing { oid, kind, identity } in existing(session, set, &current, journal.as_deref())? {
            if marked.is_own(&identity) {
                continue;
            }
            if !options.drops {
                return Err(marked.refusal(identity, set));
            }
            objects.push((kind, identity));
            foreign.push(oid);
        }
        let statements: Vec<&LoadStatement> = statements(set).collect();
        let will_exist: Vec<CreatedObject> =
            statements.iter().filter_map(|statement| sql_names::created_object(&statement.sql)).collect();
        for object in marked.copied_in_the_way(&will_exist, &current) {
            let named = (object.kind.clone(), object.identity.clone());
            if objects.contains(&named) {
                continue;
            }
            if !options.drops {
                return Err(marked.refusal(named.1, set));
            }
            objects.push(named);
        }
        marked.retain_in_the_way(&created, journal.as_deref());
        let names: BTreeSet<String> = will_exist.into_iter().filter_map(|it| Some(it.name?.name)).collect();
        let is_of_another = |object: &&MarkedObject| {
            let is_relation = object.kind == "table" || object.kind.ends_with("view");
            let is_created =
                || sql_names::of_identity(&object.identity).is_some_and(|name| created.contains(&name));
            let is_journal = journal.as_ref() == Some(&object.identity);
            match is_relation {
                true => object.mark.folder != set.folder && !is_journal && !is_created(),
                false => object.is_of_another(&set.folder, &names),
            }
        };
        if let Some(object) = marked.own.iter().find(is_of_another).filter(|_| !options.drops) {
            let (table, workload, init) = (object.identity.clone(), set.workload.clone(), set.init.clone());
            return Err(WorkloadError::OtherFolder { table, workload, init });
        }
        let mut of_users = dependents::of_users(session, &marked.own)?;
        if let Some(journal) = journal.as_ref().filter(|journal| marked.is_own(journal)) {
            of_users.extend(journal::unrecorded(session, journal, &marked.own)?);
        }
        let mut of_others: Vec<String> = of_users.into_iter().map(|dependent| dependent.described).collect();
        if !of_others.is_empty() && !options.drops {
            return Err(WorkloadError::Dependents { objects: of_others.join(", "), init: set.init.clone() });
        }
        // All together, because foreign keys may connect them.
        objects.extend(marked.own.into_iter().map(|object| (object.kind, object.identity)));
        // A loading that still runs locks the journal before its tables.
        objects.sort_by_key(|(_, identity)| journal.as_ref() != Some(identity));
        of_others.extend(relations_of_others(session, &objects, foreign)?);
        Ok(Obstacles { objects, of_others })
    }

    /// The statements that drop the objects, in an order in which they do not depend on later ones. Views may depend on earlier
    /// views.
    pub(super) fn drop_statements(&self) -> Vec<String> {
        const TOGETHER: [&str; 2] = ["foreign table", "table"];
        const ALONE: [&str; 6] = ["sequence", "aggregate", "function", "procedure", "type", "schema"];
        let is_view = |(kind, _): &&(String, String)| kind.ends_with("view");
        let drop = |(kind, identity): &(String, String)| format!("drop {kind} {identity}");
        let mut drops: Vec<String> = self.objects.iter().filter(is_view).rev().map(drop).collect();
        for kind in TOGETHER {
            let of_kind = self.objects.iter().filter(|(own, _)| own == kind);
            let names: Vec<&str> = of_kind.map(|(_, identity)| identity.as_str()).collect();
            drops.extend((!names.is_empty()).then(|| format!("drop {kind} {}", names.join(", "))));
        }
        for kind in PLAIN_KINDS.map(|(kind, ..)| kind).into_iter().chain(ALONE) {
            drops.extend(self.objects.iter().filter(|(own, _)| own == kind).rev().map(drop));
        }
        drops
    }

    /// The sentence about the drops; empty if nothing is dropped.
    pub(super) fn sentence(&self) -> String {
        let of_others = (!self.of_others.is_empty())
            .then(|| format!("with them, PostgreSQL drops {}", self.of_others.join(", ")));
        self.drop_statements().into_iter().chain(of_others).collect::<Vec<_>>().join("; ")
    }
}

fn statements(set: &TableSet) -> impl Iterator<Item = &LoadStatement> {
    set.schema.iter().chain(set.after.iter().map(|after| &after.statement))
}

/// The tables and views that the statements of a set create, with their schemas.
fn created(set: &TableSet, current: &str) -> BTreeSet<TableName> {
    let views = statements(set).filter_map(|statement| sql_names::created_view(&statement.sql));
    let names = set.names.iter().cloned().chain(views.map(|created| created.view));
    names
        .map(|TableName { schema, name }| TableName {
            schema: Some(schema.unwrap_or(current.to_owned())),
            name,
        })
        .collect()
}

/// A relation.
struct Existing {
    oid: String,
    kind: String,
    identity: String,
}

/// The journal, and the relations that have the names of the workload's tables.
fn existing(
    session: &mut Session,
    set: &TableSet,
    current: &str,
    journal: Option<&str>,
) -> Result<Vec<Existing>, WorkloadError> {
    let schema_of = |table: &TableName| table.schema.clone().unwrap_or_else(|| current.to_owned());
    let pair = |table: &TableName| format!("({}, {})", literal(&schema_of(table)), literal(&table.name));
    let mut found: Vec<String> =
        journal.iter().map(|journal| format!("c.oid = {}::regclass", literal(journal))).collect();
    let pairs: Vec<String> = set.names.iter().map(pair).collect();
    found.extend((!pairs.is_empty()).then(|| format!("(n.nspname, c.relname) in ({})", pairs.join(", "))));
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "select c.oid, o.type, o.identity from pg_class c join pg_namespace n on n.oid = c.relnamespace \
         cross join lateral pg_identify_object('pg_class'::regclass, c.oid, 0) o where {}",
        found.join(" or ")
    );
    let existing = |row| Existing { oid: text(row, 0), kind: text(row, 1), identity: text(row, 2) };
    Ok(query_catalogs(session, &sql)?.iter().map(existing).collect())
}

/// The partitions and inheriting tables of these objects that are not among them, and the sequences of those and of the `foreign`
/// tables, given by OID.
fn relations_of_others(
    session: &mut Session,
    objects: &[(String, String)],
    mut foreign: Vec<String>,
) -> Result<Vec<String>, WorkloadError> {
    let mut described = Vec::new();
    for (_, table) in objects.iter().filter(|(kind, _)| kind.ends_with("table")) {
        for Child { relation: child, .. } in existing_tables::children(session, table)? {
            let is_known = objects.iter().any(|(_, identity)| *identity == child.identity);
            if !is_known && !foreign.contains(&child.oid) {
                described.push(format!("the table {}", child.identity));
                foreign.push(child.oid);
            }
        }
    }
    let sequences = dependents::read(session, foreign.iter().map(String::as_str))?;
    described.extend(sequences.into_iter().filter(Dependent::is_sequence).map(|own| own.described));
    Ok(described)
}

/// The objects with a mark of the workload.
pub(super) struct Marked {
    /// Those whose mark was made for them.
    own: Vec<MarkedObject>,
    copied: Vec<MarkedObject>,
}

impl Marked {
    pub(super) fn new(marked: Vec<MarkedObject>) -> Marked {
        let (own, copied) = marked.into_iter().partition(|object| object.is_own);
        Marked { own, copied }
    }

    /// The objects with another mark than their own whose names the statements need. `current` is the schema of names without one.
    fn copied_in_the_way<'a>(
        &'a self,
        created: &'a [CreatedObject],
        current: &'a str,
    ) -> impl Iterator<Item = &'a MarkedObject> {
        self.copied.iter().filter(move |object| created.iter().any(|it| is_created(object, it, current)))
    }

    /// Leaves out the objects in schemas of which the loading creates no table. A schema that was made by the loading is dropped
    /// with all that was made in it.
    fn retain_in_the_way(&mut self, created: &BTreeSet<TableName>, journal: Option<&str>) {
        let is_schema = |object: &&MarkedObject| object.kind == "schema";
        let own_schemas: BTreeSet<String> =
            self.own.iter().filter(is_schema).map(|object| object.identity.clone()).collect();
        self.own.retain(|object| {
            let is_used = |name: &TableName| name.schema.as_deref() == Some(&*sql::unquoted(&object.schema));
            object.schema.is_empty()
                || journal == Some(&object.identity)
                || created.iter().any(is_used)
                || own_schemas.contains(&object.schema)
        });
    }

    pub(super) fn is_own(&self, identity: &str) -> bool {
        self.own.iter().any(|object| object.identity == identity)
    }

    pub(super) fn refusal(&self, table: String, set: &TableSet) -> WorkloadError {
        refusal(table, &self.copied, &set.workload, &set.init)
    }
}

/// Whether an object that cannot be created has this object in its way, as far as the text of the statement tells it. Functions
/// of one name are told apart by the name in the mark, which has their arguments.
fn is_created(object: &MarkedObject, created: &CreatedObject, current: &str) -> bool {
    if catalog_of(&object.kind) != catalog_of(created.kind) {
        return false;
    }
    let has_marked_name = object.mark.object.as_ref().is_some_and(|own| own.name == object.identity);
    let found = sql_names::of_identity(&object.identity).map(|found| found.name);
    let schema = created.name.as_ref().and_then(|name| name.schema.as_deref()).unwrap_or(current);
    let is_named = created.name.as_ref().map(|name| &name.name) == found.as_ref();
    match catalog_of(&object.kind) {
        "pg_class" | "pg_type" => is_named && schema == sql::unquoted(&object.schema),
        "pg_proc" => is_named && schema == sql::unquoted(&object.schema) && has_marked_name,
        "pg_namespace" => is_named && !created.is_if_not_exists,
        _ => has_marked_name,
    }
}
