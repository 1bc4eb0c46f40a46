// The timeline of one model: the 10-minute ratio against the breaker's lines, over how much was judged. Data from the page's own address.
"use strict";
(() => {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const percent = (value) => (value * 100).toFixed(value < 0.1 ? 1 : 0).replace(".0", "") + "\u00a0%";
  const LEVEL = { healthy: "--healthy", warn: "--c1", reduced: "--c2", open: "--c3", recovering: "--recovering" };

  // Drawn under the curve: the three lines, the watermark, and each move with its level's word.
  function marks(data) {
    return (u) => {
      const { ctx, bbox } = u;
      const ratio = devicePixelRatio || 1;
      ctx.save();
      ctx.font = `${11 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
      ctx.lineWidth = ratio;
      ctx.textAlign = "left";  // the axes leave it at their own
      ctx.textBaseline = "alphabetic";
      data.lines.forEach((line, at) => {
        const y = u.valToPos(line, "y", true);
        ctx.strokeStyle = css(`--c${at + 1}`);
        ctx.setLineDash([5 * ratio, 4 * ratio]);
        ctx.beginPath(); ctx.moveTo(bbox.left, y); ctx.lineTo(bbox.left + bbox.width, y); ctx.stroke();
        ctx.fillStyle = css("--ink2");
        ctx.fillText(`L${at + 1}  ${percent(line)}`, bbox.left + 6 * ratio, y - 4 * ratio);
      });
      const upright = (at, colour, dash) => {
        const x = u.valToPos(at, "x", true);
        if (x < bbox.left || x > bbox.left + bbox.width) return null;
        ctx.strokeStyle = colour;
        ctx.setLineDash(dash);
        ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
        return x;
      };
      if (data.watermark) {
        const x = upright(data.watermark, css("--ink2"), [1 * ratio, 3 * ratio]);
        if (x !== null) { ctx.fillStyle = css("--ink2"); ctx.fillText(data.labels.watermark, x + 4 * ratio, bbox.top + bbox.height - 6 * ratio); }
      }
      data.moves.forEach((move, at) => {
        const colour = css(LEVEL[move.to]);
        const x = upright(move.at, colour, move.enforced ? [] : [3 * ratio, 3 * ratio]);
        if (x === null) return;
        const word = "▸ " + data.labels.levels[move.to];
        const wide = ctx.measureText(word).width;
        ctx.fillStyle = css("--ink");
        // At the right edge the word stands before its line, not across it.
        const fits = x + wide + 8 * ratio < bbox.left + bbox.width;
        const [left, base] = [fits ? x + 4 * ratio : x - wide - 4 * ratio, bbox.top + (14 + (at % 4) * 15) * ratio];
        // A rim of the panel's colour, so that the curve does not run through the word.
        ctx.strokeStyle = css("--panel"); ctx.lineWidth = 4 * ratio; ctx.lineJoin = "round"; ctx.setLineDash([]);
        ctx.strokeText(word, left, base);
        ctx.lineWidth = ratio;
        ctx.fillText(word, left, base);
      });
      ctx.restore();
    };
  }

  function options(box, data) {
    const top = Math.max(0.3, ...data.ratio.map((r) => r || 0)) * 1.12;
    const axis = { stroke: css("--ink2"), grid: { stroke: css("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const most = Math.max(1, ...data.judged);
    return {
      width: box.clientWidth, height: innerWidth < 760 ? 220 : 280,
      cursor: { y: false, points: { size: 7 } }, legend: { live: true },
      scales: { x: { range: [data.at[0], Math.max(data.now, data.at[data.at.length - 1])] }, y: { range: [0, top] }, n: { range: [0, most * 3] } },
      axes: [
        { ...axis, values: (u, at) => at.map((s) => new Date(s * 1000).toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })) },
        { ...axis, size: 52, values: (u, values) => values.map(percent) },
      ],
      series: [
        { label: data.labels.time, value: (u, s) => s == null ? "–" : new Date(s * 1000).toLocaleTimeString(document.documentElement.lang, { hourCycle: "h23" }) },
        { label: data.labels.judged, scale: "n", fill: css("--rail"), stroke: css("--line2"), width: 1, points: { show: false }, paths: uPlot.paths.bars({ size: [0.9, 40] }) },
        { label: data.labels.ratio, scale: "y", stroke: css("--accent"), width: 2, points: { show: false }, value: (u, v) => v == null ? "–" : percent(v) },
      ],
      hooks: { draw: [marks(data)] },
    };
  }

  async function draw(box) {
    let data;
    try {
      const answer = await fetch(box.dataset.series, { headers: { accept: "application/json" } });
      if (!answer.ok) return;
      data = await answer.json();
    } catch { return; }  // the page says by itself that live updates stopped
    box.plot?.destroy();
    box.plot = new uPlot(options(box, data), [data.at, data.judged, data.ratio], box);
  }

  function ready() {
    const boxes = [...document.querySelectorAll("[data-series]")];
    boxes.forEach(draw);
    let width = innerWidth;
    addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; boxes.forEach((box) => box.plot?.setSize({ width: box.clientWidth, height: box.plot.height })); } });
    let drawnAt = Date.now();
    document.body.addEventListener("htmx:afterSwap", () => {
      if (Date.now() - drawnAt > 10000) { drawnAt = Date.now(); boxes.forEach(draw); }
    });
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", ready); else ready();
})();
