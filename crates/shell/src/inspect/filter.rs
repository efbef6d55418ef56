//! Filters of jq and yq: they cannot write. They can open files by name (`import`, `load`), and go on for ever.
//!
//! A filter ends if it is made of functions that do; one that defines functions of its own, or that calls one which is not
//! listed here, is not known to end.

use crate::report::Report;
use crate::verdict::Category;

/// Words of the languages, and functions that end whatever they are given.
const ENDING: &str = "and or not if then elif else end as reduce foreach try catch label break true false null import include module \
    abs add all any arrays ascii ascii_downcase ascii_upcase booleans bsearch capture ceil contains debug del delpaths \
    empty endswith env error exp exp10 exp2 explode fabs first flatten floats floor fmin fmax format from_entries fromdate \
    fromdateiso8601 fromjson fromstream getpath gmtime group_by gsub halt halt_error has have_decnum have_literal_numbers implode in \
    index indices infinite input input_filename input_line_number inputs inside isinfinite isempty isnan isnormal isvalid \
    iterables join keys keys_unsorted last leaf_paths length limit localtime log log10 log2 ltrimstr ltrim map map_values \
    match max max_by min min_by mktime modulemeta nan normals now nth nulls numbers objects path paths pick pow \
    recurse recurse_down reverse rindex round rtrim rtrimstr scalars scan select setpath significand skip sort sort_by \
    split splits sqrt startswith stderr strflocaltime strftime strings strptime sub test toarray to_entries todate todateiso8601 \
    tojson tonumber tostream tostring transpose trim trimstr trunc truncate_stream type unique unique_by until utf8bytelength \
    values walk with_entries range \
    alias anchor array_to_map camelcase ceil column comments collect compact di documentIndex document_index downcase eval fi \
    fileIndex file_index filename filter footComment foot_comment headComment head_comment ireduce is_key kind key lineComment line \
    line_comment omit parent parents pivot shuffle sort_keys splitDoc split_doc style tag to_csv to_json to_props to_string to_tsv \
    to_xml to_yaml from_csv from_json from_props from_tsv from_xml from_yaml to_number to_unix from_unix tz upcase with \
    with_dtf format_datetime is_empty load load_str load_xml load_props load_base64 strenv envsubst";

/// Functions that end only with some arguments.
const DEPENDS: &[&str] = &[
    "range",
    "recurse",
    "until",
    "gsub",
    "recurse_down",
    "infinite",
    "limit",
];

/// Words by which a filter opens a file, or runs a text as a filter.
const OPENS: &[&str] = &["import", "include", "modulemeta", "eval"];

pub(crate) fn judge(text: &str, part: &str, report: &mut Report) {
    let Some(words) = words(text) else {
        let why = "is a filter that is not understood";
        report.endless(Category::UnboundedStream, part, why);
        report.secret(part, why);
        return;
    };
    if words.iter().any(|(word, _)| OPENS.contains(&word.as_str())) {
        report.secret(part, "can open files that it names itself");
    }
    let endless = words.iter().find(|(word, rest)| {
        let known = ENDING.split_whitespace().any(|ending| ending == word);
        !known || DEPENDS.contains(&word.as_str()) && !ends(word, rest)
    });
    if let Some((word, _)) = endless {
        report.endless(
            Category::UnboundedStream,
            part,
            format!("uses `{word}`, which is not known to end"),
        );
    }
}

/// Whether a function that ends only with some arguments ends here.
fn ends(word: &str, rest: &str) -> bool {
    let arguments = rest
        .strip_prefix('(')
        .map(|rest| rest.split(')').next().unwrap_or(rest));
    match (word, arguments) {
        // Without arguments it walks over what there is; or it takes as many as it is told of what ends.
        ("recurse" | "recurse_down", None) | ("limit", Some(_)) => true,
        // `recurse(.children[]?)` goes down.
        ("recurse", Some(down)) => {
            let down = down.trim().trim_end_matches('?');
            down.strip_prefix('.')
                .and_then(|down| down.strip_suffix("[]"))
                .is_some_and(|name| {
                    !name.is_empty()
                        && name
                            .bytes()
                            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
                })
        }
        ("range", Some(numbers)) => {
            !numbers.trim().is_empty()
                && numbers.split(';').all(|number| {
                    let number = number.trim();
                    number == "length" || number.len() < 8 && number.bytes().all(|byte| byte.is_ascii_digit())
                })
                && numbers
                    .split(';')
                    .nth(2)
                    .is_none_or(|step| step.trim().bytes().any(|byte| byte != b'0'))
        }
        // Where the expression can match nothing, some versions match it for ever.
        ("gsub", Some(arguments)) => {
            let mut quoted = arguments.trim_start().split('"');
            quoted.next() == Some("")
                && quoted.next().is_some_and(|expression| {
                    !expression.is_empty()
                        && !expression.contains(['*', '?', '|', '^', '$', '(', '{'])
                        && !expression.contains("\\\\b")
                })
        }
        _ => false,
    }
}

/// The words outside of strings that are no names of fields or variables, each with what follows it. Nothing if it is not
/// understood.
fn words(text: &str) -> Option<Vec<(String, String)>> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    // How many parentheses are open within each interpolation that is open.
    let mut open: Vec<usize> = Vec::new();
    let mut string = false;
    while let Some(&c) = chars.get(at) {
        at += 1;
        if string {
            match c {
                '"' => string = false,
                '\\' => {
                    if chars.get(at) == Some(&'(') {
                        open.push(0);
                        string = false;
                    }
                    at += 1;
                }
                _ => {}
            }
            continue;
        }
        match c {
            '"' => string = true,
            // Versions end comments differently.
            '#' => return None,
            '(' => {
                if let Some(depth) = open.last_mut() {
                    *depth += 1;
                }
            }
            ')' => match open.last_mut() {
                Some(0) => {
                    open.pop();
                    string = true;
                }
                Some(depth) => *depth -= 1,
                None => {}
            },
            '.' | '$' | '@' => {
                // A field, a variable or a format.
                while chars
                    .get(at)
                    .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':'))
                {
                    at += 1;
                }
            }
            _ if c.is_ascii_digit() => {
                while chars.get(at).is_some_and(|c| c.is_alphanumeric() || *c == '.') {
                    at += 1;
                }
            }
            _ if c.is_alphabetic() || c == '_' => {
                let start = at - 1;
                while chars.get(at).is_some_and(|c| c.is_alphanumeric() || *c == '_') {
                    at += 1;
                }
                let word: String = chars[start..at].iter().collect();
                let rest: String = chars[at..].iter().skip_while(|c| c.is_whitespace()).collect();
                // `{name: …}` and `{name}` are keys.
                let before = chars[..start].iter().rev().find(|c| !c.is_whitespace());
                let key = matches!(before, Some('{' | ','))
                    && rest.starts_with([':', '}', ','])
                    && text.contains('{');
                if !key {
                    found.push((word, rest));
                }
            }
            _ => {}
        }
    }
    (!string && open.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(filter: &str) -> (bool, bool) {
        let mut report = Report::new();
        judge(filter, filter, &mut report);
        (report.endless.is_none(), report.sensitive)
    }

    #[test]
    fn filters_that_end_and_open_nothing() {
        for filter in [
            ".",
            ".a.b[0]",
            ".[] | select(.status == \"ok\") | .name",
            "map(.a) | add",
            "to_entries[] | \"\\(.key)=\\(.value | tostring)\"",
            ".items[] | {name: .metadata.name, include: .x}",
            ".include",
            ".import.eval",
            "\"import while repeat\"",
            "[range(5)]",
            "range(0; length)",
            "recurse",
            "recurse(.children[]?) | .name",
            "..",
            "[limit(3; .[])]",
            "gsub(\"[0-9]+\"; \"\")",
            "if .a then 1 else 2 end",
            "reduce .[] as $x (0; . + $x)",
            "@base64d",
            "keys | length",
            "first(.[] | select(.a))",
        ] {
            assert_eq!(verdict(filter), (true, false), "{filter}");
        }
    }

    #[test]
    fn filters_that_may_not_end() {
        for filter in [
            "last(repeat(1))",
            "repeat(.)",
            "def f: f; f",
            "[range(1e300)]",
            "range(infinite)",
            "range(0; 5; 0)",
            "range(.a)",
            "recurse(.)",
            "recurse(.; true)",
            "while(true; .)",
            "until(false; .)",
            "\"\\(repeat(1))\"",
            "gsub(\"\"; \"x\")",
            "gsub(\"^\"; \"x\")",
            "[.[] | combinations(9)]",
            "something_else",
            ". # comment",
        ] {
            assert!(!verdict(filter).0, "{filter}");
        }
    }

    #[test]
    fn filters_that_open_files() {
        for filter in [
            "import \"config\" as $x {search:\"/root/.docker\"}; $x",
            "include \"a\"; .",
            ";import \"a\" as b; .",
            "eval(\"lo\" + \"ad_str(\\\"/etc/shadow\\\")\")",
            "\"x\" | modulemeta",
            ". # import",
        ] {
            assert!(verdict(filter).1, "{filter}");
        }
    }
}
