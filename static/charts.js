// Charts by Plotly, drawn from the JSON beside each figure. Colours come from CSS tokens and are read again when the theme changes.
// Without JavaScript the tables below the charts stand open in their place.
(() => {
  const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const isChinese = document.documentElement.lang.startsWith("zh");
  // Three significant digits: 12.6万, 1.26亿; 126k, 1.26M.
  const compact = (value) => {
    const steps = isChinese ? [[1e8, "亿"], [1e4, "万"]] : [[1e9, "B"], [1e6, "M"], [1e3, "k"]];
    const step = value >= 1e4 && steps.find(([size]) => value >= size);
    return step ? `${+(value / step[0]).toPrecision(3)}${step[1]}` : `${+value.toPrecision(3)}`;
  };
  // At most five ticks from zero.
  const ticks = (most) => {
    const rough = (most || 1) / 4, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough);
    const values = [];
    for (let at = 0; at <= most + step / 1e6; at += step) values.push(at);
    return { tickvals: values, ticktext: values.map(compact) };
  };
  const layout = (over) => {
    const axis = { color: token("--axis"), linecolor: token("--line-2"), gridcolor: token("--grid"), zeroline: false, ticks: "", tickangle: 0, fixedrange: true };
    return {
      font: { family: token("--font"), size: 12, color: token("--ink-2") }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      showlegend: false, dragmode: false, bargap: 0.3, margin: { l: 48, r: 12, t: 8, b: 28 },
      hoverlabel: { bgcolor: token("--surface"), bordercolor: token("--line-2"), font: { color: token("--ink"), size: 12, family: token("--font") } },
      ...over, xaxis: { ...axis, showgrid: false, ...over.xaxis }, yaxis: { ...axis, ...over.yaxis },
    };
  };
  const isNarrow = () => innerWidth < 560;
  const hues = () => ["--d1", "--d2", "--d3", "--d4", "--d5", "--d6"].map(token);
  const CHARTS = {
    days: (data) => {
      const colours = hues(), totals = data.x.map((_, i) => data.series.reduce((sum, one) => sum + one.y[i], 0));
      const every = Math.ceil(data.x.length / (isNarrow() ? 3 : 8));
      const shown = data.x.filter((_, i) => i % every === 0);
      return [data.series.map((one, i) => ({
        type: "bar", name: one.name, x: data.x, y: one.y, marker: { color: i < colours.length ? colours[i] : token("--d0") },
        hovertemplate: `%{y:,.2f} ${data.unit}<extra>${one.name.replace(/[<>&]/g, "")}</extra>`,
      })), layout({ height: 300, barmode: "stack", hovermode: isNarrow() ? "closest" : "x unified", showlegend: data.series.length > 1, legend: { orientation: "h", y: -0.14, font: { size: 12, color: token("--ink-2") } },
        margin: { l: 48, r: 12, t: 8, b: data.series.length > 1 ? 64 : 28 }, xaxis: { type: "category", tickvals: shown, ticktext: shown.map((day) => day.slice(5)) }, yaxis: ticks(Math.max(...totals)) })];
    },
    waits: (data) => {
      const dot = (x, text, name, colour) => ({ type: "scatter", mode: "markers", name, x, y: data.y, text, marker: { size: 10, color: colour }, hovertemplate: "%{text}<extra>" + name + "</extra>" });
      const spans = data.y.map((y, i) => ({ type: "line", x0: data.p50[i], x1: data.p90[i], y0: y, y1: y, layer: "below", line: { color: token("--line-2"), width: 3 } }));
      const few = isNarrow() ? (_, i) => i % 2 === 0 : () => true;
      return [[dot(data.p50, data.text50, "P50", token("--d1")), dot(data.p90, data.text90, "P90", token("--d4"))],
        layout({ height: 60 + 26 * data.y.length, shapes: spans, hovermode: "closest", showlegend: true, legend: { orientation: "h", y: 1, yanchor: "bottom", x: 0 },
          margin: { l: isNarrow() ? 156 : 220, r: 24, t: 26, b: 28 }, xaxis: { type: "log", tickvals: data.tickvals.filter(few), ticktext: data.ticktext.filter(few), showgrid: true }, yaxis: { type: "category", autorange: "reversed", showgrid: false, automargin: false } })];
    },
  };
  const draw = () => document.querySelectorAll("[data-chart]").forEach((box) => {
    const source = document.getElementById(box.dataset.source);
    box.hidden = false;
    const [traces, shape] = CHARTS[box.dataset.chart](JSON.parse(source.textContent));
    Plotly.react(box, traces, shape, { displayModeBar: false, responsive: true });
  });
  if (!window.Plotly) return;
  document.querySelectorAll("details[data-table]").forEach((table) => { table.open = false; });
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  // A link to a closed table opens it.
  const open = () => { const at = location.hash && document.querySelector(`details${CSS.escape ? "#" + CSS.escape(location.hash.slice(1)) : location.hash}`); if (at) at.open = true; };
  addEventListener("hashchange", open);
  document.addEventListener("click", (event) => { if (event.target.closest('a[href^="#t-"]')) setTimeout(open); });
  open();
})();
