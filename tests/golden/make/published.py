"""published.py FULL OUT: extracts the subset of the published harness's expected values that replaces the full set.
FULL is the folder with *.h5 and exports/; h5py is needed. Datasets are copied bit for bit; ROWS names those of which
only the first rows are kept, with all datasets of the same length."""
import os
import shutil
import sys

import h5py

# file -> {group or dataset: rows kept}
FILES = {
    "smollm2-135m_n8.h5": {"/riemann": 2},
    "sphere_n4.h5": {},
    "analytic.h5": {},
    "magnus.h5": {},
    "library_convergence.h5": {"/": 600},
}


def kept(name, rows):
    """Rows of a dataset, None for all."""
    for prefix, n in rows.items():
        if name.startswith(prefix.rstrip("/") + "/"):
            return n
    return None


def copy(source, target, rows):
    for k, v in source.attrs.items():
        target.attrs[k] = v
    for name in source:
        item = source[name]
        if isinstance(item, h5py.Group):
            copy(item, target.create_group(name), rows)
            continue
        n = kept(item.name, rows)
        x = item[:n] if n and item.ndim and len(item) > n else item[()]
        deep = item.ndim and x.nbytes >= 2048
        d = target.create_dataset(name, data=x, dtype=item.dtype, **({"compression": 9, "shuffle": True} if deep else {}))
        for k, v in item.attrs.items():
            d.attrs[k] = v


def library(f):
    """Figures of the shorter streams, from their decisions: they are sequential, so a prefix is a valid stream."""
    for name in f:
        if name.startswith("sd"):
            hit = f[name]["hit"][()].astype(float)
            f[name].attrs["stored"] = int(len(hit) - hit.sum())
            f[name].attrs["hit_rate"] = hit.mean()
            f[name].attrs["second_half_hit"] = hit[len(hit) // 2 :].mean()


if __name__ == "__main__":
    full, out = sys.argv[1:]
    for name, rows in FILES.items():
        with h5py.File(os.path.join(full, name), "r") as s, h5py.File(os.path.join(out, name), "w") as t:
            copy(s, t, rows)
            if name.startswith("library"):
                library(t)
        print(name, os.path.getsize(os.path.join(out, name)))
    shutil.copytree(os.path.join(full, "exports"), os.path.join(out, "exports"), dirs_exist_ok=True)
