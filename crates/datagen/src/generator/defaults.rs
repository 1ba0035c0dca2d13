//! Plausible generators for columns without directives: from the name, the type and the CHECK constraints of a column.
//! Tables of directives; the same compiler reads them.

use std::collections::BTreeMap;

use super::target::{Target, limit, scale};
use crate::directive::{Settings, keys};
use crate::schema::{Bounds, JSON, Limit, Type, TypeName};

/// The generator of a column that selects none.
pub(crate) enum Choice<'a> {
    Directives(String),
    /// The macro with the name of a composite type.
    Macro(String),
    Words(Vec<String>),
    Array(&'a Type),
    Tuple(&'a [Type]),
    None,
}

/// A rule for text columns: parts of names, the longest text in characters, whether the texts can be unique, directives.
type TextRule = (&'static [&'static str], u32, bool, &'static str);

/// The first that fits counts.
const TEXTS: [TextRule; 35] = [
    (&["email", "mail", "e_mail"], 48, true, r"pattern='user[:count:]\.[a-z]{3,8}@example\.(com|org|net)'"),
    (
        &["first_name", "firstname", "given_name", "forename"],
        10,
        false,
        "word=:Ada,Ben,Carla,David,Elena,Farid,Grace,Hiro,Ines,Jonas,Kavya,Leo,Maria,Noah,Olga,Paul,Rosa,Sven,Tara,Yusuf sub=power alpha=1.5",
    ),
    (
        &["last_name", "lastname", "surname", "family_name"],
        12,
        false,
        "word=:Andersson,Baker,Costa,Dubois,Eriksen,Fischer,Garcia,Haddad,Ivanov,Jensen,Kumar,Lopez,Meyer,Nguyen,Okafor,Patel,Rossi,Silva,Tanaka,Weber sub=power alpha=1.5",
    ),
    (
        &["username", "user_name", "login", "nick", "nickname", "handle"],
        26,
        true,
        "pattern='[a-z]{5}_[:count:]'",
    ),
    (
        &["full_name", "customer_name", "author", "owner", "contact"],
        22,
        false,
        "pattern='[:word=:Ada,Ben,Carla,David,Elena,Farid,Grace,Hiro,Ines,Jonas,Kavya,Leo,Maria,Noah:] [:word=:Andersson,Baker,Costa,Dubois,Eriksen,Fischer,Garcia,Haddad,Ivanov,Jensen,Kumar,Lopez,Meyer,Nguyen,Okafor,Patel,Rossi,Silva,Tanaka,Weber:]'",
    ),
    (
        &["country_code"],
        2,
        false,
        "word=:DE,US,FR,GB,IN,BR,JP,ES,IT,SE,NL,PL,CA,AU,MX,ZA sub=power alpha=2.0",
    ),
    (
        &["country", "nation"],
        14,
        false,
        "word=:Germany,France,India,Brazil,Japan,Spain,Italy,Sweden,Netherlands,Poland,Canada,Australia,Mexico,Kenya sub=power alpha=2.0",
    ),
    // Codes of ISO 3166-1 and of the postal service.
    (
        &["country", "nation", "country_code"],
        3,
        false,
        "word=:DEU,USA,FRA,GBR,IND,BRA,JPN,ESP,ITA,SWE,NLD,POL,CAN,AUS,MEX,ZAF sub=power alpha=2.0",
    ),
    (
        &["country", "nation"],
        2,
        false,
        "word=:DE,US,FR,GB,IN,BR,JP,ES,IT,SE,NL,PL,CA,AU,MX,ZA sub=power alpha=2.0",
    ),
    (
        &["city", "town"],
        12,
        false,
        "word=:Berlin,Paris,London,Madrid,Rome,Vienna,Oslo,Lisbon,Dublin,Athens,Tokyo,Mumbai,Chicago,Boston,Toronto,Sydney,Nairobi,Lima,Seoul,Zurich sub=power alpha=1.5",
    ),
    (&["currency"], 3, false, "word=:EUR,USD,GBP,JPY,CHF,SEK,INR,BRL sub=power alpha=2.0"),
    (&["status", "state"], 9, false, "word=:active,pending,done,cancelled,new sub=power alpha=1.5"),
    (&["state"], 2, false, "word=:CA,TX,FL,NY,PA,IL,OH,GA,NC,MI sub=power alpha=1.5"),
    (&["gender", "sex"], 1, false, "word=:f,m,x sub=power alpha=1.2"),
    (&["phone", "mobile", "tel", "telephone", "fax"], 15, true, r"pattern='\+1-\d{3}-\d{3}-\d{4}'"),
    (
        &["url", "uri", "website", "link", "homepage"],
        60,
        true,
        r"pattern='https://www\.example\.(com|org)/[a-z]{3,10}/[:count:]'",
    ),
    (
        &["street", "address", "address1"],
        26,
        false,
        r"pattern='\d{1,4} [A-Z][a-z]{3,9} (Street|Avenue|Road)'",
    ),
    (&["zip", "zipcode", "postcode", "postal_code"], 5, false, r"pattern='\d{5}'"),
    (&["isbn", "ean", "barcode"], 13, true, "ean"),
    (&["card", "card_number", "credit_card"], 16, true, "luhn"),
    (&["iban"], 22, true, r"pattern='DE\d{20}'"),
    (&["md5", "hash", "token", "password", "digest", "api_key", "session_id"], 32, true, r"pattern='\h{32}'"),
    (&["ip", "ip_address", "remote_addr"], 15, false, "inet=10.0.0.0/8"),
    (&["uuid", "guid"], 36, true, "uuid"),
    (&["sku", "code", "slug", "reference", "serial_number"], 10, true, r"pattern='[A-Z]{3}-\d{6}'"),
    (&["language", "lang", "locale"], 2, false, "word=:en,de,fr,es,pt,ja,zh,ar sub=power alpha=2.0"),
    (&["color", "colour"], 6, false, "word=:black,white,red,blue,green,yellow,grey"),
    (
        &["company", "organization", "organisation", "manufacturer", "brand", "vendor"],
        20,
        false,
        "pattern='[A-Z][a-z]{3,9} (Ltd|Inc|GmbH|Group|SA)'",
    ),
    (&["department", "dept"], 11, false, "word=:Sales,Research,Production,Finance,Support,Legal,Marketing"),
    (
        &["category", "genre", "kind", "type", "class"],
        9,
        false,
        "word=:standard,premium,basic,special,extra,classic,seasonal sub=power alpha=1.5",
    ),
    (&["level", "severity", "priority"], 8, false, "word=:low,medium,high,critical sub=power alpha=1.5"),
    (&["timezone", "time_zone"], 20, false, "word=:UTC,Europe/Berlin,America/New_York,Asia/Tokyo"),
    (
        &["mime", "content_type", "mime_type"],
        16,
        false,
        "word=:text/html,application/json,image/png,image/jpeg sub=power alpha=1.5",
    ),
    (
        &["name"],
        20,
        false,
        "pattern='[:word=:Ada,Ben,Carla,David,Elena,Farid,Grace,Hiro,Ines,Jonas,Kavya,Leo,Maria,Noah:] [:word=:Andersson,Baker,Costa,Dubois,Eriksen,Fischer,Garcia,Haddad,Ivanov,Jensen,Kumar,Lopez,Meyer,Nguyen,Okafor,Patel,Rossi,Silva,Tanaka,Weber:]'",
    ),
    (&["label"], 20, false, "text=words lenmin=1 lenmax=2"),
];

/// Names of columns with a few words, and with many.
const TITLES: [&str; 5] = ["title", "subject", "headline", "caption", "summary"];
const BODIES: [&str; 11] = [
    "description",
    "comment",
    "comments",
    "body",
    "text",
    "content",
    "notes",
    "note",
    "message",
    "bio",
    "remark",
];

/// Rules for other types: parts of names, directives.
type Rule = (&'static [&'static str], &'static str);

const INTEGERS: [Rule; 9] = [
    (&["age"], "int offset=18 size=70"),
    (&["year"], "int offset=1990 size=36"),
    (&["month"], "int offset=1 size=12"),
    (&["rating", "stars", "score"], "int offset=1 size=5"),
    (&["priority", "level"], "int offset=1 size=5"),
    (&["percent", "percentage"], "int offset=0 size=101"),
    (&["quantity", "qty"], "int offset=1 size=20 sub=exponential parameter=5"),
    (
        &["count", "number_of", "views", "likes", "stock"],
        "int offset=0 size=1000 sub=exponential parameter=8",
    ),
    (
        &["price", "amount", "cost", "total", "balance", "cents"],
        "int offset=100 size=20000 sub=exponential parameter=5",
    ),
];

const NUMBERS: [Rule; 8] = [
    (&["lat", "latitude"], "float alpha=-90 beta=90"),
    (&["lon", "lng", "longitude"], "float alpha=-180 beta=180"),
    (&["percent", "percentage"], "float alpha=0 beta=100"),
    (&["rate", "ratio", "discount", "probability", "share"], "float alpha=0 beta=1"),
    (&["salary", "income"], "float=log alpha=8 beta=0.4"),
    (&["temperature"], "float=gauss alpha=15 beta=8"),
    (&["weight", "height", "length", "width"], "float=gamma alpha=4 beta=5"),
    (&["price", "amount", "cost", "total", "fee", "balance", "tax"], "float=log alpha=3 beta=1"),
];

const BOOLEANS: [Rule; 2] = [
    (&["active", "enabled", "visible", "valid", "verified"], "bool rate=0.9"),
    (&["deleted", "archived", "disabled", "blocked", "hidden"], "bool rate=0.05"),
];

const DATES: [Rule; 1] =
    [(&["birth", "birthday", "birthdate", "born", "dob"], "date start=1940-01-01 end=2007-12-31")];

const TIMESTAMPS: [Rule; 1] = [(
    &["created", "inserted", "registered", "joined", "ordered"],
    "timestamp start=2020-01-01 end='2025-12-31 23:59:59' prec=1 sub=growth growth=2",
)];

/// Types without rules for names. The days of ranges exist in every month.
const TYPES: [(&str, &str); 41] = [
    ("point", r"pattern='\(-?\d{1,2}\.\d{2},-?\d{1,2}\.\d{2}\)'"),
    ("line", r"pattern='\{[1-9],-?[1-9],\d{1,2}\}'"),
    ("lseg", r"pattern='\[\(\d{1,2},\d{1,2}\),\(\d{1,2},\d{1,2}\)\]'"),
    ("box", r"pattern='\(\d{2},\d{2}\),\(\d,\d\)'"),
    ("path", r"pattern='\[\(\d{1,2},\d{1,2}\)(,\(\d{1,2},\d{1,2}\)){1,4}\]'"),
    ("polygon", r"pattern='\(\(0,\d\),\(1\d,\d\),\(1\d,1\d\)\)'"),
    ("circle", r"pattern='<\(\d{1,2},\d{1,2}\),[1-9]>'"),
    ("int4range", r"pattern='\[[1-4]\d{2},[5-9]\d{2}\)'"),
    ("int8range", r"pattern='\[[1-4]\d{2},[5-9]\d{2}\)'"),
    ("numrange", r"pattern='\[[1-4]\d\.\d{2},[5-9]\d\.\d{2}\)'"),
    ("daterange", r"pattern='\[202[0-3]-0[1-9]-(1\d|2[0-8]),202[45]-0[1-9]-(1\d|2[0-8])\)'"),
    (
        "tsrange",
        r"pattern='\[202[0-3]-0[1-9]-(1\d|2[0-8]) 1\d:[0-5]\d:00,202[45]-0[1-9]-(1\d|2[0-8]) 1\d:[0-5]\d:00\)'",
    ),
    (
        "tstzrange",
        r"pattern='\[202[0-3]-0[1-9]-(1\d|2[0-8]) 1\d:[0-5]\d:00\+00,202[45]-0[1-9]-(1\d|2[0-8]) 1\d:[0-5]\d:00\+00\)'",
    ),
    ("uuidrange", r"pattern='\[[0-7]\h{7}-(\h{4}-){3}\h{12},[8-9a-f]\h{7}-(\h{4}-){3}\h{12}\)'"),
    ("textrange", r"pattern='\[[a-l][a-z]{3,6},[m-z][a-z]{3,6}\)'"),
    ("timerange", r"pattern='\[0\d:[0-5]\d,1\d:[0-5]\d\)'"),
    ("inetrange", r"pattern='\[10\.\d\d\.\d\d\.[1-9],11\.\d\d\.\d\d\.[1-9]\)'"),
    // Every range type has the empty range.
    ("anyrange", "const=empty"),
    ("int4multirange", r"pattern='\{\[\d,1\d\),\[2\d,3\d\)\}'"),
    ("int8multirange", r"pattern='\{\[\d,1\d\),\[2\d,3\d\)\}'"),
    ("nummultirange", r"pattern='\{\[\d,1\d\),\[2\d,3\d\)\}'"),
    ("datemultirange", r"pattern='\{\[2020-0[1-9]-(1\d|2[0-8]),2024-0[1-9]-(1\d|2[0-8])\)\}'"),
    ("tsmultirange", r"pattern='\{\[2020-0[1-9]-(1\d|2[0-8]),2024-0[1-9]-(1\d|2[0-8])\)\}'"),
    ("tstzmultirange", r"pattern='\{\[2020-0[1-9]-(1\d|2[0-8]),2024-0[1-9]-(1\d|2[0-8])\)\}'"),
    ("tsvector", "text=words lenmin=4 lenmax=20"),
    ("tsquery", "text=words lenmin=1 lenmax=3 separator=' & '"),
    ("xml", r#"pattern='<item id="\d{1,6}"><name>[a-z]{4,10}</name><price>\d{1,3}\.\d{2}</price></item>'"#),
    ("jsonpath", r"pattern='\$\.[a-z]{3,8}'"),
    ("pg_lsn", "pattern='[1-9A-F][0-9A-F]{0,3}/[0-9A-F]{8}'"),
    ("ltree", r"pattern='[a-z]{3,6}(\.[a-z]{3,6}){0,3}'"),
    ("hstore", r#"pattern='"[a-z]{3,6}"=>"[a-z]{3,8}"'"#),
    ("xid8", "int"),
    ("cid", "int"),
    ("tid", r"pattern='\(\d{1,3},[1-9]\d?\)'"),
    ("cube", r"pattern='\(\d{1,2}, \d{1,2}, \d{1,2}\)'"),
    ("geometry", r"pattern='POINT\(-?\d{1,2}\.\d{4} -?\d{1,2}\.\d{4}\)'"),
    ("geography", r"pattern='POINT\(-?\d{1,2}\.\d{4} -?\d{1,2}\.\d{4}\)'"),
    ("sql_identifier", "string"),
    ("cardinal_number", "int"),
    ("bigint_range", r"pattern='\[[1-4]\d{2},[5-9]\d{2}\)'"),
    ("semver", r"pattern='\d\.\d{1,2}\.\d{1,2}'"),
];

const WORDS: &str = "word=:the,of,and,to,in,is,for,that,with,as,water,time,house,small,market,paper,river,garden,morning,letter,number,people,music,window,light,story,travel,winter,summer,bread,stone,silver,engine,village,colour,simple,open,early,quiet,north,bridge,train,street,school,office,question,answer,history,nature,science sub=power alpha=2.0";

/// Names of types with a pattern of their own, for messages.
pub(crate) fn type_names() -> impl Iterator<Item = &'static str> {
    TYPES.iter().map(|(name, _)| *name)
}

/// Macros that every schema has, below its own.
pub(crate) fn built_in_macro(name: &str) -> Option<&'static str> {
    (name == "words").then_some(WORDS)
}

/// Selects a generator by name and type.
pub(crate) fn choose<'a>(
    settings: &Settings,
    target: Target<'a>,
    macros: &BTreeMap<String, Settings>,
) -> Choice<'a> {
    // Directives for the draw, such as size, belong to the type's own generator.
    let bare = settings.list.iter().all(|setting| keys::COLUMN.contains(&setting.key));
    let directives = |text: &str| Choice::Directives(text.to_owned());
    if let Some(values) = &target.bounds.values {
        return Choice::Words(values.clone());
    }
    if let Some(hint) = target.hint.filter(|_| bare) {
        return directives(hint);
    }
    let by_name = |rules: &[Rule]| {
        let fits = bare && !target.unique && !is_limited(target.bounds);
        let rule = rules.iter().find(|(names, _)| fits && has_name(target, names));
        rule.map(|(_, text)| *text)
    };
    match target.kind {
        Type::Enum(labels) => Choice::Words(labels.clone()),
        Type::Integer { .. } => directives(by_name(&INTEGERS).unwrap_or("int")),
        Type::Numeric { .. } | Type::Float | Type::Money => match by_name(&NUMBERS) {
            Some(text) => directives(text),
            None => Choice::Directives(if bare { number(target) } else { "float".to_owned() }),
        },
        Type::Bool => directives(by_name(&BOOLEANS).unwrap_or("bool")),
        Type::Date => directives(match by_name(&DATES) {
            Some(text) => text,
            None if bare && !target.unique && !is_limited(target.bounds) => {
                "date start=2020-01-01 end=2025-12-31"
            }
            None => "date",
        }),
        Type::Timestamp { .. } => directives(match by_name(&TIMESTAMPS) {
            Some(text) => text,
            None if bare && !target.unique && !is_limited(target.bounds) => {
                "timestamp start=2020-01-01 end='2025-12-31 23:59:59' prec=1"
            }
            None => "timestamp",
        }),
        Type::Time { .. } => directives("time"),
        Type::Interval => directives("interval"),
        Type::Text { max, .. } if bare => Choice::Directives(text(target, *max)),
        Type::Text { .. } => directives("string"),
        Type::Bytes => directives("blob"),
        Type::Uuid => directives("uuid"),
        Type::Inet => directives("inet"),
        Type::Mac { .. } => directives("mac"),
        Type::Bit { .. } => directives("bit"),
        Type::Ean(_) => directives("ean"),
        Type::Json => directives(JSON),
        Type::Array(element) => Choice::Array(element),
        Type::Composite(name, fields) => {
            if macros.contains_key(name) {
                Choice::Macro(name.clone())
            } else {
                Choice::Tuple(fields)
            }
        }
        Type::Other(name) => {
            let base = name.rsplit('.').next().unwrap_or(name);
            if macros.contains_key(base) {
                return Choice::Macro(base.to_owned());
            }
            match TYPES.iter().find(|(known, _)| *known == base) {
                Some((_, text)) => directives(unique_words(text, target.unique)),
                None => Choice::None,
            }
        }
    }
}

/// A list of words has too few for a key.
fn unique_words(text: &'static str, unique: bool) -> &'static str {
    if unique && text.starts_with("text=words") { "pattern='[a-z]{8}'" } else { text }
}

fn is_limited(bounds: &Bounds) -> bool {
    bounds.min.is_some() || bounds.max.is_some()
}

/// Whether the words follow each other in the name of the column, or of its domain.
fn has_name(target: Target<'_>, names: &[&str]) -> bool {
    let contains = |own: &str| {
        let own = format!("_{}_", own.to_lowercase().replace([' ', '-', '.'], "_"));
        names.iter().any(|name| own.contains(&format!("_{name}_")))
    };
    let domain = || matches!(Type::built_in(&TypeName::read(target.type_name)), Type::Other(_));
    contains(target.name) || (domain() && contains(target.type_name))
}

fn text(target: Target<'_>, max: Option<u32>) -> String {
    let room = max.unwrap_or(u32::MAX);
    let fits = |rule: &&TextRule| {
        let (names, width, can_be_unique, _) = rule;
        *width <= room && (*can_be_unique || !target.unique) && has_name(target, names)
    };
    if !target.unique && room >= 20 {
        // The words of the list have up to 8 characters.
        let words = |most: u32| most.min(room / 10);
        if has_name(target, &TITLES) {
            return format!("text=words lenmin={} lenmax={}", words(2), words(6));
        }
        if has_name(target, &BODIES) {
            return format!("text=words lenmin={} lenmax={}", words(5), words(25));
        }
    }
    TEXTS.iter().find(fits).map_or("string", |(.., text)| text).to_owned()
}

/// Digits in front of the point that a value for each row needs; 0 if the type says nothing.
fn needed_digits(target: Target<'_>) -> i32 {
    let Type::Numeric { digits: Some((precision, scale)) } = target.kind else { return 0 };
    let rows = target.rows.max(1).ilog10() + 1;
    let most = precision.cast_signed().saturating_sub(*scale).clamp(-300, 15);
    rows.cast_signed().saturating_sub((*scale).clamp(-15, 300)).min(most)
}

/// Uniform numbers within the bounds and the precision.
fn number(target: Target<'_>) -> String {
    let scale = scale(target.kind);
    let unit = scale.map_or(1e-6, |scale| 10_f64.powi(-scale.min(300).cast_signed()));
    let read = |limit: &Option<Limit>, inward: f64| {
        let limit = limit.as_ref()?;
        let number: f64 = limit.text.parse().ok().filter(|number: &f64| number.is_finite())?;
        Some(if limit.included { number } else { number + inward })
    };
    let whole = match target.kind {
        Type::Numeric { digits: Some((precision, scale)) } => {
            precision.cast_signed().saturating_sub(*scale).clamp(-300, 4)
        }
        _ => 4,
    };
    // A unique column has as many values as rows, if the type has them.
    let whole = if target.unique { whole.max(needed_digits(target)) } else { whole };
    let reach = 10_f64.powi(whole);
    let (low, high) = match (read(&target.bounds.min, unit), read(&target.bounds.max, -unit)) {
        (None, None) => (0.0, reach - unit),
        (Some(low), None) => (low, low + reach - 2.0 * unit),
        (None, Some(high)) => (high - reach + unit, high),
        (Some(low), Some(high)) => (low, high),
    };
    // Numbers beyond the type's would all become its last one.
    let most = limit(target.kind);
    let (low, high) = (low.clamp(-most, most), high.clamp(-most, most));
    format!("float alpha={low} beta={high}")
}
