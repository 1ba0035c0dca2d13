//! Scripts that are refused when they are read, and some that look so and are not: the same words, the same caret, the
//! same status. Nothing is connected to: those that are accepted fail then, at an address where nobody listens.

use testkit::extent;

use crate::conformance::cases::{Bench, Case};
use crate::conformance::shape;

/// Each is a whole script.
const SCRIPTS: [&str; 136] = [
    "",
    "\n\n  \n",
    "-- nothing but a comment\n",
    "/* nothing but a comment */",
    "/* not closed",
    ";",
    ";;\n",
    "select 1",
    "select 'not closed\n",
    "select \"not closed\n",
    "select $x$ not closed $y$\n",
    "select (1;\n",
    "select 1) ;\n",
    "select e'\\'' \\; select 2;",
    "select 1 \\gset\n",
    "select 1 \\gset a b\n",
    "select 1 \\gset a\n\\gset b\n",
    "select 1 \\aset\n\\gset\n",
    "\\gset\n",
    "\\aset x\n",
    "\\set x 1\n\\gset\n",
    "select 1; \\gset\n",
    "select 1 \\; \\gset\n",
    "\\nosuch\n",
    "\\nosuch with words\nselect 1;\n",
    "\\\n",
    "\\ set x 1\n",
    "\\\\\nselect 1;",
    "\\SET x 1\nselect 1;\n",
    "\\set\n",
    "\\set x\n",
    "\\set x \n",
    "\\set 1x 2\n",
    "\\set x-y 2\n",
    "\\set x.y 2\n",
    "\\set x! 2\n",
    "\\set \u{e4} 2\n",
    "\\set x 1 2\n",
    "\\set x 1 +\n",
    "\\set x + \n",
    "\\set x (1\n",
    "\\set x 1)\n",
    "\\set x ()\n",
    "\\set x 1 +* 2\n",
    "\\set x 1 -- c\n",
    "\\set x 1 /* c */\n",
    "\\set x 'text'\n",
    "\\set x \"name\"\n",
    "\\set x name\n",
    "\\set x :\n",
    "\\set x ::y\n",
    "\\set x :1\n",
    "\\set x 1 == 1\n",
    "\\set x 1 < 2 < 3\n",
    "\\set x 1 = 2 <> 3\n",
    "\\set x 1 is null is null\n",
    "\\set x 1 is 2\n",
    "\\set x 1 is not\n",
    "\\set x not\n",
    "\\set x true and\n",
    "\\set x or true\n",
    "\\set x 1 isnull notnull\n",
    "\\set x case\n",
    "\\set x case end\n",
    "\\set x case when 1 then 2\n",
    "\\set x case when 1 end\n",
    "\\set x case else 1 end\n",
    "\\set x case 1 when 1 then 2 end\n",
    "\\set x case when 1 then 2 else 3 else 4 end\n",
    "\\set x 9223372036854775807\n",
    "\\set x 9223372036854775808\n",
    "\\set x -9223372036854775808\n",
    "\\set x 1 - 9223372036854775808\n",
    "\\set x - - 9223372036854775808\n",
    "\\set x 99999999999999999999999\n",
    "\\set x 1e999\n",
    "\\set x 1.5.5\n",
    "\\set x 1e\n",
    "\\set x 1ex\n",
    "\\set x .\n",
    "\\set x 0x10\n",
    "\\set x 12abc\n",
    "\\set x nosuch(1)\n",
    "\\set x random()\n",
    "\\set x random(1)\n",
    "\\set x random(1, 2, 3)\n",
    "\\set x random 1, 2\n",
    "\\set x random(1, 2\n",
    "\\set x random(1,, 2)\n",
    "\\set x random(1, 2,)\n",
    "\\set x random_gaussian(1, 2)\n",
    "\\set x random_zipfian(1, 2, 3, 4)\n",
    "\\set x random_hot(1, 2, 0.9, 0.1, 30)\n",
    "\\set x random_latest(1, 2, 1.5)\n",
    "\\set x greatest()\n",
    "\\set x least()\n",
    "\\set x hash()\n",
    "\\set x hash(1, 2, 3)\n",
    "\\set x pi(1)\n",
    "\\set x pi\n",
    "\\set x abs(1, 2)\n",
    "\\set x permute(1)\n",
    "\\set x permute(1, 2, 3, 4)\n",
    "\\set x debug()\n",
    "\\set x isnull(1)\n",
    "\\set x greatest(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17)\n",
    "\\set x 1 \\\n  + + + \\\n  )\n",
    "\\set x \\\n  nosuch(1)\nselect 1;\n",
    "  \\set   x   1 $ 2\n",
    "select 1 \\set x 1 +\n",
    "select 1;\nselect 2; \\set x 1 @ 2\n",
    "\\set x \t1\t?\n",
    "\\set x \u{e4}\n",
    "\\if\n",
    "\\if 1 +\n\\endif\n",
    "\\if true\nselect 1;\n",
    "\\endif\n",
    "\\else\n",
    "\\elif true\n",
    "select 1;\n\\endif\n",
    "\\if true\n\\else\n\\else\n\\endif\n",
    "\\if true\n\\else\n\\elif true\n\\endif\n",
    "\\if true\n\\else x\n\\endif\n",
    "\\if true\n\\endif x y\n",
    "\\if true\n\\if false\n\\endif\nselect 1;\n",
    "\\sleep\n",
    "\\sleep x\n",
    "\\sleep 1.5\n",
    "\\sleep 1 min\n",
    "\\sleep 1 s x\n",
    "\\sleep 10min\n",
    "\\sleep :x hours\n",
    "\\sleep 1 MS\nselect 1;\n",
    "\\setshell\n",
    "\\setshell x\n",
    "\\shell\n",
];

/// The pipeline's commands are the same in all versions but one.
const PIPELINE_SCRIPTS: [&str; 3] =
    ["\\startpipeline x\n", "\\endpipeline 1 2\n", "\\startpipeline\nselect 1;\n\\endpipeline\n"];

/// Nobody listens there; the name of the folder does not change.
const NOBODY: &str = "host=/nowhere port=1 user=nobody dbname=nothing";

fn case(name: String, text: impl AsRef<[u8]>, options: &str) -> Case {
    let mut case = Case::new(options).named(name).file("script.sql", text);
    case.arguments.extend(["-f", "script.sql", NOBODY].map(str::to_owned));
    case
}

fn many_words(count: usize) -> String {
    (0..count).map(|index| format!(" :v{index}")).collect()
}

#[test]
fn scripts_are_refused_in_the_same_words_at_the_same_place() {
    let Some(mut bench) = Bench::new("scripts") else { return };
    for (number, text) in SCRIPTS.iter().chain(&PIPELINE_SCRIPTS).enumerate() {
        let has_sql = text.contains(':') || text.starts_with("select");
        let all = if has_sql { &["-n", "-n -M prepared"][..] } else { &["-n"] };
        // After a change, one of the protocols for each.
        for options in extent::choose(&all[number % all.len()..][..1], all) {
            bench.compare(&case(format!("{text:?}, {options}"), text, options), shape::exact);
        }
    }
    for count in [254, 255, 256] {
        for protocol in ["simple", "extended", "prepared"] {
            let text = format!("select{};\n", many_words(count));
            let name = format!("{count} parameters, {protocol}");
            bench.compare(&case(name, text, &format!("-n -M {protocol}")), shape::exact);
        }
        let shell = format!("\\shell{}\nselect 1;\n", " x".repeat(count));
        bench.compare(&case(format!("{count} words"), shell, "-n"), shape::exact);
    }
    let bytes: [(&str, &[u8]); 4] = [
        ("bytes that are no UTF-8 in SQL", b"select '\xff\xfe';\n\\set x )\n"),
        ("bytes that are no UTF-8 in a name", b"\\set \xff\xe4 1 + 2\n\\set y :\xff\xe4 )\n"),
        ("bytes that are no UTF-8 in an expression", b"\\set x 1 + \xff 2\n"),
        ("lines that end with CR LF", b"\\set x 1\r\nselect 1;\r\n\\set y 1 +\r\n"),
    ];
    for (name, text) in bytes {
        bench.compare(&case(name.to_owned(), text, "-n"), shape::exact);
    }
    let second = Case::new("-n -f good.sql -f script.sql")
        .file("good.sql", "select 1;")
        .file("script.sql", "\\if 1\n");
    bench.compare(&second.named("an error in the second script"), shape::exact);
    let mut input = Case::new("-n -f -").named("an error in a script from stdin");
    input.input = b"select 1;\n\\set x 1 1\n".to_vec();
    bench.compare(&input, shape::exact);
    bench.tally.verdict();
}
