import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { definitionOf } from '../support/editor/definitions';
import { ROOT, typesOfPackage } from '../support/node-red/node-red';

/** What all nodes have, and the page tells once. */
const OF_ALL: ReadonlySet<string> = new Set(['name', 'configVersion']);

interface Row {
  /** Names of properties, those of a typed input and of its type together. */
  names: string[];
  defaults: string[];
}

function read(file: string): string {
  return fs.readFileSync(path.join(ROOT, file), 'utf8');
}

/** Sections of the page by the type that each says it is about. */
function sectionsOf(page: string): Map<string, string> {
  const sections = page.split(/^## /m).map((section) => [typeOf(section), section] as const);
  return new Map(
    sections.flatMap(([type, section]) => (type === undefined ? [] : [[type, section] as const])),
  );
}

function typeOf(section: string): string | undefined {
  return /^(?:Type|Plugin) `(rvm-[a-z-]+)`/m.exec(section)?.[1];
}

/** The part of a section that tells of properties, without what comes in and goes out. */
function propertiesIn(section: string): string {
  return /^### Properties$([^]*?)(?=^### |(?![^]))/m.exec(section)?.[1] ?? '';
}

/** The rows of tables whose second column holds names of properties, and whose third their defaults. */
function rowsOf(section: string): Row[] {
  const rows = [...section.matchAll(/^\|(.+)\|$/gm)].map(([, row = '']) =>
    row.split('|').map((cell) => cell.trim()),
  );
  return rows.map(([, names = '', defaults = '']) => ({
    names: codesIn(names),
    defaults: defaults.split(', '),
  }));
}

function codesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

function shown(value: unknown): string {
  return value === '' ? 'empty' : `\`${String(value)}\``;
}

/** All texts of a locale file under a key, however deep. */
function textsIn(texts: unknown): string[] {
  if (typeof texts === 'string') return [texts];
  return Object.values(texts ?? {}).flatMap(textsIn);
}

function textsOf(type: string): Record<string, unknown> {
  return JSON.parse(read(`nodes/${type}/locales/en-US.json`)) as Record<string, unknown>;
}

/** Values that the dialog of a type offers to choose from. */
function choicesOf(type: string): string[] {
  const html = read(`dist/${type}.html`);
  return [...html.matchAll(/<option value="([^"]+)"/g)].map(([, value = '']) => value);
}

describe('the page of the nodes', () => {
  const page = read('docs/nodes.md');
  const sections = sectionsOf(page);

  it('has a section for each node and for the sidebar, and for nothing else', () => {
    assert.deepEqual([...sections.keys()].sort(), [...typesOfPackage(), 'rvm-sidebar'].sort());
  });

  for (const type of typesOfPackage()) {
    describe(`on ${type}`, () => {
      const section = sections.get(type) ?? '';
      const rows = rowsOf(propertiesIn(section));

      it('tells each property with its default', () => {
        const told = new Map(
          rows.flatMap(({ names, defaults }) => names.map((name, index) => [name, defaults[index]])),
        );
        for (const [name, { value }] of Object.entries(definitionOf(type).defaults)) {
          if (!OF_ALL.has(name)) assert.equal(told.get(name), shown(value), name);
        }
      });

      it('tells each credential', () => {
        const told = new Set(rows.flatMap(({ names }) => names));
        const { credentials = {} } = definitionOf(type);
        assert.deepEqual(
          Object.keys(credentials).filter((name) => !told.has(name)),
          [],
        );
      });

      it('tells no property that there is not', () => {
        const { defaults, credentials = {} } = definitionOf(type);
        const told = rows.flatMap(({ names }) => names);
        assert.deepEqual(
          told.filter((name) => !(name in defaults) && !(name in credentials)),
          [],
        );
      });

      it('names each field of the dialog as the dialog does', () => {
        assert.deepEqual(
          textsIn(textsOf(type).label).filter((text) => !section.includes(text)),
          [],
        );
      });

      it('tells each choice of the dialog', () => {
        assert.deepEqual(
          choicesOf(type).filter((choice) => !section.includes(`\`${choice}\``)),
          [],
        );
      });
    });
  }

  it('names all that the sidebar shows', () => {
    const inPassing = [
      'notDurable',
      'cut',
      'beat',
      'held',
      'abandonedHint',
      'assigned',
      'notDeployed',
      'raised',
      'pendingHint',
      'siteAccepted',
      'none',
      'unproven',
      'accepted',
      'inbox',
      'unknownPath',
      'times',
      'port',
      'unreadable',
      'fact',
      'reason',
    ];
    const texts = Object.entries(textsOf('rvm-sidebar')).filter(([key]) => !inPassing.includes(key));
    assert.deepEqual(
      textsIn(Object.fromEntries(texts)).filter(
        (text) => !(sections.get('rvm-sidebar') ?? '').includes(text),
      ),
      [],
    );
  });

  it('tells each status', () => {
    const { status } = JSON.parse(read('nodes/support/locales/en-US.json')) as {
      status: Record<string, string>;
    };
    const texts = Object.entries(status).flatMap(([key, text]) => (key.endsWith('_one') ? [] : text));
    const untold = texts.filter((text) => !page.includes(`\`${text.replaceAll(/__\w+__/g, '…')}\``));
    assert.deepEqual(untold, []);
  });

  it('names no error code that there is not', () => {
    const known = read('lib/error.ts');
    const told = [...page.matchAll(/errors\.md#([a-z_]+)/g)].map(([, code = '']) => code.toUpperCase());
    assert.ok(told.length > 0);
    assert.deepEqual(
      told.filter((code) => !known.includes(`'${code}'`)),
      [],
    );
  });
});
