"""GGUF version 3, read and written with numpy, only from the description of the format: a header, keys with values,
tensor descriptions (dimensions fastest first), then tensor data from a multiple of the alignment."""
import struct

import numpy as np

U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10
SIMPLE = {0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "<u1", 10: "<u8", 11: "<i8", 12: "<f8"}
ALIGNMENT = 32
TYPE_F32, TYPE_F16, TYPE_Q8_0 = 0, 1, 8


class Reader:
    """keys: name -> value; tensors: name -> float64 array in row-major order, the slowest dimension first."""

    def __init__(self, path):
        self.data = open(path, "rb").read()
        self.at = 0
        magic, version = self.take("<I"), self.take("<I")
        assert magic == 0x46554747 and version == 3, path
        n_tensors, n_keys = self.take("<Q"), self.take("<Q")
        self.keys = {}
        for _ in range(n_keys):
            name = self.string()
            self.keys[name] = self.value(self.take("<I"))
        entries = []
        for _ in range(n_tensors):
            name, n_dims = self.string(), self.take("<I")
            dims = [self.take("<Q") for _ in range(n_dims)]
            entries.append((name, dims, self.take("<I"), self.take("<Q")))
        alignment = self.keys.get("general.alignment", ALIGNMENT)
        base = (self.at + alignment - 1) // alignment * alignment
        self.tensors = {name: self.tensor(base + offset, dims, kind) for name, dims, kind, offset in entries}

    def take(self, form):
        v = struct.unpack_from(form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return v

    def string(self):
        n = self.take("<Q")
        self.at += n
        return self.data[self.at - n : self.at].decode("utf-8", "surrogateescape")

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            inner, n = self.take("<I"), self.take("<Q")
            return [self.value(inner) for _ in range(n)]
        v = np.frombuffer(self.data, SIMPLE[kind], 1, self.at)[0].item()
        self.at += np.dtype(SIMPLE[kind]).itemsize
        return bool(v) if kind == BOOL else v

    def tensor(self, at, dims, kind):
        n = int(np.prod(dims))
        if kind == TYPE_F32:
            x = np.frombuffer(self.data, "<f4", n, at)
        elif kind == TYPE_F16:
            x = np.frombuffer(self.data, "<f2", n, at)
        elif kind == TYPE_Q8_0:  # blocks of 32: a half-float scale, 32 signed bytes
            block = np.frombuffer(self.data, np.dtype([("d", "<f2"), ("q", "i1", 32)]), n // 32, at)
            x = block["d"].astype(np.float64)[:, None] * block["q"]
        else:
            raise ValueError("tensor type %d" % kind)
        return x.astype(np.float64).reshape(dims[::-1])


def text(s):
    b = s if isinstance(s, bytes) else s.encode()
    return struct.pack("<Q", len(b)) + b


def value(kind, v):
    if kind == STRING:
        return text(v)
    if kind == BOOL:
        return struct.pack("<B", v)
    return np.array(v, SIMPLE[kind]).tobytes()


class Writer:
    """Float32 tensors given as arrays, the slowest dimension first."""

    def __init__(self):
        self.keys, self.tensors = [], []

    def put(self, name, kind, v):
        self.keys.append(text(name) + struct.pack("<I", kind) + value(kind, v))

    def put_array(self, name, kind, vs):
        head = struct.pack("<IIQ", ARRAY, kind, len(vs))
        self.keys.append(text(name) + head + b"".join(value(kind, v) for v in vs))

    def put_tensor(self, name, x):
        self.tensors.append((name, np.ascontiguousarray(x, "<f4")))

    def write(self, path):
        out = struct.pack("<IIQQ", 0x46554747, 3, len(self.tensors), len(self.keys)) + b"".join(self.keys)
        body = b""
        for name, x in self.tensors:
            dims = x.shape[::-1]
            out += text(name) + struct.pack("<I", len(dims)) + struct.pack("<%dQ" % len(dims), *dims)
            out += struct.pack("<IQ", TYPE_F32, len(body))
            body += x.tobytes() + b"\0" * (-x.nbytes % ALIGNMENT)
        with open(path, "wb") as f:
            f.write(out + b"\0" * (-len(out) % ALIGNMENT) + body)
