"""The commands there are inside containers: what busybox has and manifests use, each in a few lines."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import itertools
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.kubelet.programs.box import Box, ExitError, Listener

if TYPE_CHECKING:
    from clusters.emulated.kubelet.programs.shell import Streams

Applet = Callable[[Box, list[str], "Streams"], Awaitable[int]]

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SIZES: Final = {"k": 1 << 10, "K": 1 << 10, "m": 1 << 20, "M": 1 << 20, "G": 1 << 30, "": 1}
_DIRECTORIES: Final = ("/", "/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/")


async def call(box: Box, argv: list[str], streams: Streams) -> int:
    applet = find(argv[0])
    if applet is None:
        if "/" in argv[0]:
            path = box.path(argv[0])
            denied = path in box.files or box.is_directory(path)
            streams.write(f"sh: {argv[0]}: {'Permission denied' if denied else 'not found'}\n", "stderr")
            return 126 if denied else 127
        streams.write(f"sh: {argv[0]}: not found\n", "stderr")
        return 127
    return await applet(box, argv[1:], streams)


def find(name: str) -> Applet | None:
    for directory in _DIRECTORIES[1:]:
        if name.startswith(directory):
            name = name[len(directory) :]
            break
    return APPLETS.get(name)


def seconds_of(text: str) -> float | None:
    if text == "infinity":
        return float("inf")
    match = re.fullmatch(r"(\d+\.?\d*|\.\d+)([smhd]?)", text)
    return None if match is None else float(match.group(1)) * _SECONDS[match.group(2) or "s"]


async def _sleep(box: Box, arguments: list[str], streams: Streams) -> int:
    total_s = 0.0
    for word in arguments:
        seconds = seconds_of(word)
        if seconds is None:
            streams.write(f"sleep: invalid number '{word}'\n", "stderr")
            return 1
        total_s += seconds
    if not arguments:
        streams.write("BusyBox v1.35.0 multi-call binary.\n\nUsage: sleep [N]...\n", "stderr")
        return 1
    if total_s == float("inf"):
        await asyncio.get_running_loop().create_future()
    await box.clock.sleep(total_s)
    return 0


async def _true(box: Box, arguments: list[str], streams: Streams) -> int:
    return 0


async def _false(box: Box, arguments: list[str], streams: Streams) -> int:
    return 1


async def _echo(box: Box, arguments: list[str], streams: Streams) -> int:
    end = "\n"
    while arguments and re.fullmatch(r"-[neE]+", arguments[0]):
        end = "" if "n" in arguments[0] else end
        arguments = arguments[1:]
    streams.write(" ".join(arguments) + end)
    return 0


async def _printf(box: Box, arguments: list[str], streams: Streams) -> int:
    if arguments:
        text = arguments[0].replace("\\n", "\n").replace("\\t", "\t")
        values = iter(arguments[1:])
        streams.write(re.sub(r"%[sd]", lambda _: next(values, ""), text).replace("%%", "%"))
    return 0


async def _cat(box: Box, arguments: list[str], streams: Streams) -> int:
    if not arguments:
        streams.write(streams.stdin)
        return 0
    code = 0
    for name in arguments:
        path = box.path(name)
        if path in box.files:
            streams.write(box.files[path])
        else:
            reason = "Is a directory" if box.is_directory(path) else "No such file or directory"
            verb = "read error: " if box.is_directory(path) else f"can't open '{name}': "
            streams.write(f"cat: {verb}{reason}\n", "stderr")
            code = 1
    return code


async def _ls(box: Box, arguments: list[str], streams: Streams) -> int:
    names = [word for word in arguments if not word.startswith("-")] or ["."]
    code = 0
    for name in names:
        path = box.path(name)
        if path in box.files and not box.is_directory(path):
            streams.write(name + "\n")
        elif box.is_directory(path):
            streams.write("".join(entry + "\n" for entry in box.listing(path)))
        else:
            streams.write(f"ls: {name}: No such file or directory\n", "stderr")
            code = 1
    return code


async def _touch(box: Box, arguments: list[str], streams: Streams) -> int:
    for name in arguments:
        if not name.startswith("-"):
            box.files.setdefault(box.path(name), "")
    return 0


async def _mkdir(box: Box, arguments: list[str], streams: Streams) -> int:
    for name in arguments:
        if not name.startswith("-"):
            box.files.setdefault(box.path(name) + "/", "")
    return 0


async def _rm(box: Box, arguments: list[str], streams: Streams) -> int:
    force = any(word.startswith("-") and "f" in word for word in arguments)
    code = 0
    for name in arguments:
        if name.startswith("-"):
            continue
        path = box.path(name)
        found = [each for each in box.files if each == path or each.startswith(path + "/")]
        for each in found:
            del box.files[each]
        if not found and not force:
            streams.write(f"rm: can't remove '{name}': No such file or directory\n", "stderr")
            code = 1
    return code


async def _copy(box: Box, arguments: list[str], streams: Streams) -> int:
    names = [word for word in arguments if not word.startswith("-")]
    if len(names) == 2 and box.path(names[0]) in box.files:
        box.files[box.path(names[1])] = box.files[box.path(names[0])]
        return 0
    streams.write(f"cp: can't stat '{names[0] if names else ''}': No such file or directory\n", "stderr")
    return 1


async def _test(box: Box, arguments: list[str], streams: Streams) -> int:
    words = [word for word in arguments if word != "]"]
    if words[:1] == ["!"]:
        return int(await _test(box, words[1:], streams) == 0)
    match words:
        case [("-f" | "-e" | "-r" | "-s"), name]:
            path = box.path(name)
            return int(not (path in box.files or (words[0] != "-f" and box.is_directory(path))))
        case ["-d", name]:
            return int(not box.is_directory(box.path(name)))
        case ["-z", text]:
            return int(bool(text))
        case ["-n", text] | [text]:
            return int(not text)
        case [left, "=" | "==", right]:
            return int(left != right)
        case [left, "!=", right]:
            return int(left == right)
        case [left, operator, right] if left.lstrip("-").isdigit() and right.lstrip("-").isdigit():
            a, b = int(left), int(right)
            results = {"-eq": a == b, "-ne": a != b, "-lt": a < b, "-le": a <= b, "-gt": a > b, "-ge": a >= b}
            return int(not results.get(operator, False))
    return 1


async def _dd(box: Box, arguments: list[str], streams: Streams) -> int:
    given = dict(word.split("=", 1) for word in arguments if "=" in word)
    match = re.fullmatch(r"(\d+)([kKmMG]?)B?", given.get("bs", "512"))
    size = int(match.group(1)) * _SIZES[match.group(2)] if match else 512
    count = int(given.get("count", "1"))
    box.disk += size * count
    box.files[box.path(given.get("of", "/dev/null"))] = ""
    streams.write(f"{count}+0 records in\n{count}+0 records out\n", "stderr")
    return 0


async def _httpd(box: Box, arguments: list[str], streams: Streams) -> int:
    port, root = 80, "/www"
    for flag, value in itertools.pairwise(arguments):
        if flag == "-p":
            port = int(value.rsplit(":", 1)[-1])
        elif flag == "-h":
            root = value

    def answer(path: str) -> tuple[int, str]:
        name = box.path(root.rstrip("/") + (path if path != "/" else "/index.html"))
        return (200, box.files[name]) if name in box.files else (404, "404: Not Found")

    box.listen(Listener(port, answer=answer))
    if "-f" in arguments:
        await asyncio.get_running_loop().create_future()
    return 0


async def _http_server(box: Box, arguments: list[str], streams: Streams) -> int:
    """`python -m http.server 8000`; any other use of an interpreter just runs."""
    if arguments[:2] == ["-m", "http.server"]:
        port = next((int(word) for word in arguments[2:] if word.isdigit()), 8000)
        box.listen(Listener(port, answer=lambda path: (200, "")))
    elif arguments[:1] == ["-c"] and (match := re.search(r"exit\((\d*)\)", arguments[1])):
        return int(match.group(1) or 0)
    elif arguments[:1] in (["--version"], ["-V"]):
        streams.write("Python 3.12.0\n")
        return 0
    await asyncio.get_running_loop().create_future()
    return 0


async def _nc(box: Box, arguments: list[str], streams: Streams) -> int:
    flags = "".join(word[1:] for word in arguments if word.startswith("-"))
    ports = [int(word) for word in arguments if word.isdigit()]
    if "l" in flags and ports:
        box.listen(Listener(ports[-1]))
        await asyncio.get_running_loop().create_future()
    return 0 if ports and ports[-1] in box.listeners else 1


async def _env(box: Box, arguments: list[str], streams: Streams) -> int:
    if arguments:
        found = box.environment.get(arguments[0])
        if found is None:
            return 1
        streams.write(found + "\n")
        return 0
    streams.write("".join(f"{name}={value}\n" for name, value in box.environment.items()))
    return 0


async def _hostname(box: Box, arguments: list[str], streams: Streams) -> int:
    streams.write(box.hostname + "\n")
    return 0


async def _date(box: Box, arguments: list[str], streams: Streams) -> int:
    streams.write(rfc3339(box.clock.now_s()) + "\n")
    return 0


async def _identity(box: Box, arguments: list[str], streams: Streams) -> int:
    streams.write("0\n" if "-u" in arguments else "uid=0(root) gid=0(root) groups=0(root),10(wheel)\n")
    return 0


async def _uname(box: Box, arguments: list[str], streams: Streams) -> int:
    streams.write(f"Linux {box.hostname} 6.12.0 x86_64 GNU/Linux\n" if "-a" in arguments else "Linux\n")
    return 0


async def _pwd(box: Box, arguments: list[str], streams: Streams) -> int:
    streams.write(box.working_directory + "\n")
    return 0


async def _ps(box: Box, arguments: list[str], streams: Streams) -> int:
    streams.write(f"PID   USER     TIME  COMMAND\n    1 root      0:00 {' '.join(box.command)}\n")
    return 0


async def _grep(box: Box, arguments: list[str], streams: Streams) -> int:
    words = [word for word in arguments if not word.startswith("-")]
    text = streams.stdin if len(words) < 2 else "".join(box.files.get(box.path(name), "") for name in words[1:])
    found = [line for line in text.splitlines() if words and re.search(words[0], line)]
    if "-q" not in arguments:
        streams.write("".join(line + "\n" for line in found))
    return int(not found)


async def _head(box: Box, arguments: list[str], streams: Streams) -> int:
    numbers = [int(word.lstrip("-")) for word in arguments if word.lstrip("-").isdigit()]
    names = [word for word in arguments if not word.lstrip("-").isdigit() and not word.startswith("-")]
    text = "".join(box.files.get(box.path(name), "") for name in names) if names else streams.stdin
    streams.write("".join(text.splitlines(keepends=True)[: numbers[0] if numbers else 10]))
    return 0


async def _tail(box: Box, arguments: list[str], streams: Streams) -> int:
    if any(word.startswith("-") and ("f" in word or "F" in word) for word in arguments):
        await asyncio.get_running_loop().create_future()
    names = [word for word in arguments if not word.startswith("-") and not word.isdigit()]
    text = "".join(box.files.get(box.path(name), "") for name in names) if names else streams.stdin
    streams.write("".join(text.splitlines(keepends=True)[-10:]))
    return 0


async def _wc(box: Box, arguments: list[str], streams: Streams) -> int:
    streams.write(f"{len(streams.stdin.splitlines())}\n")
    return 0


async def _seq(box: Box, arguments: list[str], streams: Streams) -> int:
    bounds = [int(word) for word in arguments if word.lstrip("-").isdigit()]
    first, last = (1, bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[-1])
    streams.write("".join(f"{number}\n" for number in range(first, last + 1)))
    return 0


async def _yes(box: Box, arguments: list[str], streams: Streams) -> int:
    streams.write("y\n")
    await asyncio.get_running_loop().create_future()
    return 0


async def _wget(box: Box, arguments: list[str], streams: Streams) -> int:
    address = next((word for word in arguments if not word.startswith("-")), "")
    match = re.match(r"(?:http://)?(?:localhost|127\.0\.0\.1)(?::(\d+))?(/.*)?\Z", address)
    listener = box.listeners.get(int(match.group(1) or 80)) if match else None
    if match is None or listener is None or listener.answer is None:
        streams.write(f"wget: can't connect to remote host ({address}): Connection refused\n", "stderr")
        return 1
    status, body = listener.answer(match.group(2) or "/")
    if status >= 400:
        streams.write(f"wget: server returned error: HTTP/1.1 {status}\n", "stderr")
        return 1
    streams.write(body)
    return 0


async def _tar(box: Box, arguments: list[str], streams: Streams) -> int:
    names = [word for word in arguments if not word.startswith("-") and word not in ("cf", "xf")]
    missing = [name for name in names if box.path(name) not in box.files and not box.is_directory(box.path(name))]
    for name in missing:
        streams.write(f"tar: {name}: No such file or directory\n", "stderr")
    if missing:
        streams.write("tar: error exit delayed from previous errors\n", "stderr")
    return int(bool(missing))


async def _base64(box: Box, arguments: list[str], streams: Streams) -> int:
    if "-d" in arguments:
        streams.write(base64.b64decode(streams.stdin).decode(errors="replace"))
    else:
        streams.write(base64.b64encode(streams.stdin.encode()).decode() + "\n")
    return 0


async def _sha256sum(box: Box, arguments: list[str], streams: Streams) -> int:
    streams.write(f"{hashlib.sha256(streams.stdin.encode()).hexdigest()}  -\n")
    return 0


async def _timeout(box: Box, arguments: list[str], streams: Streams) -> int:
    limit_s = seconds_of(arguments[0]) if arguments else None
    if limit_s is None:
        return 1
    running = asyncio.get_running_loop().create_task(call(box, arguments[1:], streams))
    timer = box.clock.call_later(limit_s, lambda: running.cancel())  # type: ignore[arg-type]
    try:
        return await running
    except asyncio.CancelledError:
        if not running.cancelled():
            raise
        return 143
    finally:
        timer.cancel()
        running.cancel()


async def _exit(box: Box, arguments: list[str], streams: Streams) -> int:
    raise ExitError(int(arguments[0]) if arguments else 0)


APPLETS: Final[dict[str, Applet]] = {
    "sleep": _sleep, "true": _true, ":": _true, "false": _false, "echo": _echo, "printf": _printf, "cat": _cat,
    "ls": _ls, "touch": _touch, "mkdir": _mkdir, "rm": _rm, "cp": _copy, "mv": _copy, "[": _test, "test": _test,
    "dd": _dd, "httpd": _httpd, "nc": _nc, "env": _env, "printenv": _env, "hostname": _hostname, "date": _date,
    "id": _identity, "whoami": _identity, "uname": _uname, "pwd": _pwd, "ps": _ps, "grep": _grep, "head": _head,
    "tail": _tail, "wc": _wc, "seq": _seq, "yes": _yes, "wget": _wget, "curl": _wget, "tar": _tar,
    "base64": _base64, "sha256sum": _sha256sum, "chmod": _true, "chown": _true, "sync": _true, "stty": _true,
    "clear": _true, "which": _true, "python": _http_server, "python3": _http_server, "timeout": _timeout,
}  # fmt: skip
