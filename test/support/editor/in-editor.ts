import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { Sandbox, type SandboxOptions } from '../../../sandbox';
import { closeDialog, openDialog, testBrowser, type TestBrowser, openEditor } from './browser';
import { tokenOf, USERS, type User } from '../node-red/inboxes-open';
import { cloud, PHRASE, station } from '../node-red/flows';
import { seenCameras, stateOf } from '../node-red/station-flow';
import { SLOW_VERSIONS } from '../suite/lanes';
import { NodeRed, type FlowNode, type NodeRedVersion, watched } from '../node-red/node-red';
import { needs, type Program } from '../suite/programs';

/** A Node-RED and its editor in a browser, from the first test of a group to the last. */
export interface EditorOfTests {
  version: NodeRedVersion;
  nodeRed: NodeRed;
  browser: TestBrowser;
  page: Page;
  /** What the console has told since the last test. */
  errors: string[];
  /** Properties of a node, as the editor has them. */
  valuesOf: (id: string, ...names: string[]) => Promise<unknown[]>;
  /** Gives a node other properties, as if they had been chosen before. */
  assign: (id: string, values: object) => Promise<unknown>;
  /** Opens the dialog of a node. */
  open: (id: string) => Promise<void>;
  /** Closes the open dialog with OK: the node has these properties then. */
  saves: (id: string, values: object) => Promise<void>;
  /** Sets a typed input, such as `type` and `value`, and tells the dialog of it. */
  type: (field: string, values: { type?: string; value?: string }) => Promise<unknown>;
  /** Fills a field, and leaves it. */
  enter: (field: string, text: string) => Promise<void>;
  /** Waits until a field is red, or is not. */
  marked: (field: string, isRed?: boolean) => Promise<void>;
  /** What stands below a field that is red. */
  reason: (field: string) => Locator;
  visible: (...places: string[]) => Promise<boolean[]>;
  /** Whether anything does not fit into the sidebar where it is so many pixels wide. */
  isCutAt: (width: number) => Promise<unknown>;
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
  for (const version of SLOW_VERSIONS) {
    describe(`${title}, in the editor of Node-RED ${version}`, function () {
      const editor = { version, ...handsOf(() => editor.page) } as EditorOfTests;

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

type Hands = Omit<EditorOfTests, 'version' | 'nodeRed' | 'browser' | 'page' | 'errors'>;

function handsOf(page: () => Page): Hands {
  const node = (id: string): string => `RED.nodes.node(${JSON.stringify(id)})`;
  return {
    valuesOf: (id, ...names) => page().evaluate(`${JSON.stringify(names)}.map((name) => ${node(id)}[name])`),
    assign: (id, values) => page().evaluate(`void Object.assign(${node(id)}, ${JSON.stringify(values)})`),
    open: (id) => openDialog(page(), id),
    async saves(id, values) {
      await closeDialog(page(), 'ok');
      const names = Object.keys(values);
      const kept = await this.valuesOf(id, ...names);
      assert.deepEqual(Object.fromEntries(names.map((name, at) => [name, kept[at]])), values);
    },
    type: (field, values) => {
      const calls = Object.entries(values).map((call) => `.typedInput(...${JSON.stringify(call)})`);
      return page().evaluate(`void $(${JSON.stringify(field)})${calls.join('')}.trigger('change')`);
    },
    enter: async (field, text) => {
      await page().fill(field, text);
      await page().locator(field).blur();
    },
    marked: async (field, isRed = true) => {
      const mark = isRed ? '.input-error' : ':not(.input-error)';
      await page().waitForSelector(`${field}${mark}`, { state: 'attached' });
    },
    reason: (field) => page().locator(`.form-row:has(${field}) .rvm-reason`),
    visible: (...places) => Promise.all(places.map((place) => page().locator(place).isVisible())),
    isCutAt: (width) =>
      page().evaluate(`(() => {
        const sidebar = $('.rvm-sidebar').css({ width: '${width}px' })[0];
        const isCut = sidebar.scrollWidth > sidebar.clientWidth;
        $(sidebar).css({ width: '' });
        return isCut;
      })()`),
  };
}

/** Of a group of tests: nodes that ask a sandbox, which a test can look into, and close. */
export function withSandbox(options: SandboxOptions, ...nodes: FlowNode[]) {
  let sandbox: Sandbox;
  return {
    async flow(): Promise<FlowNode[]> {
      sandbox = await Sandbox.start({ eventsPerMinute: 0, rtspPort: 0, ...options });
      const credentials = sandbox.setStation('north', { scheme: 'http' });
      const ofCloud = { url: sandbox.url, localRelays: true, credentials: { apiKey: sandbox.apiKey } };
      const ofStation = { credentials: { ...credentials, secret: PHRASE } };
      return watched(cloud(ofCloud), station(ofStation), ...nodes);
    },
    end: () => sandbox.close(),
    apiKey: () => sandbox.apiKey,
    cameras: async () => seenCameras(await stateOf(sandbox)),
    video: async () => (await stateOf(sandbox)).video,
  };
}
