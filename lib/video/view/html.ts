const CODES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text that is HTML already. */
export class Html {
  constructor(readonly text: string) {}
}

/** HTML with values in it, of which each that is no HTML itself is text: no other way leads into a page. */
export function html(
  parts: TemplateStringsArray,
  ...values: readonly (string | Html | readonly Html[])[]
): Html {
  const texts = values.map(textOf);
  return new Html(parts.map((part, index) => part + (texts[index] ?? '')).join(''));
}

function textOf(value: string | Html | readonly Html[]): string {
  if (typeof value === 'string') return escaped(value);
  return value instanceof Html ? value.text : value.map(({ text }) => text).join('');
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => CODES[character] ?? '');
}
