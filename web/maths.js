// Maths in an answer: $...$, $$...$$, \(...\) and \[...\], drawn by KaTeX as MathML. KaTeX is loaded with the first.
const most = 10000;  // letters of a formula
const kept = new Map();  // formulas that were drawn: the same one comes in many frames
// Macros can grow without end, so that a formula that defines some is shown as it is written.
const defines = /\\(?:[gex]?def|g?let|futurelet|(?:re|provide)?newcommand|global|long)(?![a-zA-Z])/;

function between(state, open, close, from) {
  for (let end = from; (end = state.src.indexOf(close, end)) >= 0; ++end) {
    let slashes = 0;
    while (state.src[end - 1 - slashes] === "\\") ++slashes;
    if (slashes % 2 === 0 || close[0] === "\\") return end;
  }
  return -1;
}

// Dollars are money more often than maths: as Pandoc has it, no space stands within them, and no digit behind; no word and
// no code begins or ends between them; and what begins with a digit and has words, but no operator, is prose.
function isMoney(text, before, behind) {
  return /^\s|\s$|`/.test(text) || /\d/.test(behind) || /\w/.test(before) || (/^\d.*\s[a-z]{2,}/is.test(text) && !/[\\^_=+<>*/{}]/.test(text));
}

function inline(state, silent) {
  const { src, pos } = state;
  const [open, close] = [["$$", "$$"], ["$", "$"], ["\\(", "\\)"], ["\\[", "\\]"]].find(([o]) => src.startsWith(o, pos)) || [];
  if (!open) return false;
  state.unclosed ||= {};  // by an end: from where on there is none, so that it is looked for once
  if (state.unclosed[close] <= pos) return false;
  const from = pos + open.length, end = between(state, open, close, from);
  if (end < 0) state.unclosed[close] = pos;
  if (end <= from || end - from > most) return false;
  const text = src.slice(from, end);
  if (!/[\p{L}\p{N}]/u.test(text)) return false;  // escaped brackets
  if (open === "$" && isMoney(text, src[pos - 1] ?? "", src[end + 1] ?? "")) return false;
  if (!silent) {
    const token = state.push("maths", "code", 0);
    token.content = text;
    token.info = open === "$" || open === "\\(" ? "" : " display";
  }
  state.pos = end + close.length;
  return true;
}

// The line from `first` on that ends with `close`; -1: an empty line comes before, or the end of what they are in.
function closingLine(state, first, last, close, contentOf) {
  state.sought ||= {};  // by an end: up to where there is none, so that each line is looked at once
  for (let n = Math.max(first, state.sought[close] ?? 0); n < last && !state.isEmpty(n) && state.sCount[n] >= state.blkIndent; ++n) {
    if (contentOf(n).trimEnd().endsWith(close)) return n;
    if (n > first) state.sought[close] = n + 1;
  }
  return -1;
}

// A formula with lines of its own. It ends at a line's end, before an empty line.
function block(state, first, last, silent) {
  const lineOf = (n) => state.src.slice(state.bMarks[n] + state.tShift[n], state.eMarks[n]);
  const open = lineOf(first).slice(0, 2), close = { "$$": "$$", "\\[": "\\]" }[open];
  if (!close || state.sCount[first] - state.blkIndent >= 4) return false;
  const contentOf = (n) => n === first ? lineOf(n).slice(2) : lineOf(n), end = closingLine(state, first, last, close, contentOf);
  if (end < 0) return false;
  if (silent) return true;
  const token = state.push("maths_block", "code", 0);
  for (let n = first; n <= end; ++n) token.content += `${contentOf(n)}\n`;
  token.content = token.content.trimEnd().slice(0, -2);
  token.map = [first, end + 1];
  token.block = true;
  state.line = end + 1;
  return true;
}

export function mathsRules(markdown) {
  const escape = markdown.utils.escapeHtml;
  markdown.inline.ruler.before("escape", "maths", inline);
  markdown.block.ruler.before("fence", "maths_block", block, { alt: ["paragraph", "reference", "blockquote", "list"] });
  markdown.renderer.rules.maths = (tokens, at) => `<code class="maths${tokens[at].info}">${escape(tokens[at].content)}</code>`;
  markdown.renderer.rules.maths_block = (tokens, at) => `<p><code class="maths display">${escape(tokens[at].content)}</code></p>\n`;
}

// Of addresses, which have a colon, none is let through.
const mathml = { USE_PROFILES: { mathMl: true }, FORBID_ATTR: ["style", "href", "class", "id"], ALLOWED_URI_REGEXP: /^[^:]*$/, RETURN_DOM_FRAGMENT: true };

// Styles would be refused by the page's policy, and the annotation is the source once more. Both are KaTeX's own output, in
// which every < and " of the formula is escaped.
function drawn(source, displayMode) {
  const html = globalThis.katex.renderToString(source, { output: "mathml", displayMode, throwOnError: true, trust: false, strict: "ignore",
    maxExpand: 1000, maxSize: 20 }).replace(/ style="[^"]*"/g, "").replace(/<annotation[^>]*>[^<]*<\/annotation>/g, "");
  return globalThis.DOMPurify.sanitize(html, mathml).querySelector("math");
}

let loading = null;

// Draws the formulas in `root`. `again` is called where KaTeX had to be loaded first. What it doesn't know stays its source.
export function typeset(root, again) {
  const formulas = root.querySelectorAll("code.maths");
  if (formulas.length === 0) return;
  if (!globalThis.katex) {
    loading ||= import("./katex.js").catch(() => { loading = null; });
    loading.then(() => { if (globalThis.katex) again(); });
    return;
  }
  for (const code of formulas) {
    const display = code.classList.contains("display"), source = code.textContent, name = `${display}${source}`;
    if (!kept.has(name)) {
      let math = null;
      try {
        if (source.length <= most && !defines.test(source)) math = drawn(source, display);
      } catch {
        // Shown as it is written.
      }
      if (kept.size > 500) kept.clear();
      kept.set(name, math);
    }
    const math = kept.get(name);
    if (math) code.replaceWith(document.importNode(math, true));
  }
}
