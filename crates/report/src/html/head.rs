//! The page's head, its style and its scripts, and the policy that lets the browser run those and load nothing at all.
//! What stands on the page is made elsewhere.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest, Sha256};

use super::markup::Markup;

/// The charts' library; assets/VENDORED.md says which.
const UPLOT: &str = include_str!("../../assets/uPlot.iife.min.js");
const UPLOT_LICENCE: &str = include_str!("../../assets/uPlot.LICENSE");
const UPLOT_STYLE: &str = include_str!("../../assets/uPlot.min.css");
const STYLE: &str = include_str!("../../assets/page.css");
const THEME: &str = include_str!("../../assets/theme.js");
const SCRIPTS: [&str; 5] = [
    include_str!("../../assets/words.js"),
    include_str!("../../assets/chart.js"),
    include_str!("../../assets/kinds.js"),
    include_str!("../../assets/cells.js"),
    include_str!("../../assets/page.js"),
];

/// The charts of an experiment are drawn by a script, from data as JSON; those of runs are on the page.
pub(super) enum Script {
    Pointer,
    Experiment(String),
}

impl Script {
    pub(super) fn credits(&self, page: &mut Markup) {
        if let Script::Experiment(_) = self {
            page.raw(" Charts by <span translate=\"no\">uPlot</span> (MIT licence, © Leon Sorokin; its text is in the source of this page).");
        }
    }

    fn text(&self) -> String {
        match self {
            Script::Pointer => format!("(() => {{\n\"use strict\";\n{}{THEME}}})();\n", crate::chart::SCRIPT),
            Script::Experiment(_) => script(),
        }
    }
}

pub(super) fn head(page: &mut Markup, title: &str, script: &Script) {
    let style = style();
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(&style),
        hash(&script.text())
    );
    page.raw("<head>\n<meta charset=\"utf-8\">\n");
    page.void("meta", &[("http-equiv", "Content-Security-Policy"), ("content", &policy)]);
    page.raw("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.raw("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
    page.raw("<link rel=\"icon\" href=\"data:,\">\n");
    page.leaf("title", &[], &format!("{title} · pgmeter"));
    page.raw("\n<style>");
    page.made_safe(&style);
    page.raw("</style>\n</head>\n");
}

pub(super) fn scripts(page: &mut Markup, script: &Script) {
    if let Script::Experiment(data) = script {
        page.raw("<script type=\"application/json\" id=\"data\">");
        page.made_safe(&safe_in_script(data));
        page.raw("</script>\n");
    }
    page.raw("<script>");
    page.made_safe(&script.text());
    page.raw("</script>\n");
}

fn style() -> String {
    format!("{UPLOT_STYLE}\n{STYLE}")
}

fn script() -> String {
    format!("/*\nuPlot\n{UPLOT_LICENCE}*/\n{UPLOT}\n(() => {{\n\"use strict\";\n{}}})();\n", SCRIPTS.concat())
}

/// As a policy names a script or a style (Content Security Policy Level 3, §2.3.1, hash-source).
fn hash(content: &str) -> String {
    format!("sha256-{}", BASE64.encode(Sha256::digest(content)))
}

/// JSON that cannot end the script that it stands in, nor open a comment in it (HTML Living Standard, §4.12.1.3).
/// Inside of JSON a `<` can only be in a string, where it may be written so.
fn safe_in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_script() {
        let json = serde_json::to_string("</script><!--\u{2028}").unwrap();
        let safe = safe_in_script(&json);
        assert!(!safe.contains('<') && !safe.contains('\u{2028}'), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "</script><!--\u{2028}");
    }

    #[test]
    fn no_asset_can_end_its_element() {
        assert!(!script().to_lowercase().contains("</script") && !script().contains("<!--"));
        assert!(!style().to_lowercase().contains("</style"));
    }
}
