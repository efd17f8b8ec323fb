import assert from 'node:assert/strict';
import { example, EXAMPLES } from '../support/examples/examples';
import type { FlowNode } from '../support/node-red/node-red';

/** What a screen of 1366x768 shows of a flow beside palette and sidebar, in pixels. */
const SCREEN = { width: 840, height: 560 };
/** Examples that fit on it. */
const FITTING = ['02', '03', '04', '05', '06', '09', '12', '16'];

/** Centre, width and height of a node as the editor draws it; the length of its label is guessed. */
interface Box {
  id: string;
  x: number;
  y: number;
  w: number;
  h: number;
}

function boxOf({ id, type, name, outputs, wires, x, y }: FlowNode): Box {
  if (type === 'junction') return { id, x: Number(x), y: Number(y), w: 10, h: 10 };
  const isLink = type.startsWith('link ');
  const label = name === '' ? type.replace('rvm-', '') : String(name);
  const ports = Number(outputs ?? (wires as unknown[]).length);
  const w = isLink ? 30 : Math.max(100, 20 * Math.ceil((label.length * 6.7 + 57) / 20));
  return { id, x: Number(x), y: Number(y), w, h: Math.max(30, ports * 15) };
}

function overlap(a: Box, b: Box): boolean {
  return Math.abs(a.x - b.x) < (a.w + b.w) / 2 && Math.abs(a.y - b.y) < (a.h + b.h) / 2;
}

for (const name of EXAMPLES) {
  const boxes = example(name)
    .filter(({ x, z }) => z !== undefined && typeof x === 'number')
    .map(boxOf);

  it(`no two nodes of "${name}" lie upon each other`, () => {
    const pairs = boxes.flatMap((box, at) =>
      boxes.slice(at + 1).flatMap((other) => (overlap(box, other) ? [`${box.id} and ${other.id}`] : [])),
    );
    assert.deepEqual(pairs, []);
  });

  if (FITTING.some((digits) => name.startsWith(digits)))
    it(`"${name}" is seen as a whole on a screen of 1366x768`, () => {
      const outside = boxes.filter(
        ({ x, y, w, h }) =>
          x - w / 2 < 0 || x + w / 2 > SCREEN.width || y - h / 2 < 0 || y + h / 2 > SCREEN.height,
      );
      assert.deepEqual(outside, []);
    });
}
