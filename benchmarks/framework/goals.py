"""Goals of a measurement: each is printed beside what was measured, and the missed ones are listed at the end."""

from __future__ import annotations

from benchmarks.framework.text import cell


class Goals:
    """Prints goals with the values reached, and remembers those that were missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []
        self.count = 0

    def at_most(self, text: str, value: float, bound: float, unit: str = "", note: str = "") -> None:
        """State that the value should be at most the bound."""
        self.met(f"{text}: {cell(float(value))}{unit}", value <= bound, f"at most {bound:g}{unit}", note)

    def at_least(self, text: str, value: float, bound: float, unit: str = "", note: str = "") -> None:
        """State that the value should be at least the bound."""
        self.met(f"{text}: {cell(float(value))}{unit}", value >= bound, f"at least {bound:g}{unit}", note)

    def met(self, text: str, kept: bool, goal: str, note: str = "") -> None:
        """State a goal in words, and whether it was met."""
        line = f"{text}, goal {goal}" + (f"; {note}" if note else "")
        self.count += 1
        if not kept:
            self.missed.append(line)
        print(f"  {'ok    ' if kept else 'MISSED'}  {line}", flush=True)

    def value(self, text: str) -> None:
        """Print a value that has no goal, in line with those that have one."""
        print(f"          {text}", flush=True)

    def summary(self) -> None:
        """Print how many goals were met, and which were not."""
        if not self.count:
            return
        if not self.missed:
            print(f"\nall {self.count} goals met")
            return
        print(f"\n{self.count - len(self.missed)} of {self.count} goals met; missed:")
        print("".join(f"  {line}\n" for line in self.missed), end="")
