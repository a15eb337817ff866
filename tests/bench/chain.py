#!/usr/bin/env python3
"""The geometry chain in vectorised numpy, for comparison with bench-chain: the same formulas on the same inputs, batched over
points and paths, one thread. Writes the input and its results as text for bench-chain, which times itself on them.

    chain.py OUT.txt [GOLDEN.h5]        the cloud of a golden file, else a seeded Gaussian cloud
"""
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
import sys
import time

import numpy as np

N, n, K, PATHS, T, DL, RIDGE, RANK = 64, 8, 16, 24, 16, 0.1, 1e-3, 5


def metric(x):
    d2 = ((x[:, None] - x[None]) ** 2).sum(-1)
    np.fill_diagonal(d2, np.inf)
    index = np.argsort(d2, axis=1, kind="stable")[:, :K]
    near = x[index]
    d = near - near.mean(1, keepdims=True)
    c = d.transpose(0, 2, 1) @ d / (K - 1)
    c += RIDGE * (np.trace(c, axis1=1, axis2=2) / n)[:, None, None] * np.eye(n)
    l, v = np.linalg.eigh(c)
    log_g = (v * -np.log(l)[:, None]) @ v.transpose(0, 2, 1)
    return index, log_g, np.median(np.sqrt(d2.min(1)))


class Field:
    def __init__(self, site, log_g, sigma):
        self.site, self.log, self.s2 = site, log_g.reshape(len(site), n * n), 1 / sigma**2

    def weights(self, x):
        d2 = (x * x).sum(1)[:, None] - 2 * x @ self.site.T + (self.site**2).sum(1)
        e = np.exp(-0.5 * self.s2 * (d2 - d2.min(1, keepdims=True)))
        w = e / e.sum(1, keepdims=True)
        u = (self.site[None] - (w @ self.site)[:, None]) * self.s2
        return w, u

    def frame(self, x, second):
        m = len(x)
        w, u = self.weights(x)
        wu = w[:, :, None] * u
        l, v = np.linalg.eigh((w @ self.log).reshape(m, n, n))
        dl = (wu.transpose(0, 2, 1) @ self.log).reshape(m, n, n, n)
        h = 0.5 * (l[:, :, None] - l[:, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            f = np.exp(0.5 * (l[:, :, None] + l[:, None])) * np.where(np.abs(h) < 1e-6, 1, np.sinh(h) / h)
        vt = v.transpose(0, 2, 1)
        a = vt[:, None] @ dl @ v[:, None]
        g = (v * np.exp(l)[:, None]) @ vt
        dg = v[:, None] @ (f[:, None] * a) @ vt[:, None]
        if not second:
            return g, dg, None
        c = wu.transpose(0, 2, 1) @ u
        ww = (wu[:, :, :, None] * u[:, :, None] - w[:, :, None, None] * c[:, None]).reshape(m, -1, n * n)
        d2l = (ww.transpose(0, 2, 1) @ self.log).reshape(m, n, n, n, n)
        b = vt[:, None, None] @ d2l @ v[:, None, None]
        x3, y3, z3 = l[:, :, None, None], l[:, None, :, None], l[:, None, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = (f[:, :, :, None] - f[:, None]) / (x3 - z3)
            other = (f[:, :, None] - f[:, None]) / (x3 - y3)
            f3 = np.where(np.abs(x3 - z3) > 1e-2, apart, np.where(np.abs(x3 - y3) > 1e-2, other, 0))
            close = (np.abs(x3 - z3) <= 1e-2) & (np.abs(x3 - y3) <= 1e-2)
            mean = (x3 + y3 + z3) / 3
            q = (x3 - mean) ** 2 + (y3 - mean) ** 2 + (z3 - mean) ** 2
            f3 = np.where(close, np.exp(mean) * (0.5 + q / 48), f3)
        # sum_k f3[i,k,j] (A_a[i,k] A_b[k,j]): over k for each (i, j) as products batched over i and j
        left = (a[:, :, :, :, None] * f3[:, None]).transpose(0, 2, 4, 1, 3)  # m i j a k
        right = a.transpose(0, 3, 2, 1)[:, None]  # m 1 j k b
        s = (left @ right).transpose(0, 3, 4, 1, 2)  # m a b i j
        d2g = f[:, None, None] * b + s + s.transpose(0, 2, 1, 3, 4)
        return g, dg, v[:, None, None] @ d2g @ vt[:, None, None]

    def gamma(self, x):
        g, dg, _ = self.frame(x, False)
        c = 0.5 * (dg + dg.transpose(0, 2, 1, 3) - dg.transpose(0, 2, 3, 1))
        return g, dg, c.reshape(len(x), n * n, n) @ np.linalg.inv(g)

    def second(self, x):
        """Gamma [m][i][j][k] and d_c Gamma [m][c][i][j][k]."""
        g, dg, d2g = self.frame(x, True)
        m, inverse = len(x), np.linalg.inv(g)
        c = 0.5 * (dg + dg.transpose(0, 2, 1, 3) - dg.transpose(0, 2, 3, 1))
        gamma = c.reshape(m, n * n, n) @ inverse
        dc = 0.5 * (d2g + d2g.transpose(0, 1, 3, 2, 4) - d2g.transpose(0, 1, 3, 4, 2))
        dc = dc.reshape(m, n, n * n, n) - gamma[:, None] @ dg
        return gamma.reshape(m, n, n, n), (dc @ inverse[:, None]).reshape(m, n, n, n, n)

    def accel(self, x, v):
        gamma = self.gamma(x)[2]
        vv = (v[:, :, None] * v[:, None]).reshape(len(x), 1, n * n)
        return -(vv @ gamma)[:, 0]


def geodesics(f, x, v):
    xs, vs = [x], [v]
    for _ in range(T):
        k1 = f.accel(x, v)
        v2 = v + DL / 2 * k1
        k2 = f.accel(x + DL / 2 * v, v2)
        v3 = v + DL / 2 * k2
        k3 = f.accel(x + DL / 2 * v2, v3)
        v4 = v + DL * k3
        k4 = f.accel(x + DL * v3, v4)
        x = x + DL / 6 * (v + 2 * v2 + 2 * v3 + v4)
        v = v + DL / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        xs.append(x)
        vs.append(v)
    return np.array(xs).transpose(1, 0, 2), np.array(vs).transpose(1, 0, 2)


def expm(a):
    top = np.abs(a).sum(-1).max()
    s = max(0, int(np.ceil(np.log2(top / 0.5)))) if top > 0 else 0
    a = a / 2**s
    eye = np.eye(a.shape[-1])
    e = eye + a / 12
    for k in range(11, 0, -1):
        e = eye + a @ e / k
    for _ in range(s):
        e = e @ e
    return e


def propagators(f, xs, vs):
    p, acc = len(xs), f.accel(xs.reshape(-1, n), vs.reshape(-1, n)).reshape(vs.shape)
    nodes_x, nodes_v = [], []
    for c in (0.5 - np.sqrt(3) / 6, 0.5 + np.sqrt(3) / 6):
        h = ((1 + 2 * c) * (1 - c) ** 2, c * (1 - c) ** 2 * DL, c * c * (3 - 2 * c), -c * c * (1 - c) * DL)
        nodes_x.append(h[0] * xs[:, :-1] + h[1] * vs[:, :-1] + h[2] * xs[:, 1:] + h[3] * vs[:, 1:])
        nodes_v.append(h[0] * vs[:, :-1] + h[1] * acc[:, :-1] + h[2] * vs[:, 1:] + h[3] * acc[:, 1:])
    x, v = np.array(nodes_x).reshape(-1, n), np.array(nodes_v).reshape(-1, n)
    gamma, dgamma = f.second(x)
    m = len(x)
    vv = (v[:, :, None] * v[:, None]).reshape(m, 1, 1, n * n)
    a = np.zeros((m, 2 * n, 2 * n))
    a[:, :n, n:] = np.eye(n)
    a[:, n:, :n] = -(vv @ dgamma.reshape(m, n, n * n, n))[:, :, 0].transpose(0, 2, 1)
    a[:, n:, n:] = -2 * (v[:, None] @ gamma.reshape(m, n, n * n)).reshape(m, n, n).transpose(0, 2, 1)
    a = a.reshape(2, p, T, 2 * n, 2 * n)
    e = expm(DL / 2 * (a[0] + a[1]) - np.sqrt(3) / 12 * DL**2 * (a[0] @ a[1] - a[1] @ a[0]))
    y, out = np.broadcast_to(np.eye(2 * n), (p, 2 * n, 2 * n)), [np.broadcast_to(np.eye(n), (p, n, n))]
    for k in range(T):
        y = e[:, k] @ y
        out.append(y[:, :n, :n])
    return np.array(out).transpose(1, 0, 2, 3)


def factors(phi):
    u, s, vt = np.linalg.svd(phi - np.eye(n))
    root = np.sqrt(s[..., :RANK])
    return u[..., :RANK] * root[..., None, :], vt[..., :RANK, :].swapaxes(-1, -2) * root[..., None, :]


def records(f, x0, v0):
    xs, vs = geodesics(f, x0, v0)
    phi = propagators(f, xs, vs)
    return xs, phi, factors(phi)


def riemann(f, x):
    gamma, dgamma = f.second(x)
    m = len(x)
    quad = (gamma.reshape(m, n * n, n) @ gamma.reshape(m, n, n * n)).reshape(m, n, n, n, n)  # b d c a
    half = dgamma.transpose(0, 4, 2, 1, 3) + quad.transpose(0, 4, 1, 3, 2)  # a b c d
    return half - half.transpose(0, 1, 2, 4, 3)


def median(fn, rounds=7):
    fn()
    t = []
    for _ in range(rounds):
        start = time.perf_counter()
        fn()
        t.append(time.perf_counter() - start)
    return float(np.median(t))


def main():
    if len(sys.argv) > 2:
        import h5py

        with h5py.File(sys.argv[2]) as h:
            cloud = h["cloud/points"][:]
    else:
        cloud = np.random.default_rng(1).normal(size=(N, n))
    index, log_g, sigma = metric(cloud)
    f = Field(cloud, log_g, sigma)
    x0 = cloud[:PATHS]
    v0 = cloud[index[:PATHS, 0]] - x0
    v0 /= np.sqrt((v0[:, None] @ f.gamma(x0)[0] @ v0[:, :, None])[:, 0])
    middles = 0.5 * (cloud[:16] + cloud[index[:16, 0]])

    def chain():
        _, log_g, sigma = metric(cloud)
        field = Field(cloud, log_g, sigma)
        field.gamma(cloud)
        riemann(field, middles)
        records(field, x0, v0)

    times = {
        "metric": median(lambda: metric(cloud)),
        "gamma": median(lambda: f.gamma(cloud)),
        "riemann": median(lambda: riemann(f, middles)) / 16,
        "geodesics": median(lambda: geodesics(f, x0, v0)),
        "records": median(lambda: records(f, x0, v0)),
        "chain": median(chain),
    }
    xs, phi, _ = records(f, x0, v0)
    with open(sys.argv[1], "w") as out:
        for name, t in times.items():
            print("time", name, repr(t), file=out)
        for name, a in (("cloud", cloud), ("v0", v0), ("middles", middles), ("xs", xs), ("phi", phi),
                        ("gamma", f.gamma(cloud)[2]), ("riemann", riemann(f, middles))):
            print("array", name, a.size, *(repr(float(t)) for t in a.ravel()), file=out)


main()
