//! HTML in the making. Text goes in escaped, always; tags and attribute names are literals of this program, so that
//! nothing that a user, a file or a server says can become markup.

use std::fmt::Write;

use crate::prose::{markup_escaped, names_escaped};

/// A piece of a page.
#[derive(Debug, Default)]
pub(crate) struct Markup(String);

impl Markup {
    pub(crate) fn new() -> Markup {
        Markup::default()
    }

    /// Markup that stands in this program.
    pub(crate) fn raw(&mut self, markup: &'static str) {
        self.0 += markup;
    }

    /// Markup that was made safe for where it stands; only for scripts, styles and their data.
    pub(crate) fn made_safe(&mut self, markup: &str) {
        self.0 += markup;
    }

    /// Text.
    pub(crate) fn text(&mut self, text: &str) {
        self.0 += &escaped(text);
    }

    /// Text whose long names may be broken behind an underscore or a slash, and nowhere else.
    pub(crate) fn names(&mut self, text: &str) {
        self.0 += &names_escaped(text, escaped);
    }

    /// An element with something in it.
    pub(crate) fn element(
        &mut self,
        tag: &'static str,
        attributes: &[(&'static str, &str)],
        content: impl FnOnce(&mut Markup),
    ) {
        self.open(tag, attributes);
        content(self);
        self.close(tag);
    }

    /// An element with nothing but text in it.
    pub(crate) fn leaf(&mut self, tag: &'static str, attributes: &[(&'static str, &str)], text: &str) {
        self.element(tag, attributes, |markup| markup.text(text));
    }

    /// An element that has neither content nor end.
    pub(crate) fn void(&mut self, tag: &'static str, attributes: &[(&'static str, &str)]) {
        self.open(tag, attributes);
    }

    fn open(&mut self, tag: &'static str, attributes: &[(&'static str, &str)]) {
        self.0.push('<');
        self.0 += tag;
        for (name, value) in attributes {
            self.0.push(' ');
            self.0 += name;
            self.0 += "=\"";
            self.text(value);
            self.0.push('"');
        }
        self.0.push('>');
    }

    fn close(&mut self, tag: &'static str) {
        self.0 += "</";
        self.0 += tag;
        self.0 += ">";
    }

    /// A bar as long as a share from 0 to 1, with no text: it stands beside the figure that says the same. As drawing,
    /// because the page's policy forbids styles in attributes.
    pub(crate) fn share_bar(&mut self, share: f64) {
        let width = if share.is_finite() { share.clamp(0.0, 1.0) * 100.0 } else { 0.0 };
        // Writing to a string cannot fail.
        let _ = write!(
            self.0,
            "<svg class=\"share\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
             <rect class=\"track\" width=\"100\" height=\"8\"/><rect width=\"{width:.2}\" height=\"8\"/></svg>"
        );
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }
}

fn escaped(text: &str) -> String {
    markup_escaped(text, |character| match character {
        '\'' => Some("&#39;"),
        '\n' | '\t' => None,
        // HTML has no place for controls (HTML Living Standard, §13.1), and we have none for what turns text.
        character => results::steers(character).then_some("\u{fffd}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_cannot_become_markup() {
        let mut markup = Markup::new();
        markup.leaf("p", &[("title", "\"><script>")], "a<b & 'c'\u{0}\u{1b}[2J");
        assert_eq!(
            markup.finish(),
            "<p title=\"&quot;&gt;&lt;script&gt;\">a&lt;b &amp; &#39;c&#39;\u{fffd}\u{fffd}[2J</p>"
        );
    }

    #[test]
    fn long_names_may_be_broken_behind_their_underscores() {
        let mut markup = Markup::new();
        markup.names("synchronous_commit <off> ÷ work_mem");
        assert_eq!(markup.finish(), "synchronous_<wbr>commit &lt;off&gt; ÷ work_mem");
    }

    #[test]
    fn a_bar_is_never_longer_than_its_track() {
        for (share, width) in [(0.5, "50.00"), (7.0, "100.00"), (-1.0, "0.00"), (f64::NAN, "0.00")] {
            let mut markup = Markup::new();
            markup.share_bar(share);
            assert!(markup.finish().contains(&format!("<rect width=\"{width}\"")), "{share}");
        }
    }
}
