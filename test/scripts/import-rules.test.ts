import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { circlesIn, importsOfSources } from '../support/suite/imports';
import { ROOT } from '../support/node-red/node-red';

const OXLINT = path.join(ROOT, 'node_modules', 'oxlint', 'bin', 'oxlint');
const RULES = [
  'eslint(no-restricted-imports)',
  'typescript(no-require-imports)',
  'typescript(consistent-type-imports)',
];

/** The ways to name another file. */
const FORMS = {
  import: (name: string) => `import * as planted from '${name}';\nexport { planted };\n`,
  'import of types': (name: string) =>
    `import type * as planted from '${name}';\nexport type Planted = typeof planted;\n`,
  're-export': (name: string) => `export * from '${name}';\n`,
  'dynamic import': (name: string) => `export const planted = (): unknown => import('${name}');\n`,
  require: (name: string) => `export const planted: unknown = require('${name}');\n`,
  'import in a type': (name: string) => `export type Planted = typeof import('${name}');\n`,
};
type Form = keyof typeof FORMS;

const ALL: Form[] = [
  'import',
  'import of types',
  're-export',
  'dynamic import',
  'require',
  'import in a type',
];
/** Nodes load what is heavy with `require`, and the rule sees neither that nor `import` in a type. */
const SEEN_IN_NODES: Form[] = ['import', 'import of types', 're-export', 'dynamic import'];

/** Folder of the file, what it names, and how. */
type Plant = [folder: string, names: string[], forms: Form[]];

const FORBIDDEN: Plant[] = [
  ['lib', ['../nodes', '../nodes/support/register', '../sandbox', '../sandbox/index'], ALL],
  ['lib/cloud', ['../../nodes/support/status', '../../sandbox', '../../sandbox/cli'], ALL],
  ['lib/webhook', ['node-red', 'node-red/lib/red', '@node-red/util'], ALL],
  ['sandbox', ['../lib', '../lib/error', '../nodes', '../nodes/support/status', 'node-red'], ALL],
  [
    'sandbox/rtsp',
    ['../../lib', '../../lib/event', '../../nodes/rvm-cloud/connection', '@node-red/util'],
    ALL,
  ],
  ['nodes/rvm-webhook-in', ['../../sandbox', '../../sandbox/index'], SEEN_IN_NODES],
  ['nodes/rvm-central-station', ['../../sandbox', '../../sandbox/index'], SEEN_IN_NODES],
  ['nodes/support', ['../rvm-cloud/cloud-node', '../../sandbox', '../../sandbox/index'], SEEN_IN_NODES],
  ['nodes/support/editor', ['../../rvm-cloud/cloud-node'], SEEN_IN_NODES],
  [
    'scripts/fuzz/oracle',
    ['../../../lib', '../../../lib/message/json-reading', '../../../nodes/support/status'],
    ALL,
  ],
  [
    'scripts/fuzz/inputs',
    ['../../../lib/webhook/judge', '../../../sandbox', '../../../sandbox/rtsp/server'],
    ALL,
  ],
];

const ALLOWED: Plant[] = [
  ['lib', ['./error', 'node:fs', 'undici'], SEEN_IN_NODES],
  ['lib/cloud', ['../error', './http/transport'], SEEN_IN_NODES],
  ['sandbox', ['./options', 'node:http'], SEEN_IN_NODES],
  ['sandbox/rtsp', ['../world/clock'], SEEN_IN_NODES],
  ['nodes/rvm-cloud', ['../../sandbox', '../../sandbox/index', '../../lib/error', '../support/status'], ALL],
  ['nodes/rvm-webhook-in', ['../../lib/webhook/dispatcher', '../support/status', 'node-red'], ALL],
  ['nodes/rvm-webhook-in', ['../rvm-central-station/station'], ALL],
  ['nodes/support', ['../../lib/error', './status', 'node-red'], ALL],
  [
    'scripts/fuzz/targets',
    ['../../../lib/error', '../../../sandbox/rtsp/server', '../oracle/proof'],
    SEEN_IN_NODES,
  ],
  ['scripts/fuzz/inputs', ['../oracle/proof'], SEEN_IN_NODES],
];

/** A small project with the lint configuration of this one and one file for each way of naming another. */
class Plantation {
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-lint-'));
  /** Titles by file. */
  readonly #planted = new Map<string, string>();

  constructor(plants: readonly Plant[]) {
    fs.copyFileSync(path.join(ROOT, '.oxlintrc.json'), path.join(this.folder, '.oxlintrc.json'));
    for (const [folder, names, forms] of plants)
      for (const name of names) for (const form of forms) this.#plant(folder, name, form);
  }

  remove(): void {
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  /** Titles of the files that the linter finds in order, and of those it does not. */
  lint(): { reported: string[]; passed: string[] } {
    const args = [OXLINT, '--format', 'json', ...this.#planted.keys()];
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: this.folder, encoding: 'utf8' });
    const found = diagnosticsIn(stdout);
    assert.ok(found !== undefined, stdout + stderr);
    const files = new Set(found.filter(({ code }) => RULES.includes(code)).map(({ filename }) => filename));
    const reported: string[] = [];
    const passed: string[] = [];
    for (const [file, title] of this.#planted) (files.has(file) ? reported : passed).push(title);
    return { reported, passed };
  }

  #plant(folder: string, name: string, form: Form): void {
    const file = `${folder}/planted-${this.#planted.size}.ts`;
    this.#planted.set(file, `${form} of ${name} in ${folder}`);
    fs.mkdirSync(path.join(this.folder, folder), { recursive: true });
    fs.writeFileSync(path.join(this.folder, file), FORMS[form](name));
  }
}

function lint(plants: readonly Plant[]): { reported: string[]; passed: string[] } {
  const plantation = new Plantation(plants);
  try {
    return plantation.lint();
  } finally {
    plantation.remove();
  }
}

interface Diagnostic {
  code: string;
  filename: string;
}

function diagnosticsIn(output: string): Diagnostic[] | undefined {
  const report: unknown = JSON.parse(output);
  if (typeof report !== 'object' || report === null || !('diagnostics' in report)) return undefined;
  return Array.isArray(report.diagnostics) ? report.diagnostics.filter(isDiagnostic) : undefined;
}

function isDiagnostic(value: unknown): value is Diagnostic {
  return typeof value === 'object' && value !== null && 'code' in value && 'filename' in value;
}

describe('the rules of who may import whom', () => {
  it('are kept by the linter: each way across a border is reported', () => {
    const { passed, reported } = lint(FORBIDDEN);
    assert.deepEqual(passed, []);
    assert.ok(reported.length > 0);
  });

  it('let through whatever is within the borders', () => {
    const { passed, reported } = lint(ALLOWED);
    assert.deepEqual(reported, []);
    assert.ok(passed.length > 0);
  });

  it('are kept by all sources, in forms too that the linter does not see', () => {
    const crossings: [from: RegExp, to: RegExp][] = [
      [/^lib\//, /^(nodes|sandbox)(\/|$)|^(@node-red\/|node-red($|\/))/],
      [/^sandbox\//, /^(nodes|lib)(\/|$)|^(@node-red\/|node-red($|\/))/],
      [/^nodes\/(?!rvm-cloud\/)/, /^sandbox(\/|$)/],
      [/^nodes\/support\//, /^nodes\/rvm-/],
      [/^scripts\/fuzz\/(oracle|inputs)\//, /^(nodes|lib|sandbox)(\/|$)/],
    ];
    const named = importsOfSources();
    assert.ok(named.some(({ file, name }) => file.startsWith('nodes/rvm-cloud/') && name === 'sandbox'));
    for (const [from, to] of crossings) {
      const crossing = named.filter(({ file, name }) => from.test(file) && to.test(name));
      assert.deepEqual(crossing, []);
    }
  });

  it('lead from one room of lib to the next in one direction only', () => {
    const orders = [
      ['lib/message', 'lib/inbox', 'lib/webhook'],
      ['lib/cloud/http', 'lib/cloud/session', 'lib/cloud/cameras', 'lib/cloud/functions'],
    ];
    const imports = importsOfSources();
    for (const order of orders) {
      for (const [place, room] of order.entries()) {
        const inRoom = imports.filter(({ file }) => file.startsWith(`${room}/`));
        const later = order.slice(place + 1);
        assert.ok(inRoom.length > 0, `${room} has no files`);
        assert.deepEqual(
          inRoom.filter(({ name }) => later.some((other) => name === other || name.startsWith(`${other}/`))),
          [],
        );
      }
    }
  });

  it('let no folder, and no file beside one, use another that uses it, over however many between', () => {
    assert.deepEqual(circlesIn(importsOfSources()), []);
  });
});

describe('a circle of folders', () => {
  const cases: [title: string, imports: [file: string, name: string][], found: string[][]][] = [
    [
      'is none where all point one way',
      [
        ['lib/a/x.ts', 'lib/b/y'],
        ['lib/a/x.ts', 'lib/c'],
      ],
      [],
    ],
    [
      'is none where a folder uses its room, and the room a file of the folder',
      [
        ['lib/a.ts', 'lib/r/x'],
        ['lib/r/x.ts', 'lib/b'],
      ],
      [],
    ],
    [
      'is found between two folders',
      [
        ['lib/a/x.ts', 'lib/b/y'],
        ['lib/b/z.ts', 'lib/a/w'],
      ],
      [['lib/a', 'lib/b']],
    ],
    [
      'is found between a folder and a file beside it',
      [
        ['lib/a.ts', 'lib/r/x'],
        ['lib/r/y.ts', 'lib/a'],
      ],
      [['lib/a', 'lib/r']],
    ],
    [
      'is found over three folders',
      [
        ['lib/a/x.ts', 'lib/b/y'],
        ['lib/b/y.ts', 'lib/c/z'],
        ['lib/c/z.ts', 'lib/a/x'],
      ],
      [['lib/a', 'lib/b', 'lib/c']],
    ],
    [
      'is found between rooms deep in the tree',
      [
        ['lib/d/a/x.ts', 'lib/d/b/y'],
        ['lib/d/b/z.ts', 'lib/d/a/w'],
      ],
      [['lib/d/a', 'lib/d/b']],
    ],
  ];
  for (const [title, imports, found] of cases) {
    it(title, () => assert.deepEqual(circlesIn(imports.map(([file, name]) => ({ file, name }))), found));
  }
});
