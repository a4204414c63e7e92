"use strict";
// Keeps the page of a run in progress up to date. Everything that it writes is text.
(() => {
  const root = document.querySelector("[data-live]");
  if (!root) return;
  const wait = 1000 * Number(root.dataset.wait);
  const most = 16;
  let slower = 1;
  const state = root.querySelector("[data-state]");

  const row = (cells) => {
    const line = document.createElement("tr");
    cells.forEach((text, index) => {
      const cell = document.createElement(index === 0 ? "th" : "td");
      if (index === 0) cell.scope = "row";
      cell.textContent = text;
      line.append(cell);
    });
    return line;
  };

  const put = (data) => {
    for (const place of root.querySelectorAll("[data-field]")) {
      const text = data.fields[place.dataset.field];
      if (text !== undefined && place.textContent !== text) place.textContent = text;
    }
    for (const body of root.querySelectorAll("[data-rows]")) {
      const rows = data.tables[body.dataset.rows];
      if (rows) body.replaceChildren(...rows.map(row));
    }
    const bar = root.querySelector("progress");
    if (data.share === null) bar.removeAttribute("value");
    else bar.value = data.share;
  };

  const look = async () => {
    try {
      const answer = await fetch(root.dataset.live, { cache: "no-store" });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const data = await answer.json();
      if (data.ended) {
        location.replace(data.report);
        return;
      }
      put(data);
      slower = 1;
      state.textContent = "";
    } catch (error) {
      slower = Math.min(2 * slower, most);
      state.textContent = `No answer (${error.message}); asking again in ${(wait * slower) / 1000} s.`;
    }
    setTimeout(look, wait * slower);
  };
  setTimeout(look, wait);
})();
