"""CEL text to a syntax tree, following CEL.g4, with the messages of ANTLR's error recovery.

The rules of recovery that decide the wording: a token too much is *extraneous* (the next one fits),
a token too few is *missing* (what stands there may follow it), anything else is *mismatched* and ends
the parse.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from clusters.kube.cel.errors import CompileError, Issue, render
from clusters.kube.cel.lexer import EOF, LiteralError, Token, tokenize, unquote
from clusters.kube.cel.macros import MacroError, expand
from clusters.kube.cel.syntax import Call, Entry, Ident, ListExpr, Literal, MapExpr, Node, Select, StructExpr
from clusters.kube.cel.values import Uint

RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "null",
        "return",
        "true",
        "var",
        "void",
        "while",
    ]
)
_TOKEN_ORDER = [
    "==",
    "!=",
    "in",
    "<",
    "<=",
    ">=",
    ">",
    "&&",
    "||",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ".",
    ",",
    "-",
    "!",
    "?",
    ":",
    "+",
    "*",
    "/",
    "%",
    "true",
    "false",
    "null",
    "NUM_FLOAT",
    "NUM_INT",
    "NUM_UINT",
    "STRING",
    "BYTES",
    "IDENTIFIER",
    "ESC_IDENTIFIER",
]
_EXPRESSION = frozenset(
    [
        "[",
        "{",
        "(",
        ".",
        "-",
        "!",
        "true",
        "false",
        "null",
        "NUM_FLOAT",
        "NUM_INT",
        "NUM_UINT",
        "STRING",
        "BYTES",
        "IDENTIFIER",
    ]
)
_RELATIONS = {"<": "_<_", "<=": "_<=_", ">=": "_>=_", ">": "_>_", "==": "_==_", "!=": "_!=_", "in": "@in"}
_SUMS = {"+": "_+_", "-": "_-_"}
_PRODUCTS = {"*": "_*_", "/": "_/_", "%": "_%_"}
# What may follow a complete operand: used to tell a missing bracket from a mismatched token.
_AFTER_OPERAND = frozenset(
    ["==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "?", "+", "-", "*", "/", "%", ".", "["]
) | {EOF}
_INT_MIN, _INT_MAX, _UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1
MAX_DEPTH = 250
MAX_CODE_POINTS = 100_000


class _AbortError(Exception):
    """The parse cannot go on; the issue is already noted."""


def parse(source: str) -> Node:
    """The tree of ``source``; raises CompileError with all syntax errors."""
    issues: list[Issue] = []
    if len(source) > MAX_CODE_POINTS:
        size = f"expression code point size exceeds limit: size: {len(source)}, limit {MAX_CODE_POINTS}"
        raise CompileError(render(source, [Issue(-1, size)]))
    tokens = tokenize(source, issues)
    parser = _Parser(tokens, issues)
    node: Node | None = None
    with suppress(_AbortError):
        node = parser.start()
    if issues or node is None:
        if not source:
            issues = [Issue(-2, issue.message) for issue in issues]
            text = f"ERROR: <input>:1:0: {issues[0].message}"
            raise CompileError(text, issues)
        raise CompileError(render(source, issues), issues)
    return node


def _names(kinds: Iterable[str]) -> str:
    kinds = set(kinds)
    shown = [EOF] if EOF in kinds else []
    shown += [kind if kind[0].isupper() else f"'{kind}'" for kind in _TOKEN_ORDER if kind in kinds]
    return shown[0] if len(shown) == 1 else "{" + ", ".join(shown) + "}"


class _Parser:
    def __init__(self, tokens: list[Token], issues: list[Issue]) -> None:
        self.tokens = tokens
        self.issues = issues
        self.at = 0
        self.depth = 0

    # Recovery.

    def error(self, offset: int, message: str) -> None:
        self.issues.append(Issue(offset, message))

    def syntax(self, token: Token, message: str) -> None:
        self.issues.append(Issue(token.offset, f"Syntax error: {message}"))

    def sync(self, expected: frozenset[str]) -> Token:
        """The current token, which is one of ``expected``, if need be after dropping one token."""
        token = self.tokens[self.at]
        if token.kind in expected:
            return token
        if token.kind != EOF and self.tokens[self.at + 1].kind in expected:
            self.syntax(token, f"extraneous input '{token.text}' expecting {_names(expected)}")
            self.at += 1
            return self.tokens[self.at]
        self.syntax(token, f"mismatched input '{token.text}' expecting {_names(expected)}")
        raise _AbortError

    def match(self, kind: str, follow: frozenset[str] = _AFTER_OPERAND) -> Token:
        token = self.tokens[self.at]
        if token.kind == kind:
            self.at += 1
            return token
        if token.kind != EOF and self.tokens[self.at + 1].kind == kind:
            self.syntax(token, f"extraneous input '{token.text}' expecting {_names((kind,))}")
            self.at += 2
            return self.tokens[self.at - 1]
        if token.kind in follow:
            self.syntax(token, f"missing '{kind}' at '{token.text}'")
            return Token(kind, kind, token.offset)
        self.syntax(token, f"mismatched input '{token.text}' expecting {_names((kind,))}")
        raise _AbortError

    def link(self, links: int) -> int:
        """One more step of a chain such as a + b + c, which cel-go visits by recursion."""
        if self.depth + links >= MAX_DEPTH:
            self.issues[:] = [Issue(-1, "max recursion depth exceeded")]
            raise _AbortError
        return links + 1

    # Rules.

    def start(self) -> Node:
        node = self.expr()
        token = self.tokens[self.at]
        if token.kind != EOF:
            last = self.tokens[self.at + 1].kind == EOF
            self.syntax(token, f"{'extraneous' if last else 'mismatched'} input '{token.text}' expecting <EOF>")
        return node

    def expr(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.error(-1, f"expression recursion limit exceeded: {MAX_DEPTH}")
            raise _AbortError
        node = self.logical("||", "_||_")
        token = self.tokens[self.at]
        if token.kind == "?":
            self.at += 1
            yes = self.logical("||", "_||_")
            self.match(":", _EXPRESSION)
            no = self.expr()
            node = Call(token.offset, "_?_:_", [node, yes, no])
        self.depth -= 1
        return node

    def logical(self, operator: str, function: str) -> Node:
        # A chain is one node: neither its errors nor its cost depend on how it nests.
        first = self.logical("&&", "_&&_") if operator == "||" else self.relation()
        if self.tokens[self.at].kind != operator:
            return first
        offset = self.tokens[self.at].offset
        terms = [first]
        while self.tokens[self.at].kind == operator:
            self.at += 1
            terms.append(self.logical("&&", "_&&_") if operator == "||" else self.relation())
        return Call(offset, function, terms)

    def relation(self) -> Node:
        node, links = self.sum(), 0
        while (token := self.tokens[self.at]).kind in _RELATIONS:
            links = self.link(links)
            self.at += 1
            node = Call(token.offset, _RELATIONS[token.kind], [node, self.sum()])
        return node

    def sum(self) -> Node:
        node, links = self.product(), 0
        while (token := self.tokens[self.at]).kind in _SUMS:
            links = self.link(links)
            self.at += 1
            node = Call(token.offset, _SUMS[token.kind], [node, self.product()])
        return node

    def product(self) -> Node:
        node, links = self.unary(), 0
        while (token := self.tokens[self.at]).kind in _PRODUCTS:
            links = self.link(links)
            self.at += 1
            node = Call(token.offset, _PRODUCTS[token.kind], [node, self.unary()])
        return node

    def unary(self, extra: frozenset[str] = frozenset()) -> Node:
        token = self.sync(_EXPRESSION | extra if extra else _EXPRESSION)
        if token.kind == "!":
            return self.negated("!", "!_")
        if token.kind == "-" and self.tokens[self.at + 1].kind not in ("NUM_INT", "NUM_FLOAT"):
            if self.tokens[self.at + 1].kind not in _EXPRESSION:
                following = self.tokens[self.at + 1]
                shown = "" if following.kind == EOF else following.text
                self.syntax(following, f"no viable alternative at input '-{shown}'")
                self.at += 1
                self.sync(_EXPRESSION)
            return self.negated("-", "-_")
        return self.member()

    def negated(self, operator: str, function: str) -> Node:
        first = self.tokens[self.at]
        count = 0
        while self.tokens[self.at].kind == operator:
            if operator == "-" and count and self.tokens[self.at + 1].kind in ("NUM_INT", "NUM_FLOAT"):
                break
            self.at += 1
            count += 1
        self.sync(_EXPRESSION)
        operand = self.member()
        return operand if count % 2 == 0 else Call(first.offset, function, [operand])

    def member(self) -> Node:
        node, links = self.primary(), 0
        tokens = self.tokens
        while True:
            token = tokens[self.at]
            if token.kind == "." or token.kind == "[":
                links = self.link(links)
            if token.kind == ".":
                node = self.selection(node, token)
            elif token.kind == "[":
                self.at += 1
                optional = tokens[self.at].kind == "?"
                if optional:
                    self.at += 1
                else:
                    self.sync(_EXPRESSION | {"?"})
                index = self.expr()
                self.match("]")
                node = Call(token.offset, "_[?_]" if optional else "_[_]", [node, index])
            else:
                return node

    def selection(self, operand: Node, dot: Token) -> Node:
        self.at += 1
        optional = self.tokens[self.at].kind == "?"
        if optional:
            self.at += 1
        name = self.tokens[self.at]
        if name.kind == "ESC_IDENTIFIER":
            self.error(name.offset, "unsupported syntax: '`'")
        elif name.kind in ("true", "false", "null") and not optional:
            self.syntax(name, f"mismatched input '{name.kind}' expecting IDENTIFIER")
            raise _AbortError
        elif name.kind != "IDENTIFIER":
            shown = "" if name.kind == EOF else name.text
            if optional:
                self.syntax(name, f"mismatched input '{name.text}' expecting {{IDENTIFIER, ESC_IDENTIFIER}}")
            else:
                self.syntax(name, f"no viable alternative at input '.{shown}'")
            raise _AbortError
        self.at += 1
        if optional:
            return Call(dot.offset, "_?._", [operand, Literal(name.offset, name.text)])
        paren = self.tokens[self.at]
        if paren.kind != "(":
            return Select(dot.offset, operand, name.text)
        return self.call(paren, name.text, operand)

    def call(self, paren: Token, function: str, target: Node | None) -> Node:
        self.at += 1
        args: list[Node] = []
        if self.sync(_EXPRESSION | {")"}).kind != ")":
            args.append(self.expr())
            while self.tokens[self.at].kind == ",":
                self.at += 1
                args.append(self.expr())
        self.match(")")
        try:
            expanded = expand(paren.offset, function, target, args)
        except MacroError as error:
            self.error(error.offset, str(error))
            return Literal(paren.offset, None)
        return expanded if expanded is not None else Call(paren.offset, function, args, target)

    def primary(self) -> Node:
        token = self.sync(_EXPRESSION - {"!"})
        kind = token.kind
        if kind == "IDENTIFIER" or kind == ".":
            return self.named()
        self.at += 1
        if kind == "(":
            node = self.expr()
            self.match(")")
            return node
        if kind == "[":
            return self.list_literal(token)
        if kind == "{":
            entries = self.entries("}", _EXPRESSION | {"?"})
            return MapExpr(token.offset, entries)
        return self.literal(token)

    def named(self) -> Node:
        token = self.tokens[self.at]
        prefix = ""
        if token.kind == ".":
            prefix = "."
            self.at += 1
            token = self.tokens[self.at]
            if token.kind != "IDENTIFIER":
                shown = "" if token.kind == EOF else token.text
                self.syntax(token, f"no viable alternative at input '.{shown}'")
                raise _AbortError
        end = self.at + 1
        tokens = self.tokens
        while tokens[end].kind == "." and tokens[end + 1].kind == "IDENTIFIER":
            end += 2
        if tokens[end].kind == "{":
            name = prefix + "".join(part.text for part in tokens[self.at : end])
            self.at = end + 1
            fields = self.entries("}", frozenset({"?", "IDENTIFIER", "ESC_IDENTIFIER"}))
            return StructExpr(tokens[end].offset, name, fields)
        self.at += 1
        if token.text in RESERVED:
            self.error(token.offset if not prefix else token.offset - 1, f"reserved identifier: {token.text}")
        paren = tokens[self.at]
        if paren.kind == "(":
            return self.call(paren, prefix + token.text, None)
        return Ident(token.offset, prefix + token.text)

    def list_literal(self, bracket: Token) -> Node:
        elements: list[Node] = []
        optional: set[int] = set()
        self.sync(_EXPRESSION | {"?", "]", ","})
        while self.tokens[self.at].kind not in ("]", ","):
            if self.tokens[self.at].kind == "?":
                self.at += 1
                optional.add(len(elements))
            elements.append(self.expr())
            if self.sync(frozenset({"]", ","})).kind == "]":
                break
            if self.tokens[self.at + 1].kind == "]":
                break
            self.at += 1
        if self.tokens[self.at].kind == ",":
            self.at += 1
        self.match("]")
        return ListExpr(bracket.offset, elements, frozenset(optional))

    def entries(self, close: str, first: frozenset[str]) -> list[Entry]:
        fields = "ESC_IDENTIFIER" in first
        entries: list[Entry] = []
        self.sync(first | {close, ","})
        while self.tokens[self.at].kind not in (close, ","):
            optional = self.tokens[self.at].kind == "?"
            if optional:
                self.at += 1
            key: Node | str
            if fields:
                name = self.sync(frozenset({"IDENTIFIER", "ESC_IDENTIFIER"}))
                if name.kind == "ESC_IDENTIFIER":
                    self.error(name.offset, "unsupported syntax: '`'")
                key = name.text
                self.at += 1
            else:
                key = self.expr()
            colon = self.match(":", _EXPRESSION)
            entries.append(Entry(colon.offset, key, self.expr(), optional))
            if self.sync(frozenset({close, ","})).kind == close or self.tokens[self.at + 1].kind == close:
                break
            self.at += 1
        if self.tokens[self.at].kind == ",":
            self.at += 1
        self.match(close)
        return entries

    def literal(self, token: Token) -> Node:
        sign, offset = "", token.offset
        if token.kind == "-":
            sign = "-"
            token = self.tokens[self.at]
            self.at += 1
        text = token.text
        if token.kind == "NUM_INT":
            number = int(sign + text, 16 if text.startswith("0x") else 10)
            if not _INT_MIN <= number <= _INT_MAX:
                self.error(offset, "invalid int literal")
            return Literal(offset, number)
        if token.kind == "NUM_UINT":
            number = int(text[:-1], 16 if text.startswith("0x") else 10)
            if number > _UINT_MAX:
                self.error(offset, "invalid uint literal")
                number = 0
            return Literal(offset, Uint(number))
        if token.kind == "NUM_FLOAT":
            value = float(sign + text)
            if value in (float("inf"), float("-inf")):
                self.error(offset, "invalid double literal")
            return Literal(offset, value)
        if token.kind in ("STRING", "BYTES"):
            as_bytes = token.kind == "BYTES"
            try:
                return Literal(offset, unquote(text[1:] if as_bytes else text, as_bytes))
            except LiteralError as error:
                self.error(offset, str(error))
                return Literal(offset, "")
        return Literal(offset, {"true": True, "false": False, "null": None}[token.kind])
