import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { buildSync } from 'esbuild';
import { toError } from '../lib/error';

export const ROOT = path.join(__dirname, '..');
const DIST = path.join(ROOT, 'dist');
const NODES = path.join(ROOT, 'nodes');
const EDITOR = path.join(NODES, 'support', 'editor');
/** Its mtime is the time of the last build. Outside dist/, because the package contains all of dist/. */
const MARK = path.join(ROOT, 'node_modules', '.built');
const SOURCES = [
  'nodes',
  'lib',
  'sandbox',
  'icons',
  'scripts/build.ts',
  'package.json',
  'tsconfig.json',
  'tsconfig.base.json',
];

/** Only these types report problems with messages; these texts are as long as all other shared texts. */
const TELL_PROBLEMS = ['rvm-sidebar', 'rvm-verify', 'rvm-webhook-in'];

type Texts = Record<string, unknown>;

export function build(): void {
  fs.rmSync(DIST, { recursive: true, force: true });
  compileServer();
  const types = fs.readdirSync(NODES).filter((name) => fs.existsSync(path.join(NODES, name, `${name}.ts`)));
  for (const type of types) {
    write(`${type}.js`, `module.exports = require('./nodes/${type}/${type}.js');\n`);
    // A runtime plugin has no dialog.
    if (fs.existsSync(path.join(NODES, type, `${type}.html`))) write(`${type}.html`, dialog(type));
    for (const lang of languages(type)) writeTexts(type, lang);
  }
  const { script, style, icon } = playerFiles();
  write('lib/video/view/player/player.js', script);
  write('lib/video/view/player/player.css', style);
  write('lib/video/view/player/icon.svg', icon);
  // It is part of the script of the sidebar.
  write('lit.LICENSE', fs.readFileSync(path.join(ROOT, 'node_modules', 'lit', 'LICENSE')));
  fs.cpSync(path.join(ROOT, 'icons'), path.join(DIST, 'icons'), { recursive: true });
  fs.cpSync(path.join(ROOT, 'sandbox', 'fixture'), path.join(DIST, 'sandbox', 'fixture'), {
    recursive: true,
  });
  for (const program of programs()) fs.chmodSync(path.join(ROOT, program), 0o755);
  fs.writeFileSync(MARK, '');
}

/** Builds only if a source is newer than the last build. */
export function buildIfStale(): void {
  const builtAt = fs.existsSync(DIST) && fs.existsSync(MARK) ? fs.statSync(MARK).mtimeMs : 0;
  if (SOURCES.some((source) => newest(path.join(ROOT, source)) > builtAt)) build();
}

/** The programs that package.json names. */
function programs(): string[] {
  const { bin } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
    bin: Record<string, string>;
  };
  return Object.values(bin);
}

function compileServer(): void {
  const tsc = require.resolve('typescript/package.json').replace(/package\.json$/, 'bin/tsc');
  const result = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.json'], { cwd: ROOT, stdio: 'inherit' });
  if (result.status !== 0) throw new Error('tsc found errors: see the lines above');
}

function dialog(type: string): string {
  const folder = path.join(NODES, type);
  const made = buildSync({
    entryPoints: [path.join(folder, `${type}.editor.ts`)],
    bundle: true,
    format: 'iife',
    target: 'es2022',
    charset: 'utf8',
    // Required for script and style to get different names; nothing is written there.
    outdir: DIST,
    write: false,
  });
  const madeOf = (ending: string): string =>
    made.outputFiles.find((file) => file.path.endsWith(ending))?.text ?? '';
  const template = readDialog(path.join(folder, `${type}.html`), path.join(EDITOR, 'rows'));
  const style = fs.readFileSync(path.join(EDITOR, 'form', 'form.css'), 'utf8');
  return `<script type="text/javascript">\n${madeOf('.js')}</script>\n\n<style>\n${style}${madeOf('.css')}</style>\n\n${template}`;
}

function languages(type: string): string[] {
  const files = fs.readdirSync(path.join(NODES, type, 'locales'));
  return files.filter((file) => file.endsWith('.json')).map((file) => path.basename(file, '.json'));
}

/** Writes the texts and help of a type; its texts include the shared ones of nodes/support/locales. */
function writeTexts(type: string, lang: string): void {
  const { shared, ...others } = readTexts(path.join(NODES, 'support', 'locales', `${lang}.json`)) as {
    shared: Texts;
  };
  const problem = TELL_PROBLEMS.includes(type) ? shared.problem : undefined;
  const own = readTexts(path.join(NODES, type, 'locales', `${lang}.json`));
  const further = type === 'rvm-sidebar' ? { view: playerTexts(lang) } : {};
  const texts = { ...others, shared: { ...shared, problem }, ...further, [type]: own };
  write(`locales/${lang}/${type}.json`, `${JSON.stringify(texts)}\n`);

  const helpFile = path.join(NODES, type, 'locales', `${lang}.md`);
  // A plugin has no help.
  if (!fs.existsSync(helpFile)) return;
  const help = fs.readFileSync(helpFile, 'utf8');
  write(
    `locales/${lang}/${type}.html`,
    `<script type="text/markdown" data-help-name="${type}">\n${help}</script>\n`,
  );
}

/** Texts of the player, which the sidebar also contains. */
function playerTexts(lang: string): Texts {
  const { player, fault } = readTexts(path.join(ROOT, 'lib', 'video', 'view', 'locales', `${lang}.json`));
  return { player, fault };
}

function readTexts(file: string): Texts {
  return JSON.parse(fs.readFileSync(file, 'utf8')) as Texts;
}

function write(file: string, text: string | Buffer): void {
  const target = path.join(DIST, file);
  fs.mkdirSync(path.dirname(target), { recursive: true });
  fs.writeFileSync(target, text);
}

function newest(file: string): number {
  const stat = fs.statSync(file);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return fs
    .readdirSync(file)
    .reduce((time, name) => Math.max(time, newest(path.join(file, name))), stat.mtimeMs);
}

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

const PLAYER = path.join(__dirname, '..', 'lib', 'video', 'view', 'player');

export function playerFiles(): Record<'script' | 'style' | 'icon', Buffer> {
  return {
    script: Buffer.from(playerScript()),
    style: Buffer.from(playerStyle()),
    icon: fs.readFileSync(path.join(PLAYER, 'icon.svg')),
  };
}

/** The script of the page; the sidebar has the player in its own script. */
function playerScript(): string {
  const script = buildSync({
    entryPoints: [path.join(PLAYER, 'page.browser.ts')],
    bundle: true,
    format: 'iife',
    target: 'es2022',
    charset: 'utf8',
    write: false,
  });
  return script.outputFiles[0]?.text ?? '';
}

/** The style of the page, including that of the player. */
function playerStyle(): string {
  return ['page.css', 'player.css']
    .map((file) => fs.readFileSync(path.join(PLAYER, file), 'utf8'))
    .join('\n');
}

if (require.main === module) build();
