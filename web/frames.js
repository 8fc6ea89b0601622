// What changes is drawn once a frame, however often it changes in between: the layout is computed once.
const waiting = new Set();

// Calls it in the next frame; once, however often it was asked for.
export function drawSoon(draw) {
  if (waiting.size === 0) requestAnimationFrame(drawAll);
  waiting.add(draw);
}

// The conversation is at its end for as long as the reader has not scrolled away from it.
const log = byId("log");
let follows = true;
log.addEventListener("scroll", () => { follows = log.scrollHeight - log.scrollTop - log.clientHeight < 60; });

export function follow() {
  follows = true;
  drawSoon(() => {});
}

// At once: where something has ended, what is said of it and what is seen agree.
export function drawNow(draw) {
  draw();
  if (follows) log.scrollTop = log.scrollHeight;
}

function drawAll() {
  const draws = [...waiting];
  waiting.clear();
  drawNow(() => draws.forEach((draw) => draw()));
}
