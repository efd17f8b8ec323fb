import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { labelOf, example, EXAMPLES } from '../support/examples/examples';
import { ROOT, type FlowNode } from '../support/node-red/node-red';

/** Pixels between a comment and the node that it names. */
const BESIDE = 45;
const MOST_WORDS = 45;

/** Centre, width and height of a node as the editor draws it; the length of its label is guessed. */
interface Box {
  id: string;
  z: unknown;
  label: string;
  x: number;
  y: number;
  w: number;
  h: number;
}

function boxOf(node: FlowNode): Box {
  const { id, z, type, outputs, wires, x, y } = node;
  const place = { id, z, label: labelOf(node), x: Number(x), y: Number(y) };
  if (type === 'junction') return { ...place, w: 10, h: 10 };
  const ports = Number(outputs ?? (wires as unknown[]).length);
  const w = Math.max(100, 20 * Math.ceil((place.label.length * 6.7 + 57) / 20));
  return { ...place, w: type.startsWith('link ') ? 30 : w, h: Math.max(30, ports * 15) };
}

/** Pixels between two boxes; none where they lie upon each other. */
function distance(a: Box, b: Box): number {
  const across = Math.abs(a.x - b.x) - (a.w + b.w) / 2;
  const down = Math.abs(a.y - b.y) - (a.h + b.h) / 2;
  return Math.max(across, down);
}

const sentences = (text: string): number =>
  text.split(/[.!?](?=\s|$)/).filter((part) => part.trim() !== '').length;
const words = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;
const page = fs.readFileSync(path.join(ROOT, 'docs', 'examples.md'), 'utf8');

/** What the page says is to be edited in an example. */
function editedOnPage(name: string): string {
  const [, section = ''] = page.split(`## ${name.replace('.json', '')}\n`);
  return /\*\*Edit:\*\*[^]*?(?=\n\n|\n- |\n?$)/.exec(section.split('\n## ')[0] ?? '')?.[0] ?? '';
}

for (const name of EXAMPLES) {
  const placed = example(name).filter(({ x, z }) => z !== undefined && typeof x === 'number');
  const boxes = placed.map(boxOf);
  const comments = placed.filter(({ type }) => type === 'comment');
  const edits = comments.filter((comment) => String(comment.name).startsWith('Edit: '));

  it(`"${name}" begins with what to edit, at its top left`, () => {
    const [first] = boxes.toSorted((a, b) => a.y - b.y);
    assert.match(first?.label ?? '', /^(To edit|Edit): /);
    assert.ok((first?.x ?? NaN) - (first?.w ?? NaN) / 2 <= 40, 'at the left');
    assert.ok(edits.length > 0);
  });

  it(`each "Edit" of "${name}" stands beside the node that it names, which docs/examples.md names, too`, () => {
    for (const { id, name: text } of edits) {
      const comment = boxes.find((box) => box.id === id) ?? assert.fail();
      const named = boxes.filter(({ label }) => String(text).startsWith(`Edit: ${label}`));
      const near = named.filter((box) => box.z === comment.z && distance(comment, box) <= BESIDE);
      assert.ok(near.length > 0, String(text));
      const isOnPage = near.some(({ label }) => editedOnPage(name).includes(`\`${label}\``));
      assert.ok(isOnPage, `${String(text)} on the page`);
    }
  });

  it(`comments of "${name}" say it in one sentence or two`, () => {
    const texts = comments.map(({ info }) => String(info));
    const long = texts.filter((text) => sentences(text) > 2 || words(text) > MOST_WORDS);
    assert.deepEqual(long, []);
  });
}
