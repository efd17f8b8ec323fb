import assert from 'node:assert/strict';
import { Sandbox } from '../../../sandbox';
import { openDialog } from '../../support/editor/browser';
import { cloud, station, webhookFlow } from '../../support/node-red/flows';
import { ForkedServices } from '../../support/service/forked-services';
import { describeInEditor } from '../../support/editor/in-editor';
import type { FlowNode } from '../../support/node-red/node-red';

let sandbox: Sandbox;
let services: ForkedServices;

async function flow(): Promise<FlowNode[]> {
  sandbox = await Sandbox.start({ eventsPerMinute: 0, rtspPort: 0 });
  const credentials = sandbox.setStation('north', { scheme: 'http' });
  const ofCloud = cloud({ url: sandbox.url, credentials: { apiKey: sandbox.apiKey } });
  return webhookFlow({ cloud: ofCloud, station: station({ credentials }) }, ...(await ofOddServices()));
}

/** Central Stations whose service chooses a version that it was not asked for, or has presets that cannot be called. */
async function ofOddServices(): Promise<FlowNode[]> {
  services = await ForkedServices.start();
  const ofVersions = await services.service('ofVersions', '12');
  const ofPresets = await services.service('ownPtzLinks', 'rel/self rel/start rel/stop');
  return [...oddStation('odd', ofVersions), ...oddStation('still', ofPresets)];
}

function oddStation(
  key: string,
  { url, apiKey, username, password }: Awaited<ReturnType<ForkedServices['service']>>,
): FlowNode[] {
  return [
    cloud({ id: `${key}-cloud`, url, credentials: { apiKey } }),
    station({
      // A key that is the id of a config node as well would stand for that.
      id: `${key}-station`,
      key,
      name: key,
      cloud: `${key}-cloud`,
      credentials: { username, password, secret: '' },
    }),
  ];
}

async function end(): Promise<void> {
  await sandbox.close();
  await services.kill();
}

describeInEditor('what dialogs try out', { flow, end }, (editor) => {
  async function outcomes(list: string): Promise<string[]> {
    return editor.page
      .locator(`${list} li`)
      .evaluateAll((rows) => rows.map((row) => row.dataset['outcome'] ?? ''));
  }

  it('the Central Station, as it is deployed, as far as the codec of its video', async () => {
    await openDialog(editor.page, 'station');
    await editor.page.click('#rvm-station-test');
    await editor.page.waitForSelector('#rvm-station-steps li >> nth=9');
    assert.deepEqual(
      await outcomes('#rvm-station-steps'),
      Array.from({ length: 10 }, () => 'ok'),
    );
    assert.match(await editor.page.locator('#rvm-station-steps').innerText(), /H264$/);
  });

  it('a version that was not asked for, which is told below the one that was chosen (T-09)', async () => {
    await openDialog(editor.page, 'odd-station');
    await editor.page.click('#rvm-station-test');
    await editor.page.waitForSelector('#rvm-station-steps li >> nth=9');
    const step = editor.page.locator('#rvm-station-steps li', { hasText: 'Version: 12' });
    assert.equal(await step.getAttribute('data-outcome'), 'ok');
    assert.match(await step.locator('.rvm-step-detail').innerText(), /outside of the range/);
  });

  it('presets that have no link to be called by: what is missing, what is offered, and what can be done', async () => {
    await openDialog(editor.page, 'still-station');
    await editor.page.click('#rvm-station-test');
    const step = editor.page.locator('#rvm-station-steps li', { hasText: 'Presets and tours' });
    await step.waitFor();
    assert.equal(await step.getAttribute('data-outcome'), 'failed');
    const detail = await step.locator('.rvm-step-detail').innerText();
    assert.match(
      detail,
      /"Gate": The preset "Door" .* rel\/trigger .* It offers rel\/self\. No command was sent\./,
    );
  });

  it('the Central Station, with what was typed only now', async () => {
    await editor.page
      .evaluate(`RED.nodes.node('cloud').credentials = { apiKey: ${JSON.stringify(sandbox.apiKey)} };
        RED.nodes.node('cloud').changed = true;`);
    await openDialog(editor.page, 'station');
    await editor.page.fill('#node-config-input-username', 'nobody');
    await editor.page.fill('#node-config-input-password', 'wrong');
    await editor.page.click('#rvm-station-test');
    await editor.page.waitForSelector('#rvm-station-steps li[data-outcome="failed"]');
    const failed = await editor.page.locator('#rvm-station-steps li[data-outcome="failed"]').innerText();
    assert.match(failed, /^Agent User logged in/);
    await editor.page.evaluate(`RED.nodes.node('cloud').changed = false`);
  });

  it('the webhook, by a message that arrives at its node', async () => {
    await openDialog(editor.page, 'webhook');
    await editor.page.click('#rvm-webhook-test');
    await editor.page.waitForSelector('#rvm-webhook-steps li >> nth=4');
    assert.deepEqual(await outcomes('#rvm-webhook-steps'), ['ok', 'ok', 'ok', 'ok', 'ok']);
  });

  it('the address of the webhook against the scheme of its Central Station', async () => {
    const warning = editor.page.locator('#rvm-webhook-warning');
    await openDialog(editor.page, 'webhook');
    assert.match(await warning.innerText(), /this machine only/);
    await editor.page.fill('#node-input-publicUrl', 'https://alarms.example.com');
    assert.match(await warning.innerText(), /Set the Central Station to https/);
    await editor.page.evaluate(`RED.nodes.node('station').scheme = 'https'`);
    await editor.page.locator('#node-input-publicUrl').dispatchEvent('change');
    assert.equal(await warning.isVisible(), false);
    await editor.page.fill('#node-input-publicUrl', 'http://alarms.example.com');
    assert.match(await warning.innerText(), /in the clear/);
    await editor.page.evaluate(`RED.nodes.node('station').scheme = 'http'`);
  });

  it('the phrase, for what nobody can see in it', async () => {
    await openDialog(editor.page, 'station');
    const tip = editor.page.locator('#rvm-secret-tip');
    assert.equal(await tip.isVisible(), false);
    await editor.page.fill('#node-config-input-secret', 'it\u2019s short ');
    assert.match(await tip.innerText(), /white space[^]*typographic[^]*short/);
    await editor.page.fill('#node-config-input-secret', 'correct horse battery staple');
    assert.equal(await tip.isVisible(), false);
  });
});

describeInEditor(
  'what dialogs try out for one who may not deploy',
  { flow, end, secured: true, user: 'operator' },
  (editor) => {
    const steps = async (count: number): Promise<string> => {
      await editor.page.waitForSelector(
        `#rvm-station-steps li:not([data-outcome="open"]) >> nth=${count - 1}`,
      );
      return editor.page.locator('#rvm-station-steps').innerText();
    };

    it('is what is deployed', async () => {
      await openDialog(editor.page, 'station');
      await editor.page.click('#rvm-station-test');
      assert.match(await steps(10), /H264$/);
    });

    it('is not what was typed only now: they are told why, and what can be tried', async () => {
      await openDialog(editor.page, 'station');
      await editor.page.fill('#node-config-input-username', 'nobody');
      await editor.page.click('#rvm-station-test');
      assert.match(await steps(1), /right to deploy \(flows\.write\)[^]*What is deployed can be tried/);
    });
  },
);
