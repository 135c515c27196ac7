"""Checksums of files, named by their algorithm: `xxh3_64:...` where xxhash is installed, else `crc32:...`.

They find what the network or a lost instance has torn, not what an attacker has written.
"""

from __future__ import annotations

import zlib

try:
    import xxhash
except ImportError:  # the container's own packages do not include it: 26 GB/s against zlib's 1 to 3
    xxhash = None  # type: ignore[assignment]

__all__ = ["Checksum", "UnknownAlgorithmError"]

Buffer = bytes | bytearray | memoryview


class UnknownAlgorithmError(ValueError):
    """A checksum was written where a package was installed that is missing here."""


class Checksum:
    """Running checksum; its text is `algorithm:hex digits`."""

    def __init__(self, algorithm: str | None = None) -> None:
        self._algorithm = algorithm or ("crc32" if xxhash is None else "xxh3_64")
        if self._algorithm not in ("crc32", "xxh3_64") or (self._algorithm == "xxh3_64" and xxhash is None):
            raise UnknownAlgorithmError(
                f"checksums of type {self._algorithm!r} cannot be verified here: install xxhash"
            )
        self._xxh3 = xxhash.xxh3_64() if self._algorithm == "xxh3_64" else None
        self._crc32 = 0

    def update(self, data: Buffer) -> None:
        if self._xxh3 is not None:
            self._xxh3.update(data)
        else:
            self._crc32 = zlib.crc32(data, self._crc32)

    def __str__(self) -> str:
        digest = f"{self._crc32:08x}" if self._xxh3 is None else self._xxh3.hexdigest()
        return f"{self._algorithm}:{digest}"

    @classmethod
    def matches(cls, data: Buffer, expected: str) -> bool:
        """Whether `data` has the checksum `expected`. Raises UnknownAlgorithmError."""
        running = cls(expected.partition(":")[0])
        running.update(data)
        return str(running) == expected
