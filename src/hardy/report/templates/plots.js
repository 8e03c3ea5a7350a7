// Draws the figures that the page carries as JSON, in the colours of the page.
(() => {
  "use strict";
  const figures = JSON.parse(document.querySelector("#figures").textContent);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const family = getComputedStyle(document.body).fontFamily;

  const themed = (layout) => {
    const ink = colour("--ink"), soft = colour("--soft"), grid = colour("--grid");
    const copy = structuredClone(layout);
    Object.assign(copy, {
      font: { family, size: 12, color: ink },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--rule"), font: { family, color: ink }, namelength: 40 },
    });
    for (const name of ["xaxis", "yaxis"]) {
      Object.assign(copy[name], { gridcolor: grid, linecolor: grid, tickfont: { color: soft, size: 11.5 } });
      if (copy[name].title) copy[name].title.font = { color: soft, size: 12 };
    }
    return copy;
  };
  // Whiskers of bars have the colour of text; where there is no room, points go unnamed.
  const dressed = (data, narrow) => data.map((trace) =>
    trace.type === "bar" && trace.error_x
      ? { ...trace, error_x: { ...trace.error_x, color: colour("--ink") } }
      : narrow && trace.mode === "markers+text" ? { ...trace, mode: "markers" } : trace);
  const config = { displayModeBar: false, responsive: true };

  const draw = (id) => {
    const { layout } = figures[id];
    const target = document.getElementById(id);
    const narrow = target.clientWidth < 560;
    target.dataset.narrow = narrow;
    // What was hidden stays hidden.
    const data = figures[id].data.map((trace, place) =>
      target.data ? { ...trace, visible: target.data[place].visible } : trace);
    return Plotly.react(target, dressed(data, narrow), themed(layout), config);
  };
  // One after the other, so that the page answers while it draws.
  const drawAll = async () => {
    document.documentElement.dataset.plots = "drawing";
    for (const id of Object.keys(figures)) {
      await draw(id);
      await new Promise((next) => setTimeout(next));
    }
    document.documentElement.dataset.plots = "drawn";
  };
  drawAll();
  document.addEventListener("hardy:theme", drawAll);
  window.addEventListener("resize", () => {
    for (const id of Object.keys(figures)) {
      const target = document.getElementById(id);
      if (target.data && String(target.clientWidth < 560) !== target.dataset.narrow) draw(id);
    }
  });

  for (const chip of document.querySelectorAll(".chips button[data-series]")) {
    chip.addEventListener("click", () => {
      const shown = chip.getAttribute("aria-pressed") !== "true";
      chip.setAttribute("aria-pressed", shown);
      for (const target of chip.closest("figure").querySelectorAll(".plot")) {
        const places = figures[target.id].data
          .map((trace, place) => (trace.meta === chip.dataset.series ? place : -1))
          .filter((place) => place >= 0);
        if (places.length) Plotly.restyle(target, { visible: shown }, places);
      }
    });
  }
})();
