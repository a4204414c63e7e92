// What a page does beyond being read: sorting, filtering, unfolding, printing. Nothing is fetched or kept.
"use strict";
(() => {
  const all = (root, selector) => [...root.querySelectorAll(selector)];

  // ---- tables ----

  const names = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  function sortKey(row, index, numeric) {
    const cell = row.cells[index];
    if (!cell) return numeric ? NaN : "";
    if (!numeric) return cell.textContent.trim();
    return cell.dataset.value === undefined ? dbdyno.valueOf(cell.textContent) : Number(cell.dataset.value);
  }

  // Rows without a value stand last in both directions.
  function compare(left, right, numeric, sign) {
    if (!numeric) {
      if (left === "" || right === "") return (left === "") - (right === "");
      return sign * names.compare(left, right);
    }
    if (Number.isNaN(left) || Number.isNaN(right)) return Number.isNaN(left) - Number.isNaN(right);
    return sign * (left - right);
  }

  const NEXT_ORDER = { none: "ascending", ascending: "descending", descending: "none" };

  function makeSortable(table) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const given = [...body.rows];
    heads.forEach((head, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const order = NEXT_ORDER[head.getAttribute("aria-sort")];
        for (const other of heads) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", order);
        const numeric = head.dataset.kind === "number";
        const sign = order === "descending" ? -1 : 1;
        const keyed = given.map((row) => ({ row, key: sortKey(row, index, numeric) }));
        if (order !== "none") keyed.sort((left, right) => compare(left.key, right.key, numeric, sign));
        body.append(...keyed.map((one) => one.row));
      });
    });
  }

  function makeFilter(figure) {
    const rows = [...figure.querySelector("tbody").rows];
    const text = figure.querySelector("input.filter");
    const group = figure.querySelector("select.group");
    const moved = figure.querySelector("input.moved");
    const count = figure.querySelector("output.count");
    const step = (row) => `${row.cells[0].textContent} ${row.cells[0].querySelector("[title]")?.title ?? ""}`.toLowerCase();
    const apply = () => {
      const wanted = text.value.trim().toLowerCase();
      let shown = 0;
      for (const row of rows) {
        const fits = (wanted === "" || step(row).includes(wanted)) &&
          (group.value === "" || row.dataset.group === group.value) && (!moved.checked || "moved" in row.dataset);
        row.hidden = !fits;
        shown += fits;
      }
      count.textContent = `${shown} of ${rows.length} steps`;
    };
    for (const control of [text, group, moved]) control.addEventListener("input", apply);
    // A browser keeps what was typed when a page is loaded again.
    apply();
  }

  // A box that scrolls must be reachable by keys; one that does not would only be in the way.
  function reachable(box) {
    if (box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }

  // ---- sections ----

  const wide = window.matchMedia("(min-width: 70rem)");

  function navigation(nav) {
    const list = nav.querySelector("details");
    const folded = () => all(document, "main details.part");
    const filter = nav.querySelector("input.filter");
    const unfold = nav.querySelector("button.unfold");
    const fit = () => { list.open = wide.matches; };
    wide.addEventListener("change", fit);
    fit();
    nav.addEventListener("click", (event) => {
      if (event.target.closest("a") && !wide.matches) list.open = false;
    });
    filter?.addEventListener("input", () => {
      const wanted = filter.value.trim().toLowerCase();
      for (const item of all(nav, "li")) item.hidden = !item.textContent.toLowerCase().includes(wanted);
      for (const title of all(nav, "p.group")) title.hidden = all(title.nextElementSibling, "li:not([hidden])").length === 0;
    });
    unfold.hidden = folded().length === 0;
    unfold.addEventListener("click", () => {
      const open = folded().some((part) => !part.open);
      for (const part of folded()) part.open = open;
      unfold.textContent = open ? "Fold all" : "Unfold all";
    });
  }

  function unfoldTarget() {
    let id = "";
    try { id = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const target = id && document.getElementById(id);
    if (!target) return;
    const folded = target.closest("details:not([open])");
    for (let part = folded; part; part = part.parentElement.closest("details")) part.open = true;
    if (folded) target.scrollIntoView();
  }

  // ---- the page ----

  function themes(button) {
    const order = ["auto", "dark", "light"];
    let index = 0;
    button.addEventListener("click", () => {
      index = (index + 1) % order.length;
      if (index === 0) delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = order[index];
      button.textContent = `Theme: ${order[index]}`;
    });
  }

  function printing() {
    let opened = [];
    window.addEventListener("beforeprint", () => {
      opened = all(document, "details:not([open])");
      for (const part of opened) part.open = true;
      for (const figure of all(document, "figure.timeline:not([data-drawn])")) timelines.still(figure);
    });
    window.addEventListener("afterprint", () => {
      for (const part of opened) part.open = false;
      opened = [];
    });
  }

  function focusFilter(event) {
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "Escape" && typing?.matches("input.filter") && typing.value !== "") {
      typing.value = "";
      typing.dispatchEvent(new Event("input"));
    }
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const filters = [...all(document, "main input.filter"), ...all(document, "nav input.filter")];
    const filter = filters.find((input) => input.getClientRects().length > 0);
    if (!filter) return;
    event.preventDefault();
    filter.focus();
    filter.select();
  }

  for (const nav of all(document, "nav.sections")) navigation(nav);
  for (const table of all(document, "table.sortable")) makeSortable(table);
  for (const figure of all(document, "figure.matrix")) makeFilter(figure);
  for (const button of all(document, "button.theme")) themes(button);
  const sizes = new ResizeObserver((entries) => { for (const entry of entries) reachable(entry.target); });
  for (const box of all(document, ".scroll, pre")) sizes.observe(box);
  timelines.watch(all(document, "figure.timeline"));
  document.addEventListener("keydown", focusFilter);
  window.addEventListener("hashchange", unfoldTarget);
  printing();
  unfoldTarget();
})();
