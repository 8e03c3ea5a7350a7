// The gallery: a slider moves along a strip of pictures, one for each severity, draw or frame.
const FRAMES_A_SECOND = 10;

function show(figure, stop) {
  const stops = JSON.parse(figure.dataset.stops);
  const slider = figure.querySelector("input");
  slider.value = stop;
  slider.setAttribute("aria-valuetext", stops[stop]);
  figure.querySelector("img").style.setProperty("--at", `${(100 * stop) / (stops.length - 1)}%`);
  figure.querySelector("output").textContent = stops[stop];
}

function play(figure, button) {
  const slider = figure.querySelector("input");
  if (figure.timer) {
    clearInterval(figure.timer);
    figure.timer = null;
  } else {
    const next = () => show(figure, (Number(slider.value) + 1) % (Number(slider.max) + 1));
    figure.timer = setInterval(next, 1000 / FRAMES_A_SECOND);
  }
  button.textContent = figure.timer ? "Stop" : "Play";
}

for (const figure of document.querySelectorAll(".strip")) {
  const slider = figure.querySelector("input");
  const button = figure.querySelector("button");
  show(figure, slider.value);
  slider.addEventListener("input", () => show(figure, Number(slider.value)));
  button?.addEventListener("click", () => play(figure, button));
}

const all = document.querySelector("#all-severities");
all?.addEventListener("input", () => {
  for (const figure of document.querySelectorAll(".strip")) {
    if (Number(figure.querySelector("input").max) === Number(all.max)) {
      show(figure, Number(all.value));
    }
  }
  document.querySelector("#all-said").textContent = all.value === "0" ? "clean" : all.value;
});
