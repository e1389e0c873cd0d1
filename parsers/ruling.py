"""Straight lines in scanned pages, found on the pixels; and the page's skew set right."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from parsers.pdf_drawings import Rule

Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]

DARK = 150  # of 255, after the contrast was stretched
MAX_SKEW = 3.0  # degrees
FILLED = 0.93  # share of a stretch that must be dark to be a line
SHORTEST_ACROSS = 0.036  # of the page's longer side: longer than most words
SHORTEST_DOWN = 0.02
THICKEST = 0.003
BESIDE = 0.3  # share of ink beside a line; more, and it runs through letters


def deskew(pixels: Pixels) -> Pixels:
    """Turn a page upright by the angle at which its rows of ink stand out most."""
    step = max(1, max(pixels.shape) // 900)
    small = Image.fromarray(pixels[::step, ::step])
    ink = Image.fromarray(np.where(np.asarray(small) < DARK, 255, 0).astype(np.uint8))
    best = 0.0
    for spread, stride in ((MAX_SKEW, 0.5), (0.5, 0.1), (0.1, 0.05)):
        angles = np.arange(best - spread, best + spread + stride / 2, stride)
        best = float(max(angles, key=lambda angle: _sharpness(ink, float(angle))))
    if abs(best) < 0.04:
        return pixels
    turned = Image.fromarray(pixels).rotate(
        best, resample=Image.Resampling.BICUBIC, fillcolor=255, expand=False
    )
    return np.asarray(turned, dtype=np.uint8)


def _sharpness(ink: Image.Image, angle: float) -> float:
    rows = np.asarray(ink.rotate(angle, fillcolor=0), dtype=np.float32).sum(axis=1)
    return float(np.square(np.diff(rows)).sum())


def find_rules(pixels: Pixels) -> list[Rule]:
    """Horizontal and vertical lines, in pixels."""
    dark: Mask = pixels < DARK
    side = max(pixels.shape)
    thickest = max(int(THICKEST * side), 4)
    return [
        *_lines(dark, int(SHORTEST_ACROSS * side), thickest, horizontal=True),
        *_lines(
            np.ascontiguousarray(dark.T), int(SHORTEST_DOWN * side), thickest, horizontal=False
        ),
    ]


def _lines(dark: Mask, shortest: int, thickest: int, *, horizontal: bool) -> list[Rule]:
    """Lines along the rows of ``dark``: long dark stretches with light above and below."""
    thick = dark.copy()
    thick[1:] |= dark[:-1]
    thick[:-1] |= dark[1:]
    totals = np.cumsum(np.pad(thick, ((0, 0), (1, 0))), axis=1, dtype=np.int32)
    if totals.shape[1] <= shortest:
        return []
    full = (totals[:, shortest:] - totals[:, :-shortest]) >= FILLED * shortest
    rules: list[Rule] = []
    for row in np.flatnonzero(full.any(axis=1)):
        edges = np.flatnonzero(np.diff(np.concatenate(([0], full[row].view(np.int8), [0]))))
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            stretch = slice(int(start), int(end) + shortest)
            if _is_thin(dark, int(row), stretch, thickest):
                rules.append(Rule(horizontal, float(row), float(start), float(end + shortest)))
    return _unite(rules, thickest)


def _is_thin(dark: Mask, row: int, stretch: slice, thickest: int) -> bool:
    """Whether the ink ends within ``thickest`` rows: neither a bar nor a band of colour."""
    above = dark[max(row - thickest, 0), stretch].mean()
    below = dark[min(row + thickest, dark.shape[0] - 1), stretch].mean()
    return bool(above < BESIDE and below < BESIDE)


def _unite(rules: list[Rule], thickest: int) -> list[Rule]:
    """Join the rows of pixels that one line takes up."""
    united: list[Rule] = []
    for rule in sorted(rules, key=lambda item: item.at):
        for index in range(len(united) - 1, max(len(united) - 40, -1), -1):
            other = united[index]
            if (
                rule.at - other.at <= thickest
                and rule.start <= other.end + 2 * thickest
                and other.start <= rule.end + 2 * thickest
            ):
                united[index] = Rule(
                    rule.horizontal,
                    other.at,
                    min(rule.start, other.start),
                    max(rule.end, other.end),
                )
                break
        else:
            united.append(rule)
    return united


def wipe(pixels: Pixels, rules: list[Rule]) -> Pixels:
    """Take lines out of a page, so that no letter is lost in them."""
    clean = pixels.copy()
    for rule in rules:
        at, start, end = int(rule.at), max(int(rule.start) - 2, 0), int(rule.end) + 3
        band = slice(max(at - 3, 0), at + 6)
        if rule.horizontal:
            clean[band, start:end] = 255
        else:
            clean[start:end, band] = 255
    return clean
