// One picture of a strip at a time: choose the strip, slide along it.
(() => {
  "use strict";
  for (const gallery of document.querySelectorAll(".gallery")) {
    const choice = gallery.querySelector("select");
    const slider = gallery.querySelector("input[type=range]");
    const told = gallery.querySelector("output");
    const about = gallery.querySelector("[data-about]");
    const strips = [...gallery.querySelectorAll("img[data-count]")];
    const show = () => {
      const strip = strips[choice.selectedIndex];
      const count = Number(strip.dataset.count);
      slider.max = count;
      const at = Number(slider.value);
      for (const other of strips) other.hidden = other !== strip;
      strip.style.objectPosition = `${count > 1 ? (100 * (at - 1)) / (count - 1) : 0}% 0`;
      strip.alt = `${strip.dataset.name}, ${gallery.dataset.unit} ${at}`;
      told.textContent = `${at} of ${count}`;
      about.textContent = strip.dataset.summary;
    };
    choice.addEventListener("input", show);
    slider.addEventListener("input", show);
    show();
  }
})();
