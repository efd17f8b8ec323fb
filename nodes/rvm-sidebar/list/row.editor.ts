import { AskError } from '../../support/editor/requests';

const TEXTS = '@rvm/node-red-remote-monitoring/rvm-sidebar:';

/** A text of the package. */
export function said(key: string, values?: Record<string, unknown>): string {
  return RED._(`${TEXTS}${key}`, values);
}

/** A text of the sidebar. */
export function own(key: string, values?: Record<string, unknown>): string {
  return said(`rvm-sidebar.${key}`, values);
}

/** Those that are there, in one line. */
export function present(parts: readonly (string | null)[], between: string): string {
  return parts.filter((part) => part !== null && part !== '').join(between);
}

/** One entry of a list. */
export function rowOf(...lines: [what: string, where: string, quiet: string]): JQuery {
  return $('<div class="rvm-row">').append(linesOf(...lines));
}

/** What an entry says, each in a line of its own; no line is empty. */
export function linesOf(...lines: [what: string, where: string, quiet: string]): JQuery[] {
  const classes = ['rvm-what', 'rvm-where', 'rvm-quiet'];
  const shown = lines.map((text, index) =>
    $('<div>')
      .addClass(classes[index] ?? '')
      .text(text),
  );
  return shown.filter((line) => line.text() !== '');
}

/** In the place of the entries of a list that has none. */
export function nothing(): JQuery {
  return $('<div class="rvm-quiet">').text(own('none'));
}

/** Why the runtime could not answer. */
export function textOf(failure: unknown): string {
  if (failure instanceof AskError) return failure.message;
  throw failure;
}
