"""Named tensors in one file: the safetensors format (huggingface/safetensors, "Format"), read and written with torch.

A header of JSON (name -> dtype, shape, offsets) and then raw little-endian bytes: loading it cannot execute anything,
unlike a pickle, and any safetensors library opens it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping

import torch

__all__ = ["DTYPE_NAMES", "TensorFileError", "read_tensors", "tensor_bytes", "write_tensors"]

assert sys.byteorder == "little", "the format is little-endian, and so is every instance type of SageMaker"

DTYPE_NAMES: dict[torch.dtype, str] = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
_DTYPES = {name: dtype for dtype, name in DTYPE_NAMES.items()}
_ALIGNMENT = 8


class TensorFileError(ValueError):
    """Not a file of tensors, or cut off."""


def write_tensors(
    tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str] | None = None
) -> Iterator[memoryview]:
    """The file in pieces, ready for `file.write`; no copy of a contiguous CPU tensor is made."""
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    offset = 0
    # Widest types first keeps every tensor aligned to its own size, as the format asks.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0]))
    for name, tensor in ordered:
        end = offset + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": DTYPE_NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    yield memoryview(len(text).to_bytes(8, "little") + text)
    for _, tensor in ordered:
        yield tensor_bytes(tensor)


def read_tensors(data: bytes | bytearray | memoryview) -> dict[str, torch.Tensor]:
    """Copies of all tensors of a file. Raises TensorFileError."""
    try:
        length = int.from_bytes(data[:8], "little")
        header = json.loads(bytes(data[8 : 8 + length]))
        header.pop("__metadata__", None)
        body = memoryview(data)[8 + length :]
        return {name: _tensor(body, **entry) for name, entry in header.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TensorFileError(f"not a safetensors file, or cut off: {error}") from error


def tensor_bytes(tensor: torch.Tensor) -> memoryview:
    """Raw little-endian bytes, row-major."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().data if flat.numel() else memoryview(b"")


def _tensor(body: memoryview, dtype: str, shape: list[int], data_offsets: list[int]) -> torch.Tensor:
    start, end = data_offsets
    piece = bytearray(body[start:end])  # own memory: frombuffer would tie the tensor to the whole file
    if len(piece) != end - start:
        raise ValueError(f"bytes {start} to {end} are missing")
    if not piece:
        return torch.empty(shape, dtype=_DTYPES[dtype])
    return torch.frombuffer(piece, dtype=_DTYPES[dtype]).reshape(shape)
