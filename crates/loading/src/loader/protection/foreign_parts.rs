//! Parts of objects of others that have rows of their own in the server's catalogs: triggers of foreign keys, members
//! of publications and roles, comments on parts of objects, and the privileges of the catalogs. `foreign_objects`
//! compares them before and after a transaction.

use std::collections::{BTreeMap, BTreeSet};

use connect::Session;
use connect::quote::literal;

use crate::WorkloadError;
use crate::contract::load::{query_catalogs, query_catalogs_again, text};
use crate::contract::object_kinds::ObjectKey;
use crate::loader::protection::existing_objects::of_transaction;

/// A row.
#[derive(Debug)]
pub(crate) struct ForeignPart {
    /// The object that it belongs to; empty if to none.
    pub(crate) parent: ObjectKey,
    digest: String,
    /// What it is, for messages.
    what: &'static str,
    /// Whether it matters that it was removed; a row of an object of the loading is removed with it.
    is_missed: bool,
    /// Whether it matters that it was added.
    is_noticed: bool,
}

/// By kind and key.
pub(crate) type ForeignParts = BTreeMap<(usize, String), ForeignPart>;

/// A kind of rows. `t` is the row.
struct Kind {
    what: &'static str,
    /// A catalog that not all versions have.
    catalog: &'static str,
    /// What rows are selected from, if not the catalog.
    from: &'static str,
    key: &'static str,
    /// The object that the row belongs to: its catalog and its OID.
    parent: (&'static str, &'static str),
    digest: &'static str,
    /// Which rows; `$` is whether the current transaction has made the row `t`.
    rows: &'static str,
    is_missed: bool,
    is_noticed: bool,
}

/// Stands for the catalog where a row belongs to all tables.
pub(crate) const ALL_TABLES: &str = "all tables";

/// The kind of roles: what belongs to those that the loading has made is its own.
const ROLES: usize = 5;

/// Rows of the server's own objects that GRANT, ALTER, COMMENT or CREATE OR REPLACE has written. The age of a row that the current
/// transaction has made is not positive, also in a subtransaction, and that of no row before it, so nothing is read in advance.
/// Definitions of extensions and schemas have their comments.
const SYSTEM_OBJECTS: Kind = Kind {
    what: "the privileges, definitions or comments of the server's own objects",
    catalog: "pg_class",
    from: "(select from pg_class where oid < 16384 and age(xmin) <= 0 \
           union all select from pg_attribute where attrelid < 16384 and age(xmin) <= 0 \
           union all select from pg_proc where oid < 16384 and age(xmin) <= 0 \
           union all select from pg_type where oid < 16384 and age(xmin) <= 0 \
           union all select from pg_language where oid < 16384 and age(xmin) <= 0 \
           union all select from pg_namespace where nspname <> 'public' and oid < 16384 and age(xmin) <= 0 \
           union all select from pg_description where objoid < 16384 and age(xmin) <= 0 \
           and classoid not in ('pg_extension'::regclass, 'pg_namespace'::regclass))",
    key: "''",
    parent: ("''", "''"),
    digest: "''",
    rows: "true",
    is_missed: false,
    is_noticed: true,
};

/// COMMENT … IS NULL leaves no row.
const SYSTEM_COMMENTS: Kind = Kind {
    what: "the comments of the server's own objects",
    catalog: "pg_description",
    from: "(select count(*) as number from pg_description where objoid < 16384 \
           and classoid not in ('pg_extension'::regclass, 'pg_namespace'::regclass))",
    key: "''",
    parent: ("''", "''"),
    digest: "t.number",
    rows: "true",
    is_missed: false,
    is_noticed: false,
};

/// ALTER INDEX … ALTER COLUMN … SET STATISTICS.
const INDEX_COLUMNS: Kind = Kind {
    what: "a column of an index",
    catalog: "pg_attribute",
    from: "(select i.indrelid, a.attrelid, a.attnum from pg_attribute a join pg_index i on i.indexrelid = a.attrelid \
           where a.attrelid >= 16384 and age(a.xmin) <= 0)",
    key: "concat(t.attrelid, ':', t.attnum)",
    parent: ("'pg_class'", "t.indrelid"),
    digest: "''",
    rows: "true",
    is_missed: false,
    is_noticed: true,
};

/// ALTER … DEPENDS ON EXTENSION: DROP EXTENSION drops the object too.
const EXTENSION_DEPENDENTS: Kind = Kind {
    what: "an object that depends on an extension",
    catalog: "pg_depend",
    from: "pg_depend",
    key: "concat(t.classid, '.', t.objid, '.', t.refobjid)",
    parent: (
        "case t.classid when 'pg_trigger'::regclass then 'pg_class' else t.classid::regclass::text end",
        "case t.classid when 'pg_class'::regclass \
         then coalesce((select indrelid from pg_index where indexrelid = t.objid), t.objid) \
         when 'pg_trigger'::regclass then (select tgrelid from pg_trigger where oid = t.objid) else t.objid end",
    ),
    digest: "''",
    rows: "t.refclassid = 'pg_extension'::regclass and t.deptype = 'x'",
    is_missed: true,
    is_noticed: true,
};

/// The planner of each user of the table uses a new one. A dropped one is an object of others.
const STATISTICS: Kind = Kind {
    what: "a statistics object",
    catalog: "pg_statistic_ext",
    from: "pg_statistic_ext",
    key: "t.oid",
    parent: ("'pg_class'", "t.stxrelid"),
    digest: "''",
    rows: "true",
    is_missed: false,
    is_noticed: true,
};

/// GRANT … ON PARAMETER, for the whole server.
const PARAMETERS: Kind = Kind {
    what: "the privileges on a parameter",
    catalog: "pg_parameter_acl",
    from: "pg_parameter_acl",
    key: "t.parname",
    parent: ("''", "''"),
    digest: "t.paracl",
    rows: "true",
    is_missed: true,
    is_noticed: true,
};

/// Names without a schema mean them first, also in the sessions of others. Those of extensions belong to these.
const SERVERS_SCHEMA: Kind = Kind {
    what: "the schema pg_catalog (its functions, operators or types)",
    catalog: "pg_proc",
    from: "(select * from (select 'pg_proc'::regclass as class, oid, xmin from pg_proc \
           where oid >= 16384 and pronamespace = 'pg_catalog'::regnamespace \
           union all select 'pg_operator'::regclass, oid, xmin from pg_operator \
           where oid >= 16384 and oprnamespace = 'pg_catalog'::regnamespace \
           union all select 'pg_type'::regclass, oid, xmin from pg_type \
           where oid >= 16384 and typnamespace = 'pg_catalog'::regnamespace) o \
           where not exists (select 1 from pg_depend d where d.classid = o.class and d.objid = o.oid and d.deptype = 'e'))",
    key: "concat(t.class::oid, '.', t.oid)",
    parent: ("''", "''"),
    digest: "t.xmin",
    rows: "true",
    is_missed: true,
    is_noticed: true,
};

const KINDS: [Kind; 17] = [
    Kind {
        what: "a trigger of a foreign key",
        catalog: "pg_trigger",
        from: "pg_trigger",
        key: "t.oid",
        parent: ("'pg_class'", "t.tgrelid"),
        digest: "t.tgenabled",
        rows: "t.tgisinternal",
        // A foreign key of the loading to a table of others adds and removes its triggers.
        is_missed: false,
        is_noticed: false,
    },
    Kind {
        what: "a table of a publication",
        catalog: "pg_publication_rel",
        from: "pg_publication_rel",
        key: "concat(t.prpubid, ':', t.prrelid)",
        parent: ("'pg_class'", "t.prrelid"),
        digest: "t",
        rows: "true",
        is_missed: true,
        is_noticed: true,
    },
    Kind {
        what: "a schema of a publication",
        catalog: "pg_publication_namespace",
        from: "pg_publication_namespace",
        key: "concat(t.pnpubid, ':', t.pnnspid)",
        parent: ("'pg_namespace'", "t.pnnspid"),
        digest: "t",
        rows: "true",
        is_missed: true,
        is_noticed: true,
    },
    // For the workload's own tables in publications of others.
    Kind {
        what: "a member of a publication",
        catalog: "pg_publication_rel",
        from: "pg_publication_rel",
        key: "concat(t.prpubid, ':', t.prrelid)",
        parent: ("'pg_publication'", "t.prpubid"),
        digest: "t",
        rows: "true",
        // It is removed with the workload's table.
        is_missed: false,
        is_noticed: true,
    },
    Kind {
        what: "a publication of all tables",
        catalog: "pg_publication",
        from: "pg_publication",
        key: "t.oid",
        parent: ("'all tables'", "quote_ident(t.pubname)"),
        digest: "t",
        rows: "t.puballtables and $",
        is_missed: false,
        is_noticed: true,
    },
    Kind {
        what: "a role",
        catalog: "pg_roles",
        from: "pg_roles",
        key: "t.oid",
        parent: ("''", "''"),
        digest: "''",
        rows: "true",
        is_missed: false,
        is_noticed: false,
    },
    Kind {
        what: "the membership in a role",
        catalog: "pg_auth_members",
        from: "pg_auth_members",
        key: "concat(t.roleid, ':', t.member)",
        parent: ("'pg_roles'", "t.roleid"),
        digest: "t",
        rows: "$",
        is_missed: false,
        is_noticed: true,
    },
    Kind {
        what: "a comment",
        catalog: "pg_description",
        from: "pg_description",
        key: "concat(t.classoid, '.', t.objoid, '.', t.objsubid)",
        parent: (
            "case when t.classoid = 'pg_largeobject'::regclass then '' \
             when exists (select 1 from pg_constraint k where t.classoid = 'pg_constraint'::regclass \
             and k.oid = t.objoid and k.contypid <> 0) then 'pg_type' else 'pg_class' end",
            "case t.classoid when 'pg_class'::regclass \
             then coalesce((select indrelid from pg_index where indexrelid = t.objoid), t.objoid) \
             when 'pg_constraint'::regclass \
             then (select case when contypid <> 0 then contypid else conrelid end from pg_constraint where oid = t.objoid) \
             when 'pg_trigger'::regclass then (select tgrelid from pg_trigger where oid = t.objoid) \
             when 'pg_policy'::regclass then (select polrelid from pg_policy where oid = t.objoid) \
             when 'pg_rewrite'::regclass then (select ev_class from pg_rewrite where oid = t.objoid) end",
        ),
        digest: "t.description",
        rows: "t.objoid >= 16384 and t.classoid in ('pg_class'::regclass, 'pg_constraint'::regclass, \
               'pg_trigger'::regclass, 'pg_policy'::regclass, 'pg_rewrite'::regclass, 'pg_largeobject'::regclass) \
               or t.classoid = 'pg_largeobject'::regclass",
        is_missed: true,
        is_noticed: true,
    },
    Kind {
        what: "a comment on a database or a role",
        catalog: "pg_shdescription",
        from: "pg_shdescription",
        key: "concat(t.classoid, '.', t.objoid)",
        parent: ("case when t.classoid = 'pg_authid'::regclass then 'pg_roles' else '' end", "t.objoid"),
        digest: "t.description",
        rows: "$",
        is_missed: false,
        is_noticed: true,
    },
    Kind {
        what: "a setting of a database or a role",
        catalog: "pg_db_role_setting",
        from: "pg_db_role_setting",
        key: "concat(t.setdatabase, ':', t.setrole)",
        parent: ("''", "''"),
        digest: "t",
        rows: "$",
        is_missed: false,
        is_noticed: true,
    },
    SYSTEM_OBJECTS,
    SYSTEM_COMMENTS,
    INDEX_COLUMNS,
    EXTENSION_DEPENDENTS,
    STATISTICS,
    PARAMETERS,
    SERVERS_SCHEMA,
];

/// Objects whose rows are read, or are left out.
pub(crate) struct Parents {
    pub(crate) keys: Vec<ObjectKey>,
    pub(crate) are_read: bool,
}

/// The rows of all kinds. `known` are the catalogs of the server. Rows that belong to no object are always read.
pub(crate) fn read(
    session: &mut Session,
    known: &BTreeSet<String>,
    parents: &Parents,
) -> Result<ForeignParts, WorkloadError> {
    let is_new = of_transaction(session);
    let parts = KINDS.iter().enumerate().filter(|(_, kind)| known.contains(kind.catalog));
    let parts = parts.map(|(number, Kind { from, key, parent: (catalog, oid), digest, rows, .. })| {
        let rows = rows.replace('$', &is_new.replace('$', "t"));
        format!(
            "select {number}::text, ({key})::text, ({catalog})::text, ({oid})::text, md5(({digest})::text) \
             from {from} t where {rows}"
        )
    });
    let keys = parents.keys.iter().map(|(catalog, oid)| literal(&format!("{catalog} {oid}")));
    let keys = keys.collect::<Vec<_>>().join(", ");
    let not = if parents.are_read { "" } else { "not" };
    let sql = format!(
        "select * from ({}) p(number, key, catalog, oid, digest) where catalog in ('', 'pg_roles', '{ALL_TABLES}') \
         or {not} coalesce(catalog || ' ' || oid in (select unnest(array[{keys}]::text[])), false)",
        parts.collect::<Vec<_>>().join(" union all ")
    );
    // Of known objects, it comes again.
    let rows =
        if parents.are_read { query_catalogs_again(session, &sql)? } else { query_catalogs(session, &sql)? };
    let part = |row: &connect::Row| {
        let number: usize = text(row, 0).parse().ok()?;
        let Kind { what, is_missed, is_noticed, .. } = *KINDS.get(number)?;
        let parent = (text(row, 2), text(row, 3));
        Some((
            (number, text(row, 1)),
            ForeignPart { parent, digest: text(row, 4), what, is_missed, is_noticed },
        ))
    };
    Ok(rows.iter().filter_map(part).collect())
}

/// What differs, as names of the objects to which it belongs. `name` is that of an object of others.
pub(crate) fn changed(
    before: &ForeignParts,
    now: &ForeignParts,
    name: impl Fn(&ObjectKey) -> Option<String>,
) -> Vec<String> {
    // Rows of objects that the loading has made are its own.
    let of = |part: &ForeignPart| match part.parent.0.as_str() {
        "" => Some(part.what.to_owned()),
        "pg_roles" => before.contains_key(&(ROLES, part.parent.1.clone())).then(|| part.what.to_owned()),
        _ => name(&part.parent),
    };
    let missed = before.iter().filter(|(key, part)| part.is_missed && !now.contains_key(*key));
    let noticed = now.iter().filter(|(key, part)| match before.get(*key) {
        Some(old) => old.digest != part.digest,
        None => part.is_noticed,
    });
    missed.chain(noticed).filter_map(|(_, part)| of(part)).collect()
}
