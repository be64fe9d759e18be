"""The detector of stream/detector.hpp in plain Python: the oracle of tests/python/test_streams.py."""

import numpy as np
from scipy.special import betaincinv


def null_residual(n_observed, d, level=1e-3):
    """Return the residual that a random direction stays below with probability `level`."""
    return np.sqrt(betaincinv((n_observed - d) / 2, d / 2, level))


class Detector:
    """Status and changes of a stream from its residuals, one after the other."""

    def __init__(self):
        self.seen, self.changes = 0, []
        self._start()

    def _start(self):
        self.typical = self.trend = self.evidence = self.gone = self.surprise = 0.0
        self.near_fit, self.n_near, self.returns, self.misses = 1.0, 0, 0.5, 0
        self.settled = self.changed = False
        self.searching = 0

    def see(self, residual, null):
        """Take note of one residual."""
        self.seen += 1
        near, log_residual = residual < null, np.log(max(residual, 1e-16))
        fit = near and log_residual < max(-2.303, self.typical / 2)
        self.evidence = min(max(self.evidence + (2.303 if fit else -0.018), 0), 10)
        if near:
            self.typical = min(self.typical + (-0.05 if log_residual < self.typical else 0.005), 0)
            self.trend += (self.typical - self.trend) / 64
            self.near_fit += (fit - self.near_fit) / 64
            self.n_near += 1
        if self.misses:
            self.returns += (fit - self.returns) / 64
        self.gone = max(0, self.gone - 2.303) if fit else self.gone + 0.018
        self.surprise = 0 if fit else self.surprise + self.returns
        self.misses = 0 if fit else self.misses + 1
        if not self.settled:
            self._settle()
        if self.settled and (self.gone >= 5.4 or (self.misses >= 100 and self.surprise > 20)):
            self._start()
            self.changed = True
            self.changes.append(self.seen)

    def _settle(self):
        self.searching += 1
        found = self.evidence > 6.9 and self.n_near >= 64 and self.near_fit > 0.5
        self.settled = found and (self.typical < -9.21 or self.typical - self.trend > -0.3)
        if self.settled:
            self.changed, self.searching = False, 0

    @property
    def status(self):
        """What the stream is said to do."""
        if self.settled:
            return "lost" if self.surprise > 6.9 or self.near_fit < 0.5 else "tracking"
        if self.searching > 3000:
            return "lost"
        return "changed" if self.changed else "starting"
