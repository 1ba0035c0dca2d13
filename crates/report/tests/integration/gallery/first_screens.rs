//! Each page of the gallery begins with its answer: one short sentence, before everything else.
//! Where it stands is measured in `pages::first_screen`.

use testkit::extent::is_all;

use super::exhibits;

/// Take as long to make as all others. Smaller pages have answers of the same kinds, so these are made each night.
const LARGE: [&str; 5] = ["run-long", "runs-hundred", "queries-200", "queries-300", "experiment-40"];

/// Words of an answer, a number and its unit counted as one.
const WORDS_MAX: usize = 20;

#[test]
fn every_page_of_the_gallery_begins_with_an_answer_of_at_most_twenty_words() {
    let problem = |name: &str, page: &str| {
        let Some((before, rest)) = page.split_once("<p class=\"answer") else {
            return Some(format!("{name} has no answer"));
        };
        let (_, rest) = rest.split_once('>').expect("the element begins");
        let answer = rest.split_once('<').expect("the element ends").0;
        let words = answer.split(' ').count();
        // Its label and its title alone stand above it.
        let is_first = !before.contains("<section") && before.contains("class=\"titled\"");
        let is_sentence = answer.ends_with('.') && !answer.trim_end_matches('.').contains(". ");
        (words > WORDS_MAX || !is_first || !is_sentence).then(|| format!("{name}, {words} words: {answer}"))
    };
    let all = exhibits().into_iter();
    let pages = all.filter(|exhibit| is_all() || !LARGE.contains(&exhibit.name));
    let problems: Vec<String> =
        pages.filter_map(|exhibit| problem(exhibit.name, &(exhibit.page)())).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
