import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { definitionOf } from '../support/editor/browser';
import { ROOT, typesOfPackage } from '../support/node-red/node-red';

/** What all nodes have, and the page tells once. */
const OF_ALL: ReadonlySet<string> = new Set(['name', 'configVersion']);

/** Properties with their defaults, as `(`camera`, `cameraType`: `event.cameraId`, `msg`)` tells them. */
const TOLD = /\((`\w+`(?:,\s+`\w+`)*): ([^)]+)\)/g;

/** What several types have in common stands once, and their sections lead there. */
const SHARED = /\]\(#(nodes-that-[a-z-]+)\)/g;

const OF_SIDEBAR = (
  'label name stations pending events dead problems quarantine unknownPaths abandoned instances ' +
  'sandboxAlarm accept retry discard verify assign assignTo history'
).split(' ');

const read = (file: string): string => fs.readFileSync(path.join(ROOT, file), 'utf8');

function sectionsOf(page: string): Map<string, string> {
  const sections = page.split(/^## /m).map((section): [string, string] => {
    const [, type = ''] = /^(?:Type|Plugin) `(rvm-[a-z-]+)`/m.exec(section) ?? [];
    return [type, section];
  });
  return new Map(sections.filter(([type]) => type !== ''));
}

const propertiesIn = (section: string): string => section.split('\n###', 1)[0] ?? '';

/** The properties that a part of the page tells of, with their defaults: those of a typed input and of its type together. */
function toldIn(part: string): [name: string, value: string][] {
  return [...part.matchAll(TOLD)].flatMap(([, names = '', told = '']) => {
    const defaults = told.split(', ');
    const valueAt = (index: number): string => defaults[defaults.length === 1 ? 0 : index] ?? '';
    return codesIn(names).map((name, index): [string, string] => [name, valueAt(index)]);
  });
}

function sharedIn(section: string, page: string): string {
  const anchors = new Set([...section.matchAll(SHARED)].map(([, anchor]) => anchor));
  const parts = page.split(/^### /m).slice(1);
  return parts.filter((part) => anchors.has(anchorOf(part))).join('');
}

const anchorOf = (part: string): string => (part.split('\n', 1)[0] ?? '').toLowerCase().replaceAll(' ', '-');

const codesIn = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

const shown = (value: unknown): string => (value === '' ? 'empty' : `\`${String(value)}\``);

const textsIn = (texts: unknown): string[] =>
  typeof texts === 'string' ? [texts] : Object.values(texts ?? {}).flatMap(textsIn);

const textsOf = (folder: string) =>
  JSON.parse(read(`nodes/${folder}/en-US.json`)) as Record<string, Record<string, string>>;

const choicesOf = (type: string): string[] =>
  [...read(`dist/${type}.html`).matchAll(/<option value="([^"]+)"/g)].map(([, value = '']) => value);

const each = <Value>(values: readonly Value[], isSo: (value: Value) => boolean): void =>
  assert.deepEqual(
    values.filter((value) => !isSo(value)),
    [],
  );

describe('the page of the nodes', () => {
  const page = read('docs/nodes.md');
  const sections = sectionsOf(page);

  it('has a section for each node and for the sidebar, and for nothing else', () =>
    assert.deepEqual([...sections.keys()].sort(), [...typesOfPackage(), 'rvm-sidebar'].sort()));

  for (const type of typesOfPackage())
    describe(`on ${type}`, () => {
      const section = sections.get(type) ?? '';
      const shared = sharedIn(propertiesIn(section), page);
      const own = toldIn(propertiesIn(section));

      it('tells each property with its default', () => {
        const told = new Map([...toldIn(shared), ...own]);
        for (const [name, { value }] of Object.entries(definitionOf(type).defaults)) {
          if (!OF_ALL.has(name)) assert.equal(told.get(name), shown(value), name);
        }
      });

      it('tells each credential', () => {
        const told = new Map(own);
        each(Object.keys(definitionOf(type).credentials ?? {}), (name) => told.has(name));
      });

      it('tells no property that there is not', () => {
        const { defaults, credentials = {} } = definitionOf(type);
        each(own, ([name]) => name in defaults || name in credentials);
      });

      it('names each field of the dialog as the dialog does', () =>
        each(textsIn(textsOf(`${type}/locales`)['label']), (text) => section.includes(text)));

      it('tells each choice of the dialog', () =>
        each(choicesOf(type), (choice) => `${shared}${section}`.includes(`\`${choice}\``)));
    });

  it('names the parts of the sidebar, and what can be done there', () => {
    const texts = textsOf('rvm-sidebar/locales');
    const wanted = OF_SIDEBAR.map((key) => texts[key]);
    assert.ok(!wanted.includes(undefined));
    each(textsIn(wanted), (text) => (sections.get('rvm-sidebar') ?? '').includes(text));
  });

  it('tells each step of a history', () => {
    const [, type = ''] = /export type HistoryStep =([^;]+);/.exec(read('lib/inbox/model.ts')) ?? [];
    const steps = [...type.matchAll(/'([a-z-]+)'/g)].map(([, step = '']) => step);
    const told = codesIn(sections.get('rvm-list-events') ?? '');
    assert.ok(steps.length > 0);
    each(steps, (step) => told.includes(step));
  });

  it('tells each status', () => {
    const { status = {} } = textsOf('support/locales');
    const texts = Object.entries(status).flatMap(([key, text]) => (key.endsWith('_one') ? [] : text));
    const pages = `${page}${read('docs/errors.md')}`;
    each(texts, (text) => pages.includes(`\`${text.replaceAll(/__\w+__/g, '…')}\``));
  });

  it('names no error code that there is not', () => {
    const known = read('lib/error.ts');
    const told = [...page.matchAll(/`([A-Z]+_[A-Z_]+)`/g)].map(([, code = '']) => code);
    assert.ok(told.length > 0);
    each(told, (code) => known.includes(`'${code}'`));
  });
});
