//! All pages of the gallery in one browser, wide and narrow, light and dark, folded and unfolded. Each has marks in its
//! charts, words that do not touch and can be read, no sideways scrolling, no error, and no request.
//!
//! `PGMETER_GALLERY` names a folder that gets the pages, their screenshots and an index; then problems are shown there.
//! `PGMETER_GALLERY_ONLY` names the pages to make, by the start of their names.

use std::path::{Path, PathBuf};

use testkit::extent::{choose, is_all};

use super::index::{self, Shown};
use super::{Exhibit, OF_EACH_KIND, exhibits};
use crate::pages::browser::{self, complaints};
use crate::pages::devtools::Browser;

const LOOK: &str = include_str!("look.js");
/// A desktop and a phone.
pub(super) const WINDOWS: [(u32, u32); 2] = [(1400, 900), (390, 844)];

const UNFOLD: &str = "document.querySelectorAll('details').forEach((it) => { it.open = true; })";

/// What is wrong with the `layout` or the `contrast` of a page.
fn look(browser: &mut Browser, what: &str) -> Vec<String> {
    let found = browser.value(&LOOK.replace("WHAT", what));
    let texts = found.as_array().expect("a list").iter();
    texts.map(|text| text.as_str().expect("a sentence").to_owned()).collect()
}

/// What is wrong with a page, and its screenshots if they are wanted. A theme changes no layout, and words that are
/// folded have the contrast that they have unfolded. Each night, contrasts are looked at in both windows.
fn seen(browser: &mut Browser, page: &Path, has_screenshots: bool) -> Vec<String> {
    let mut problems = Vec::new();
    for (width, height) in WINDOWS {
        browser.window(width, height, false);
        browser.open(page);
        let mut keep = |state: &str, found: Vec<String>| {
            problems.extend(found.into_iter().map(|problem| format!("{width} px, {state}: {problem}")));
        };
        if has_screenshots {
            for (dark, theme) in [(true, "dark"), (false, "light")] {
                browser.window(width, height, dark);
                browser.screenshot(&page.with_extension(format!("{width}-{theme}.png")));
            }
        }
        keep("folded", look(browser, "layout"));
        browser.value(UNFOLD);
        keep("unfolded", look(browser, "layout"));
        if is_all() || width == WINDOWS[0].0 {
            keep("light", look(browser, "contrast"));
            browser.window(width, height, true);
            keep("dark", look(browser, "contrast"));
        }
        keep("messages", complaints(browser));
    }
    problems
}

/// Looks at some pages; keeps them if a folder is wanted.
fn look_at(is_chosen: impl Fn(&Exhibit) -> bool) {
    let Some(mut browser) = browser::browser() else { return };
    let wanted = std::env::var_os("PGMETER_GALLERY").map(PathBuf::from);
    let is_shown = wanted.is_some();
    let folder = wanted.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("gallery"));
    std::fs::create_dir_all(&folder).expect("the folder can be written");
    let mut all = Vec::new();
    for exhibit in exhibits().into_iter().filter(is_chosen) {
        let page = folder.join(exhibit.name).with_extension("html");
        let html = (exhibit.page)();
        std::fs::write(&page, &html).expect("the folder can be written");
        let problems = seen(&mut browser, &page, is_shown);
        all.push(Shown { name: exhibit.name, about: exhibit.about, bytes: html.len(), problems });
    }
    if is_shown {
        std::fs::write(folder.join("index.html"), index::html(&all)).expect("the folder can be written");
        return;
    }
    assert!(!all.is_empty());
    let problems: Vec<String> = all
        .iter()
        .flat_map(|shown| shown.problems.iter().map(|problem| format!("{}, {problem}", shown.name)))
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_page_of_each_kind_can_be_read_in_every_window_and_theme() {
    look_at(|exhibit| OF_EACH_KIND.contains(&exhibit.name));
}

mod nightly {
    use super::*;

    #[test]
    fn every_page_of_the_gallery_can_be_read_in_every_window_and_theme() {
        let only = std::env::var("PGMETER_GALLERY_ONLY").unwrap_or_default();
        let only: Vec<&str> = only.split_whitespace().collect();
        look_at(|exhibit| only.is_empty() || only.iter().any(|start| exhibit.name.starts_with(start)));
    }
}

#[test]
fn pages_stay_small() {
    const KB: usize = 1024;
    let pages = [("run-typical", 200 * KB), ("run-actions", 200 * KB), ("runs-hundred", 2 * KB * KB)];
    // A hundred runs take seconds to make.
    for (name, bytes_max) in pages.into_iter().take(choose(2, 3)) {
        let exhibit = exhibits().into_iter().find(|it| it.name == name).expect("it is there");
        let bytes = (exhibit.page)().len();
        assert!(bytes < bytes_max, "{name} has {bytes} bytes");
    }
}
