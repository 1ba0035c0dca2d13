//! What is printed, word for word: each test is a situation and the whole text for it. Not what is stored, which
//! `results` tests; how single numbers are written is tested beside `figures`.

mod actions;
mod errors;
mod fixture;
mod kept;
mod limits;
mod observed;
mod pgbench_lines;
mod pgbench_report;
pub mod ranks;
mod stages;
mod store_list;
mod summaries;
