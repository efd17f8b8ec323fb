import assert from 'node:assert/strict';
import { describeInEditor } from '../../support/editor/in-editor';
import { NodeRed, type FlowNode } from '../../support/node-red/node-red';
import { sharedFlow } from '../../support/node-red/flows';
import { SharedServer } from '../../support/postgres/shared-server';
import { eventually } from '../../support/time/patience';

let database: SharedServer;
let other: NodeRed;

async function flow(): Promise<FlowNode[]> {
  database = await SharedServer.use();
  other = await NodeRed.start();
  const flows = sharedFlow(database.url(), { webhook: { publicUrl: other.url } });
  await other.deploy(flows);
  return flows;
}

async function end(): Promise<void> {
  await other?.stopAndRemove();
  await database?.remove();
}

describeInEditor('the dialog of a webhook whose copy has an instance of its own', { flow, end }, (editor) => {
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
