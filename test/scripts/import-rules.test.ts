import assert from 'node:assert/strict';
import { circlesIn, importsIn, importsOfSources } from '../support/suite/imports';

const NODE_RED = String.raw`|^(@node-red\/|node-red($|\/))`;
/** Files, and what none of them may name. */
const BORDERS: [from: RegExp, to: RegExp][] = [
  [/^lib\//, new RegExp(String.raw`^(nodes|sandbox)(\/|$)${NODE_RED}`)],
  [/^sandbox\//, new RegExp(String.raw`^(nodes|lib)(\/|$)${NODE_RED}`)],
  [/^nodes\/(?!rvm-cloud\/)/, /^sandbox(\/|$)/],
  [/^nodes\/support\//, /^nodes\/rvm-/],
  [/^scripts\/fuzz\/(oracle|inputs)\//, /^(nodes|lib|sandbox)(\/|$)/],
];

type Import = ReturnType<typeof importsOfSources>[number];

function crossingsIn(imports: readonly Import[]): Import[] {
  return imports.filter(({ file, name }) => BORDERS.some(([from, to]) => from.test(file) && to.test(name)));
}

describe('the rules of who may import whom', () => {
  it('are kept by all sources', () => {
    const imports = importsOfSources();
    assert.ok(imports.some(({ file, name }) => file.startsWith('nodes/rvm-cloud/') && name === 'sandbox'));
    assert.deepEqual(crossingsIn(imports), []);
  });

  for (const [form, text] of Object.entries({
    import: `import * as planted from 'NAME';`,
    'import of types': `import type * as planted from 'NAME';`,
    're-export': `export * from 'NAME';`,
    'dynamic import': `export const planted = (): unknown => import('NAME');`,
    require: `export const planted: unknown = require('NAME');`,
    'import in a type': `export type Planted = typeof import('NAME');`,
  }))
    it(`see what a file names by ${form}`, () => {
      const named = importsIn('lib/cloud/planted.ts', text.replace('NAME', '../error'));
      assert.deepEqual(named, [{ file: 'lib/cloud/planted.ts', name: 'lib/error' }]);
    });

  for (const [folder, forbidden, allowed] of [
    ['lib', '../nodes ../nodes/support/register ../sandbox ../sandbox/index', './error node:fs undici'],
    ['lib/cloud', '../../nodes/support/status ../../sandbox ../../sandbox/cli', '../error ./http/transport'],
    ['lib/webhook', 'node-red node-red/lib/red @node-red/util', '../error'],
    ['sandbox', '../lib ../lib/error ../nodes ../nodes/support/status node-red', './options node:http'],
    [
      'sandbox/rtsp',
      '../../lib ../../lib/event ../../nodes/rvm-cloud/connection @node-red/util',
      '../world/clock',
    ],
    ['nodes/rvm-cloud', '', '../../sandbox ../../sandbox/index ../../lib/error ../support/status'],
    [
      'nodes/rvm-webhook-in',
      '../../sandbox/index',
      '../../lib/webhook/dispatcher ../support/status node-red ../rvm-central-station/station',
    ],
    ['nodes/support', '../rvm-cloud/cloud-node ../../sandbox', '../../lib/error ./status node-red'],
    ['nodes/support/editor', '../../rvm-cloud/cloud-node', '../status'],
    ['scripts/fuzz/oracle', '../../../lib ../../../nodes/support/status', './json'],
    ['scripts/fuzz/inputs', '../../../lib/webhook/judge ../../../sandbox/rtsp/server', '../oracle/proof'],
    ['scripts/fuzz/targets', '', '../../../lib/error ../../../sandbox/rtsp/server ../oracle/proof'],
  ] as const)
    it(`let ${folder} name what is within its borders, and nothing beyond`, () => {
      const text = `${forbidden} ${allowed}`.replaceAll(/\S+/g, `import '$&';`);
      const crossing = crossingsIn(importsIn(`${folder}/planted.ts`, text));
      const beyond = importsIn(`${folder}/planted.ts`, forbidden.replaceAll(/\S+/g, `import '$&';`));
      assert.deepEqual(crossing, beyond);
    });

  for (const order of [
    ['lib/message', 'lib/inbox', 'lib/webhook'],
    ['lib/cloud/http', 'lib/cloud/session', 'lib/cloud/cameras', 'lib/cloud/functions'],
  ])
    it(`lead from one room to the next in one direction only: ${order.join(', ')}`, () => {
      const imports = importsOfSources();
      for (const [place, room] of order.entries()) {
        const inRoom = imports.filter(({ file }) => file.startsWith(`${room}/`));
        const isLater = (name: string): boolean =>
          order.slice(place + 1).some((other) => `${name}/`.startsWith(`${other}/`));
        assert.ok(inRoom.length > 0, `${room} has no files`);
        assert.deepEqual(
          inRoom.filter(({ name }) => isLater(name)),
          [],
        );
      }
    });

  it('let no folder, and no file beside one, use another that uses it, over however many between', () => {
    assert.deepEqual(circlesIn(importsOfSources()), []);
  });
});

describe('a circle of folders', () => {
  for (const [title, imports, ...found] of [
    ['is none where all point one way', 'a/x>b/y a/x>c'],
    ['is none where a folder uses its room, and the room a file of the folder', 'a>r/x r/x>b'],
    ['is found between two folders', 'a/x>b/y b/z>a/w', 'a b'],
    ['is found between a folder and a file beside it', 'a>r/x r/y>a', 'a r'],
    ['is found over three folders', 'a/x>b/y b/y>c/z c/z>a/x', 'a b c'],
    ['is found between rooms deep in the tree', 'd/a/x>d/b/y d/b/z>d/a/w', 'd/a d/b'],
  ] as const)
    it(title, () => {
      const made = imports.split(' ').map((each) => {
        const [user = '', used = ''] = each.split('>');
        return { file: `lib/${user}.ts`, name: `lib/${used}` };
      });
      const circles = found.map((circle) => circle.split(' ').map((place) => `lib/${place}`));
      assert.deepEqual(circlesIn(made), circles);
    });
});
