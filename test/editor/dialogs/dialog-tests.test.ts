import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { cloud, station, webhookIn } from '../../support/node-red/flows';
import { ForkedServices } from '../../support/service/forked-services';
import { describeInEditor, withSandbox } from '../../support/editor/in-editor';
import type { FlowNode } from '../../support/node-red/node-red';

const STEPS = '#rvm-station-steps li';
const sandbox = withSandbox({}, webhookIn());
let services: ForkedServices;

/** With Central Stations whose service chooses a version that it was not asked for, or has presets that cannot be called. */
async function flow(): Promise<FlowNode[]> {
  services = await ForkedServices.start();
  const ofVersions = await services.service('ofVersions', '12');
  const ofPresets = await services.service('ownPtzLinks', 'rel/self rel/start rel/stop');
  return [...(await sandbox.flow()), ...oddStation('odd', ofVersions), ...oddStation('still', ofPresets)];
}

function oddStation(
  key: string,
  { url, apiKey, username, password }: Awaited<ReturnType<ForkedServices['service']>>,
): FlowNode[] {
  const credentials = { username, password, secret: '' };
  return [
    cloud({ id: `${key}-cloud`, url, credentials: { apiKey } }),
    // A key that is the id of a config node as well would stand for that.
    station({ id: `${key}-station`, key, name: key, cloud: `${key}-cloud`, credentials }),
  ];
}

async function end(): Promise<void> {
  await sandbox.end();
  await services.kill();
}

describeInEditor('what dialogs try out', { flow, end }, (editor) => {
  const { assign } = editor;
  const outcomes = (list: string): Promise<string[]> =>
    editor.page.locator(`${list} li`).evaluateAll((rows) => rows.map((row) => row.dataset['outcome'] ?? ''));

  async function tryStation(id: string): Promise<void> {
    await editor.open(id);
    await editor.page.click('#rvm-station-test');
  }

  /** A step of the test, and its words: what is told below it. */
  async function assertStep(hasText: string, outcome: string, detail: RegExp): Promise<void> {
    const step = editor.page.locator(STEPS, { hasText });
    await step.waitFor();
    assert.equal(await step.getAttribute('data-outcome'), outcome);
    assert.match(await step.locator('.rvm-step-detail').innerText(), detail);
  }

  it('the Central Station, as it is deployed, as far as the codec of its video', async () => {
    await tryStation('station');
    await editor.page.waitForSelector(`${STEPS} >> nth=9`);
    assert.deepEqual(await outcomes('#rvm-station-steps'), Array(10).fill('ok'));
    assert.match(await editor.page.locator('#rvm-station-steps').innerText(), /H264$/);
  });

  it('a version that was not asked for, which is told below the one that was chosen (T-09)', async () => {
    await tryStation('odd-station');
    await editor.page.waitForSelector(`${STEPS} >> nth=9`);
    await assertStep('Version: 12', 'ok', /outside of the range/);
  });

  it('presets that have no link to be called by: what is missing, what is offered, and what can be done', async () => {
    await tryStation('still-station');
    const detail = /"Gate": The preset "Door" .* rel\/trigger .* It offers rel\/self\. No command was sent\./;
    await assertStep('Presets and tours', 'failed', detail);
  });

  it('the Central Station, with what was typed only now', async () => {
    const [before] = await editor.valuesOf('cloud', 'changed');
    await assign('cloud', { credentials: { apiKey: sandbox.apiKey() }, changed: true });
    await editor.open('station');
    await editor.page.fill('#node-config-input-username', 'nobody');
    await editor.page.fill('#node-config-input-password', 'wrong');
    await editor.page.click('#rvm-station-test');
    const failed: Locator = editor.page.locator(`${STEPS}[data-outcome="failed"]`);
    await failed.waitFor();
    assert.match(await failed.innerText(), /^Agent User logged in/);
    await assign('cloud', { changed: before ?? false });
  });

  it('the webhook, by a message that arrives at its node', async () => {
    await editor.open('webhook');
    await editor.page.click('#rvm-webhook-test');
    await editor.page.waitForSelector('#rvm-webhook-steps li >> nth=4');
    assert.deepEqual(await outcomes('#rvm-webhook-steps'), Array(5).fill('ok'));
  });

  it('the address of the webhook against the scheme of its Central Station', async () => {
    const warning = editor.page.locator('#rvm-webhook-warning');
    await editor.open('webhook');
    assert.match(await warning.innerText(), /this machine only/);
    await editor.page.fill('#node-input-publicUrl', 'https://alarms.example.com');
    assert.match(await warning.innerText(), /Set the Central Station to https/);
    await assign('station', { scheme: 'https' });
    await editor.page.locator('#node-input-publicUrl').dispatchEvent('change');
    assert.equal(await warning.isVisible(), false);
    await editor.page.fill('#node-input-publicUrl', 'http://alarms.example.com');
    assert.match(await warning.innerText(), /in the clear/);
    await assign('station', { scheme: 'http' });
  });

  it('the phrase, for what nobody can see in it', async () => {
    await editor.open('station');
    const tip = editor.page.locator('#rvm-secret-tip');
    assert.equal(await tip.isVisible(), false);
    await editor.page.fill('#node-config-input-secret', 'it\u2019s short ');
    assert.match(await tip.innerText(), /white space[^]*typographic[^]*short/);
    await editor.page.fill('#node-config-input-secret', 'correct horse battery staple');
    assert.equal(await tip.isVisible(), false);
  });
});

const asOperator = { flow, end, secured: true, user: 'operator' } as const;

describeInEditor('what dialogs try out for one who may not deploy', asOperator, (editor) => {
  for (const [title, typed, count, told] of [
    ['is what is deployed', undefined, 10, /H264$/],
    [
      'is not what was typed only now: they are told why, and what can be tried',
      'nobody',
      1,
      /right to deploy \(flows\.write\)[^]*What is deployed can be tried/,
    ],
  ] as const)
    it(title, async () => {
      await editor.open('station');
      if (typed !== undefined) await editor.page.fill('#node-config-input-username', typed);
      await editor.page.click('#rvm-station-test');
      await editor.page.waitForSelector(`${STEPS}:not([data-outcome="open"]) >> nth=${count - 1}`);
      assert.match(await editor.page.locator('#rvm-station-steps').innerText(), told);
    });
});
