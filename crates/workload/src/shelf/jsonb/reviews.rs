//! The rows of the workload `jsonb`: reviews of products as nested documents, and the same as columns. A work has several
//! editions; a review of a work is repeated for each edition, as in the published collection.

use std::io::Write as _;

use script::Random;
use stats::Scale;

use crate::shelf::computed::{stream, table};
use crate::shelf::fields::date;
use loading::loader::execution::LoadTable;

/// Rows for each unit of scale.
pub(super) const ROWS_PER_SCALE: f64 = 100_000.0;
/// Rows that contain whole sets of editions.
const BLOCK: u64 = 5;
/// How the rows of a block are divided among reviews: each number is the count of editions of one work.
const DIVISIONS: [&[u64]; 7] =
    [&[1, 1, 1, 1, 1], &[1, 1, 1, 2], &[1, 2, 2], &[1, 1, 3], &[2, 3], &[1, 4], &[5]];
/// Works and customers, as shares of the rows. With these, the GIN indexes have about the sizes that were published,
/// which depend on the number of different values.
const WORKS_SHARE: f64 = 0.05;
const CUSTOMERS_SHARE: f64 = 0.18;
/// One customer wrote this share of the reviews.
const HOUSE_SHARE: f64 = 0.13;
const HOUSE_CUSTOMER: &str = "ATVPDKIKX0DER";
/// How much more often the first works and customers occur.
const WORK_SKEW: f64 = 2.0;
const CUSTOMER_SKEW: f64 = 2.5;

/// Groups of products with their weights in percent and numbers of categories.
const GROUPS: [(&str, u64, u64); 4] = [("Book", 83, 60), ("Music", 10, 25), ("Video", 5, 15), ("DVD", 2, 12)];
const SUBCATEGORIES: u64 = 12;
/// Ratings with their weights in percent.
const RATINGS: [(u64, u64); 5] = [(5, 62), (4, 20), (3, 8), (2, 4), (1, 6)];
/// Lengths of titles in characters with the number of reviews in the published collection.
const TITLE_LENGTHS: [(u64, u64, u64); 6] = [
    (4, 10, 56_299),
    (11, 20, 170_774),
    (21, 30, 104_778),
    (31, 40, 69_719),
    (41, 49, 47_110),
    (50, 90, 43_070),
];
const SYLLABLES: [&str; 24] = [
    "ma", "ri", "ton", "ber", "ca", "del", "es", "fo", "gan", "hel", "in", "jo", "kar", "li", "mo", "nor",
    "ol", "pe", "qui", "ros", "sta", "ter", "ul", "ven",
];
/// Words of titles; the first ones are frequent.
const WORDS: f64 = 20_000.0;
const WORD_SKEW: f64 = 3.0;
/// Days since 1970 of the first and the last review, and of the few with a wrong date.
const FIRST_DAY: u64 = 9_312;
const LAST_DAY: u64 = 10_591;
const WRONG_DAY: u64 = 363;
const WRONG_DATES: f64 = 0.0002;
const MOST_VOTES: f64 = 400.0;

/// What a stream of random numbers is for.
#[derive(Clone, Copy)]
enum Subject {
    Block = 1,
    Review,
    Work,
    Edition,
    Word,
}

/// The reviews of a scale and a seed.
#[derive(Clone, Copy)]
struct Reviews {
    seed: u64,
    works: f64,
    customers: f64,
}

/// One row.
struct Review {
    customer: String,
    day: u64,
    rating: u64,
    votes: u64,
    helpful_votes: u64,
    product: Product,
}

/// An edition of a work.
struct Product {
    id: String,
    title: String,
    sales_rank: u64,
    group: &'static str,
    category: u64,
    subcategory: u64,
    similar_ids: Vec<String>,
}

/// The three tables: the same reviews as jsonb, as json, and as columns.
pub(super) fn tables(scale: Scale, seed: u64) -> Vec<LoadTable> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "scales are positive")]
    let rows = (scale.units() * ROWS_PER_SCALE).round().max(1.0) as u64;
    let units = scale.units() * ROWS_PER_SCALE;
    let (works, customers) = ((units * WORKS_SHARE).max(1.0), (units * CUSTOMERS_SHARE).max(1.0));
    let reviews = Reviews { seed, works, customers };
    let document = move |number: u64, out: &mut Vec<u8>| reviews.row(number).document(out);
    let columns = move |number: u64, out: &mut Vec<u8>| reviews.row(number).columns(number, out);
    vec![
        table("reviews", rows, document),
        table("reviews_json", rows, document),
        table("reviews_columns", rows, columns),
    ]
}

impl Reviews {
    fn stream(&self, subject: Subject, number: u64) -> Random {
        stream(self.seed, subject as u64, number)
    }

    fn row(&self, number: u64) -> Review {
        let (block, mut place) = (number / BLOCK, number % BLOCK);
        let mut of_block = self.stream(Subject::Block, block);
        let division = DIVISIONS[to_index(of_block.range(DIVISIONS.len() as u64 - 1))];
        let mut review = 0;
        for editions in division {
            if place < *editions {
                break;
            }
            place -= editions;
            review += 1;
        }
        self.review(block * BLOCK + review, place)
    }

    /// Review `number` of the edition `edition` of its work.
    fn review(&self, number: u64, edition: u64) -> Review {
        let mut random = self.stream(Subject::Review, number);
        let work = skewed(&mut random, self.works, WORK_SKEW);
        let is_of_house = random.next_f64() < HOUSE_SHARE;
        let customer = skewed(&mut random, self.customers, CUSTOMER_SKEW);
        let customer =
            if is_of_house { HOUSE_CUSTOMER.to_owned() } else { format!("A{}", code(customer, 13)) };
        let has_wrong_date = random.next_f64() < WRONG_DATES;
        // The number of reviews grows with time.
        #[expect(clippy::cast_precision_loss, reason = "some thousand days")]
        let days = (LAST_DAY - FIRST_DAY) as f64;
        let day = FIRST_DAY + floor(random.next_f64().powf(0.35) * (days + 1.0));
        let rating = weighted(&mut random, &RATINGS.map(|(rating, weight)| (rating, weight)));
        let votes = if random.next_f64() < 0.25 {
            0
        } else {
            floor((1.5 + 1.1 * random.normal()).exp().round().min(MOST_VOTES))
        };
        let helpful_votes = (0..votes).filter(|_| random.next_f64() < 0.7).count() as u64;
        let product = self.product(work, edition);
        let day = if has_wrong_date { WRONG_DAY } else { day };
        Review { customer, day, rating, votes, helpful_votes, product }
    }

    fn product(&self, work: u64, edition: u64) -> Product {
        let mut random = self.stream(Subject::Work, work);
        let group = weighted(&mut random, &[(0, 83), (1, 10), (2, 5), (3, 2)]);
        let (group, _, categories) = GROUPS[to_index(group)];
        #[expect(clippy::cast_precision_loss, reason = "some dozens")]
        let (category, subcategory) =
            (skewed(&mut random, categories as f64, 1.7), skewed(&mut random, SUBCATEGORIES as f64, 1.7));
        let title = self.title(&mut random);
        let similar = if random.next_f64() < 0.12 { 0 } else { 5 };
        let similar_ids = (0..similar).map(|_| {
            let other = skewed(&mut random, self.works, WORK_SKEW);
            self.product_id(other, 0)
        });
        let similar_ids = similar_ids.collect();
        let sales_rank =
            floor(10_f64.powf(2.0 + 4.3 * self.stream(Subject::Edition, work * 8 + edition).next_f64()));
        let id = self.product_id(work, edition);
        Product { id, title, sales_rank, group, category, subcategory, similar_ids }
    }

    /// Ten characters, as an ISBN.
    fn product_id(&self, work: u64, edition: u64) -> String {
        let digits = self.stream(Subject::Edition, work * 8 + edition).next_u64() % 1_000_000_000;
        let digits = format!("{digits:09}");
        let sum: u32 =
            digits.chars().zip((2..=10).rev()).filter_map(|(c, weight)| Some(c.to_digit(10)? * weight)).sum();
        match (11 - sum % 11) % 11 {
            10 => format!("{digits}X"),
            check => format!("{digits}{check}"),
        }
    }

    fn title(&self, random: &mut Random) -> String {
        let class = weighted(random, &TITLE_LENGTHS.map(|(low, _, count)| (low, count)));
        let high = TITLE_LENGTHS.iter().find(|(low, ..)| *low == class).map_or(class, |(_, high, _)| *high);
        let length = to_index(class + random.range(high - class));
        let mut title = String::new();
        while title.len() < length {
            if !title.is_empty() {
                title.push(' ');
            }
            let mut of_word = self.stream(Subject::Word, skewed(random, WORDS, WORD_SKEW));
            for number in 0..=1 + of_word.range(2) {
                let syllable = SYLLABLES[to_index(of_word.range(SYLLABLES.len() as u64 - 1))];
                title.push_str(&if number == 0 { capital(syllable) } else { syllable.to_owned() });
            }
        }
        title.truncate(length);
        title.truncate(title.trim_end().len());
        title
    }
}

impl Review {
    /// A line with the document.
    fn document(&self, out: &mut Vec<u8>) {
        let Review { customer, rating, votes, helpful_votes, product, .. } = self;
        let Product { id, title, sales_rank, group, category, subcategory, similar_ids } = product;
        let date = date(self.day);
        let similar: Vec<String> = similar_ids.iter().map(|id| format!("\"{id}\"")).collect();
        // Writing to memory does not fail. No text has a character that JSON or COPY would escape.
        let _ = write!(
            out,
            "{{\"customer_id\":\"{customer}\",\"review\":{{\"date\":\"{date}\",\"rating\":{rating},\"votes\":{votes},\
             \"helpful_votes\":{helpful_votes}}},\"product\":{{\"id\":\"{id}\",\"title\":\"{title}\",\
             \"sales_rank\":{sales_rank},\"group\":\"{group}\",\"category\":\"{group} category {category}\",\
             \"subcategory\":\"{group} subcategory {category}-{subcategory}\",\"similar_ids\":[{}]}}}}",
            similar.join(",")
        );
    }

    /// A line with the columns.
    fn columns(&self, number: u64, out: &mut Vec<u8>) {
        let Review { customer, rating, votes, helpful_votes, product, .. } = self;
        let Product { id, title, sales_rank, group, category, subcategory, similar_ids } = product;
        let _ = write!(
            out,
            "{}\t{customer}\t{}\t{rating}\t{votes}\t{helpful_votes}\t{id}\t{title}\t{sales_rank}\t{group}\t\
             {group} category {category}\t{group} subcategory {category}-{subcategory}\t{{{}}}",
            number + 1,
            date(self.day),
            similar_ids.join(",")
        );
    }
}

/// A number below `count`; a larger `skew` makes small numbers more frequent.
fn skewed(random: &mut Random, count: f64, skew: f64) -> u64 {
    floor(count * random.next_f64().powf(skew))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative; saturates")]
fn floor(number: f64) -> u64 {
    number as u64
}

#[expect(clippy::cast_possible_truncation, reason = "the numbers are small")]
fn to_index(number: u64) -> usize {
    number as usize
}

/// One of the values, by their weights.
fn weighted(random: &mut Random, values: &[(u64, u64)]) -> u64 {
    let total: u64 = values.iter().map(|(_, weight)| weight).sum();
    let mut draw = random.range(total - 1);
    for (value, weight) in values {
        if draw < *weight {
            return *value;
        }
        draw -= weight;
    }
    values[0].0
}

fn capital(syllable: &str) -> String {
    let (first, rest) = syllable.split_at(1);
    first.to_uppercase() + rest
}

/// A number as this many letters and digits.
fn code(number: u64, length: u32) -> String {
    const SIGNS: &[u8; 32] = b"0123456789ABCDEFGHJKLMNPQRSTUVWX";
    let mut mixed = Random::from_seed(number).next_u64();
    let sign = |_| {
        let sign = SIGNS[to_index(mixed % 32)];
        mixed /= 32;
        char::from(sign)
    };
    (1..length).map(sign).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::shelf::computed::tests::text;

    fn rows(table: usize, scale: &str) -> Vec<String> {
        let tables = tables(scale.parse().expect("a scale"), 1);
        text(&tables[table], 3).lines().map(str::to_owned).collect()
    }

    fn field<'a>(line: &'a str, name: &str) -> &'a str {
        let rest = line.split_once(&format!("\"{name}\":")).expect("the field").1;
        rest.trim_start_matches('"').split(['"', ',', '}']).next().expect("a value")
    }

    #[test]
    fn rows_depend_on_the_seed_the_table_and_their_number_alone() {
        let scale: Scale = "0.02".parse().expect("a scale");
        let rows = |seed, chunks| -> Vec<String> {
            tables(scale, seed).iter().map(|table| text(table, chunks)).collect()
        };
        let whole = rows(7, 1);
        for chunks in [2, 3, 7, 999, 5_000] {
            assert_eq!(rows(7, chunks), whole, "{chunks} chunks");
        }
        assert!(rows(8, 1).iter().zip(&whole).all(|(other, rows)| other != rows), "another seed");
    }

    #[test]
    fn reviews_have_the_shares_of_the_published_collection() {
        let rows = rows(0, "0.2");
        assert_eq!(rows.len(), 20_000);
        let share = |is_it: &dyn Fn(&str) -> bool| {
            let count = rows.iter().filter(|row| is_it(row)).count();
            #[expect(clippy::cast_precision_loss, reason = "20,000 rows")]
            let share = count as f64 / rows.len() as f64;
            share
        };
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 0.03, "{found}, not {wanted}");
        near(share(&|row| field(row, "group") == "Book"), 0.83);
        near(share(&|row| field(row, "customer_id") == HOUSE_CUSTOMER), 0.13);
        near(share(&|row| field(row, "rating") == "5"), 0.62);
        near(share(&|row| field(row, "votes") == "0"), 0.25 + 0.75 * 0.023);
        near(share(&|row| (11..=20).contains(&field(row, "title").len())), 170_774.0 / 491_750.0);
        let votes = |row: &str, name| field(row, name).parse::<u64>().expect("a number");
        assert!(rows.iter().all(|row| votes(row, "helpful_votes") <= votes(row, "votes")));
        let bytes = rows.iter().map(String::len).sum::<usize>() / rows.len();
        assert!((320..390).contains(&bytes), "354 bytes for each row were published; found {bytes}");
    }

    #[test]
    fn editions_of_a_work_have_one_review_and_title_but_ids_of_their_own() {
        let mut editions: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in rows(0, "0.01") {
            let review = row.split_once("\"review\":{").expect("a review").1;
            let review = review.split_once('}').expect("its end").0;
            let key = format!("{} {review} {}", field(&row, "customer_id"), field(&row, "title"));
            editions.entry(key).or_default().push(field(&row, "id").to_owned());
        }
        assert!(editions.values().any(|ids| ids.len() == 5));
        for mut ids in editions.into_values().filter(|ids| (2..=5).contains(&ids.len())) {
            let count = ids.len();
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), count);
        }
    }

    #[test]
    fn documents_and_columns_are_the_same_reviews() {
        for (document, columns) in rows(1, "0.001").iter().zip(rows(2, "0.001")) {
            let columns: Vec<&str> = columns.split('\t').collect();
            let of_document =
                ["customer_id", "date", "rating", "votes", "helpful_votes", "id", "title", "sales_rank"];
            assert_eq!(of_document.map(|name| field(document, name)), columns[1..9]);
            assert!(!document.contains('\\') && document.is_ascii());
        }
    }
}
