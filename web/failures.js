// What went wrong, in a person's words.
export const unreachable = "The server cannot be reached. Is it running, and is this computer connected?";
export const cutOff = "The answer was cut off: the connection ended before the server had finished.";
export const noAnswer = "The server sent something that is no answer.";
export const noKey = "This server asks for a key, and none was given.";

const beginnings = {
  403: "This key may not do that.",
  413: "The message is too large for this server.",
  429: "The server has too much to do.",
  503: "The server is not ready.",
  504: "The server took too long.",
};

// Of an answer that is no success: an Error, with the field of the request that was refused, if one was.
export async function failureOf(response) {
  const error = (await response.json().catch(() => null))?.error, told = error?.message;
  const begins = beginnings[response.status] || (response.status >= 500 ? "The server failed." : told ? "The server refused this." : "");
  const text = [begins, told ? `It says: ${told}` : `It answered with status ${response.status}.`].filter(Boolean).join(" ");
  return Object.assign(new Error(text), { field: typeof error?.param === "string" ? error.param : null, told });
}
