//! The page's head, its style and its scripts, and the policy that lets the browser run those and load nothing at all.
//! What stands on the page is made elsewhere.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest, Sha256};

use super::markup::Markup;

const STYLE: &str = include_str!("../../assets/page.css");
const THEME: &str = include_str!("../../assets/theme.js");

/// The head, with the policy that lets the browser run what is on the page and load nothing at all.
pub(super) fn head(page: &mut Markup, title: &str) {
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(&compact(STYLE)),
        hash(&script())
    );
    page.raw("<head>\n<meta charset=\"utf-8\">\n");
    page.void("meta", &[("http-equiv", "Content-Security-Policy"), ("content", &policy)]);
    page.raw("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.raw("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
    page.raw("<link rel=\"icon\" href=\"data:,\">\n");
    page.leaf("title", &[], &format!("{title} · pgmeter"));
    page.raw("\n<style>");
    page.made_safe(&compact(STYLE));
    page.raw("</style>\n</head>\n");
}

/// The script that shows the values of charts and chooses the theme.
pub(super) fn scripts(page: &mut Markup) {
    page.raw("<script>");
    page.made_safe(&script());
    page.raw("</script>\n");
}

fn script() -> String {
    compact(&format!("(() => {{\n\"use strict\";\n{}{THEME}}})();\n", crate::chart::SCRIPT))
}

/// Without indentation, empty lines and lines that are a comment: a page stays small.
fn compact(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// As a policy names a script or a style (Content Security Policy Level 3, §2.3.1, hash-source).
fn hash(content: &str) -> String {
    format!("sha256-{}", BASE64.encode(Sha256::digest(content)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_asset_can_end_its_element() {
        assert!(!script().to_lowercase().contains("</script") && !script().contains("<!--"));
        assert!(!STYLE.to_lowercase().contains("</style"));
    }
}
