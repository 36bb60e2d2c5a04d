"""Paths inside volumes: relative, without steps back, not hidden behind `..`."""

from __future__ import annotations

from clusters.kube.field import FieldError, invalid


def no_backsteps(value: str, path: str) -> list[FieldError]:
    if ".." in value and ".." in value.split("/"):
        return [invalid(path, value, "must not contain '..'")]
    return []


def local_descending_path(value: str, path: str) -> list[FieldError]:
    errors = [invalid(path, value, "must be a relative path")] if value.startswith("/") else []
    return errors + no_backsteps(value, path)


def local_non_reserved_path(value: str, path: str) -> list[FieldError]:
    errors = local_descending_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        errors.append(invalid(path, value, "must not start with '..'"))
    return errors
