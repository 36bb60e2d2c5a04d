"""What an image does when a container runs it: the well-known ones as they are, every other one as a server.

Base images (busybox, alpine, ubuntu …) hold commands only: what they are told to run is looked for, and what is not
there cannot be started, with runc's words. Of other images nobody knows the contents: a command that is not a known
one simply runs, serves the ports that the container declares and ends when it is asked to.
"""

from __future__ import annotations

from typing import Any, Final

from clusters.emulated.kubelet.programs import busybox
from clusters.emulated.kubelet.programs.box import Box, Listener
from clusters.emulated.kubelet.programs.program import MOMENT_S, Program, Serving
from clusters.emulated.kubelet.programs.shell import SHELLS, run_command

Object = dict[str, Any]

BASES: Final = frozenset(
    {"busybox", "alpine", "ubuntu", "debian", "centos", "fedora", "bash", "toolbox", "curl", "dnsutils", "python"}
)
#: The ports that well-known servers open whether the Pod says so or not.
PORTS: Final[dict[str, tuple[tuple[int, str], ...]]] = {
    "nginx": ((80, "http"),),
    "httpd": ((80, "http"),),
    "caddy": ((80, "http"),),
    "traefik": ((80, "http"),),
    "redis": ((6379, "tcp"),),
    "memcached": ((11211, "tcp"),),
    "postgres": ((5432, "tcp"),),
    "mysql": ((3306, "tcp"),),
    "mariadb": ((3306, "tcp"),),
    "mongo": ((27017, "tcp"),),
    "rabbitmq": ((5672, "tcp"),),
    "etcd": ((2379, "http"),),
    "coredns": ((53, "tcp"), (8080, "http"), (8181, "http"), (9153, "http")),
    "whoami": ((80, "http"),),
    "echoserver": ((8080, "http"),),
    "http-echo": ((5678, "http"),),
    "hello-app": ((8080, "http"),),
    "nginx-unprivileged": ((8080, "http"),),
}
_NGINX_FILES: Final = {
    "/etc/nginx/nginx.conf": "user  nginx;\nworker_processes  auto;\n",
    "/usr/share/nginx/html/index.html": "<!DOCTYPE html>\n<html>\n<head>\n<title>Welcome to nginx!</title>\n</head>\n"
    "<body>\n<h1>Welcome to nginx!</h1>\n</body>\n</html>\n",
}
FILES: Final = {
    "/bin/sh": "", "/bin/busybox": "", "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "/etc/group": "root:x:0:\n",
    "/tmp/": "", "/var/": "", "/root/": "", "/proc/": "", "/sys/": "", "/dev/null": "", "/usr/bin/env": "",
}  # fmt: skip


class StartError(Exception):
    """runc could not start the process; the text is what follows `unable to start container process: `."""


def short_name(image: str) -> str:
    """`docker.io/library/nginx:1.27@sha256:…` is `nginx`."""
    return image.split("@", 1)[0].rsplit("/", 1)[-1].split(":", 1)[0]


def check_command(image: str, argv: list[str], box: Box) -> None:
    """What runc says of a command before it runs."""
    if not argv:
        return
    name = argv[0]
    if name.startswith("/") and (
        box.is_directory(box.path(name)) or name in ("/etc/passwd", "/etc/group", "/etc/hosts")
    ):
        raise StartError(f'exec: "{name}": permission denied: unknown')
    if short_name(image) not in BASES or name in SHELLS or busybox.find(name) is not None:
        return
    if name in ("exit", "cd", "export", "trap", "set"):
        raise StartError(f'exec: "{name}": executable file not found in $PATH: unknown')
    if "/" not in name:
        raise StartError(f'exec: "{name}": executable file not found in $PATH: unknown')
    if box.path(name) not in box.files:
        raise StartError(f'exec: "{name}": stat {name}: no such file or directory: unknown')


def start(image: str, container: Object, argv: list[str], box: Box) -> None:
    """Runs what the command says, or what the image does by itself."""
    name = short_name(image)
    if argv and (argv[0] in SHELLS or busybox.find(argv[0]) is not None):
        _run_known(argv, box)
    elif not argv and name in BASES:
        if container.get("stdin") or container.get("tty"):
            return  # A shell that waits for its input.
        box.later(MOMENT_S, lambda: box.exit(0))
    else:
        _serve(name, container, box)


def _run_known(argv: list[str], box: Box) -> None:
    seconds = busybox.seconds_of(argv[1]) if argv[0] in ("sleep", "/bin/sleep") and len(argv) == 2 else None
    if seconds is None:
        box.run(run_command(box, argv))
    elif seconds != float("inf"):
        box.later(max(seconds, MOMENT_S), lambda: box.exit(0))


def _serve(name: str, container: Object, box: Box) -> None:
    if name == "nginx":
        box.files.update(_NGINX_FILES)
    declared = tuple(
        (port["containerPort"], "http") for port in container.get("ports") or () if port.get("protocol", "TCP") == "TCP"
    )
    ports = {**dict(declared), **dict(PORTS.get(name, ()))}
    serves = tuple(Serving(port, protocol) for port, protocol in ports.items())
    body = _NGINX_FILES["/usr/share/nginx/html/index.html"] if name == "nginx" else ""
    Program(serves=serves).start(box)
    if body:
        box.listen(Listener(80, answer=lambda path: (200, body) if path in ("/", "/index.html") else (404, "")))
