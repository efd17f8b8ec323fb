/**
 * Inserts rows that several dialogs share. Each row is a file of its own. A dialog names it in a comment,
 * with a value for each `{{parameter}}` of the row:
 *
 *     <!-- row: name prefix="node-input" -->
 */
import fs from 'node:fs';
import path from 'node:path';
import { toError } from '../lib/error';

/** Also matches malformed comments, which then throw, so that no dialog silently lacks a row. */
const COMMENT = /([ \t]*)<!--\s*row\b([^]*?)-->/g;
const NAMED = /^: ([a-z-]+)((?: [a-z]+="[^"]*")*) $/;
const VALUE = / ([a-z]+)="([^"]*)"/g;
const PARAMETER = /\{\{(.*?)\}\}/g;

/**
 * Reads a dialog and replaces the comments by their rows.
 * @param folder contains the rows as `<name>.html`
 * @throws Error for an unknown row, a missing value, or a value for an unknown parameter
 */
export function readDialog(file: string, folder: string): string {
  try {
    return withRows(fs.readFileSync(file, 'utf8'), folder);
  } catch (error) {
    throw new Error(`${path.basename(file)}: ${toError(error).message}`, { cause: error });
  }
}

function withRows(dialog: string, folder: string): string {
  return dialog.replace(COMMENT, (comment: string, indent: string, inside: string) => {
    const [, name, values] = NAMED.exec(inside) ?? [];
    if (name === undefined || values === undefined) throw new Error(`${comment.trim()} does not name a row`);
    const given = new Map(
      [...values.matchAll(VALUE)].map(([, parameter = '', value = '']) => [parameter, value]),
    );
    return filled(name, rowIn(folder, name), given).replace(/^(?=.)/gm, indent);
  });
}

function rowIn(folder: string, name: string): string {
  const file = path.join(folder, `${name}.html`);
  if (fs.existsSync(file)) return fs.readFileSync(file, 'utf8').trimEnd();
  const names = fs
    .readdirSync(folder)
    .map((row) => path.basename(row, '.html'))
    .toSorted();
  throw new Error(`there is no row "${name}"; there are: ${names.join(', ')}`);
}

function filled(name: string, row: string, given: ReadonlyMap<string, string>): string {
  const parameters = new Set([...row.matchAll(PARAMETER)].map(([, parameter = '']) => parameter));
  const idle = [...given.keys()].find((parameter) => !parameters.has(parameter));
  if (idle !== undefined) throw new Error(`the row "${name}" has no parameter "${idle}"`);
  return row.replace(PARAMETER, (_place, parameter: string) => {
    const value = given.get(parameter);
    if (value === undefined) throw new Error(`the row "${name}" needs a value for "${parameter}"`);
    return value;
  });
}
