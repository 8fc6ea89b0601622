// What the server says of itself: asked until it has loaded its model, and again where another may have taken its place.
import { request } from "./api.js";

// context: tokens of a conversation and its answer. params: its defaults, by llama.cpp's names. speculative: {types, default}.
export const facts = { context: null, params: {}, speculative: null };

export async function askFacts() {
  for (;;) {
    const response = await request("/props", { quiet: true }).catch(() => null), props = response?.ok ? await response.json().catch(() => null) : null;
    if (props) {
      facts.context = props.default_generation_settings?.n_ctx || null;
      facts.params = props.default_generation_settings?.params || {};
      facts.speculative = props.speculative || { types: [], default: "" };
      return facts;
    }
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}

export const factsKnown = askFacts();
