"""Random arguments to every function, constructor and method of `_core`: an answer or an exception, never a crash.

The table of signatures is `_core.pyi` itself, so a new function is attacked as soon as it is typed. Run it on the build
of ``scripts/sanitize address``, which turns every wrong access into a crash.
"""

import ast
import faulthandler
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np

from attacks.clock import is_over
from gasg21 import _core

STUB = Path(__file__).parents[2] / "python" / "gasg21" / "_core.pyi"
HUGE = [2**40 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64]
N_BINS = 1 + 60 * 128  # of a histogram of residuals
REFUSED = object()
# Whole fits take long: they are called less often than the others.
SLOW = {
    "recover": 0.15,
    "recover_union": 0.15,
    "solve_sample": 0.15,
    "choose_dimension": 0.1,
}


def signatures():
    """Return (class or None, function, [(parameter, annotation, is keyword only, has default)], is static) of all."""
    tree = ast.parse(STUB.read_text())
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found.append((None, node.name, parameters(node, 0), False))
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, ast.FunctionDef):
                    decorators = [d.id for d in each.decorator_list if isinstance(d, ast.Name)]
                    static = "staticmethod" in decorators
                    found.append((node.name, each.name, parameters(each, 0 if static else 1), static))
    # The 32-bit classes inherit in the stub only.
    twins = [(c.replace("64", "32"), f, p, s) for c, f, p, s in found if c and c.endswith("64")]
    return found + twins


def parameters(node, skip):
    args = node.args
    given = args.args[skip:]
    required = len(given) - len(args.defaults)
    listed = [(a.arg, ast.unparse(a.annotation), False, k >= required) for k, a in enumerate(given)]
    only = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    return listed + [(a.arg, ast.unparse(a.annotation), True, default is not None) for a, default in only]


def dtype_of(cls):
    return np.float64 if cls.endswith("64") else np.float32


class Arguments:
    """Draws arguments by their annotations: mostly sizes that fit together, sometimes anything."""

    def __init__(self, rng, folder, cls):
        self.rng, self.folder = rng, folder
        self.n, self.d, self.m = (int(rng.choice(pool)) for pool in ([2, 3, 5, 8, 17], [1, 2, 3], [0, 1, 4, 20, 60]))
        self.dtype = np.float64 if rng.random() < 0.7 else np.float32
        if cls is not None and cls.endswith(("32", "64")) and self.chance(0.8):
            self.dtype = dtype_of(cls)
        self.row_shape = (1, self.n) if self.chance(0.5) else (self.n,)

    def chance(self, share):
        return self.rng.random() < share

    def array(self, shape=None, dtype=None):
        rng = self.rng
        if shape is None:
            shape = tuple(
                int(rng.choice([0, 1, self.d, self.n, self.m])) for _ in range(int(rng.choice([1, 2, 2, 2, 3])))
            )
        values = rng.standard_normal(shape)
        if self.chance(0.2) and values.size:
            values.flat[rng.integers(values.size)] = rng.choice([np.nan, np.inf, -np.inf, 0, 1e300, 5e-324])
        with np.errstate(over="ignore"):
            values = values.astype(dtype or self.dtype)
        if self.chance(0.12):
            return self.odd(values)
        return values

    def odd(self, a):
        """Return the array in a form that the core may have to refuse."""
        kind = int(self.rng.integers(9))
        if kind == 0:
            return a.tolist()
        if kind == 1:  # misaligned
            raw = np.empty(a.nbytes + 1, np.uint8)
            raw[1:] = np.frombuffer(a.tobytes(), np.uint8)
            return raw[1:].view(a.dtype).reshape(a.shape)
        if kind == 2:
            return np.asfortranarray(a)
        if kind == 3:
            return a[::-1] if a.ndim else a
        if kind == 4:
            return a.astype(self.rng.choice(["f4", "f8", ">f8", "i8", "i4", "?", "O", "f2"]))
        if kind == 5:
            a.flags.writeable = False
            return a
        if kind == 6:
            return np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a
        if kind == 7:
            return a.reshape(-1)
        return a[:0]

    def basis(self):
        d = min(self.d, self.n)
        U = np.ascontiguousarray(np.linalg.qr(self.rng.standard_normal((self.n, d)))[0].T).astype(self.dtype)
        return U if self.chance(0.85) else self.array()

    def samples(self):
        if self.chance(0.7):
            return self.array((self.m, self.n))
        index = np.int32 if self.chance(0.5) else np.int64
        X = self.rng.standard_normal((self.m, self.n)) * (self.rng.random((self.m, self.n)) < 0.5)
        indptr = np.concatenate([[0], np.cumsum((X != 0).sum(axis=1))]).astype(index)
        indices = np.nonzero(X)[1].astype(index)
        if self.chance(0.2) and len(indices):
            indices[self.rng.integers(len(indices))] = self.rng.choice([-1, self.n, self.n + 1, np.iinfo(index).max])
        if self.chance(0.1):
            indptr[self.rng.integers(len(indptr))] = self.rng.choice([-1, 10**6, 0])
        parts = (X[X != 0].astype(self.dtype), indices, indptr)
        return parts if self.chance(0.6) else (*parts, bool(self.chance(0.5)))

    def integer(self, name):
        rng = self.rng
        if self.chance(0.05):
            return int(rng.choice([0, 1, 2, 3])) if self.chance(0.5) else HUGE[int(rng.integers(len(HUGE)))]
        if self.chance(0.03):
            return -1
        return {
            "n": self.n,
            "d": self.d,
            "n_threads": int(rng.integers(1, 4)),
            "max_passes": int(rng.integers(1, 4)),
            "max_iter": int(rng.integers(1, 30)),
            "count": int(rng.integers(0, 100)),
            "sweeps": int(rng.integers(0, 4)),
        }.get(name, int(rng.integers(0, 6)))

    def real(self):
        if self.chance(0.2):
            return float(self.rng.choice([0.0, -1.0, np.nan, np.inf, 1e300, 5e-324]))
        return float(self.rng.uniform(0, 2))

    def rule(self):
        made = [
            lambda: _core.AdaptiveStep(),
            lambda: _core.AdaptiveStep(scaling=True, stream=True),
            lambda: _core.DiminishingStep(),
            lambda: _core.ConstantStep(),
            lambda: _core.MultiLevelStep(),
            lambda: _core.GreedyStep(),
        ]
        return made[int(self.rng.integers(len(made)))]()

    def tracker(self, bits="64"):
        X, d = self.rng.standard_normal((10, self.n)).astype(dtype_of(bits)), min(self.d, self.n - 1)
        if self.chance(0.3):  # an affine one
            given = {"rule": self.rule(), "loss": "l21", "metric": _core.NoScaling(), "following": _core.Following()}
            return _core.start_tracker(X, None, self.n, d, init="random", center=True, seed=3, **given)
        tracker = getattr(_core, f"Tracker{bits}")(self.n, d, self.rule(), 3)
        tracker.consume(X)
        return tracker

    def subspace(self, bits="64"):
        """Return a subspace, half of which have read a row already."""
        subspace = self.tracker(bits).published()[0]
        row = self.rng.standard_normal(self.n).astype(dtype_of(bits))
        if self.chance(0.5):
            subspace.row_residual(row, None, True)
            subspace.row_weights(row, None)
            subspace.row_completed(row, self.rng.random(self.n) < 0.7)
        return subspace

    def union(self, bits="64"):
        dtype = dtype_of(bits)
        d = min(self.d, self.n - 1)
        bases = [np.linalg.qr(self.rng.standard_normal((self.n, d)))[0].T.astype(dtype).copy() for _ in range(2)]
        return getattr(_core, f"KSubspaces{bits}")(bases, self.rule(), 3)

    def lift(self):
        return self.array((self.n,)), float(self.rng.choice([0, 1.5]))

    def scatter(self):
        return np.eye(self.d) if self.chance(0.8) else self.array(dtype=np.float64), self.real()

    def sums(self):
        """Return the sums of a block, in which sometimes one part is something else."""
        U = np.linalg.qr(self.rng.standard_normal((self.n, self.d)))[0].T if self.d < self.n else np.eye(self.n)[:1]
        X = self.rng.standard_normal((max(self.m, 4), self.n)).astype(self.dtype)
        parts = list(_core.block_sums(np.ascontiguousarray(U, self.dtype), X, None, (np.eye(len(U)), 1.0)))
        if self.chance(0.5):
            parts[int(self.rng.integers(len(parts)))] = self.array() if self.chance(0.5) else self.integer("")
        return tuple(parts)

    def object_of(self, name):
        """Return an object of a class of the core."""
        bits = name[-2:]
        if name.startswith("Tracker"):
            return self.tracker(bits)
        if name.startswith("KSubspaces"):
            return self.union(bits)
        if name.startswith("Subspace"):
            return self.subspace(bits)
        if name.startswith("Seeder"):
            dtype = dtype_of(name)
            X = self.rng.standard_normal((30, self.n)).astype(dtype)
            seeder = getattr(_core, name)(X, None, self.n, 20, 1)
            if self.chance(0.5):
                seeder.farthest([1], 5, 3)
            return seeder
        if name.startswith("BlockPolish"):
            dtype = dtype_of(name)
            U = np.linalg.qr(self.rng.standard_normal((self.n, 1)))[0].T
            return _core.block_polish(np.ascontiguousarray(U, dtype), None)
        if name.startswith("BlockFit"):
            X = self.rng.standard_normal((30, self.n)).astype(dtype_of(name))
            rule, options = _core.AdaptiveStep(scaling=True), _core.RecoverOptions(max_passes=1)
            chosen = {"rule": rule, "stream_rule": rule, "loss": "l21", "metric": _core.CovarianceScaling()}
            return _core.solve_sample(X, None, self.n, 1, init="random", options=options, **chosen)
        if name.startswith("UnionRounds"):
            bases = [np.linalg.qr(self.rng.standard_normal((self.n, 1)))[0].T for _ in range(2)]
            return _core.union_rounds([np.ascontiguousarray(U, dtype_of(name)) for U in bases], [None, None], 1e-6)
        if name in ("Recovered", "Doubts"):
            X = self.rng.standard_normal((10, self.n))
            rule, options = _core.AdaptiveStep(), _core.RecoverOptions(max_passes=1, polish=False)
            chosen = {"rule": rule, "stream_rule": rule, "loss": "l21", "metric": _core.NoScaling()}
            found = _core.recover(X, None, self.n, 1, init="random", options=options, **chosen)
            return found if name == "Recovered" else found.doubts
        return getattr(_core, name)()

    def draw_all(self, listed):
        """Return the positional and the keyword arguments: in half of the calls few of those that have a default."""
        positional, keywords, few = [], {}, self.chance(0.5)
        for name, annotation, keyword_only, has_default in listed:
            if few and has_default and self.chance(0.7):
                continue
            value = self.draw(name, annotation)
            if keyword_only or (few and has_default):
                keywords[name] = value
            else:
                positional.append(value)
        return positional, keywords

    def draw(self, name, annotation):
        """Return an argument for a parameter."""
        if self.chance(0.02):
            return self.rng.choice([None, 3, "x", 2.5], 1)[0]
        if annotation.endswith(" | None") and self.chance(0.4):
            return None
        annotation = annotation.removesuffix(" | None")
        options = [part.strip() for part in annotation.split("|")] if "[" not in annotation else [annotation]
        kind = next(part for part in options if part != "None")
        if name in ("components", "A", "B") or (name == "init" and kind != "list"):
            return (
                self.basis()
                if name != "init" or self.chance(0.4)
                else str(self.rng.choice(["random", "density", "farthest"]))
            )
        return {
            "Payload": self.samples,
            "Array": lambda: self.specific(name),
            "int": lambda: self.integer(name),
            "float": self.real,
            "bool": lambda: bool(self.chance(0.5)),
            "str": lambda: str(self.rng.choice(["fit", "start_of_fit", "start_of_stream", "avx2", "l21", "nonsense"])),
            "StepRule": self.rule,
            "Rule": self.rule,
            "Loss": lambda: [_core.L1Loss(max_iter=5), "l21", "squared", "x"][int(self.rng.choice([0, 1, 1, 2, 3]))],
            "Metric": lambda: _core.CovarianceScaling() if self.chance(0.5) else _core.NoScaling(),
            "Lift": self.lift,
            "Prior": lambda: (np.eye(self.d) if self.chance(0.7) else self.array(dtype=np.float64), self.real(), None),
            "Range": lambda: (self.array((self.n,), np.float64), self.array((self.n,), np.float64), self.real()),
            "RecoverOptions": lambda: _core.RecoverOptions(max_passes=2, n_threads=int(self.rng.integers(1, 3))),
            "UnionOptions": lambda: _core.UnionOptions(max_passes=2, n_threads=int(self.rng.integers(1, 3))),
            "Following": lambda: _core.Following(replay=int(self.rng.integers(0, 9)), restart=bool(self.chance(0.5))),
            "Progress": lambda: lambda *_: None,
            "bytes": lambda: self.bytes(),
            "Any": lambda: self.of_row(name),
            "list[Array]": lambda: [self.basis() for _ in range(int(self.rng.integers(0, 4)))],
            "Sequence[int]": lambda: [self.integer("d") for _ in range(int(self.rng.integers(0, 4)))],
            "dict[str, Any]": lambda: {"x": [1, 2.5, None, self.array()], "t": self.tracker()},
            "str | os.PathLike[str]": lambda: os.path.join(self.folder, str(self.rng.choice(["a", "b", "none/a", ""]))),
            "str | list[Array]": lambda: "density" if self.chance(0.5) else [self.basis() for _ in range(2)],
            "tuple[Array, float]": self.lift,
            "ScatterPair": self.scatter,
            "list[Any]": lambda: [self.scatter() for _ in range(int(self.rng.integers(0, 4)))],
            "tuple[Any, ...]": self.sums,
            "list[tuple[Any, ...]]": lambda: [self.sums() for _ in range(int(self.rng.integers(0, 4)))],
            "npt.NDArray[np.uint64]": lambda: self.specific("order"),
        }.get(kind, self.array)()

    def specific(self, name):
        """Return an array of the shape that goes with the name of its parameter."""
        d, n, m = self.d, self.n, self.m
        shapes = {
            "mask": lambda: self.rng.random((m, n)) < 0.7,
            "order": lambda: self.rng.integers(0, max(m, 1) + (self.chance(0.1) * 50), m).astype(np.uint64),
            "W": lambda: self.array((max(m, 4), d), np.float64),
            "r2": lambda: self.array((max(m, 4),), np.float64) ** 2,
            "count": lambda: np.full(max(m, 4), float(n)),
            "norm": lambda: self.array((max(m, 4),), np.float64),
            "residuals": lambda: self.rng.integers(0, 9, N_BINS).astype(np.uint64),
            "errors": lambda: self.array((m,), np.float64),
            "reference": lambda: self.array((n,), np.float64),
            "out": lambda: np.zeros((m, n), self.dtype),
            "C": lambda: np.eye(d) if self.chance(0.7) else self.array(dtype=np.float64),
            "information": lambda: np.eye(d) if self.chance(0.7) else self.array(dtype=np.float64),
            "rows": lambda: self.array((n, d * (d + 1) // 2 + d)),
            "estimated_angles": lambda: self.array((2,), np.float64),
        }
        try:
            made = shapes.get(name, self.array)()
        except TypeError:  # a list has no power
            made = self.array()
        return made if self.chance(0.9) or not isinstance(made, np.ndarray) else self.odd(made)

    def of_row(self, name):
        """Return one vector, or its mask, which may be None."""
        if name == "row":
            return self.array(self.row_shape)
        if self.chance(0.4):
            return None
        mask = self.rng.random(self.row_shape) < 0.7
        return mask if self.chance(0.9) else self.odd(mask)

    def bytes(self):
        saved = f"{self.rng.choice(['Tracker', 'KSubspaces', 'Subspace'])}{self.rng.choice([32, 64])}"
        data = bytearray(self.object_of(saved).__getstate__() if self.chance(0.8) else self.rng.bytes(100))
        if self.chance(0.7):
            data[int(self.rng.integers(len(data)))] ^= 1 << int(self.rng.integers(8))
        return bytes(data)


def call(arguments, cls, name, listed, static):
    """Return what a callable answers to drawn arguments; REFUSED if it leaves a row to the validation."""
    owner = _core if cls is None else getattr(_core, cls)
    if cls is not None and not static and name != "__init__":
        owner = arguments.object_of(cls)
    positional, keywords = arguments.draw_all(listed)
    target = owner if name == "__init__" else getattr(owner, name)
    answer = target(*positional, **keywords) if callable(target) else target
    takes_row = any(parameter == "row" for parameter, *_ in listed)
    return REFUSED if takes_row and answer is None else answer


def attack(count, seed):
    faulthandler.enable()
    rng = np.random.default_rng(seed)
    table, refused, failures = signatures(), 0, []
    called = set()
    before = _core.instruction_set()
    last = os.environ.get("GASG21_ATTACK_LAST")  # a file that names the last call, to find what crashed
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)  # where files without a folder go
        done = 0
        while done < count and not is_over():
            cls, name, listed, static = table[int(rng.integers(len(table)))]
            if rng.random() > SLOW.get(name, 1.0):
                continue
            arguments = Arguments(np.random.default_rng([seed, done]), folder, cls)
            done += 1
            if last:
                Path(last).write_text(f"seed {seed}, call {done}: {cls}.{name}\n")
            try:
                if call(arguments, cls, name, listed, static) is REFUSED:
                    refused += 1
                else:
                    called.add((cls, name))
            except (
                ValueError,
                TypeError,
                ArithmeticError,
                RuntimeError,
                OSError,
                IndexError,
                MemoryError,
                AttributeError,
            ) as error:
                refused += 1
                if (
                    isinstance(error, KeyError | AttributeError)
                    and "_core" not in str(error)
                    and "object" not in str(error)
                ):
                    failures.append(f"{cls}.{name}: {error!r}")
        os.chdir(home)
    _core.use_instruction_set(before)
    never = {(cls, name) for cls, name, _, _ in table} - called
    if count > 100_000 and never:
        failures.append(f"never answered: {sorted(map(str, never))}")
    return done, failures, f"{len(called)} of {len(table)} callables answered, {refused} calls refused"
