import assert from 'node:assert/strict';
import { typeInto } from '../../support/editor/browser';
import { describeInEditor, type InEditor } from '../../support/editor/in-editor';
import { NodeRed, type FlowNode } from '../../support/node-red/node-red';
import { sharedFlow, sharedInbox } from '../../support/node-red/flows';
import { SharedServer } from '../../support/postgres/shared-server';
import { eventually } from '../../support/time/patience';

const PASSWORD = 'planted-database-password';
const FIELD = '#node-config-input-';
const STEPS = '#rvm-inbox-steps > li';

let server: SharedServer;

/** With a password, which a server of the tests does not ask for. */
function connection(role = 'admin'): string {
  return server.url(undefined, `${role}:${PASSWORD}`);
}

async function flow(): Promise<FlowNode[]> {
  server = await SharedServer.use();
  const file = { id: 'file', type: 'rvm-inbox', name: '', folder: '', keyDays: 7, bodyDays: 30 };
  const tls = { id: 'tls', type: 'tls-config', name: 'of the database', cert: '', key: '', ca: '' };
  const other = sharedInbox(connection(), { id: 'other', schema: 'other' });
  return [...sharedFlow(connection()), file, tls, other];
}

const group: InEditor = { flow, programs: ['postgres'], end: () => server.remove() };

describeInEditor('an inbox in PostgreSQL', group, (editor) => {
  const visible = (...names: string[]): Promise<boolean[]> =>
    editor.visible(...names.map((name) => FIELD + name));
  const choose = (engine: string): Promise<void> =>
    editor.page.check(`[name="rvm-inbox-engine"][value="${engine}"]`);
  const tested = async (): Promise<string> => {
    await editor.page.click('#rvm-inbox-test');
    // It is out of order until the test has ended.
    await editor.page.waitForSelector('#rvm-inbox-test:enabled');
    return editor.page.locator('#rvm-inbox-steps').innerText();
  };
  const failed = (): Promise<number> => editor.page.locator(`${STEPS}[data-outcome="failed"]`).count();

  it('is chosen beside a file, and asks for what it needs instead of folders', async () => {
    await editor.open('file');
    assert.deepEqual(await visible('folder', 'connection'), [true, false]);
    await choose('postgres');
    assert.deepEqual(await visible('folder', 'connection'), [false, true]);
    const tip = editor.reason(`${FIELD}connection`);
    assert.match(await tip.innerText(), /postgres:\/\/user/);
    await typeInto(editor.page, `${FIELD}connection`, connection());
    await tip.waitFor({ state: 'hidden' });
    await editor.saves('file', { engine: 'postgres', tls: 'verify' });
    await editor.open('file');
    await choose('sqlite');
    await editor.saves('file', { engine: 'sqlite' });
  });

  it('keeps what encrypts it: nothing, a verified certificate, or a TLS node', async () => {
    await editor.open('other');
    assert.equal(await editor.page.locator('#rvm-inbox-tls').inputValue(), 'off');
    assert.equal(await editor.page.locator('.rvm-inbox-no-tls').isVisible(), true);
    await editor.page.selectOption('#rvm-inbox-tls', '');
    await editor.page.selectOption(`${FIELD}tls`, 'tls');
    await editor.saves('other', { tls: 'tls' });
    await editor.open('other');
    assert.equal(await editor.page.locator(`${FIELD}tls`).inputValue(), 'tls');
    await editor.page.selectOption('#rvm-inbox-tls', 'verify');
    assert.deepEqual(await visible('tls'), [false]);
    await editor.saves('other', { tls: 'verify' });
  });

  it('is tried out as it is deployed, without its password in the browser', async () => {
    await editor.open('inbox');
    const told = await tested();
    assert.match(told, /answers: PostgreSQL 1\d[^]*It can be written[^]*rights[^]*version \d+[^]*ms/);
    assert.match(told, /on one machine alone[^]*at once/);
    assert.equal(await failed(), 0);
    assert.doesNotMatch(await editor.page.content(), new RegExp(PASSWORD));
  });

  for (const [title, further] of [
    ['with a connection that was typed only now, and says what to do where it fails', {}],
    ['whatever its instance name, which may be a variable', { instanceName: '${RVM_INSTANCE}' }],
  ] as const)
    it(`is tried out ${title}`, async () => {
      await editor.open('inbox');
      for (const [name, value] of Object.entries({ connection: connection('nobody'), ...further }))
        await editor.page.fill(FIELD + name, value);
      const told = await tested();
      assert.match(told, /cannot use this connection[^]*check user and database/);
      assert.doesNotMatch(told, new RegExp(PASSWORD));
      assert.equal(await failed(), 1);
    });

  it('lets a stored password go nowhere that is not deployed', async () => {
    await editor.open('inbox');
    await editor.page.selectOption('#rvm-inbox-tls', 'verify');
    assert.match(await tested(), /deploy the flow first/);
  });

  it('fits into the window of a small notebook', async () => {
    await editor.page.setViewportSize({ width: 1366, height: 768 });
    await editor.open('inbox');
    const button = await editor.page.locator('#rvm-inbox-test').boundingBox();
    assert.ok(button !== null && button.y + button.height < 768, 'the button is in sight');
  });

  it('is listed in the sidebar with the instances that share it', async () => {
    await editor.page.evaluate(`RED.sidebar.show('rvm-sidebar')`);
    const row = editor.page.locator('.rvm-instances .rvm-row');
    await row.waitFor();
    assert.match(await row.innerText(), /this one\nsign of life \d+ s ago · events at its flow: 0$/);
    const list = await editor.page.locator('.rvm-instances').innerText();
    assert.equal(list.split('\n')[0], `127.0.0.1:${server.port}/${server.name}, schema rvm`);
  });
});

describeInEditor(
  'an inbox in PostgreSQL, for one who may not deploy',
  { ...group, secured: true, user: 'operator' },
  (editor) => {
    it('is tried out as it is deployed, and in no other way', async () => {
      await editor.open('inbox');
      await editor.page.click('#rvm-inbox-test');
      await editor.page.waitForSelector(`${STEPS} >> nth=6`);
      await editor.page.fill(`${FIELD}connection`, connection('nobody'));
      await editor.page.click('#rvm-inbox-test');
      await editor.page.waitForSelector(`${STEPS}[data-outcome="failed"]`);
      assert.match(await editor.page.locator('#rvm-inbox-steps').innerText(), /right to deploy/);
    });
  },
);

let other: NodeRed;

/** The flow of another Node-RED, too, to which the address of its webhook leads. */
async function flowOfBoth(): Promise<FlowNode[]> {
  server = await SharedServer.use();
  other = await NodeRed.start();
  const flows = sharedFlow(server.url(), { webhook: { publicUrl: other.url } });
  await other.deploy(flows);
  return flows;
}

const ofBoth: InEditor = {
  flow: flowOfBoth,
  programs: ['postgres'],
  async end() {
    await other?.stopAndRemove();
    await server?.remove();
  },
};

describeInEditor('the dialog of a webhook whose copy has an instance of its own', ofBoth, (editor) => {
  it('says that the self-test has arrived at the other instance', async () => {
    await editor.open('webhook');
    const last = editor.page.locator('#rvm-webhook-steps li >> nth=4');
    await eventually(async () => {
      await editor.page.click('#rvm-webhook-test');
      await last.waitFor();
      return (await last.getAttribute('data-outcome')) === 'ok';
    }, 'both inboxes to be open');
    assert.match(await last.innerText(), /Arrived at another instance, which shares the inbox/);
  });
});
