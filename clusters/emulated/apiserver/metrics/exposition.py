"""The text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clusters.emulated.apiserver.metrics.histogram import Histogram

Labels = Mapping[str, str]
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"


class Exposition:
    """Families in alphabetical order; a family without samples is left out, as in the real server."""

    def __init__(self) -> None:
        self._families: dict[str, list[str]] = {}

    def counter(self, name: str, help: str, samples: Iterable[tuple[Labels, float]]) -> None:
        self._plain(name, "counter", help, samples)

    def gauge(self, name: str, help: str, samples: Iterable[tuple[Labels, float]]) -> None:
        self._plain(name, "gauge", help, samples)

    def histogram(self, name: str, help: str, samples: Iterable[tuple[Labels, Histogram]]) -> None:
        lines: list[str] = []
        for labels, histogram in samples:
            total = 0
            for bound, count in zip((*histogram.bounds, float("inf")), histogram.counts, strict=True):
                total += count
                lines.append(f"{name}_bucket{_labels({**labels, 'le': _number(bound)})} {total}")
            lines.append(f"{name}_sum{_labels(labels)} {_number(histogram.sum)}")
            lines.append(f"{name}_count{_labels(labels)} {total}")
        self._add(name, "histogram", help, lines)

    def text(self) -> bytes:
        lines = [line for name in sorted(self._families) for line in self._families[name]]
        return "\n".join(lines).encode() + b"\n"

    def _plain(self, name: str, kind: str, help: str, samples: Iterable[tuple[Labels, float]]) -> None:
        lines = [f"{name}{_labels(labels)} {_number(value)}" for labels, value in samples]
        self._add(name, kind, help, lines)

    def _add(self, name: str, kind: str, help: str, lines: list[str]) -> None:
        if lines:
            self._families[name] = [f"# HELP {name} {help}", f"# TYPE {name} {kind}", *lines]


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    # `le` stays last, as Prometheus' own libraries write it.
    ordered = sorted(labels.items(), key=lambda item: (item[0] == "le", item[0]))
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in ordered) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    """As Go writes a float: shortest, with an exponent from 1e+06 on (whole numbers of a counter, too)."""
    if value == float("inf"):
        return "+Inf"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    text = repr(float(value))
    if 1e-4 <= abs(value) < 1e6:
        return text
    digits = f"{value:.16e}" if float(f"{value:.15e}") != value else f"{value:.15e}"
    mantissa, _, exponent = digits.partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{exponent}"
