"""The progress bar of ``verbose=1``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int, float], None]  # vectors done since the last call, level, step


@contextmanager
def bar(name: str, n_samples: int, max_passes: int | None) -> Iterator[Progress]:
    """Give a callback for the core that moves a tqdm bar; ``max_passes`` is None when it is not known in advance."""
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        msg = "verbose=1 needs tqdm: pip install 'gasg21[progress]'"
        raise ImportError(msg) from error
    with tqdm(total=None if max_passes is None else n_samples * max_passes, desc=name, unit="vec") as bar:

        def advance(done: int, level: int, step: float) -> None:
            bar.update(done)
            number = max(1, -(-int(bar.n) // n_samples))
            bar.set_postfix_str(f"pass {number}, level {level}, step {step:.1e}")

        yield advance
