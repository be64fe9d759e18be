"""The background of a video, frame by frame in order, among garbage frames: with replay and without it.

Usage: python docs/examples/video_in_order.py [PICTURE.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from gasg21 import GASG21

FRAMES, HEIGHT, WIDTH, D, GARBAGE = 400, 48, 72, 2, 0.1
CARS = [(8, 7, 14, 0.25, 225), (20, 8, 16, -0.4, 30), (34, 9, 18, 0.6, 200)]  # top, height, width, speed, brightness


def make_video(rng):
    """Return frames of a road in changing light with three cars, as rows, and where the cars are."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    road = 110 + 25 * np.sin(x / 9) + 20 * np.cos(y / 4) + 15 * rng.normal(size=(HEIGHT, WIDTH))
    film = np.empty((FRAMES, HEIGHT, WIDTH))
    cars = np.zeros((FRAMES, HEIGHT, WIDTH), bool)
    for t in range(FRAMES):
        film[t] = road * (1 + 0.1 * np.sin(t / 60)) + 8 * np.cos(t / 45) * np.sin(x / 20 + y / 15)
        for top, height, width, speed, brightness in CARS:
            columns = (int(speed * t) + np.arange(width)) % WIDTH
            film[t, top : top + height, columns] = brightness
            cars[t, top : top + height, columns] = True
    film += 3 * rng.normal(size=film.shape)
    return film.reshape(FRAMES, -1), cars.reshape(FRAMES, -1)


def watch(model, film, rng):
    """Update with each frame, and return the background of each right after its update; some garbage comes between."""
    backgrounds = []
    for frame in film:
        if rng.random() < GARBAGE:
            model.partial_fit(rng.normal(128, 60, frame.size))
        model.partial_fit(frame)
        U = model.components_
        backgrounds.append(frame @ U.T @ U)
    return np.array(backgrounds)


def best_mask(residuals, cars):
    """Return the threshold and the F of the best masks |residual| > threshold."""
    scores = {}
    for threshold in range(5, 120, 5):
        mask = residuals > threshold
        scores[threshold] = 2 * (mask & cars).sum() / (mask.sum() + cars.sum())
    best = max(scores, key=scores.get)
    return best, scores[best]


def main() -> None:
    """Follow the video twice, draw one frame of it and save the picture."""
    film, cars = make_video(np.random.default_rng(0))
    ways = {"the default": GASG21(D, random_state=0), "replay=0": GASG21(D, replay=0, random_state=0)}
    shown, told = 250, []
    figure, axes = plt.subplots(2, 3, figsize=(10, 5.2), layout="constrained")
    for row, (name, model) in zip(axes, ways.items(), strict=True):
        backgrounds = watch(model, film, np.random.default_rng(1))
        residuals = np.abs(film - backgrounds)
        threshold, score = best_mask(residuals[50:], cars[50:])
        told.append(f"{name}: F {score:.2f}, level {model.level_}, status {model.status_}")
        pictures = {
            f"frame {shown}": film[shown],
            f"background, {name}": backgrounds[shown],
            f"what moves, F = {score:.2f} over all frames": 255 * (residuals[shown] > threshold),
        }
        for ax, (title, picture) in zip(row, pictures.items(), strict=True):
            ax.imshow(picture.reshape(HEIGHT, WIDTH), cmap="gray", vmin=0, vmax=255)
            ax.set_title(title, fontsize="medium")
            ax.axis("off")
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "video_in_order.png")
    figure.savefig(path, dpi=100)
    print(f"{'; '.join(told)}; wrote {path}")


if __name__ == "__main__":
    main()
