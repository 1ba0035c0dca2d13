//! The rows of the workload `objects`: posts, invoices with items, and banks with accounts and transactions. The banks
//! are stored three times: as rows of three tables, as nested composite values, and as documents. The SQL files beside it
//! have the tables, scripts and checks; docs/shelf.md describes them.

use script::Random;
use stats::Scale;

use super::computed::{stream, table, table_of_units};
use super::fields::date;
use loading::loader::execution::LoadTable;
use loading::loader::generated::{OwnCode, OwnRows};

/// For each unit of scale.
const POSTS: f64 = 10_000.0;
const INVOICES: f64 = 10_000.0;
const BANKS: f64 = 1_000.0;
/// An invoice has 1 to 19 items, a bank 1 to 5 accounts, an account 0 to 40 transactions.
const ITEMS_MAX: i64 = 19;
const ITEMS_ON_AVERAGE: u64 = 10;
const ACCOUNTS_MAX: i64 = 5;
const ACCOUNTS_ON_AVERAGE: u64 = 3;
const TRANSACTIONS_MAX: i64 = 40;
const TRANSACTIONS_ON_AVERAGE: u64 = 20;
/// Days since 1970 of the first and the last date.
const FIRST_DAY: i64 = 18_262;
const LAST_DAY: i64 = 20_453;

/// Its code.
pub(super) const CODE: OwnCode =
    OwnCode { rows: Some(OwnRows { refused, ..OwnRows::new(tables) }), queries: None };

const WORDS: [&str; 24] = [
    "amber", "basket", "copper", "drawer", "engine", "fabric", "garden", "hammer", "island", "jacket",
    "kettle", "ladder", "mirror", "needle", "office", "pencil", "quartz", "ribbon", "saddle", "timber",
    "umbrella", "velvet", "window", "yellow",
];
const CURRENCIES: [&str; 4] = ["EUR", "USD", "GBP", "CHF"];

/// What a stream of random numbers is for.
#[derive(Clone, Copy)]
enum Subject {
    Post = 1,
    Invoice,
    Bank,
}

/// The parent tables come last, because the largest tables take the most time.
fn tables(scale: Scale, seed: u64) -> Vec<LoadTable> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "scales are positive")]
    let count = move |per_scale: f64| (scale.units() * per_scale).round().max(1.0) as u64;
    let (posts, invoices, banks) = (count(POSTS), count(INVOICES), count(BANKS));
    let transactions = (banks, ACCOUNTS_ON_AVERAGE * TRANSACTIONS_ON_AVERAGE);
    let bank = move |number| Bank::new(seed, number);
    vec![
        table_of_units("items", (invoices, ITEMS_ON_AVERAGE), move |number, out| {
            write_lines(Invoice::new(seed, number).items(number), out)
        }),
        table_of_units("transactions", transactions, move |number, out| {
            write_lines(bank(number).transactions(number), out)
        }),
        table("nested_banks", banks, move |number, out| write_row(&bank(number).nested(number), out)),
        table("document_banks", banks, move |number, out| write_row(&bank(number).document(number), out)),
        table("posts", posts, move |number, out| write_row(&post(seed, number), out)),
        table("invoices", invoices, move |number, out| {
            write_row(&Invoice::new(seed, number).row(number), out);
        }),
        table_of_units("accounts", (banks, ACCOUNTS_ON_AVERAGE), move |number, out| {
            write_lines(bank(number).accounts(number), out)
        }),
        table("banks", banks, move |number, out| write_row(&bank(number).row(number), out)),
        table("account_values", 0, |_, _| {}),
        table("transaction_values", 0, |_, _| {}),
    ]
}

fn refused(scale: Scale) -> Option<&'static str> {
    let is_too_large = scale.units() > 100_000.0;
    is_too_large.then_some("the scale can be 100000 at most, because the keys are of the type integer")
}

/// A row as fields in PostgreSQL's text format; `None` is NULL.
type Row = Vec<Option<String>>;

macro_rules! row {
    ($($field:expr),+ $(,)?) => { vec![$(Some($field.to_string())),+] };
}

fn post(seed: u64, number: u64) -> Row {
    let mut random = stream(seed, Subject::Post as u64, number);
    let tags: Vec<String> = (0..random.integer(0, 5)).map(|_| word(&mut random)).collect();
    row![
        number + 1,
        words(&mut random, 3, 8),
        timestamp(&mut random),
        random.integer(0, 9) > 0,
        f64_text(random.integer(0, 5000)),
        words(&mut random, 20, 60),
        array(&tags),
    ]
}

/// An invoice with its items.
struct Invoice {
    issued: i64,
    customer: String,
    is_paid: bool,
    note: Option<String>,
    items: Vec<Item>,
}

struct Item {
    product: String,
    unit_cost_cents: i64,
    quantity: i64,
    discount_cents: i64,
}

impl Invoice {
    fn new(seed: u64, number: u64) -> Invoice {
        let mut random = stream(seed, Subject::Invoice as u64, number);
        let item = |random: &mut Random| Item {
            product: words(random, 1, 4),
            unit_cost_cents: random.integer(10, 100_000),
            quantity: random.integer(1, 20),
            discount_cents: 100 * random.integer(0, 30),
        };
        Invoice {
            issued: random.integer(FIRST_DAY, LAST_DAY),
            customer: words(&mut random, 2, 3),
            is_paid: random.integer(0, 9) > 1,
            note: (random.integer(0, 4) == 0).then(|| words(&mut random, 5, 15)),
            items: (0..random.integer(1, ITEMS_MAX)).map(|_| item(&mut random)).collect(),
        }
    }

    fn row(&self, number: u64) -> Row {
        let Invoice { issued, customer, is_paid, note, items } = self;
        let total: i64 = items.iter().map(|item| item.unit_cost_cents * item.quantity).sum();
        let paid = is_paid.then(|| format!("{} 12:30:00", day_text(issued + 9)));
        let mut row = row![
            number + 1,
            format!("{}/{:07}", &day_text(*issued)[..4], number + 1),
            customer,
            day_text(*issued),
            day_text(issued + 30),
        ];
        row.extend([paid, Some(money(total)), Some("false".to_owned()), note.clone()]);
        row
    }

    fn items(&self, number: u64) -> impl Iterator<Item = Row> + '_ {
        self.items.iter().zip(1..).map(move |(item, position)| {
            let Item { product, unit_cost_cents, quantity, discount_cents } = item;
            let [cost, discount] = [*unit_cost_cents, *discount_cents].map(money);
            row![number + 1, position, product, cost, quantity, discount, "20.0"]
        })
    }
}

/// A bank with its accounts and their transactions.
struct Bank {
    website: String,
    visited: String,
    external_id: String,
    tags: Vec<String>,
    attributes: Vec<String>,
    accounts: Vec<Account>,
}

struct Account {
    number: String,
    name: String,
    currency: &'static str,
    transactions: Vec<Transaction>,
}

struct Transaction {
    day: i64,
    description: String,
    amount_cents: i64,
}

impl Bank {
    fn new(seed: u64, number: u64) -> Bank {
        let mut random = stream(seed, Subject::Bank as u64, number);
        Bank {
            website: format!("https://{}-{}.example/login", word(&mut random), number + 1),
            visited: timestamp(&mut random),
            external_id: format!("{:016x}", random.next_u64()),
            tags: (0..random.integer(1, 4)).map(|_| word(&mut random)).collect(),
            // Names and values in turns.
            attributes: (0..6).map(|_| words(&mut random, 1, 2)).collect(),
            accounts: (0..random.integer(1, ACCOUNTS_MAX)).map(|_| Account::new(&mut random)).collect(),
        }
    }

    fn row(&self, number: u64) -> Row {
        let Bank { website, visited, external_id, tags, attributes, accounts: _ } = self;
        row![number + 1, website, visited, external_id, array(tags), array(attributes)]
    }

    fn accounts(&self, number: u64) -> impl Iterator<Item = Row> + '_ {
        self.accounts.iter().zip(1..).map(move |(account, position)| {
            let Account { number: account_number, name, currency, .. } = account;
            row![number + 1, position, account_number, name, money(account.balance_cents()), currency]
        })
    }

    fn transactions(&self, number: u64) -> impl Iterator<Item = Row> + '_ {
        self.accounts.iter().zip(1..).flat_map(move |(account, of_bank)| {
            account.transactions.iter().zip(1..).map(move |(transaction, position)| {
                let Transaction { day, description, amount_cents } = transaction;
                row![number + 1, of_bank, position, day_text(*day), description, money(*amount_cents)]
            })
        })
    }

    fn nested(&self, number: u64) -> Row {
        let accounts: Vec<String> = self.accounts.iter().map(Account::composite).collect();
        let mut row = self.row(number);
        row.push(Some(array(&accounts)));
        row
    }

    fn document(&self, number: u64) -> Row {
        let Bank { website, visited, external_id, tags, attributes, accounts } = self;
        let texts = |texts: &[String]| texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(",");
        let accounts: Vec<String> = accounts.iter().map(Account::document).collect();
        let document = format!(
            "{{\"website\":{},\"visited\":\"{visited}\",\"external_id\":\"{external_id}\",\"tags\":[{}],\
             \"attributes\":[{}],\"accounts\":[{}]}}",
            quoted(website),
            texts(tags),
            texts(attributes),
            accounts.join(",")
        );
        row![number + 1, document]
    }
}

impl Account {
    fn new(random: &mut Random) -> Account {
        let transaction = |random: &mut Random| {
            let (action, shop, number) = (word(random), word(random), random.integer(1, 9999));
            Transaction {
                day: random.integer(FIRST_DAY, LAST_DAY),
                // Each level of nested values must escape the quotes and the backslash again.
                description: match random.integer(0, 3) {
                    0 => format!("{action} \"{shop}\", no. {number}"),
                    1 => format!("{action} {shop}\\{number}"),
                    _ => format!("{action} {shop} {number}"),
                },
                amount_cents: random.integer(-50_000, 60_000),
            }
        };
        Account {
            number: format!("XX{:018}", random.integer(0, 999_999_999_999_999_999)),
            name: words(random, 2, 3),
            currency: CURRENCIES[index(random, CURRENCIES.len())],
            transactions: (0..random.integer(0, TRANSACTIONS_MAX)).map(|_| transaction(random)).collect(),
        }
    }

    fn balance_cents(&self) -> i64 {
        self.transactions.iter().map(|transaction| transaction.amount_cents).sum()
    }

    fn composite(&self) -> String {
        let Account { number, name, currency, transactions } = self;
        let of_transaction = |transaction: &Transaction| {
            let Transaction { day, description, amount_cents } = transaction;
            composite(&[&day_text(*day), description, &money(*amount_cents)])
        };
        let transactions: Vec<String> = transactions.iter().map(of_transaction).collect();
        composite(&[number, name, &money(self.balance_cents()), currency, &array(&transactions)])
    }

    fn document(&self) -> String {
        let Account { number, name, currency, transactions } = self;
        let of_transaction = |transaction: &Transaction| {
            let Transaction { day, description, amount_cents } = transaction;
            let (day, amount) = (day_text(*day), money(*amount_cents));
            format!("{{\"day\":\"{day}\",\"description\":{},\"amount\":{amount}}}", quoted(description))
        };
        let transactions: Vec<String> = transactions.iter().map(of_transaction).collect();
        format!(
            "{{\"number\":\"{number}\",\"name\":{},\"balance\":{},\"currency\":\"{currency}\",\"transactions\":[{}]}}",
            quoted(name),
            money(self.balance_cents()),
            transactions.join(",")
        )
    }
}

/// Appends the rows with the ends of their lines, and returns their number.
fn write_lines(rows: impl Iterator<Item = Row>, out: &mut Vec<u8>) -> u64 {
    let mut count = 0;
    for row in rows {
        write_row(&row, out);
        out.push(b'\n');
        count += 1;
    }
    count
}

/// Appends a row in COPY's text format, without the end of its line.
fn write_row(row: &Row, out: &mut Vec<u8>) {
    for (number, field) in row.iter().enumerate() {
        if number > 0 {
            out.push(b'\t');
        }
        match field {
            None => out.extend_from_slice(b"\\N"),
            // No text has a tab or the end of a line.
            Some(text) => out.extend_from_slice(text.replace('\\', "\\\\").as_bytes()),
        }
    }
}

/// An array's text: each element in double quotes.
fn array(elements: &[String]) -> String {
    let quoted: Vec<String> = elements.iter().map(|element| quoted(element)).collect();
    format!("{{{}}}", quoted.join(","))
}

/// A composite value's text: each field in double quotes.
fn composite(fields: &[&str]) -> String {
    let quoted: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
    format!("({})", quoted.join(","))
}

/// In double quotes, with a backslash before each double quote and each backslash. Arrays, composite values and JSON
/// accept it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn money(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", cents.unsigned_abs() / 100, cents.unsigned_abs() % 100)
}

/// Thousandths, as `double precision` reads them.
fn f64_text(thousandths: i64) -> String {
    format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
}

fn day_text(day: i64) -> String {
    date(day.unsigned_abs())
}

fn timestamp(random: &mut Random) -> String {
    let second = random.integer(0, 86_399);
    let day = day_text(random.integer(FIRST_DAY, LAST_DAY));
    format!("{day} {:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

fn index(random: &mut Random, count: usize) -> usize {
    usize::try_from(random.range(count as u64 - 1)).unwrap_or_default()
}

fn word(random: &mut Random) -> String {
    WORDS[index(random, WORDS.len())].to_owned()
}

fn words(random: &mut Random, fewest: i64, most: i64) -> String {
    let words: Vec<String> = (0..random.integer(fewest, most)).map(|_| word(random)).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::shelf::computed::tests::text;

    fn texts(scale: &str, seed: u64, chunks: u32) -> BTreeMap<String, String> {
        let all = tables(scale.parse().expect("a scale"), seed);
        all.iter().map(|table| (table.table.name.clone(), text(table, chunks))).collect()
    }

    #[test]
    fn any_number_of_chunks_has_the_same_rows_and_another_seed_has_others() {
        let whole = texts("0.05", 1, 1);
        for chunks in [2, 7, 1000] {
            assert!(texts("0.05", 1, chunks) == whole, "{chunks} chunks");
        }
        assert_ne!(texts("0.05", 2, 1)["items"], whole["items"]);
        assert!(texts("0.1", 1, 1)["items"].starts_with(&whole["items"]), "a larger scale only adds rows");
    }

    #[test]
    fn objects_have_as_many_parts_as_the_documentation_says() {
        let rows: BTreeMap<String, usize> =
            texts("0.2", 1, 1).into_iter().map(|(name, text)| (name, text.lines().count())).collect();
        for (name, expected) in [("posts", 2000), ("invoices", 2000), ("banks", 200), ("nested_banks", 200)] {
            assert_eq!(rows[name], expected, "{name}");
        }
        for (name, range) in
            [("items", 19_000..21_000), ("accounts", 560..640), ("transactions", 11_000..13_000)]
        {
            assert!(range.contains(&rows[name]), "{name}: {}", rows[name]);
        }
    }

    #[test]
    fn nested_values_are_quoted_once_for_each_level() {
        let account = Account {
            number: "X1".to_owned(),
            name: "my account".to_owned(),
            currency: "EUR",
            transactions: vec![Transaction {
                day: 18_262,
                description: r#"a "b"\c"#.to_owned(),
                amount_cents: -5,
            }],
        };
        let expected = r#"("X1","my account","-0.05","EUR","{\"(\\\"2020-01-01\\\",\\\"a \\\\\\\"b\\\\\\\"\\\\\\\\c\\\",\\\"-0.05\\\")\"}")"#;
        assert_eq!(account.composite(), expected);
        let document = r#"{"number":"X1","name":"my account","balance":-0.05,"currency":"EUR","transactions":[{"day":"2020-01-01","description":"a \"b\"\\c","amount":-0.05}]}"#;
        assert_eq!(account.document(), document);
    }
}
