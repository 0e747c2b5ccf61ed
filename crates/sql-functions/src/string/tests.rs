//! What Flink 2.3 gives for the same calls on strings.

use crate::support::testing::{
    NULL, big, boolean, bytes, check, decimal, double, evaluate, evaluate_columns, float, int, text,
    texts_of, type_of,
};

#[test]
fn parts_of_strings() {
    check(&[
        ("TRIM", vec![text("  a b  ")], "a b"),
        ("BTRIM", vec![text("xyabcyx"), text("xy")], "abc"),
        ("LTRIM", vec![text("xxabx"), text("x")], "abx"),
        ("RTRIM", vec![text("xxabx"), text("x")], "xxab"),
        ("LTRIM", vec![text("  ab ")], "ab "),
        ("LTRIM", vec![text("xyzab"), text("zyx")], "ab"),
        ("RTRIM", vec![text(" ab  ")], " ab"),
        ("RTRIM", vec![text("abxyx"), text("xy")], "ab"),
        ("BTRIM", vec![text("  ab  ")], "ab"),
        ("BTRIM", vec![text("/abc/"), text("/")], "abc"),
        ("BTRIM", vec![text("abc"), text("")], "abc"),
        ("SUBSTRING", vec![text("abcdef"), int(2)], "bcdef"),
        ("SUBSTRING", vec![text("abcdef"), int(2), int(3)], "bcd"),
        ("SUBSTRING", vec![text("abcdef"), int(0), int(2)], "ab"),
        ("SUBSTRING", vec![text("abcdef"), int(-2)], "ef"),
        ("SUBSTRING", vec![text("abcdef"), int(-3), int(2)], "de"),
        ("SUBSTRING", vec![text("abcdef"), int(-9), int(2)], ""),
        ("SUBSTRING", vec![text("abcdef"), int(9)], ""),
        ("SUBSTRING", vec![text("abcdef"), int(2), int(-1)], "NULL"),
        ("SUBSTRING", vec![text("abcdef"), int(3), int(100)], "cdef"),
        ("SUBSTR", vec![text("a世界🎉b"), int(3), int(2)], "界🎉"),
        ("SUBSTR", vec![text(""), int(1)], ""),
        ("SUBSTRING", vec![text("abcdef"), int(2), int(0)], ""),
        ("LEFT", vec![text("abc"), int(2)], "ab"),
        ("LEFT", vec![text("abc"), int(-1)], ""),
        ("LEFT", vec![text("abc"), int(9)], "abc"),
        ("RIGHT", vec![text("abc"), int(2)], "bc"),
        ("RIGHT", vec![text("abc"), int(-1)], ""),
        ("RIGHT", vec![text("a世界"), int(2)], "世界"),
        ("SPLIT_INDEX", vec![text("a/b//c"), text("/"), int(2)], ""),
        ("SPLIT_INDEX", vec![text("a/b//c"), text("/"), int(3)], "c"),
        ("SPLIT_INDEX", vec![text("a/b//c"), text("/"), int(4)], "NULL"),
        ("SPLIT_INDEX", vec![text("a/b"), text("/"), int(-1)], "NULL"),
        ("SPLIT_INDEX", vec![text(""), text("/"), int(0)], "NULL"),
        ("SPLIT_INDEX", vec![text("a b c"), text(""), int(1)], "b"),
        ("SPLIT_INDEX", vec![text("a b  c"), text(" "), int(2)], ""),
        ("SPLIT_INDEX", vec![text("a::b::c"), text("::"), int(1)], "b"),
        ("SPLIT_INDEX", vec![text("a,b"), int(44), int(1)], "b"),
        ("SPLIT_INDEX", vec![text("a,b"), int(0), int(1)], "NULL"),
        ("SPLIT_INDEX", vec![text("a,b"), int(300), int(1)], "NULL"),
        ("SPLIT_INDEX", vec![text(""), int(44), int(0)], "NULL"),
        ("SPLIT_INDEX", vec![text("é,b"), text(","), int(0)], "é"),
        ("SPLIT_INDEX", vec![text("aéb"), int(233), int(1)], "b"),
        ("RTRIM", vec![text(""), text("x")], ""),
        ("LTRIM", vec![text("abc"), text("")], "abc"),
        ("SUBSTRING", vec![text("🎉ab"), int(2), int(1)], "a"),
        ("LEFT", vec![text("🎉ab"), int(2)], "🎉a"),
    ]);
}

#[test]
fn positions() {
    check(&[
        ("CHAR_LENGTH", vec![text("")], "0"),
        ("CHAR_LENGTH", vec![text("héllo世界🎉")], "8"),
        ("CHARACTER_LENGTH", vec![NULL], "NULL"),
        ("POSITION", vec![text("b"), text("abcabc")], "2"),
        ("POSITION", vec![text(""), text("abc")], "1"),
        ("POSITION", vec![text("z"), text("abc")], "0"),
        ("POSITION", vec![text("界"), text("a世界")], "3"),
        ("LOCATE", vec![text("b"), text("abcabc"), int(3)], "5"),
        ("LOCATE", vec![text("b"), text("abcabc"), int(0)], "2"),
        ("LOCATE", vec![text("b"), text("abcabc"), int(-1)], "2"),
        ("LOCATE", vec![text(""), text("abc"), int(3)], "1"),
        ("LOCATE", vec![text("a"), text(""), int(1)], "0"),
        ("INSTR", vec![text("abcabc"), text("b")], "2"),
        ("INSTR", vec![text("abcabc"), text("b"), int(3)], "5"),
        ("INSTR", vec![text("abcabc"), text("b"), int(1), int(2)], "5"),
        ("INSTR", vec![text("abcabc"), text("b"), int(-1)], "5"),
        ("INSTR", vec![text("abcabc"), text("b"), int(-1), int(2)], "2"),
        ("INSTR", vec![text("abcabc"), text("b"), int(0)], "0"),
        ("STARTSWITH", vec![text("abc"), text("ab")], "TRUE"),
        ("STARTSWITH", vec![text("abc"), text("")], "TRUE"),
        ("STARTSWITH", vec![bytes(&[0x01, 0x02]), bytes(&[0x01])], "TRUE"),
        ("ENDSWITH", vec![text("abc"), text("bc")], "TRUE"),
        ("ENDSWITH", vec![bytes(&[0x01, 0x02]), bytes(&[0x02])], "TRUE"),
        ("LOCATE", vec![text("b"), text("🎉ab")], "3"),
        ("CHAR_LENGTH", vec![text("🎉")], "1"),
    ]);
}

#[test]
fn composed_strings() {
    check(&[
        ("REPEAT", vec![text("ab"), int(3)], "ababab"),
        ("REPEAT", vec![text("ab"), int(0)], ""),
        ("REPEAT", vec![text("ab"), int(-1)], ""),
        ("OVERLAY", vec![text("xxxxxtest"), text("xxxx"), int(6)], "xxxxxxxxx"),
        ("OVERLAY", vec![text("xxxxxtest"), text("xxxx"), int(6), int(2)], "xxxxxxxxxst"),
        ("OVERLAY", vec![text("abcdef"), text("XY"), int(0)], "abcdef"),
        ("OVERLAY", vec![text("abcdef"), text("XY"), int(9)], "abcdef"),
        ("OVERLAY", vec![text("abcdef"), text("XY"), int(2), int(-1)], "aXY"),
        ("OVERLAY", vec![text("abcdef"), text("XY"), int(2), int(0)], "aXY"),
        ("OVERLAY", vec![text("abcdef"), text("XY"), int(2), int(5)], "aXY"),
        ("OVERLAY", vec![text("abcdef"), text("XY"), int(2), int(4)], "aXYf"),
        ("REPLACE", vec![text("hello world"), text("world"), text("flink")], "hello flink"),
        ("REPLACE", vec![text("ababab"), text("abab"), text("z")], "zab"),
        ("REPLACE", vec![text("abc"), text(""), text("-")], "-a-b-c-"),
        ("REPLACE", vec![text("aaa"), text("a"), text("aa")], "aaaaaa"),
        ("TRANSLATE", vec![text("www.apache.org"), text("wapcheorg"), text(" APCHEcom")], "   .APACHE.com"),
        ("TRANSLATE", vec![text("abcabc"), text("ab"), text("x")], "xcxc"),
        ("TRANSLATE", vec![text("abc"), text(""), text("x")], "abc"),
        ("TRANSLATE", vec![text("abc"), text("aa"), text("xy")], "xbc"),
        ("TRANSLATE", vec![text("a世b"), text("世"), text("🎉")], "a🎉b"),
        ("INITCAP", vec![text("hello wORLD foo-bar x1y éa")], "Hello World Foo-Bar X1y éA"),
        ("INITCAP", vec![text("ab_cd'ef")], "Ab_Cd'Ef"),
        ("CONCAT", vec![text("a"), text("b"), NULL], "NULL"),
        ("CONCAT", vec![text("AA"), text("BB"), text("CC")], "AABBCC"),
        ("CONCAT", vec![text("a")], "a"),
        ("CONCAT_WS", vec![text("~"), text("AA"), NULL, text("BB"), text(""), text("CC")], "AA~BB~~CC"),
        ("CONCAT_WS", vec![NULL, text("AA")], "NULL"),
        ("CONCAT_WS", vec![text("-")], ""),
        ("LPAD", vec![text("hi"), int(4), text("??")], "??hi"),
        ("LPAD", vec![text("hi"), int(1), text("??")], "h"),
        ("LPAD", vec![text("hi"), int(7), text("abc")], "abcabhi"),
        ("LPAD", vec![text("hi"), int(-1), text("x")], "NULL"),
        ("LPAD", vec![text("hi"), int(5), text("")], "NULL"),
        ("LPAD", vec![text("hi"), int(0), text("x")], ""),
        ("LPAD", vec![text(""), int(3), text("ab")], "aba"),
        ("RPAD", vec![text("hi"), int(4), text("??")], "hi??"),
        ("RPAD", vec![text("hi"), int(1), text("??")], "h"),
        ("RPAD", vec![text("hi"), int(7), text("abc")], "hiabcab"),
        ("RPAD", vec![text("hi"), int(5), text("")], "NULL"),
        ("REVERSE", vec![text("a世b")], "b世a"),
        ("REVERSE", vec![text("")], ""),
        ("ELT", vec![int(2), text("scala"), text("java")], "java"),
        ("ELT", vec![int(3), text("a"), text("b")], "NULL"),
        ("ELT", vec![int(0), text("a"), text("b")], "NULL"),
        ("ELT", vec![int(1), bytes(&[0x01]), bytes(&[0x02])], "x'01'"),
        ("ELT", vec![NULL, text("a")], "NULL"),
        ("REPEAT", vec![text("é"), int(2)], "éé"),
        ("REVERSE", vec![text("héy")], "yéh"),
        ("CONCAT_WS", vec![text(","), text("a"), text("b")], "a,b"),
        ("ELT", vec![int(2), text("a"), text("bcd"), text("e")], "bcd"),
        ("UPPER", vec![NULL], "NULL"),
    ]);
}

#[test]
fn regular_expressions() {
    check(&[
        ("REGEXP_REPLACE", vec![text("foobar"), text("oo|ar"), text("")], "fb"),
        ("REGEXP_REPLACE", vec![text("foobar"), text("o(.)"), text("$1")], "f$1bar"),
        ("REGEXP_REPLACE", vec![text("foobar"), text("("), text("x")], "NULL"),
        ("REGEXP_REPLACE", vec![text("abc"), text(""), text("-")], "-a-b-c-"),
        ("REGEXP", vec![text("foobar"), text("o+b")], "TRUE"),
        ("REGEXP", vec![text("foobar"), text("")], "FALSE"),
        ("REGEXP", vec![text("foobar"), text("(")], "FALSE"),
        ("REGEXP_COUNT", vec![text("abcabc"), text("b")], "2"),
        ("REGEXP_COUNT", vec![text("abc"), text("")], "4"),
        ("REGEXP_COUNT", vec![text("abc"), text("(")], "NULL"),
        ("REGEXP_EXTRACT", vec![text("foothebar"), text("foo(.*?)(bar)"), int(2)], "bar"),
        ("REGEXP_EXTRACT", vec![text("foothebar"), text("foo(.*?)(bar)")], "foothebar"),
        ("REGEXP_EXTRACT", vec![text("foothebar"), text("foo(.*?)(bar)"), int(3)], "NULL"),
        ("REGEXP_EXTRACT", vec![text("foothebar"), text("foo(.*?)(bar)"), int(-1)], "NULL"),
        ("REGEXP_EXTRACT", vec![text("ab"), text("(a)|(b)"), int(2)], "NULL"),
        ("REGEXP_EXTRACT", vec![text("abc"), text("x")], "NULL"),
        ("REGEXP_EXTRACT", vec![text("abc"), text("(")], "NULL"),
        ("REGEXP_EXTRACT_ALL", vec![text("a1b2c3"), text("([a-z])([0-9])")], "[a, b, c]"),
        ("REGEXP_EXTRACT_ALL", vec![text("a1b2c3"), text("([a-z])([0-9])"), int(2)], "[1, 2, 3]"),
        ("REGEXP_EXTRACT_ALL", vec![text("a1b2c3"), text("([a-z])([0-9])"), int(0)], "[a1, b2, c3]"),
        ("REGEXP_EXTRACT_ALL", vec![text("a1b2c3"), text("([a-z])([0-9])"), int(3)], "NULL"),
        ("REGEXP_EXTRACT_ALL", vec![text("a1b2c3"), text("[a-z][0-9]")], "NULL"),
        ("REGEXP_EXTRACT_ALL", vec![text("abc"), text("x(y)")], "[]"),
        ("REGEXP_EXTRACT_ALL", vec![text("ab"), text("(a)|(b)"), int(2)], "[NULL, b]"),
        ("REGEXP_INSTR", vec![text("héabcabc"), text("c")], "5"),
        ("REGEXP_INSTR", vec![text("abc"), text("x")], "0"),
        ("REGEXP_INSTR", vec![text("abc"), text("(")], "NULL"),
        ("REGEXP_SUBSTR", vec![text("abc123d45"), text("[0-9]+")], "123"),
        ("REGEXP_SUBSTR", vec![text("abc"), text("x")], "NULL"),
        ("REGEXP_EXTRACT", vec![text("a b"), text("\\s")], " "),
        ("REGEXP_EXTRACT", vec![text("é"), text("\\w")], "NULL"),
        ("REGEXP_EXTRACT", vec![text("abab"), text("(?<x>a)b"), int(1)], "a"),
        ("REGEXP_EXTRACT", vec![text("aXb"), text("(?i)x")], "X"),
        ("REGEXP_REPLACE", vec![text("a.b.c"), text("\\."), text("-")], "a-b-c"),
        ("REGEXP_REPLACE", vec![text("aaa"), text("a"), text("\\")], "\\\\\\"),
    ]);
}

#[test]
fn codes_and_character_sets() {
    check(&[
        ("FROM_BASE64", vec![text("aGVsbG8gd29ybGQ=")], "hello world"),
        ("FROM_BASE64", vec![text("aGVsbG8")], "hello"),
        ("TO_BASE64", vec![text("hello world")], "aGVsbG8gd29ybGQ="),
        ("ASCII", vec![text("abc")], "97"),
        ("ASCII", vec![text("")], "0"),
        ("ASCII", vec![text("世")], "-28"),
        ("CHR", vec![int(97)], "a"),
        ("CHR", vec![int(353)], "a"),
        ("CHR", vec![int(-1)], ""),
        ("CHR", vec![int(256)], "\0"),
        ("CHR", vec![int(0)], "\0"),
        ("DECODE", vec![bytes(&[0x61, 0x62, 0x63]), text("UTF-8")], "abc"),
        ("DECODE", vec![bytes(&[0x00, 0x61, 0x00, 0x62]), text("UTF-16BE")], "ab"),
        ("DECODE", vec![bytes(&[0xff]), text("UTF-8")], "�"),
        ("DECODE", vec![bytes(&[0x61, 0xe9]), text("ISO-8859-1")], "aé"),
        ("ENCODE", vec![text("aé"), text("ISO-8859-1")], "x'61e9'"),
        ("ENCODE", vec![text("aé"), text("US-ASCII")], "x'613f'"),
        ("ENCODE", vec![text("aé世"), text("UTF-8")], "x'61c3a9e4b896'"),
        ("ENCODE", vec![text("a"), text("UTF-16")], "x'feff0061'"),
        ("ENCODE", vec![text("a"), text("UTF-16BE")], "x'0061'"),
        ("ENCODE", vec![text("a"), text("UTF-16LE")], "x'6100'"),
        ("ENCODE", vec![text("a"), text("utf-8")], "x'61'"),
        ("DECODE", vec![bytes(&[0xfe, 0xff, 0x00, 0x61]), text("UTF-16")], "a"),
        ("STR_TO_MAP", vec![text("k1=v1,k2=v2")], "{k1=v1, k2=v2}"),
        ("STR_TO_MAP", vec![text("k1:v1;k2: v2;k3"), text(";"), text(":")], "{k1=v1, k2= v2, k3=NULL}"),
        ("STR_TO_MAP", vec![text("")], "{}"),
        ("STR_TO_MAP", vec![text("a=1,a=2")], "{a=2}"),
        ("STR_TO_MAP", vec![text("a=b=c")], "{a=b=c}"),
        ("STR_TO_MAP", vec![text("a1|b2"), text("[|]"), text("[0-9]")], "{a=, b=}"),
        ("JSON_QUOTE", vec![text("a\"b\\c/d")], "\"a\\\"b\\\\c\\/d\""),
        ("JSON_UNQUOTE", vec![text("\"a\\u00e9b\"")], "aéb"),
        ("JSON_UNQUOTE", vec![text("\"a\\\"b\"")], "a\"b"),
        ("JSON_UNQUOTE", vec![text("abc")], "abc"),
        ("JSON_UNQUOTE", vec![text("\"abc")], "\"abc"),
        ("JSON_UNQUOTE", vec![text("[1,\"a\"]")], "[1,\"a\"]"),
        ("JSON_UNQUOTE", vec![text("\"\\x\"")], "\"\\x\""),
        ("JSON_UNQUOTE", vec![text("\"\"")], ""),
        ("JSON_UNQUOTE", vec![text(" \"a\" ")], " \"a\" "),
        ("JSON_UNQUOTE", vec![text("\"a")], "\"a"),
        ("JSON_UNQUOTE", vec![text("\"")], "\""),
        ("JSON_UNQUOTE", vec![text("\"\\ud83c\\udf89\"")], "🎉"),
        ("JSON_QUOTE", vec![text("a\tb")], "\"a\\tb\""),
        ("JSON_QUOTE", vec![text("")], "\"\""),
        ("JSON_QUOTE", vec![text("[1, 2, 3]")], "\"[1, 2, 3]\""),
        ("CHR", vec![big(9999999999)], "ÿ"),
        ("TO_BASE64", vec![text("")], ""),
        ("ENCODE", vec![text("🎉"), text("UTF-16BE")], "x'd83cdf89'"),
        ("ENCODE", vec![NULL, text("UTF-8")], "NULL"),
        ("DECODE", vec![bytes(&[0xd8, 0x00]), text("UTF-16BE")], "�"),
    ]);
}

#[test]
fn urls_and_addresses() {
    check(&[
        ("URL_DECODE", vec![text("https%3A%2F%2Fflink.apache.org%2F+x")], "https://flink.apache.org/ x"),
        ("URL_DECODE", vec![text("%zz")], "NULL"),
        ("URL_DECODE", vec![text("%")], "NULL"),
        ("URL_DECODE", vec![text("%ff")], "�"),
        (
            "URL_ENCODE",
            vec![text("https://flink.apache.org/ é*-._~")],
            "https%3A%2F%2Fflink.apache.org%2F+%C3%A9*-._%7E",
        ),
        (
            "PARSE_URL",
            vec![text("http://user:pw@facebook.com:80/path1/p.php?k1=v1&k2=v2#Ref1"), text("QUERY")],
            "k1=v1&k2=v2",
        ),
        (
            "PARSE_URL",
            vec![
                text("http://user:pw@facebook.com:80/path1/p.php?k1=v1&k2=v2#Ref1"),
                text("QUERY"),
                text("k2"),
            ],
            "v2",
        ),
        (
            "PARSE_URL",
            vec![
                text("http://user:pw@facebook.com:80/path1/p.php?k1=v1&k2=v2#Ref1"),
                text("QUERY"),
                text("k3"),
            ],
            "NULL",
        ),
        (
            "PARSE_URL",
            vec![text("http://user:pw@facebook.com:80/path1/p.php?k1=v1&k2=v2#Ref1"), text("HOST")],
            "facebook.com",
        ),
        (
            "PARSE_URL",
            vec![text("http://user:pw@facebook.com:80/path1/p.php?k1=v1&k2=v2#Ref1"), text("PATH")],
            "/path1/p.php",
        ),
        (
            "PARSE_URL",
            vec![text("http://user:pw@facebook.com:80/path1/p.php?k1=v1&k2=v2#Ref1"), text("REF")],
            "Ref1",
        ),
        (
            "PARSE_URL",
            vec![text("http://user:pw@facebook.com:80/path1/p.php?k1=v1&k2=v2#Ref1"), text("PROTOCOL")],
            "http",
        ),
        (
            "PARSE_URL",
            vec![text("http://user:pw@facebook.com:80/path1/p.php?k1=v1&k2=v2#Ref1"), text("FILE")],
            "/path1/p.php?k1=v1&k2=v2",
        ),
        (
            "PARSE_URL",
            vec![text("http://user:pw@facebook.com:80/path1/p.php?k1=v1&k2=v2#Ref1"), text("AUTHORITY")],
            "user:pw@facebook.com:80",
        ),
        (
            "PARSE_URL",
            vec![text("http://user:pw@facebook.com:80/path1/p.php?k1=v1&k2=v2#Ref1"), text("USERINFO")],
            "user:pw",
        ),
        (
            "PARSE_URL",
            vec![text("http://user:pw@facebook.com:80/path1/p.php?k1=v1&k2=v2#Ref1"), text("host")],
            "NULL",
        ),
        ("PARSE_URL", vec![text("nourl"), text("HOST")], "NULL"),
        ("PARSE_URL", vec![text("http://a.b"), text("PATH")], ""),
        ("PARSE_URL", vec![text("http://a.b"), text("QUERY")], "NULL"),
        ("PARSE_URL", vec![text("http://a.b/?"), text("QUERY")], ""),
        ("PARSE_URL", vec![text("http://a.b"), text("FILE")], ""),
        ("PARSE_URL", vec![text("http://a.b?x=1"), text("FILE")], "?x=1"),
        ("PARSE_URL", vec![text("ftp://a.b/x;type=i"), text("PATH")], "/x;type=i"),
        ("PARSE_URL", vec![text("foo://a.b/x"), text("HOST")], "NULL"),
        ("PARSE_URL", vec![text("mailto:a@b.c"), text("PATH")], "a@b.c"),
        ("PARSE_URL", vec![text("file:/a/b"), text("HOST")], ""),
        ("PARSE_URL", vec![text("file:///a/b"), text("PATH")], "/a/b"),
        ("PARSE_URL", vec![text("http:a/b"), text("PATH")], "a/b"),
        ("PARSE_URL", vec![text("http://[::1]:8/x"), text("HOST")], "[::1]"),
        ("PARSE_URL", vec![text("HTTP://A.B/x"), text("PROTOCOL")], "http"),
        ("INET_ATON", vec![text("127.0.0.1")], "2130706433"),
        ("INET_ATON", vec![text("127.1")], "2130706433"),
        ("INET_ATON", vec![text("1.2.3")], "16908291"),
        ("INET_ATON", vec![text("256.1.1.1")], "NULL"),
        ("INET_ATON", vec![text("abc")], "NULL"),
        ("INET_ATON", vec![text("")], "NULL"),
        ("INET_ATON", vec![text("1")], "1"),
        ("INET_ATON", vec![text("01.2.3.4")], "16909060"),
        ("INET_NTOA", vec![int(2130706433)], "127.0.0.1"),
        ("INET_NTOA", vec![int(-1)], "NULL"),
        ("INET_NTOA", vec![big(4294967295)], "255.255.255.255"),
        ("INET_NTOA", vec![big(4294967296)], "NULL"),
        ("INET_NTOA", vec![int(5)], "0.0.0.5"),
        ("INET_ATON", vec![text("1.256")], "NULL"),
        ("INET_ATON", vec![text("1..2")], "NULL"),
        ("INET_ATON", vec![text("1.")], "NULL"),
        ("INET_ATON", vec![text(".1")], "NULL"),
        ("INET_ATON", vec![text("1.2.3.4.5")], "NULL"),
        ("INET_ATON", vec![text(" 1.2.3.4")], "NULL"),
        ("INET_ATON", vec![text("0x1.2.3.4")], "NULL"),
        ("INET_ATON", vec![text("0010.1")], "167772161"),
        ("INET_ATON", vec![text("256")], "NULL"),
        ("INET_ATON", vec![text("+1")], "NULL"),
        ("INET_ATON", vec![text("1.2.3.")], "NULL"),
        ("PARSE_URL", vec![text("http://a.b/x/../y/./z"), text("PATH")], "/x/../y/./z"),
        ("PARSE_URL", vec![text("http://a.b:x/"), text("HOST")], "NULL"),
        ("PARSE_URL", vec![text("http://a.b/p#r?q=1"), text("QUERY")], "NULL"),
        ("PARSE_URL", vec![text("http://a.b/p?q=1#"), text("REF")], ""),
        ("PARSE_URL", vec![text("  http://a.b/p  "), text("PATH")], "/p"),
        ("PARSE_URL", vec![text("https://a@b@c/p"), text("HOST")], ""),
        ("PARSE_URL", vec![text("http://a.b?q"), text("PATH")], ""),
        ("PARSE_URL", vec![text("jar:file:/a!/b"), text("PATH")], "file:/a!/b"),
        ("PARSE_URL", vec![text("http:///p"), text("HOST")], ""),
        ("PARSE_URL", vec![text("file:/a/b"), text("AUTHORITY")], "NULL"),
        ("PARSE_URL", vec![text("file:///a/b"), text("AUTHORITY")], ""),
        ("PARSE_URL", vec![text("http://a.b/.."), text("PATH")], "/.."),
        ("PARSE_URL", vec![text("http://a.b/x/.."), text("PATH")], "/x/.."),
        ("PARSE_URL", vec![text("http://a.b/x/."), text("PATH")], "/x/."),
        ("PARSE_URL", vec![text("mailto:a@b.c?subject=x"), text("QUERY")], "subject=x"),
        ("PARSE_URL", vec![text("url:http://a.b/p"), text("HOST")], "a.b"),
        ("PARSE_URL", vec![text("http://a.b/?a.c=1&axc=2"), text("QUERY"), text("a.c")], "1"),
        ("URL_ENCODE", vec![text("a b&c=1/é世")], "a+b%26c%3D1%2F%C3%A9%E4%B8%96"),
        ("URL_DECODE", vec![text("%E4%B8%96+%41")], "世 A"),
        ("URL_DECODE", vec![text("%4")], "NULL"),
    ]);
}

#[test]
fn formats() {
    check(&[
        (
            "PRINTF",
            vec![text("%s %d %5.2f|%-5s|%05d"), text("x"), int(5), decimal(15, 2, 1), text("ab"), int(42)],
            "NULL",
        ),
        ("PRINTF", vec![text("%d"), text("x")], "NULL"),
        (
            "PRINTF",
            vec![
                text("%x %X %o %e %c %b %%%n"),
                int(255),
                int(255),
                int(8),
                double(12345.678),
                text("c"),
                boolean(true),
            ],
            "NULL",
        ),
        ("PRINTF", vec![text("%,d %+d %(d"), int(1234567), int(5), int(-3)], "1,234,567 +5 (3)"),
        ("PRINTF", vec![text("%2$s %1$s"), text("a"), text("b")], "b a"),
        ("PRINTF", vec![text("plain")], "plain"),
        ("PRINTF", vec![text("%s")], "NULL"),
        ("PRINTF", vec![text("%s"), decimal(150, 5, 2)], "1.50"),
        (
            "PRINTF",
            vec![text("%10s|%-10s|%.2s"), text("abc"), text("abc"), text("abc")],
            "       abc|abc       |ab",
        ),
        ("PRINTF", vec![text("%.3f"), double(1.0005)], "1.001"),
        ("PRINTF", vec![text("%f"), int(1)], "NULL"),
        ("PRINTF", vec![text("%d"), big(5)], "5"),
        ("PRINTF", vec![text("%g"), double(12345.678)], "12345.7"),
        (
            "PRINTF",
            vec![text("%s %d %.2f|%-5s|%05d"), text("x"), int(5), double(1.5), text("ab"), int(42)],
            "x 5 1.50|ab   |00042",
        ),
        ("PRINTF", vec![text("%5.2f"), decimal(15, 2, 1)], "NULL"),
        ("PRINTF", vec![text("%x %X %o"), int(255), int(255), int(8)], "ff FF 10"),
        ("PRINTF", vec![text("%x"), int(-1)], "ffffffff"),
        ("PRINTF", vec![text("%x"), big(-1)], "ffffffffffffffff"),
        ("PRINTF", vec![text("%e"), double(12345.678)], "1.234568e+04"),
        ("PRINTF", vec![text("%c"), text("c")], "NULL"),
        ("PRINTF", vec![text("%c"), int(97)], "a"),
        ("PRINTF", vec![text("%b"), boolean(true)], "true"),
        ("PRINTF", vec![text("%b"), text("x")], "true"),
        ("PRINTF", vec![text("%B"), boolean(false)], "FALSE"),
        ("PRINTF", vec![text("%S"), text("abc")], "ABC"),
        ("PRINTF", vec![text("%%")], "%"),
        ("PRINTF", vec![text("%n")], "\n"),
        ("PRINTF", vec![text("%s"), boolean(true)], "true"),
        ("PRINTF", vec![text("%s|%s"), NULL, int(1)], "null|1"),
        ("PRINTF", vec![text("%s"), float(1.5)], "1.5"),
        ("PRINTF", vec![text("%-8.3f|"), double(2.46813)], "2.468   |"),
        ("PRINTF", vec![text("%+.1e"), double(0.00012345)], "+1.2e-04"),
        ("PRINTF", vec![text("%f"), double(1e10)], "10000000000.000000"),
        ("PRINTF", vec![text("%,.2f"), double(1234567.891)], "1,234,567.89"),
        ("PRINTF", vec![text("% d"), int(5)], " 5"),
        ("PRINTF", vec![text("%#x"), int(255)], "0xff"),
        ("PRINTF", vec![text("%08.2f"), double(-2.46813)], "-0002.47"),
        ("PRINTF", vec![text("%.0f"), double(0.5)], "1"),
        ("PRINTF", vec![text("%.0f"), double(2.5)], "3"),
        ("PRINTF", vec![text("%5d|%-5d|"), int(1), int(2)], "    1|2    |"),
        ("PRINTF", vec![text("%,d"), big(-1234567)], "-1,234,567"),
        ("PRINTF", vec![text("%z"), int(1)], "NULL"),
        ("PRINTF", vec![text("%1$s %1$s"), text("a")], "a a"),
        ("PRINTF", vec![text("%s %<s"), text("a")], "a a"),
        ("PRINTF", vec![NULL, int(1)], "NULL"),
        ("PRINTF", vec![text("%.2s|"), text("abc")], "ab|"),
        ("PRINTF", vec![text("%f"), double(f64::NAN)], "NaN"),
        ("PRINTF", vec![text("%f"), float(1.5)], "1.500000"),
    ]);
}

#[test]
fn where_flink_differs_or_fails() {
    check(&[
        // Flink cuts the result to the length of the type.
        ("UPPER", vec![text("straße ñ")], "STRASSE Ñ"),
        ("LOWER", vec![text("ÀÉÎ İ ΣΑΣ")], "àéî i̇ σας"),
        // Flink writes \u1f389, which is no JSON.
        ("JSON_QUOTE", vec![text("é🎉\u{1}")], r#""\u00e9\ud83c\udf89\u0001""#),
        ("JSON_UNQUOTE", vec![text(r#""\ud83c""#)], "\u{fffd}"),
        ("JSON_UNQUOTE", vec![text(r#""a\nb\t\/""#)], "a\nb\t/"),
        // Characters count, not UTF-16 units.
        ("LPAD", vec![text("🎉"), int(3), text("*")], "**🎉"),
        ("OVERLAY", vec![text("🎉abc"), text("x"), int(2)], "🎉xbc"),
        // No look-around, no back-references.
        ("PRINTF", vec![text("%s|%d"), NULL, NULL], "null|null"),
        ("STR_TO_MAP", vec![text("a=1,,b=2")], "{a=1, =NULL, b=2}"),
        ("SUBSTRING", vec![text("abc"), big(9_999_999_999)], ""),
        ("SUBSTRING", vec![text("abc"), int(1), big(i64::MAX)], "abc"),
        ("SUBSTRING", vec![text("abc"), big(i64::MIN)], ""),
        ("INSTR", vec![text("abcabc"), text("b"), int(1), int(0)], "error: must be positive"),
        ("FROM_BASE64", vec![text("!!")], "error: FROM_BASE64('!!')"),
        ("DECODE", vec![bytes(b"a"), text("nope")], "error: no character set 'nope'"),
        ("CONCAT", vec![text("a"), int(1)], "error: argument 2 of CONCAT is INT, but STRING is expected"),
        ("LPAD", vec![text("a")], "error: LPAD takes 3 arguments, 1 given"),
        ("REPEAT", vec![text("abc"), big(i64::MAX)], "error: longer than"),
        ("LPAD", vec![text("abc"), big(i64::MAX), text("x")], "error: longer than"),
    ]);
}

#[test]
fn null_gives_null() {
    let of_one = "UPPER CHAR_LENGTH TRIM REVERSE INITCAP ASCII CHR TO_BASE64 FROM_BASE64 URL_ENCODE URL_DECODE INET_ATON \
        INET_NTOA JSON_QUOTE JSON_UNQUOTE STR_TO_MAP PRINTF";
    let of_two = "POSITION INSTR STARTSWITH SUBSTRING LEFT RIGHT LTRIM CONCAT REPEAT ELT REGEXP REGEXP_COUNT REGEXP_INSTR \
        REGEXP_EXTRACT_ALL REGEXP_SUBSTR ENCODE DECODE PARSE_URL";
    let of_three = "REPLACE TRANSLATE OVERLAY SPLIT_INDEX RPAD REGEXP_EXTRACT REGEXP_REPLACE";
    for (count, names) in [(1, of_one), (2, of_two), (3, of_three)] {
        for name in names.split_whitespace() {
            let given = evaluate(name, &vec![NULL; count]).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(given.is_null(), "{name} gives {given}");
        }
    }
}

#[test]
fn parts_keep_their_length_in_mind() {
    use flugs_sql_types::LogicalType::{self, Char, Int, VarChar};
    const STRING: LogicalType = LogicalType::STRING;
    let of =
        |name, kind: flugs_sql_types::LogicalType| type_of(name, &[kind.nullable(), Int.not_null()]).unwrap();
    assert_eq!(of("SUBSTRING", Char(6)), VarChar(6).nullable());
    assert_eq!(of("LEFT", STRING), STRING.nullable());
    assert_eq!(type_of("UPPER", &[Char(3).not_null()]).unwrap(), Char(3).not_null());
    assert_eq!(type_of("CHAR_LENGTH", &[STRING.not_null()]).unwrap(), Int.not_null());
}

#[test]
fn parts_share_memory_and_are_right_for_every_length() {
    use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringViewArray};
    use std::sync::Arc;
    let words = ["", "a", "twelve bytes", "thirteen byte", "é世🎉 and then some more text", "x"];
    let texts: StringViewArray = words.iter().map(|w| Some(w.repeat(3))).chain([None]).collect();
    for start in -20i64..20 {
        let starts: ArrayRef = Arc::new(Int64Array::from(vec![start; texts.len()]));
        let parts = evaluate_columns("SUBSTR", &[Arc::new(texts.clone()), starts]).unwrap();
        parts.to_data().validate_full().unwrap();
        for (word, part) in texts.iter().zip(parts.as_string_view()) {
            let naive = word.map(|word| {
                let all: Vec<char> = word.chars().collect();
                let from = match start {
                    1.. => start - 1,
                    0 => 0,
                    _ => start + all.len() as i64,
                };
                let from = usize::try_from(from).unwrap_or(usize::MAX).min(all.len());
                all[from..].iter().collect::<String>()
            });
            assert_eq!(part, naive.as_deref(), "{word:?} from {start}");
        }
    }
    let url = text("https://a.b/one/two/three");
    assert_eq!(texts_of("SPLIT_INDEX", &[url, text("/"), int(4)]).as_deref(), Some("two"));
}
