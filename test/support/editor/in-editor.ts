import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { closeDialog, testBrowser, type TestBrowser, openEditor } from './browser';
import { tokenOf, USERS, type User } from '../node-red/inboxes-open';
import { NODE_RED_VERSIONS } from '../suite/lanes';
import { NodeRed, type FlowNode, type NodeRedVersion } from '../node-red/node-red';
import { needs, type Program } from '../suite/programs';

/** A Node-RED and its editor in a browser, from the first test of a group to the last. */
export interface EditorOfTests {
  version: NodeRedVersion;
  nodeRed: NodeRed;
  browser: TestBrowser;
  page: Page;
  /** What the console has told since the last test. */
  errors: string[];
}

export interface InEditor {
  /** The flow to begin with. */
  flow: () => FlowNode[] | Promise<FlowNode[]>;
  /** What the flow needs, beside a browser. */
  programs?: Program[];
  /** Called after the last test. */
  end?: () => unknown;
  /** Node-RED has users, one of whom is logged in, and another `httpAdminRoot`. */
  secured?: boolean;
  /** Who is logged in, where there are users. Default `admin`. */
  user?: User;
}

const ROOT = '/admin';

/**
 * A group of tests for the editor of each version of Node-RED; skipped where there is no Chromium. After each test no dialog is
 * open, and the console has told no error.
 */
export function describeInEditor(
  title: string,
  { flow, programs = [], end, secured = false, user = 'admin' }: InEditor,
  tests: (editor: EditorOfTests) => void,
): void {
  for (const version of NODE_RED_VERSIONS) {
    describe(`${title}, in the editor of Node-RED ${version}`, function () {
      const editor = { version } as EditorOfTests;

      before(async function () {
        needs(this, 'chromium', ...programs);
        const settings = secured ? `${USERS} httpAdminRoot: '${ROOT}',` : undefined;
        const root = secured ? ROOT : '';
        editor.nodeRed = await NodeRed.start({ version, settings });
        const tokenFor = async (who: User): Promise<string> =>
          secured ? await tokenOf(editor.nodeRed, who, root) : '';
        await editor.nodeRed.deploy(await flow(), 'full', root, await tokenFor('admin'));
        editor.browser = await testBrowser();
        Object.assign(
          editor,
          await openEditor(editor.browser, editor.nodeRed, { root, token: await tokenFor(user) }),
        );
      });

      afterEach(async () => {
        while ((await editor.page.locator('.red-ui-tray').count()) > 0)
          await closeDialog(editor.page, 'cancel');
        assert.deepEqual(editor.errors.splice(0), []);
      });

      after(async () => {
        await editor.browser?.close();
        if (editor.nodeRed === undefined) return;
        await editor.nodeRed.stopAndRemove();
        await end?.();
      });

      tests(editor);
    });
  }
}
