//! Parameters of the queries: the validation values of the specification, and values drawn from its ranges
//! (clauses 2.4.1.3 to 2.4.22.4). Position n of a list replaces `:n` of the query's template.

use std::collections::BTreeSet;

use stats::{Scale, SplitMix64};
use tpchgen::distribution::{Distribution, Distributions};

/// Number of queries.
pub(super) const QUERIES: usize = 22;

/// The parameters for which the specification has answers. Query 11 has its fraction from [`fraction`].
const VALIDATION: [&[&str]; QUERIES] = [
    &["90"],
    &["15", "BRASS", "EUROPE"],
    &["BUILDING", "1995-03-15"],
    &["1993-07-01"],
    &["ASIA", "1994-01-01"],
    &["1994-01-01", "0.06", "24"],
    &["FRANCE", "GERMANY"],
    &["BRAZIL", "AMERICA", "ECONOMY ANODIZED STEEL"],
    &["green"],
    &["1993-10-01"],
    &["GERMANY"],
    &["MAIL", "SHIP", "1994-01-01"],
    &["special", "requests"],
    &["1995-09-01"],
    &["1996-01-01"],
    &["Brand#45", "MEDIUM POLISHED", "49", "14", "23", "45", "19", "3", "36", "9"],
    &["Brand#23", "MED BOX"],
    &["300"],
    &["Brand#12", "Brand#23", "Brand#34", "1", "10", "20"],
    &["forest", "1994-01-01", "CANADA"],
    &["SAUDI ARABIA"],
    &["13", "31", "23", "29", "30", "18", "17"],
];

/// The validation parameters of a query, which is counted from 1.
pub(super) fn validation(query: usize, scale: Scale) -> Vec<String> {
    let mut values: Vec<String> = VALIDATION[query - 1].iter().map(|&value| value.to_owned()).collect();
    if query == 11 {
        values.push(fraction(scale));
    }
    values
}

/// The fraction of query 11: 0.0001 divided by the scale.
fn fraction(scale: Scale) -> String {
    let text = format!("{:.14}", 0.0001 / scale.units());
    text.trim_end_matches('0').to_owned()
}

/// Drawn parameters of a query, which is counted from 1. They depend on the seed, the stream and the query alone.
pub(super) fn drawn(query: usize, seed: u64, stream: u32, scale: Scale) -> Vec<String> {
    let mut seeds = SplitMix64::new(seed);
    let stream = seeds.bits() ^ u64::from(stream);
    let query_seed = SplitMix64::new(stream).bits() ^ query as u64;
    let mut draw = Draw { random: SplitMix64::new(query_seed), lists: Distributions::static_default() };
    let january = |draw: &mut Draw| draw.month((1993, 1), 5, 12);
    match query {
        1 => vec![draw.number(60, 120)],
        2 => vec![draw.number(1, 50), draw.part_type(2..3), draw.name(draw.lists.regions())],
        3 => {
            let segment = draw.name(draw.lists.market_segments());
            vec![segment, format!("1995-03-{:02}", draw.between(1, 31))]
        }
        4 => vec![draw.month((1993, 1), 58, 1)],
        5 => vec![draw.name(draw.lists.regions()), january(&mut draw)],
        6 => vec![january(&mut draw), format!("0.0{}", draw.between(2, 9)), draw.number(24, 25)],
        7 => draw.different(2, |draw| draw.name(draw.lists.nations())),
        8 => {
            let nation = draw.index(draw.lists.nations().size());
            let region = region_of(draw.lists, nation);
            let nation = draw.lists.nations().get_value(nation).to_owned();
            vec![nation, region, draw.part_type(0..3)]
        }
        9 => vec![draw.name(draw.lists.part_colors())],
        10 => vec![draw.month((1993, 2), 24, 1)],
        11 => vec![draw.name(draw.lists.nations()), fraction(scale)],
        12 => {
            let mut values = draw.different(2, |draw| draw.name(draw.lists.ship_modes()));
            values.push(january(&mut draw));
            values
        }
        13 => vec![
            draw.word(&["special", "pending", "unusual", "express"]),
            draw.word(&["packages", "requests", "accounts", "deposits"]),
        ],
        14 => vec![draw.month((1993, 1), 60, 1)],
        15 => vec![draw.month((1993, 1), 58, 1)],
        16 => {
            let mut values = vec![draw.brand(), draw.part_type(0..2)];
            values.extend(draw.different(8, |draw| draw.number(1, 50)));
            values
        }
        17 => vec![draw.brand(), draw.name(draw.lists.part_containers())],
        18 => vec![draw.number(312, 315)],
        19 => {
            let mut values: Vec<String> = (0..3).map(|_| draw.brand()).collect();
            values.extend([draw.number(1, 10), draw.number(10, 20), draw.number(20, 30)]);
            values
        }
        20 => {
            let (color, date) = (draw.name(draw.lists.part_colors()), january(&mut draw));
            vec![color, date, draw.name(draw.lists.nations())]
        }
        21 => vec![draw.name(draw.lists.nations())],
        // The country code of a nation is its key, counted from 0, plus 10.
        _ => draw.different(7, |draw| (10 + draw.index(draw.lists.nations().size())).to_string()),
    }
}

/// The region of a nation. Weights of nations are differences of the keys of their regions.
fn region_of(lists: &Distributions, nation: usize) -> String {
    let region = usize::try_from(lists.nations().get_weight(nation)).unwrap_or(0);
    lists.regions().get_value(region).to_owned()
}

/// Draws from the ranges.
struct Draw {
    random: SplitMix64,
    lists: &'static Distributions,
}

impl Draw {
    /// From 0 up to, without, `count`. The modulus favours small numbers by less than 10⁻¹⁵.
    fn index(&mut self, count: usize) -> usize {
        usize::try_from(self.random.bits() % count as u64).unwrap_or(0)
    }

    fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.index(high - low + 1)
    }

    fn number(&mut self, low: usize, high: usize) -> String {
        self.between(low, high).to_string()
    }

    fn word(&mut self, words: &[&str]) -> String {
        words[self.index(words.len())].to_owned()
    }

    fn name(&mut self, list: &Distribution) -> String {
        self.word(list.get_values())
    }

    /// Some of the three words of a part's type.
    fn part_type(&mut self, words: std::ops::Range<usize>) -> String {
        let whole = self.name(self.lists.part_types());
        let chosen: Vec<&str> = whole.split(' ').skip(words.start).take(words.len()).collect();
        chosen.join(" ")
    }

    fn brand(&mut self) -> String {
        format!("Brand#{}{}", self.between(1, 5), self.between(1, 5))
    }

    /// The first day of one of `count` months that are `step` months apart.
    fn month(&mut self, (year, month): (usize, usize), count: usize, step: usize) -> String {
        let months = month - 1 + step * self.index(count);
        format!("{}-{:02}-01", year + months / 12, months % 12 + 1)
    }

    fn different(&mut self, count: usize, mut draw: impl FnMut(&mut Draw) -> String) -> Vec<String> {
        let (mut seen, mut values) = (BTreeSet::new(), Vec::with_capacity(count));
        while values.len() < count {
            let value = draw(self);
            if seen.insert(value.clone()) {
                values.push(value);
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(query: usize) -> Vec<Vec<String>> {
        (0..2000).map(|seed| drawn(query, seed, 0, Scale::ONE)).collect()
    }

    /// Smallest and largest value at a position, and the number of different ones.
    #[track_caller]
    fn check(query: usize, position: usize, first: &str, last: &str, different: usize) {
        let values: BTreeSet<String> =
            all(query).into_iter().map(|values| values[position].clone()).collect();
        let found = (values.first().expect("values").as_str(), values.last().expect("values").as_str());
        assert_eq!((found, values.len()), ((first, last), different), "query {query}, :{}", position + 1);
    }

    #[test]
    fn drawn_values_cover_the_ranges_of_the_specification() {
        check(1, 0, "100", "99", 61);
        check(2, 0, "1", "9", 50);
        check(2, 1, "BRASS", "TIN", 5);
        check(3, 0, "AUTOMOBILE", "MACHINERY", 5);
        check(3, 1, "1995-03-01", "1995-03-31", 31);
        check(4, 0, "1993-01-01", "1997-10-01", 58);
        check(5, 0, "AFRICA", "MIDDLE EAST", 5);
        check(5, 1, "1993-01-01", "1997-01-01", 5);
        check(6, 1, "0.02", "0.09", 8);
        check(7, 0, "ALGERIA", "VIETNAM", 25);
        check(8, 2, "ECONOMY ANODIZED BRASS", "STANDARD POLISHED TIN", 150);
        check(9, 0, "almond", "yellow", 92);
        check(10, 0, "1993-02-01", "1995-01-01", 24);
        check(12, 0, "AIR", "TRUCK", 7);
        check(13, 1, "accounts", "requests", 4);
        check(14, 0, "1993-01-01", "1997-12-01", 60);
        check(15, 0, "1993-01-01", "1997-10-01", 58);
        check(16, 0, "Brand#11", "Brand#55", 25);
        check(16, 1, "ECONOMY ANODIZED", "STANDARD POLISHED", 30);
        check(17, 1, "JUMBO BAG", "WRAP PKG", 40);
        check(18, 0, "312", "315", 4);
        check(19, 5, "20", "30", 11);
        check(22, 0, "10", "34", 25);
    }

    #[test]
    fn lists_have_different_values() {
        for query in [7, 12, 16, 22] {
            for values in all(query) {
                let different: BTreeSet<&String> = values.iter().collect();
                assert_eq!(different.len(), values.len(), "query {query}: {values:?}");
            }
        }
    }

    #[test]
    fn the_region_of_query_8_is_that_of_its_nation() {
        let pairs: BTreeSet<(String, String)> =
            all(8).into_iter().map(|values| (values[1].clone(), values[0].clone())).collect();
        assert_eq!(pairs.len(), 25);
        assert!(pairs.contains(&("EUROPE".to_owned(), "GERMANY".to_owned())));
        assert!(pairs.contains(&("AMERICA".to_owned(), "UNITED STATES".to_owned())));
    }

    #[test]
    fn parameters_depend_on_seed_stream_and_query() {
        let drawn = |seed, stream| drawn(16, seed, stream, Scale::ONE);
        assert_eq!(drawn(1, 2), drawn(1, 2));
        assert_ne!(drawn(1, 2), drawn(1, 3));
        assert_ne!(drawn(1, 2), drawn(2, 2));
    }

    #[test]
    fn the_fraction_of_query_11_is_divided_by_the_scale() {
        for (scale, fraction) in [("1", "0.0001"), ("0.01", "0.01"), ("100", "0.000001")] {
            let scale = scale.parse().expect("a scale");
            assert_eq!(validation(11, scale)[1], fraction);
            assert_eq!(drawn(11, 1, 0, scale)[1], fraction);
        }
    }
}
