// Numbers as the tables write them, and the values of cells. Report pages only; nothing is fetched or kept.
"use strict";
const dbdyno = (() => {
  const NONE = "-";

  // By the rules of figures.rs; the two are tested against one table.

  // Rust rounds a tie to the even digit, toFixed away from zero. A tie has at most one binary place more than digits.
  function fixed(value, digits) {
    if (Math.abs(value) >= 1e21) return BigInt(value).toString();
    if (Number.isInteger(value * 2 ** (digits + 1))) {
      const scaled = value * 10 ** digits;
      const below = Math.floor(scaled);
      if (scaled - below === 0.5) return ((below % 2 === 0 ? below : below + 1) / 10 ** digits).toFixed(digits);
    }
    return value.toFixed(digits);
  }

  // With at most so many digits after the point: a value that was rounded has no more.
  function quantity(value, most = Infinity) {
    const size = Math.abs(value);
    if (!Number.isFinite(value)) return NONE;
    if (size >= 100) return fixed(value, 0).replace(/\B(?=(\d{3})+$)/g, ",");
    if (size >= 10) return fixed(value, Math.min(most, 1));
    if (size >= 1) return fixed(value, Math.min(most, 2));
    if (size === 0) return "0";
    if (size >= 0.001) return fixed(value, Math.min(most, 3));
    return value.toExponential(1);
  }

  const UNITS = new Map(Object.entries({
    B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12,
    k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, ns: 1e-9, us: 1e-6, "\u00b5s": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600,
  }));
  const SPANS = new Set(["h", "min", "s"]);
  const NUMBER = /([-+\u2212]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)\s*([a-zA-Z\u00b5]*)/g;

  // NaN where there is none. "~" stands for no difference, a ratio of 1; of an interval or a change the first number
  // counts; "9 min 40 s" is one value.
  function valueOf(text) {
    const cell = text.trim();
    if (/^\*?~/.test(cell)) return 1;
    let sum = NaN;
    let end = 0;
    for (const match of cell.matchAll(NUMBER)) {
      const [whole, digits, unit] = match;
      const between = cell.slice(end, match.index);
      const goesOn = end > 0 && between.trim() === "" && SPANS.has(unit);
      if (!Number.isNaN(sum) && !goesOn) break;
      const value = Number(digits.replaceAll(",", "").replace("\u2212", "-")) * (UNITS.get(unit) ?? 1);
      sum = Number.isNaN(sum) ? value : sum + value;
      if (!SPANS.has(unit)) break;
      end = match.index + whole.length;
    }
    return sum;
  }

  return Object.freeze({ quantity, valueOf });
})();
