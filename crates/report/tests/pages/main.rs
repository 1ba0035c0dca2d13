//! Pages, tables and figures of runs, from records made here: with everything in them, and with nothing.

mod browser;
mod devtools;
mod example;
mod formats;
mod html;
