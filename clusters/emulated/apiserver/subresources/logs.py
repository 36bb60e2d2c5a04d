"""`pods/…/log`: what a container has written, as the node's kubelet has it."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.media.negotiation import MediaType
from clusters.emulated.apiserver.options import Query, boolean, first, integer
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.subresources.kubelets import (
    KubeletConnections,
    KubeletUnreachableError,
    LogOptions,
    chosen_container,
)
from clusters.kube import errors
from clusters.kube.field import FieldError, forbidden, invalid
from clusters.kube.gostring import quote
from clusters.kube.names import NEGATIVE

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)\Z")


class LogSubresource:
    def __init__(self, connections: KubeletConnections) -> None:
        self._connections = connections

    async def handle(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        options = log_options(request.query, request.info.name)
        pod = await self._connections.pod(request)
        container = chosen_container(pod, first(request.query, "container"))
        node = (pod.get("spec") or {}).get("nodeName", "")
        if not node:
            return HttpResponse(204, list(request.response_headers))  # Nobody has it yet: nothing to show.
        address = await self._connections.address(node, "pods")
        try:
            stream = await self._connections.kubelets.logs(node, pod, container, options)
        except KubeletUnreachableError as unreachable:
            metadata, query = pod["metadata"], log_query(options)
            path = f"/containerLogs/{metadata['namespace']}/{metadata['name']}/{container}"
            url = f"https://{address}{path}" + (f"?{query}" if query else "")
            raise errors.unknown(f"Get {quote(url)}: {address.dial_error(unreachable)}") from None
        headers = [*request.response_headers, ("Content-Type", "text/plain")]
        return HttpResponse(200, headers, stream=stream)


def log_options(query: Query, pod_name: str) -> LogOptions:
    options = LogOptions(
        follow=bool(boolean(query, "follow")),
        previous=bool(boolean(query, "previous")),
        timestamps=bool(boolean(query, "timestamps")),
        since_s=integer(query, "sinceSeconds"),
        since_time=_time(first(query, "sinceTime")),
        tail_lines=integer(query, "tailLines"),
        limit_bytes=integer(query, "limitBytes"),
    )
    problems = _problems(options, query)
    if problems:
        raise errors.invalid("PodLogOptions", pod_name, problems)
    return options


def _time(text: str) -> str:
    if text and not _TIME.match(text):
        layout = '"2006-01-02T15:04:05Z07:00"'
        raise errors.bad_request(f'parsing time {quote(text)} as {layout}: cannot parse {quote(text)} as "2006"')
    return text


def _problems(options: LogOptions, query: Query) -> list[FieldError]:
    problems: list[FieldError] = []
    if options.tail_lines is not None and options.tail_lines < 0:
        problems.append(invalid("tailLines", options.tail_lines, NEGATIVE))
    if options.limit_bytes is not None and options.limit_bytes < 1:
        problems.append(invalid("limitBytes", options.limit_bytes, "must be greater than 0"))
    if options.since_s is not None and options.since_time:
        problems.append(forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif options.since_s is not None and options.since_s < 1:
        problems.append(invalid("sinceSeconds", options.since_s, "must be greater than 0"))
    if first(query, "stream"):
        problems.append(forbidden("stream", "may not be specified"))
    return problems


def log_query(options: LogOptions) -> str:
    """The query the kubelet is asked with, parameters in alphabetical order."""
    given = {
        "follow": "true" if options.follow else "",
        "limitBytes": "" if options.limit_bytes is None else str(options.limit_bytes),
        "previous": "true" if options.previous else "",
        "sinceSeconds": "" if options.since_s is None else str(options.since_s),
        "sinceTime": options.since_time,
        "tailLines": "" if options.tail_lines is None else str(options.tail_lines),
        "timestamps": "true" if options.timestamps else "",
    }
    return urlencode({name: value for name, value in given.items() if value})
