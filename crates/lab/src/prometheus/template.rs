//! The templates of labels and annotations: `{{ $labels.x }}`, `{{ $value }}` and pipes of the usual functions.

use super::labels::Labels;
use super::promql::number;

/// The text with every action replaced; a wrong action is told in its place, as the server does.
pub(super) fn expand(text: &str, labels: &Labels, value: f64) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((action, following)) = after.split_once("}}") else {
            out.push_str("<error expanding template: unclosed action>");
            return out;
        };
        match run(action, labels, value) {
            Ok(result) => out.push_str(&result),
            Err(why) => {
                let told = format!("<error expanding template: {why}>");
                out.push_str(&told);
            }
        }
        rest = following;
    }
    out.push_str(rest);
    out
}

#[derive(Debug, Clone)]
enum Operand {
    Number(f64),
    Text(String),
}

impl Operand {
    fn number(&self) -> Result<f64, String> {
        match self {
            Self::Number(value) => Ok(*value),
            Self::Text(text) => text.parse().map_err(|_| format!("{text:?} is not a number")),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Number(value) => number::in_template(*value),
            Self::Text(text) => text.clone(),
        }
    }
}

fn run(action: &str, labels: &Labels, value: f64) -> Result<String, String> {
    let action = action.trim().trim_start_matches("- ").trim_end_matches(" -");
    let mut piped: Option<Operand> = None;
    for stage in split_pipes(action) {
        let mut words = words(&stage)?.into_iter();
        let head = words.next().ok_or("empty action")?;
        let mut arguments = words
            .map(|word| operand(&word, labels, value))
            .collect::<Result<Vec<_>, _>>()?;
        arguments.extend(piped.take());
        piped = Some(match operand(&head, labels, value) {
            Ok(operand) if arguments.is_empty() => operand,
            Ok(_) => return Err(format!("{head} is not a function")),
            Err(_) => call(&head, &arguments)?,
        });
    }
    piped
        .map(|operand| operand.text())
        .ok_or_else(|| "empty action".to_owned())
}

/// A variable or a literal.
fn operand(word: &str, labels: &Labels, value: f64) -> Result<Operand, String> {
    if word == "$value" || word == ".Value" {
        return Ok(Operand::Number(value));
    }
    if let Some(name) = word
        .strip_prefix("$labels.")
        .or_else(|| word.strip_prefix(".Labels."))
    {
        return Ok(Operand::Text(labels.get(name).to_owned()));
    }
    if let Some(text) = word.strip_prefix('"').and_then(|word| word.strip_suffix('"')) {
        return Ok(Operand::Text(text.to_owned()));
    }
    word.parse()
        .map(Operand::Number)
        .map_err(|_| format!("unknown variable {word}"))
}

fn call(function: &str, arguments: &[Operand]) -> Result<Operand, String> {
    let text = match (function, arguments) {
        ("humanize", [one]) => humanize(one.number()?),
        ("humanize1024", [one]) => humanize1024(one.number()?),
        ("humanizePercentage", [one]) => format!("{}%", significant(one.number()? * 100.0)),
        ("humanizeDuration", [one]) => humanize_duration(one.number()?),
        ("toUpper", [one]) => one.text().to_uppercase(),
        ("toLower", [one]) => one.text().to_lowercase(),
        ("printf", [format, rest @ ..]) => printf(&format.text(), rest)?,
        (name, _) => {
            return Err(format!(
                "function {name:?} is not defined here, or has other arguments"
            ));
        }
    };
    Ok(Operand::Text(text))
}

/// The stages of a pipe; a bar within quotes is text.
fn split_pipes(action: &str) -> Vec<String> {
    let mut stages = vec![String::new()];
    let mut quoted = false;
    for char in action.chars() {
        quoted ^= char == '"';
        match (char, stages.last_mut()) {
            ('|', _) if !quoted => stages.push(String::new()),
            (_, Some(stage)) => stage.push(char),
            (_, None) => {}
        }
    }
    stages
}

fn words(stage: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut rest = stage.trim_start();
    while !rest.is_empty() {
        let end = match rest.strip_prefix('"') {
            Some(inner) => inner.find('"').map(|at| at + 2).ok_or("unclosed quote")?,
            None => rest.find(char::is_whitespace).unwrap_or(rest.len()),
        };
        found.push(rest[..end].to_owned());
        rest = rest[end..].trim_start();
    }
    Ok(found)
}

/// Four significant digits, as `%.4g` writes them.
fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return number::in_template(value);
    }
    let scientific = format!("{value:.3e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..4).contains(&exponent) {
        let decimals = usize::try_from(3 - exponent).unwrap_or(0);
        return trimmed(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
}

fn trimmed(digits: &str) -> &str {
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    }
}

fn humanize(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return significant(value);
    }
    let mut scaled = value;
    let mut prefix = "";
    if size >= 1.0 {
        for larger in ["k", "M", "G", "T", "P", "E", "Z", "Y"] {
            if scaled.abs() < 1_000.0 {
                break;
            }
            prefix = larger;
            scaled /= 1_000.0;
        }
    } else {
        for smaller in ["m", "u", "n", "p", "f", "a", "z", "y"] {
            if scaled.abs() >= 1.0 {
                break;
            }
            prefix = smaller;
            scaled *= 1_000.0;
        }
    }
    format!("{}{prefix}", significant(scaled))
}

fn humanize1024(value: f64) -> String {
    if value.abs() <= 1.0 || !value.is_finite() {
        return significant(value);
    }
    let mut scaled = value;
    let mut prefix = "";
    for larger in ["ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"] {
        if scaled.abs() < 1_024.0 {
            break;
        }
        prefix = larger;
        scaled /= 1_024.0;
    }
    format!("{}{prefix}", significant(scaled))
}

fn humanize_duration(value: f64) -> String {
    if !value.is_finite() {
        return significant(value);
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let size = value.abs();
    if size < 1.0 {
        return if size == 0.0 {
            "0s".to_owned()
        } else {
            format!("{}s", humanize(value))
        };
    }
    let parts = [size / 86_400.0, size / 3_600.0 % 24.0, size / 60.0 % 60.0].map(f64::floor);
    let seconds = size % 60.0;
    match parts {
        [days, hours, minutes] if days >= 1.0 => {
            format!("{sign}{days}d {hours}h {minutes}m {}s", seconds.floor())
        }
        [_, hours, minutes] if hours >= 1.0 => format!("{sign}{hours}h {minutes}m {}s", seconds.floor()),
        [_, _, minutes] if minutes >= 1.0 => format!("{sign}{minutes}m {}s", seconds.floor()),
        _ => format!("{sign}{}s", significant(seconds)),
    }
}

/// The verbs that annotations use: `%s`, `%v`, `%d`, `%f` with decimals, `%%`.
fn printf(format: &str, arguments: &[Operand]) -> Result<String, String> {
    let mut arguments = arguments.iter();
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(char) = chars.next() {
        if char != '%' {
            out.push(char);
            continue;
        }
        let mut decimals = String::new();
        let verb = loop {
            match chars.next() {
                Some(digit) if digit == '.' || digit.is_ascii_digit() => decimals.push(digit),
                Some(verb) => break verb,
                None => return Err(format!("{format:?} ends within a verb")),
            }
        };
        if verb == '%' {
            out.push('%');
            continue;
        }
        let argument = arguments
            .next()
            .ok_or_else(|| format!("{format:?} needs more arguments"))?;
        let places = decimals
            .strip_prefix('.')
            .and_then(|places| places.parse::<usize>().ok())
            .map(|n| n.min(32));
        match verb {
            's' | 'v' => out.push_str(&argument.text()),
            'd' => out.push_str(&fixed(argument.number()?, 0)),
            'f' => out.push_str(&fixed(argument.number()?, places.unwrap_or(6))),
            'g' => out.push_str(&significant(argument.number()?)),
            other => return Err(format!("the verb %{other} is not supported")),
        }
    }
    Ok(out)
}

fn fixed(value: f64, places: usize) -> String {
    format!("{value:.places$}")
}
