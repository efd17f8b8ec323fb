/** Tells a person something, as text: what the editor is given as a string it takes for markup, and names come from outside. */
export function tell(
  text: string,
  options?: Parameters<typeof RED.notify>[1],
): ReturnType<typeof RED.notify> {
  const paragraph = document.createElement('p');
  paragraph.textContent = text;
  return RED.notify(paragraph, options);
}
