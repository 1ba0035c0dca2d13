//! HTML in the making. Text goes in escaped, always; tags and attribute names are literals of this program, so that
//! nothing that a user, a file or a server says can become markup.

use std::fmt::Write;

/// A piece of a page.
#[derive(Debug, Default)]
pub(super) struct Markup(String);

impl Markup {
    pub(super) fn new() -> Markup {
        Markup::default()
    }

    /// Markup that stands in this program.
    pub(super) fn raw(&mut self, markup: &'static str) {
        self.0 += markup;
    }

    /// Markup that was made safe for where it stands; only for scripts, styles and their data.
    pub(super) fn made_safe(&mut self, markup: &str) {
        self.0 += markup;
    }

    /// Text.
    pub(super) fn text(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.0 += "&amp;",
                '<' => self.0 += "&lt;",
                '>' => self.0 += "&gt;",
                '"' => self.0 += "&quot;",
                '\'' => self.0 += "&#39;",
                '\n' | '\t' => self.0.push(character),
                // HTML has no place for controls (HTML Living Standard, §13.1), and we have none for what turns text.
                character if results::steers(character) => self.0.push('\u{fffd}'),
                character => self.0.push(character),
            }
        }
    }

    /// An element with something in it.
    pub(super) fn element(
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
    pub(super) fn leaf(&mut self, tag: &'static str, attributes: &[(&'static str, &str)], text: &str) {
        self.element(tag, attributes, |markup| markup.text(text));
    }

    /// An element that has neither content nor end.
    pub(super) fn void(&mut self, tag: &'static str, attributes: &[(&'static str, &str)]) {
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

    /// A part of the page with a heading.
    pub(super) fn section(&mut self, id: &'static str, title: &str, content: impl FnOnce(&mut Markup)) {
        self.element("section", &[("id", id)], |page| {
            page.leaf("h2", &[], title);
            content(page);
        });
        self.raw("\n");
    }

    /// A bar as long as a share from 0 to 1, with no text: it stands beside the figure that says the same. As drawing,
    /// because the page's policy forbids styles in attributes.
    pub(super) fn share_bar(&mut self, share: f64, class: &'static str) {
        let width = if share.is_finite() { share.clamp(0.0, 1.0) * 100.0 } else { 0.0 };
        self.0 += "<svg class=\"share ";
        self.0 += class;
        // Writing to a string cannot fail.
        let _ = write!(
            self.0,
            "\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
             <rect class=\"track\" width=\"100\" height=\"8\"/><rect width=\"{width:.2}\" height=\"8\"/></svg>"
        );
    }

    /// Where the script draws a chart, and where its values can be had as a table.
    pub(super) fn chart_place(&mut self, title: &str, how: &str) {
        let label = format!("Chart: {title}, {how}. Arrow keys read out the values; a table follows.");
        let attributes =
            [("class", "plot"), ("tabindex", "0"), ("role", "img"), ("aria-label", label.as_str())];
        self.element("div", &attributes, |_| ());
        self.raw(
            "<details class=\"table\"><summary>As a table</summary><div class=\"scroll\"></div></details>",
        );
    }

    /// A bar from the left end, or a dot, with an interval; all in shares of the row's width. `colour` is a run's.
    pub(super) fn bar_with_interval(
        &mut self,
        share: f64,
        interval: Option<(f64, f64)>,
        colour: usize,
        as_dot: bool,
    ) {
        let place = |share: f64| if share.is_finite() { share.clamp(0.0, 1.0) * 1000.0 } else { 0.0 };
        let (x, colour) = (place(share), colour % 8);
        self.raw(
            "<svg class=\"strip\" viewBox=\"0 0 1000 16\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
        );
        // Writing to a string cannot fail.
        let _ = if as_dot {
            // A line of no length with round ends is a dot, however the drawing is stretched.
            write!(
                self.0,
                "<path class=\"ground\" d=\"M0 8H1000\"/>\
                 <path class=\"dot\" stroke=\"var(--run-{colour})\" d=\"M{x:.1} 8h0\"/>"
            )
        } else {
            write!(
                self.0,
                "<rect y=\"1\" width=\"{:.1}\" height=\"14\" fill=\"var(--run-{colour})\" fill-opacity=\"0.72\"/>",
                x.max(1.0)
            )
        };
        if let Some((low, high)) = interval {
            let (low, high) = (place(low), place(high));
            let _ = write!(
                self.0,
                "<path class=\"whisker\" d=\"M{low:.1} 8H{high:.1}M{low:.1} 4V12M{high:.1} 4V12\"/>"
            );
        }
        self.raw("</svg>");
    }

    /// A bar of parts beside each other: their shares of the whole and the variables of their colours.
    pub(super) fn stacked_bar(&mut self, parts: &[(f64, String)]) {
        self.raw(
            "<svg class=\"strip\" viewBox=\"0 0 1000 16\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
        );
        let mut x = 0.0;
        for (share, colour) in parts.iter().filter(|(share, _)| *share > 0.0005) {
            let width = share.min(1.0) * 1000.0;
            self.0 += &format!("<rect x=\"{x:.1}\" y=\"1\" width=\"{width:.1}\" height=\"14\" fill=\"var(--");
            self.text(colour);
            self.raw(")\"/>");
            x += width;
        }
        self.raw("</svg>");
    }

    /// An entry of a legend: a colour, by the name of its variable, and what it stands for.
    pub(super) fn key(&mut self, name: &str, colour: &str) {
        self.raw("<span class=\"item\"><svg class=\"key\" viewBox=\"0 0 10 6\" aria-hidden=\"true\">");
        self.raw("<rect width=\"10\" height=\"6\" rx=\"1\" fill=\"var(--");
        self.text(colour);
        self.raw(")\"/></svg>");
        self.text(name);
        self.raw("</span> ");
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
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
    fn a_bar_is_never_longer_than_its_track() {
        for (share, width) in [(0.5, "50.00"), (7.0, "100.00"), (-1.0, "0.00"), (f64::NAN, "0.00")] {
            let mut markup = Markup::new();
            markup.share_bar(share, "wait");
            assert!(markup.finish().contains(&format!("<rect width=\"{width}\"")), "{share}");
        }
    }
}
