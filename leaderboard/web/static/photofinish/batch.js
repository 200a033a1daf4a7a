// The slider p of a batch's page: the line in the chart and the share for each k. Shares come from the page.

const steps = JSON.parse(document.getElementById("fast-p-steps").textContent);
const root = document.getElementById("fast-p-at-k");
const slider = root.querySelector("input");
const output = root.querySelector("output");
const figures = root.querySelectorAll("[data-share]");
const drawing = root.querySelector("figure > svg");
const { left, right, top, bottom } = drawing.dataset;
const mark = document.createElementNS("http://www.w3.org/2000/svg", "line");
mark.setAttribute("class", "at-p");
mark.setAttribute("y1", top);
mark.setAttribute("y2", bottom);
drawing.append(mark);

// As figures.percent: one decimal, none for whole numbers, and a narrow no-break space.
const percent = (share) => `${(share * 100).toFixed(1).replace(/\.0$/, "")}\u202f%`;

function show() {
  const p = slider.valueAsNumber;
  const shares = steps.findLast((step) => step[0] <= p).slice(1);
  const said = `${p.toFixed(2)}×`;
  output.textContent = said;
  slider.setAttribute("aria-valuetext", said);
  shares.forEach((share, place) => (figures[place].textContent = percent(share)));
  const x = Number(left) + ((Number(right) - Number(left)) * p) / Number(slider.max);
  mark.setAttribute("x1", x);
  mark.setAttribute("x2", x);
}

slider.addEventListener("input", show);
show();
