"""RE2 patterns on Python's ``re``: what RE2 has is translated, what it refuses is refused."""

from __future__ import annotations

import re
from functools import lru_cache

from clusters.kube.cel.errors import EvaluationError

_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7F", "blank": r"\t ", "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ", "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_PERL = {"d": "0-9", "s": r"\t\n\f\r ", "w": "0-9A-Za-z_"}
_SIMPLE = frozenset("aftnrv")
_MAX_REPEAT = 1000


class PatternError(ValueError):
    """RE2 would not compile this."""


@lru_cache(maxsize=512)
def compile_re2(pattern: str) -> re.Pattern[str]:
    """The compiled pattern; raises EvaluationError in Go's words."""
    try:
        return re.compile(translate(pattern))
    except PatternError as error:
        raise EvaluationError(f"error parsing regexp: {error}") from error
    except (re.error, OverflowError, RecursionError) as error:
        raise EvaluationError(f"error parsing regexp: {_guess(pattern, str(error))}") from error


def _guess(pattern: str, message: str) -> str:
    if "unterminated" in message or "missing )" in message:
        return f"missing closing ): `{pattern}`"
    return f"invalid or unsupported Perl syntax: `{pattern}`"


def translate(pattern: str) -> str:
    """The same pattern for ``re``, ASCII classes and all."""
    return _Translator(pattern).run()


class _Translator:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.out: list[str] = []
        self.depth = 0
        self.groups: set[str] = set()

    def run(self) -> str:
        pattern, out = self.pattern, self.out
        repeatable = False
        while self.at < len(pattern):
            char = pattern[self.at]
            if char == "\\":
                repeatable = self.escape()
            elif char == "[":
                self.bracket()
                repeatable = True
            elif char == "(":
                self.group()
                repeatable = False
            elif char == ")":
                if self.depth == 0:
                    raise PatternError(f"unexpected ): `{pattern}`")
                self.depth -= 1
                out.append(")")
                self.at += 1
                repeatable = True
            elif char in "*+?" or (char == "{" and re.match(r"\{\d+(,\d*)?\}", pattern[self.at :])):
                self.repeat(repeatable)
                repeatable = True
            elif char == "{" or char == "}":
                out.append("\\" + char)
                self.at += 1
                repeatable = True
            elif char == "$":
                # In RE2, without (?m), $ is the very end; in re it is also before a final newline.
                out.append(r"\Z")
                self.at += 1
                repeatable = True
            else:
                out.append(char)
                self.at += 1
                repeatable = char != "|"
        if self.depth:
            raise PatternError(f"missing closing ): `{pattern}`")
        return "".join(out)

    def escape(self) -> bool:
        pattern = self.pattern
        if self.at + 1 >= len(pattern):
            raise PatternError("trailing backslash at end of expression: ``")
        char = pattern[self.at + 1]
        self.at += 2
        if char in _PERL:
            self.out.append(f"[{_PERL[char]}]")
        elif char.lower() in _PERL:
            self.out.append(f"[^{_PERL[char.lower()]}]")
        elif char == "b":
            self.out.append(r"(?a:\b)")
        elif char == "B":
            self.out.append(r"(?a:\B)")
        elif char == "A":
            self.out.append(r"\A")
        elif char == "z":
            self.out.append(r"\Z")
        elif char == "Q":
            end = pattern.find("\\E", self.at)
            literal = pattern[self.at :] if end < 0 else pattern[self.at : end]
            self.out.append(re.escape(literal))
            self.at = len(pattern) if end < 0 else end + 2
        elif char in "pP":
            self.out.append(self.unicode_class(negated=char == "P"))
        else:
            self.out.append(self.character(char))
        return True

    def character(self, char: str) -> str:
        """An escaped single character, in or out of brackets."""
        pattern = self.pattern
        if char == "x":
            match = re.compile(r"\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2})").match(pattern, self.at)
            if match is None or int(match.group(1) or match.group(2), 16) > 0x10FFFF:
                raise PatternError(f"invalid escape sequence: `{pattern[self.at - 2 : self.at + 1]}`")
            self.at = match.end()
            return re.escape(chr(int(match.group(1) or match.group(2), 16)))
        if char in "01234567":
            match = re.compile(r"[0-7]{1,3}").match(pattern, self.at - 1)
            if match is None or (char != "0" and len(match.group()) < 3):
                raise PatternError(f"invalid escape sequence: `\\{char}`")
            self.at = match.end()
            return re.escape(chr(int(match.group(), 8)))
        if char in _SIMPLE:
            return "\\" + char
        if char < "\x80" and not char.isalnum():
            return re.escape(char)
        raise PatternError(f"invalid escape sequence: `\\{char}`")

    def unicode_class(self, negated: bool) -> str:
        pattern = self.pattern
        match = re.compile(r"\{(\^?)([^}]*)\}|(.)").match(pattern, self.at)
        name = (match.group(2) or match.group(3)) if match else ""
        if match is None or not name:
            raise PatternError(f"invalid character class range: `{pattern[self.at - 2 :]}`")
        start, self.at = self.at - 2, match.end()
        ranges = _unicode_ranges(name)
        if ranges is None:
            raise PatternError(f"invalid character class range: `{pattern[start : self.at]}`")
        if match.group(1):
            negated = not negated
        return f"[{'^' if negated else ''}{ranges}]"

    def bracket(self) -> None:
        pattern = self.pattern
        start = self.at
        self.at += 1
        parts = ["["]
        if pattern[self.at : self.at + 1] == "^":
            parts.append("^")
            self.at += 1
        first = True
        while True:
            if self.at >= len(pattern):
                raise PatternError(f"missing closing ]: `{pattern[start:]}`")
            char = pattern[self.at]
            if char == "]" and not first:
                self.at += 1
                break
            posix = re.compile(r"\[:(\^?)(\w+):\]").match(pattern, self.at)
            if posix:
                if posix.group(2) not in _POSIX:
                    raise PatternError(f"invalid character class range: `{posix.group()}`")
                chars = _POSIX[posix.group(2)]
                parts.append(_complement(chars) if posix.group(1) else chars)
                self.at = posix.end()
            else:
                low = self.member(parts)
                if low is not None:
                    self.range(parts, low)
            first = False
        parts.append("]")
        self.out.append("".join(parts))

    def member(self, parts: list[str]) -> str | None:
        """One character of a class, or None when a whole class was added."""
        pattern = self.pattern
        char = pattern[self.at]
        if char != "\\":
            self.at += 1
            return re.escape(char)
        if self.at + 1 >= len(pattern):
            raise PatternError("trailing backslash at end of expression: ``")
        escaped = pattern[self.at + 1]
        self.at += 2
        if escaped in _PERL:
            parts.append(_PERL[escaped])
            return None
        if escaped.lower() in _PERL:
            parts.append(_complement(_PERL[escaped.lower()]))
            return None
        if escaped in "pP":
            ranges = self.unicode_class(negated=escaped == "P")
            parts.append(_complement(ranges[2:-1]) if ranges.startswith("[^") else ranges[1:-1])
            return None
        return self.character(escaped)

    def range(self, parts: list[str], low: str) -> None:
        pattern = self.pattern
        if pattern[self.at : self.at + 1] == "-" and pattern[self.at + 1 : self.at + 2] not in ("]", ""):
            start = self.at
            self.at += 1
            high = self.member(parts)
            if high is None or _single(high) < _single(low):
                shown = f"{low.lstrip(chr(92)) or low}{pattern[start : self.at]}"
                raise PatternError(f"invalid character class range: `{shown}`")
            parts.append(f"{low}-{high}")
        else:
            parts.append(low)

    def group(self) -> None:
        pattern = self.pattern
        rest = pattern[self.at :]
        if not rest.startswith("(?"):
            self.out.append("(")
            self.at += 1
            self.depth += 1
            return
        named = re.match(r"\(\?P?<([^>]*)(>?)", rest)
        if named:
            name = named.group(1)
            if not named.group(2):
                raise PatternError(f"invalid named capture: `{rest}`")
            if not re.fullmatch(r"\w+", name, re.ASCII):
                raise PatternError(f"invalid named capture: `{named.group()}`")
            if name in self.groups:
                raise PatternError(f"duplicate capture group name: `{name}`")
            self.groups.add(name)
            self.out.append("(")
            self.at += named.end()
            self.depth += 1
            return
        flags = re.match(r"\(\?([imsU]*)(-[imsU]+)?([:)])", rest)
        if flags is None:
            bad = re.match(r"\(\?(?:<?[=!]|[a-zA-Z-]*.?)", rest)
            raise PatternError(f"invalid or unsupported Perl syntax: `{bad.group() if bad else rest[:3]}`")
        on, off = flags.group(1).replace("U", ""), (flags.group(2) or "")[1:].replace("U", "")
        text = f"(?{on}{'-' + off if off else ''}:" if on or off else "(?:"
        self.out.append(text)
        self.at += flags.end()
        if flags.group(3) == ")":
            # Flags hold to the end of the enclosing group.
            end = self.close(self.at)
            inner = _Translator(pattern[self.at : end])
            inner.groups = self.groups
            self.out.append(inner.run() + ")")
            self.at = end
        else:
            self.depth += 1

    def close(self, at: int) -> int:
        """Where the group that is open at ``at`` ends."""
        depth, pattern = 0, self.pattern
        while at < len(pattern):
            char = pattern[at]
            if char == "\\":
                at += 1
            elif char == "(":
                depth += 1
            elif char == ")":
                if depth == 0:
                    return at
                depth -= 1
            at += 1
        return len(pattern)

    def repeat(self, repeatable: bool) -> None:
        pattern = self.pattern
        match = re.compile(r"(?:[*+?]|\{(\d+)(?:,(\d*))?\})\??").match(pattern, self.at)
        assert match is not None
        if not repeatable:
            raise PatternError(f"missing argument to repetition operator: `{match.group()}`")
        low, high = match.group(1), match.group(2)
        if low is not None:
            top = int(high) if high else int(low)
            if int(low) > _MAX_REPEAT or top > _MAX_REPEAT or top < int(low):
                raise PatternError(f"invalid repeat count: `{match.group()}`")
        self.out.append(match.group())
        self.at = match.end()
        following = re.compile(r"(?:[*+?]|\{\d+(?:,\d*)?\})\??").match(pattern, self.at)
        if following:
            raise PatternError(f"invalid nested repetition operator: `{match.group()}{following.group()}`")


def _single(escaped: str) -> str:
    return escaped[1:] if len(escaped) > 1 and escaped[0] == "\\" else escaped


@lru_cache(maxsize=64)
def _complement(ranges: str) -> str:
    """The class of everything that is not in ``ranges``."""
    inside = re.compile(f"[{ranges}]")
    # The ASCII classes end early; only Unicode categories need the whole plane.
    stop = 0x80 if len(ranges) < 40 else 0x110000
    out, start = [], 0
    for code in range(stop):
        if inside.match(chr(code)):
            if code > start:
                out.append(f"{re.escape(chr(start))}-{re.escape(chr(code - 1))}")
            start = code + 1
    if start < 0x110000:
        out.append(f"{re.escape(chr(start))}-{chr(0x10FFFF)}")
    return "".join(out)


@lru_cache(maxsize=64)
def _unicode_ranges(name: str) -> str | None:
    """Ranges of a general category such as L or Lu, or of the scripts Latin, Greek and Cyrillic."""
    import unicodedata

    scripts = {"Latin": "LATIN ", "Greek": "GREEK ", "Cyrillic": "CYRILLIC ", "Han": "CJK "}
    categories = {"L", "M", "N", "P", "S", "Z", "C"}
    if name not in scripts and (name[0] not in categories or len(name) > 2):
        return None
    prefix = scripts.get(name)
    out: list[str] = []
    start = -1
    for code in range(0x110001):
        char = chr(code) if code < 0x110000 else ""
        if prefix is not None:
            inside = bool(char) and unicodedata.name(char, "").startswith(prefix)
        else:
            inside = bool(char) and unicodedata.category(char).startswith(name)
        if inside and start < 0:
            start = code
        elif not inside and start >= 0:
            out.append(f"{re.escape(chr(start))}-{re.escape(chr(code - 1))}")
            start = -1
    return "".join(out) or None
