"use strict";
// A chunk names what it covers: data-covers="element:start:end ..." in UTF-16 units of the
// element's words (no range for a table), data-cells="row,col ..." of its table's grid.
const chunks = [...document.querySelectorAll(".chunk")];
const elements = [...document.querySelectorAll(".element")];
const covering = elements.map(() => []);
const covers = chunks.map((chunk, number) =>
  chunk.dataset.covers.split(" ").filter(Boolean).map((entry) => {
    const [element, start, end] = entry.split(":").map(Number);
    covering[element].push(number);
    return { element, start, end };
  }));
const exact = typeof Highlight === "function" && CSS.highlights ? new Highlight() : null;
if (exact) CSS.highlights.set("covered", exact);

// What a click or a key chose; hovering shows another one for the time being.
let chosen = null;
let chosenCell = null;
let lit = [];

function clear() {
  for (const node of lit) node.classList.remove("lit", "here");
  lit = [];
  if (exact) exact.clear();
}
function light(node, name) {
  node.classList.add(name);
  lit.push(node);
}
function markRange(element, start, end) {
  const words = element.querySelector(".words");
  if (!exact || !words || !words.firstChild) return;
  const range = new Range();
  range.setStart(words.firstChild, start);
  range.setEnd(words.firstChild, Math.min(end, words.firstChild.length));
  exact.add(range);
}
const cellsOf = new Map();
function cellAt(element, place) {
  if (!cellsOf.has(element)) {
    const cells = [...element.querySelectorAll("[data-cell]")];
    cellsOf.set(element, new Map(cells.map((cell) => [cell.dataset.cell, cell])));
  }
  return cellsOf.get(element).get(place);
}
const placesIn = (chunk) => (chunk.dataset.cells || "").split(" ").filter(Boolean);
function markCells(element, chunk) {
  for (const place of placesIn(chunk)) {
    const cell = cellAt(element, place);
    if (cell) light(cell, "lit");
  }
}
// Lights a chunk and what it covers, or an element and the chunks that hold it; of a table the
// chunks that hold the given cell, where one is given. Returns what it lit on the other side.
function show(node, cell) {
  clear();
  if (!node) return [];
  light(node, "here");
  if (node.classList.contains("element")) {
    let found = covering[Number(node.dataset.number)].map((number) => chunks[number]);
    const holding = cell ? found.filter((chunk) => placesIn(chunk).includes(cell.dataset.cell)) : [];
    if (holding.length) {
      light(cell, "lit");
      found = holding;
    }
    for (const chunk of found) light(chunk, "lit");
    return found;
  }
  return covers[Number(node.dataset.number)].map(({ element, start, end }) => {
    const found = elements[element];
    light(found, "lit");
    if (Number.isNaN(start) || start === undefined) markCells(found, node);
    else markRange(found, start, end);
    return found;
  });
}
function reveal(node) {
  const pane = node.closest(".pane").getBoundingClientRect();
  const place = node.getBoundingClientRect();
  if (place.top < pane.top + 40 || place.bottom > pane.bottom) node.scrollIntoView({ block: "start" });
}
function choose(node, cell = null) {
  if (chosen) chosen.removeAttribute("aria-current");
  chosen = node;
  chosenCell = cell;
  const found = show(node, cell).filter((other) => !other.hidden);
  if (!node) return;
  node.setAttribute("aria-current", "true");
  const list = node.classList.contains("chunk") ? chunks : elements;
  for (const other of list) other.tabIndex = other === node ? 0 : -1;
  if (!found.length) return;
  const first = found[0].querySelector("td.lit");
  if (first) {
    first.scrollIntoView({ block: "center", inline: "nearest" });
  } else {
    reveal(found[0]);
  }
}
const within = (target, selector) => target instanceof Element ? target.closest(selector) : null;
const itemOf = (target) => within(target, ".chunk, .element");
const cellOf = (target) => within(target, "[data-cell]");
document.addEventListener("mouseover", (event) => {
  const node = itemOf(event.target);
  if (node) show(node, cellOf(event.target));
});
document.addEventListener("mouseout", (event) => {
  if (itemOf(event.target) && !itemOf(event.relatedTarget)) show(chosen, chosenCell);
});
document.addEventListener("click", (event) => {
  const node = itemOf(event.target);
  if (node && String(getSelection()) === "") choose(node, cellOf(event.target));
});

// Up, Down, Home, End move within a side; Enter goes to the other side; / filters; Escape ends.
const filter = document.querySelector("#filter");
function step(node, move) {
  const list = (node.classList.contains("chunk") ? chunks : elements).filter((other) => !other.hidden);
  const place = list.indexOf(node);
  const next = list[{ up: place - 1, down: place + 1, first: 0, last: list.length - 1 }[move]];
  if (!next) return;
  choose(next);
  next.focus({ preventScroll: true });
  reveal(next);
}
const MOVES = { ArrowUp: "up", k: "up", ArrowDown: "down", j: "down", Home: "first", End: "last" };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    filter.value = "";
    narrow();
    choose(null);
  } else if (event.key === "/" && event.target !== filter) {
    event.preventDefault();
    filter.focus();
  } else if (event.target instanceof Element && event.target.matches(".chunk, .element")) {
    if (event.key in MOVES) {
      event.preventDefault();
      step(event.target, MOVES[event.key]);
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(event.target);
      const other = show(event.target).find((node) => !node.hidden);
      if (other) {
        choose(other);
        other.focus({ preventScroll: true });
        reveal(other);
      }
    }
  }
});
document.addEventListener("focusin", (event) => {
  if (event.target instanceof Element && event.target.matches(".chunk, .element")) choose(event.target);
});

// The filter looks at words without their accents, as people type them in a hurry.
const fold = (text) => text.normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase().replaceAll("đ", "d");
const folded = new Map();
const onlyWarned = document.querySelector("#warned");
function narrow() {
  const wanted = fold(filter.value).split(/\s+/).filter(Boolean);
  const warned = onlyWarned !== null && onlyWarned.checked;
  for (const [list, name] of [[chunks, "chunks"], [elements, "elements"]]) {
    let count = 0;
    for (const node of list) {
      if (wanted.length && !folded.has(node)) folded.set(node, fold(node.textContent));
      const holds = wanted.every((word) => folded.get(node).includes(word));
      const passes = holds && (!warned || list === elements || node.querySelector(".warning") !== null);
      node.hidden = !passes;
      count += passes;
    }
    const narrowed = count < list.length ? `${count} of ${list.length}` : String(list.length);
    document.querySelector(`#count-${name}`).textContent = narrowed;
    const visible = list.find((node) => !node.hidden);
    if (visible && !list.some((node) => node.tabIndex === 0 && !node.hidden)) visible.tabIndex = 0;
  }
  document.querySelectorAll(".page").forEach((rule) => { rule.hidden = wanted.length > 0; });
}
filter.addEventListener("input", narrow);
if (onlyWarned !== null) onlyWarned.addEventListener("change", narrow);
