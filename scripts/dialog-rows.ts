/**
 * Rows that several dialogs have stand once, each in a file of its own. A dialog names one in a comment, with a value for each
 * `{{parameter}}` that the row has:
 *
 *     <!-- row: name prefix="node-input" -->
 */
import fs from 'node:fs';
import path from 'node:path';
import { toError } from '../lib/error';

/** Any comment that begins like one, so that a slip of the pen does not leave a dialog without its row. */
const COMMENT = /([ \t]*)<!--\s*row\b([^]*?)-->/g;
const NAMED = /^: ([a-z-]+)((?: [a-z]+="[^"]*")*) $/;
const VALUE = / ([a-z]+)="([^"]*)"/g;
const PARAMETER = /\{\{(.*?)\}\}/g;

/**
 * A dialog with its rows in place of the comments that name them.
 * @param folder where the rows stand, as `<name>.html`
 * @throws Error for a row that there is not, a value that a row lacks, and one that it has no place for
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
