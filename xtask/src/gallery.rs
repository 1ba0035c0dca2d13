//! `cargo xtask gallery`: pages of all kinds of reports, with screenshots of each, wide and narrow, light and dark, side by
//! side in `target/gallery/index.html`. The pages and the browser are those of a test of `report`.

use std::process::Command;

const TEST: &str = "gallery::look::nightly::every_page_of_the_gallery_can_be_read_in_every_window_and_theme";

/// Makes all pages, or those whose names begin with one of the arguments.
pub(crate) fn run(arguments: &[&str]) -> bool {
    if arguments.iter().any(|argument| argument.starts_with('-')) {
        eprintln!("usage: cargo xtask gallery [START OF A PAGE'S NAME …]");
        return false;
    }
    let folder = crate::root().join("target/gallery");
    // What an earlier gallery left would look as if it were of now.
    let _ = std::fs::remove_dir_all(&folder);
    let mut command = Command::new(crate::cargo());
    command
        .current_dir(crate::root())
        .args(["test", "--quiet", "--package", "pgmeter-report", "--test", "integration", TEST])
        .args(["--", "--exact", "--nocapture"])
        .env("PGMETER_GALLERY", &folder)
        .env("PGMETER_GALLERY_ONLY", arguments.join(" "));
    if !command.status().is_ok_and(|status| status.success()) {
        return false;
    }
    let index = folder.join("index.html");
    if !index.exists() {
        eprintln!("The gallery needs a browser: install chromium, or name one by the variable CHROMIUM.");
        return false;
    }
    println!("{}", index.display());
    true
}
