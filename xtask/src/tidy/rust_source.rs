//! Rust source taken apart just far enough for the rules: code without comments and literals, the literals,
//! and which lines are test code. Not a parser: it knows tokens and braces, no grammar.

/// A string literal: its text as written, escapes not resolved.
#[derive(Debug, PartialEq, Eq)]
pub struct Literal {
    pub line: usize,
    pub text: String,
}

/// One file, taken apart.
#[derive(Debug)]
pub struct RustSource {
    /// The lines with comments, strings and characters blanked.
    pub code: Vec<String>,
    pub literals: Vec<Literal>,
    /// Whether a line stands within an item under `#[cfg(test)]`.
    pub test: Vec<bool>,
}

impl RustSource {
    pub fn parse(text: &str) -> RustSource {
        let (code, literals) = split(text);
        let code: Vec<String> = code.lines().map(str::to_owned).collect();
        let test = test_lines(&code);
        RustSource { code, literals, test }
    }

    /// Whether the line (from 1) is test code.
    pub fn is_test(&self, line: usize) -> bool {
        self.test.get(line - 1).copied().unwrap_or(false)
    }
}

/// Blanks comments and literals; newlines stay, so that line numbers do.
fn split(text: &str) -> (String, Vec<Literal>) {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut literals = Vec::new();
    let mut line = 1;
    let mut at = 0;
    while at < chars.len() {
        let end = match token_at(&chars, at) {
            Token::Code => {
                code.push(chars[at]);
                line += usize::from(chars[at] == '\n');
                at += 1;
                continue;
            }
            Token::Skipped { end } => end,
            Token::Text { from, to, end } => {
                literals.push(Literal { line, text: chars[from..to].iter().collect() });
                end
            }
        };
        for &character in &chars[at..end] {
            code.push(if character == '\n' { '\n' } else { ' ' });
            line += usize::from(character == '\n');
        }
        at = end;
    }
    (code, literals)
}

enum Token {
    /// One character of code.
    Code,
    /// A comment or a character literal.
    Skipped { end: usize },
    /// A string literal with its text between `from` and `to`.
    Text { from: usize, to: usize, end: usize },
}

fn token_at(chars: &[char], at: usize) -> Token {
    let next = chars.get(at + 1).copied();
    match chars[at] {
        '/' if next == Some('/') => Token::Skipped { end: find(chars, at, &['\n']).unwrap_or(chars.len()) },
        '/' if next == Some('*') => Token::Skipped { end: block_comment_end(chars, at) },
        '"' => string_at(chars, at),
        'r' | 'b' | 'c' if starts_word(chars, at) => prefixed_string_at(chars, at),
        '\'' => character_at(chars, at),
        _ => Token::Code,
    }
}

fn starts_word(chars: &[char], at: usize) -> bool {
    at == 0 || !(chars[at - 1].is_alphanumeric() || chars[at - 1] == '_')
}

fn find(chars: &[char], from: usize, wanted: &[char]) -> Option<usize> {
    (from..=chars.len().checked_sub(wanted.len())?).find(|&index| chars[index..].starts_with(wanted))
}

/// Block comments nest.
fn block_comment_end(chars: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut index = at;
    while index < chars.len() {
        if chars[index..].starts_with(&['/', '*']) {
            depth += 1;
            index += 2;
        } else if chars[index..].starts_with(&['*', '/']) {
            depth -= 1;
            index += 2;
            if depth == 0 {
                return index;
            }
        } else {
            index += 1;
        }
    }
    chars.len()
}

fn string_at(chars: &[char], quote: usize) -> Token {
    let mut index = quote + 1;
    while index < chars.len() && chars[index] != '"' {
        index += if chars[index] == '\\' { 2 } else { 1 };
    }
    let to = index.min(chars.len());
    Token::Text { from: quote + 1, to, end: (to + 1).min(chars.len()) }
}

/// `b"..."`, `r"..."`, `br#"..."#`, `c"..."`; anything else that begins with these letters is code.
fn prefixed_string_at(chars: &[char], at: usize) -> Token {
    let mut quote = at;
    while quote - at < 2 && matches!(chars.get(quote), Some('r' | 'b' | 'c')) {
        quote += 1;
    }
    let raw = chars[at..quote].contains(&'r');
    let hashes = chars[quote..].iter().take_while(|character| **character == '#').count();
    if chars.get(quote + hashes) != Some(&'"') || (hashes > 0 && !raw) {
        return Token::Code;
    }
    if !raw {
        return string_at(chars, quote);
    }
    let from = quote + hashes + 1;
    let mut closing = vec!['"'];
    closing.extend(std::iter::repeat_n('#', hashes));
    let to = find(chars, from, &closing).unwrap_or(chars.len());
    Token::Text { from, to, end: (to + closing.len()).min(chars.len()) }
}

/// A character literal, or the quote of a lifetime, which is code.
fn character_at(chars: &[char], at: usize) -> Token {
    if chars.get(at + 1) == Some(&'\\') {
        let end = find(chars, at + 3, &['\'']).map_or(chars.len(), |quote| quote + 1);
        return Token::Skipped { end };
    }
    match chars.get(at + 2) {
        Some('\'') => Token::Skipped { end: at + 3 },
        Some(_) | None => Token::Code,
    }
}

/// Marks the lines of items under `#[cfg(test)]`, from the attribute to the item's closing brace.
fn test_lines(code: &[String]) -> Vec<bool> {
    let mut test = vec![false; code.len()];
    let mut index = 0;
    while index < code.len() {
        if !code[index].trim_start().starts_with("#[cfg(test)]") {
            index += 1;
            continue;
        }
        let end = item_end(&code[index..]) + index;
        test[index..=end].fill(true);
        index = end + 1;
    }
    test
}

/// The line on which the item that begins here ends: at `;` before any brace, or at the matching brace.
fn item_end(code: &[String]) -> usize {
    let mut depth = 0;
    for (index, line) in code.iter().enumerate() {
        for character in line.chars() {
            match character {
                ';' if depth == 0 => return index,
                '{' => depth += 1,
                '}' => {
                    depth -= 1;
                    if depth == 0 {
                        return index;
                    }
                }
                _ => {}
            }
        }
    }
    code.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_leave_the_code() {
        let source = RustSource::parse(concat!(
            "let a = \"x // \\\" y\"; // Command::new\n",
            "let b = r#\"raw \" text\"#; /* a /* nested */ b */ let c = 'q';\n",
            "fn f<'a>(x: &'a str) -> char { '\\'' } let d = b\"by\"; let rb = 1;\n",
            "let e = \"two\nlines\"; end\n",
        ));
        let texts: Vec<(usize, &str)> =
            source.literals.iter().map(|literal| (literal.line, literal.text.as_str())).collect();
        assert_eq!(texts, [(1, "x // \\\" y"), (2, "raw \" text"), (3, "by"), (4, "two\nlines")]);
        assert!(!source.code[0].contains("Command"));
        assert!(source.code[1].contains("let c =") && !source.code[1].contains("nested"));
        assert!(source.code[2].contains("fn f<'a>(x: &'a str)") && source.code[2].contains("let rb = 1"));
        assert!(source.code[4].ends_with("end"));
        assert_eq!(source.code.len(), 5);
    }

    #[test]
    fn test_items_are_told_from_the_rest() {
        let source = RustSource::parse(
            "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { let c = '}'; }\n}\nfn d() {}\n#[cfg(test)]\nmod e;\nfn f() {}\n",
        );
        assert_eq!(source.test, [false, true, true, true, true, false, true, true, false]);
        assert!(source.is_test(3) && !source.is_test(6));
    }
}
