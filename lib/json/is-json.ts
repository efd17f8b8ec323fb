/** Whether a text is well-formed JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // The parser's own message quotes the text, which may hold a secret.
    return false;
  }
}
