"""Reports and recordings as JSON, and back. Reading never runs anything that the file brings."""

from __future__ import annotations

import msgspec

from harness.errors import RecordingError
from harness.model.encodable import encodable
from harness.model.recording import RECORDING_VERSION, Recording
from harness.model.report import SCHEMA_VERSION, Report

__all__ = ["decode_recording", "decode_report", "encode_json", "encode_recording", "encode_report", "report_schema"]


class _Versions(msgspec.Struct):
    schema_version: int | None = None
    recording_version: int | None = None


def encode_report(report: Report) -> bytes:
    """UTF-8 JSON, two spaces deep, ending in a newline."""
    return encode_json(report)


def encode_json(document: object) -> bytes:
    """Any document of frozen facts as UTF-8 JSON, two spaces deep, ending in a newline."""
    return msgspec.json.format(_one_line(document), indent=2) + b"\n"


def encode_recording(recording: Recording) -> bytes:
    """UTF-8 JSON on one line: recordings are for machines."""
    return _one_line(recording) + b"\n"


def _one_line(document: object) -> bytes:
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:  # it happens once in a thousand reports: looking at each string first costs all of them
        return msgspec.json.encode(encodable(document))


def decode_report(data: bytes, *, origin: str) -> Report:
    """The report in *data*; *origin* (a path) is named in the :class:`RecordingError` that bad data raises."""
    _check_version(data, origin=origin, field="schema_version", known=SCHEMA_VERSION)
    try:
        return msgspec.json.decode(data, type=Report)
    except msgspec.ValidationError as error:
        raise _unreadable(origin, error) from error


def decode_recording(data: bytes, *, origin: str) -> Recording:
    """The recording in *data*; *origin* (a path) is named in the :class:`RecordingError` that bad data raises."""
    _check_version(data, origin=origin, field="recording_version", known=RECORDING_VERSION)
    try:
        return msgspec.json.decode(data, type=Recording)
    except msgspec.ValidationError as error:
        raise _unreadable(origin, error) from error


def _check_version(data: bytes, *, origin: str, field: str, known: int) -> None:
    try:
        found = getattr(msgspec.json.decode(data, type=_Versions), field)
    except msgspec.DecodeError as error:
        raise _unreadable(origin, error) from error
    if found != known:
        raise RecordingError(
            f"{origin}: {field} is {found}, and this version reads {known}",
            help="Write it again with this version, or read it with the version that wrote it (tool.version).",
        )


def _unreadable(origin: str, error: Exception) -> RecordingError:
    return RecordingError(
        f"{origin}: not a file that this tool wrote: {error}",
        help="It may be truncated, or another tool's. Run the scenario again with --out.",
    )


def report_schema() -> bytes:
    """The JSON Schema (2020-12) of a report, as published in ``report.schema.json``."""
    schema = msgspec.json.schema(Report)
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "torch-leak-harness report", **schema}
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"
