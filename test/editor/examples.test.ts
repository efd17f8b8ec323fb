import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { testBrowser, type TestBrowser, openEditor } from '../support/editor/browser';
import { canvasOf, putFlow, SCREEN, type Canvas, type Drawn } from '../support/editor/example-canvas';
import { example, EXAMPLES, packagesFor, statusesOf } from '../support/examples/examples';
import { NodeRed } from '../support/node-red/node-red';
import { SLOW_VERSIONS } from '../support/suite/lanes';
import { needs } from '../support/suite/programs';

for (const version of SLOW_VERSIONS) {
  describe(`the examples on a screen of 1366x768 with both sidebars open, in the editor of Node-RED ${version}`, () => {
    before(function () {
      needs(this, 'chromium');
    });
    const nodeRed = NodeRed.ofGroup({ version, palette: [...new Set(EXAMPLES.flatMap(packagesFor))] });
    let browser: TestBrowser;
    let page: Page;
    let errors: string[];
    before(async () => {
      browser = await testBrowser();
      ({ page, errors } = await openEditor(browser, nodeRed, SCREEN));
    });
    after(() => browser?.close());

    for (const name of EXAMPLES) {
      it(`"${name}" is seen as a whole, no node lies upon another, and no status over a node`, async () => {
        const flow = example(name);
        await putFlow(page, flow);
        const tabs = flow.filter(({ type }) => type === 'tab');
        for (const { id } of tabs) {
          const canvas = await canvasOf(page, id, statusesOf(flow, id));
          assert.ok(canvas.nodes.length > 0 && canvas.statuses.length > 0);
          assert.deepEqual(outside(canvas), [], 'outside of what is seen');
          assert.deepEqual(overlapping(canvas), [], 'upon each other');
          assert.deepEqual(covered(canvas), [], 'under the status of another');
        }
        assert.deepEqual(errors, []);
      });
    }
  });
}

function outside({ visible, nodes }: Canvas): Drawn[] {
  return nodes.filter(
    ({ left, top, right, bottom }) =>
      left < visible.left || top < visible.top || right > visible.right || bottom > visible.bottom,
  );
}

/** A button belongs to its node. */
function overlapping({ nodes }: Canvas): string[] {
  return nodes.flatMap((node, at) =>
    nodes
      .slice(at + 1)
      .filter((other) => other.id !== node.id && overlap(node, other))
      .map((other) => `${node.id} and ${other.id}`),
  );
}

function covered({ nodes, statuses }: Canvas): string[] {
  return statuses.flatMap((status) =>
    [...nodes, ...statuses]
      .filter((other) => other.id !== status.id && overlap(status, other))
      .map((other) => `${other.id} under the status of ${status.id}`),
  );
}

function overlap(a: Drawn, b: Drawn): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
