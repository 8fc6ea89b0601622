// The line above the message box: what the reader should know, and perhaps do.
export const tell = (text, ...buttons) => byId("told").replaceChildren(text, ...buttons.flatMap((b) => [" ", b]));
