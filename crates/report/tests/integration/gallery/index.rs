//! The index of the gallery: one page with the screenshots of all pages side by side.
//! It is for those who look at them; no test reads it.

use std::fmt::Write;

use super::look::WINDOWS;

/// A page that was looked at.
pub(super) struct Shown {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) bytes: usize,
    pub(super) problems: Vec<String>,
}

const HEAD: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Gallery of pgmeter's pages</title>
<style>
body { font: 15px/1.4 system-ui, sans-serif; margin: 1.5rem; background: #ddd; color: #111; }
article { margin: 0 0 2.5rem; } h2 { margin: 0 0 0.3rem; } li { color: #a11; font-size: 0.8rem; }
.shots { display: flex; gap: 1rem; align-items: flex-start; }
.shots a { display: block; overflow: hidden; box-shadow: 0 1px 6px #0006; }
img { display: block; width: 100%; }
.w1400 { width: 38%; } .w390 { width: 10.6%; }
body:has(#first:checked) .w1400 { aspect-ratio: 1400 / 900; } body:has(#first:checked) .w390 { aspect-ratio: 390 / 844; }
nav a { margin-right: 0.8rem; white-space: nowrap; } label { position: sticky; top: 0; background: #ddd; display: block; padding: 0.4rem 0; }
</style>
<h1>Gallery of pgmeter's pages</h1>
<label><input type=\"checkbox\" id=\"first\"> First screens alone</label>
";

/// Names and problems are texts of this program, apart from words of the pages.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// The page, which stands beside the screenshots.
pub(super) fn html(all: &[Shown]) -> String {
    let mut out = HEAD.to_owned();
    let found: usize = all.iter().map(|shown| shown.problems.len()).sum();
    // Writing to a string cannot fail.
    let _ = write!(out, "<p>{} pages, {found} problems.</p><nav>", all.len());
    for Shown { name, problems, .. } in all {
        let number = if problems.is_empty() { String::new() } else { format!(" ({})", problems.len()) };
        let _ = write!(out, "<a href=\"#{name}\">{name}{number}</a>");
    }
    out += "</nav>\n";
    for Shown { name, about, bytes, problems } in all {
        let _ = write!(
            out,
            "<article id=\"{name}\"><h2><a href=\"{name}.html\">{name}</a></h2><p>{about}; {} kB</p><ul>",
            bytes.div_ceil(1_000)
        );
        for problem in problems {
            let _ = write!(out, "<li>{}</li>", escaped(problem));
        }
        out += "</ul><div class=\"shots\">";
        for theme in ["light", "dark"] {
            for (width, _) in WINDOWS {
                let picture = format!("{name}.{width}-{theme}.png");
                let _ = write!(
                    out,
                    "<a class=\"w{width}\" href=\"{picture}\"><img loading=\"lazy\" alt=\"{name}, {width} px, {theme}\" \
                     src=\"{picture}\"></a>"
                );
            }
        }
        out += "</div></article>\n";
    }
    out
}
