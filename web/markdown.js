// An answer's Markdown as nodes. markdown-it makes HTML of it, in which the answer's own HTML is text; DOMPurify lets
// through what is listed here and nothing else, so that an answer runs nothing and loads nothing.
import markdownIt from "./markdown_it.js";
import { mathsRules } from "./maths.js";
import "./purify.js";

// Debian's 2.4.1 looks at a variable that it has nowhere, and throws. Without a depth it means nothing.
globalThis.shadowNode ??= {};

const linked = /^(?:https?|mailto):/i;
const markdown = markdownIt({ html: false }).use(mathsRules);
markdown.validateLink = () => true;  // what is no safe link loses its address below, not its form

// An image is a link to it, named by its alternative text; within a link it is that text alone.
markdown.renderer.rules.image = (tokens, at, options, env, self) => {
  const { escapeHtml } = markdown.utils, token = tokens[at], address = token.attrGet("src");
  const text = escapeHtml(self.renderInlineAsText(token.children, options, env) || "image");
  const depth = tokens.slice(0, at).reduce((sum, t) => sum + (t.type === "link_open") - (t.type === "link_close"), 0);
  return depth > 0 ? text : `<a class="image" href="${escapeHtml(address)}">${text}</a>`;
};
// Columns are aligned by classes: the page allows no styles in HTML.
for (const cell of ["th_open", "td_open"]) {
  markdown.renderer.rules[cell] = (tokens, at, options, env, self) => {
    const token = tokens[at], align = /^text-align:(left|right|center)$/.exec(token.attrGet("style") || "")?.[1];
    token.attrs = align ? [["class", `to-${align}`]] : null;
    return self.renderToken(tokens, at, options);
  };
}

const allowed = {
  ALLOWED_TAGS: ["a", "blockquote", "br", "code", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul"],
  ALLOWED_ATTR: ["class", "href", "start", "title"], ADD_URI_SAFE_ATTR: ["start"], ALLOWED_URI_REGEXP: linked,
  ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false, RETURN_DOM_FRAGMENT: true,
};

// env.above: the headings that the next may stand below.
function finish(fragment, env) {
  for (const heading of fragment.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    env.above = (env.above || []).filter((name) => name < heading.localName);
    heading.ariaLevel = env.above.length + 2;  // below the page's own, and none is left out
    env.above.push(heading.localName);
  }
  for (const link of fragment.querySelectorAll("a")) {
    if (!linked.test(link.getAttribute("href") || "")) link.removeAttribute("href");
    else fill(link, { target: "_blank", rel: "noopener noreferrer" }, []);
  }
  for (const code of fragment.querySelectorAll("pre > code")) {
    const language = /(?:^| )language-(\S+)/.exec(code.className)?.[1] || "", pre = code.parentNode, box = el("div", { class: "code" });
    pre.replaceWith(box);
    box.append(el("div", { class: "code-head" }, el("span", {}, language), el("button", { type: "button", class: "small copy-code" }, "Copy")),
      fill(pre, { tabindex: 0, dir: "ltr" }, []));
  }
  for (const table of fragment.querySelectorAll("table")) {
    const box = el("div", { class: "wide", tabindex: 0 });
    table.replaceWith(box);
    box.append(table);
  }
  for (const block of fragment.querySelectorAll("p, h1, h2, h3, h4, h5, h6, ul, ol, li, blockquote, td, th")) block.dir = "auto";
  for (const node of [...fragment.childNodes]) if (node.nodeType === Node.TEXT_NODE && !node.data.trim()) node.remove();
  return fragment;
}

export const parse = (source, env) => markdown.parse(source, env);
export const nodesOf = (tokens, env) => finish(globalThis.DOMPurify.sanitize(markdown.renderer.render(tokens, markdown.options, env), allowed), env);
