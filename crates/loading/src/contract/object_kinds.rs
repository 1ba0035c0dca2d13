//! Kinds of objects of a database: as DROP and COMMENT name them, with the catalogs that have them. Those that can have marks,
//! and how an object is identified among all catalogs.

/// The catalog of an object, and its OID.
pub(crate) type ObjectKey = (String, String);

/// The catalog that has the objects of a kind, which is one of those that can have a mark.
pub(crate) fn catalog_of(kind: &str) -> &'static str {
    match kind {
        "function" | "procedure" | "aggregate" => "pg_proc",
        "type" | "domain" => "pg_type",
        "schema" => "pg_namespace",
        other => {
            PLAIN_KINDS.iter().find(|(kind, ..)| *kind == other).map_or("pg_class", |(_, catalog, _)| catalog)
        }
    }
}

/// Whether marks of a kind have the dependents of its objects: memberships in publications belong to schemas too.
pub(crate) fn has_dependents(kind: &str) -> bool {
    ["pg_class", "pg_namespace"].contains(&catalog_of(kind))
}

/// Further kinds, in an order in which they can be dropped; their catalogs, and the columns of their schemas.
pub(crate) const PLAIN_KINDS: [(&str, &str, Option<&str>); 7] = [
    ("cast", "pg_cast", None),
    ("operator class", "pg_opclass", Some("opcnamespace")),
    ("operator family", "pg_opfamily", Some("opfnamespace")),
    ("operator", "pg_operator", Some("oprnamespace")),
    ("text search configuration", "pg_ts_config", Some("cfgnamespace")),
    ("text search dictionary", "pg_ts_dict", Some("dictnamespace")),
    ("collation", "pg_collation", Some("collnamespace")),
];

/// Whether the objects of a catalog can have marks.
pub(crate) fn has_marks(catalog: &str) -> bool {
    ["pg_class", "pg_proc", "pg_type", "pg_namespace"].contains(&catalog)
        || PLAIN_KINDS.iter().any(|(_, own, _)| *own == catalog)
}
