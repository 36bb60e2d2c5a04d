"""`$(NAME)` in commands, arguments and environment values, as Kubernetes expands it.

"$(HOST):80"   the value of HOST, or the text itself when there is none
"$$(HOST)"     the text $(HOST); every `$$` becomes `$`
"""

from __future__ import annotations

from collections.abc import Mapping


def expand(text: str, values: Mapping[str, str]) -> str:
    if "$" not in text:
        return text
    out: list[str] = []
    index = 0
    while index < len(text):
        character = text[index]
        if character != "$" or index + 1 >= len(text):
            out.append(character)
            index += 1
            continue
        following = text[index + 1]
        if following == "$":
            out.append("$")
            index += 2
        elif following == "(" and (end := text.find(")", index + 2)) >= 0:
            name = text[index + 2 : end]
            out.append(values.get(name, f"$({name})"))
            index = end + 1
        else:
            out.append("$" + following)
            index += 2
    return "".join(out)
