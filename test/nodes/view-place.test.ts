import assert from 'node:assert/strict';
import fs from 'node:fs';
import { freePort, NodeRed, probe, type FlowNode } from '../support/node-red/node-red';
import { listenerNode } from '../support/node-red/flows';
import { node } from '../support/node-red/alarms-through';
import { caller, type Message, VideoFlow } from '../support/node-red/station-flow';
import { SLOW_VERSIONS } from '../support/suite/lanes';
import { eventually } from '../support/time/patience';
import { openPage } from '../support/video/served-view';

const settings = `httpNodeRoot: '/api', httpNodeAuth: { user: 'u', pass: 'x' },`;

for (const version of SLOW_VERSIONS)
  describe(`views of Node-RED ${version} beside the settings of its server`, () => {
    let flow: VideoFlow;
    let nodeRed: NodeRed;
    let listening: number;
    before(async () => {
      flow = await VideoFlow.start(version, {}, { settings });
      nodeRed = flow.station.nodeRed;
      listening = await freePort();
      await nodeRed.deploy(flowAtStart());
    });
    after(() => flow?.stop());

    /** Nobody can send a message in from outside here: each view node gets one when the flows start. */
    function flowAtStart(): FlowNode[] {
      const asked = node('inject', {
        props: [{ p: 'event', v: JSON.stringify(flow.event()), vt: 'json' }],
        once: true,
        onceDelay: 0.1,
        wires: [['node', 'second']],
      });
      const second = viewOf('second', { listener: 'listener', wires: [['listened'], ['failed']] });
      return [
        ...flow.flows([viewOf('node'), second]),
        probe('listened'),
        listenerNode({ port: listening }),
        asked,
      ];
    }

    const viewOf = (id: string, properties: Message = {}): FlowNode => ({
      ...caller('rvm-view', { mode: 'event', ...properties }),
      id,
    });

    const pathAt = async (probed: string): Promise<string> => String((await nodeRed.message(probed)).payload);

    it('are below the root of HTTP nodes, and ask for no password', async () => {
      const path = await pathAt('result');
      assert.match(path, /^\/api\/remote-monitoring\/view\//);
      const { status, text } = await openPage(nodeRed.url + path);
      assert.equal(status, 200);
      assert.ok(text.includes(flow.camera.name));
    });

    it('are at the root of a listener where one is chosen, and only there', async () => {
      const path = await pathAt('listened');
      assert.match(path, /^\/remote-monitoring\/view\//);
      assert.equal((await openPage(`http://127.0.0.1:${listening}${path}`)).status, 200);
      assert.notEqual((await fetch(`${nodeRed.url}/api${path}`)).status, 200);
    });

    it('open after a restart of Node-RED, without a message', async () => {
      const path = await pathAt('result');
      await nodeRed.stop();
      // Nothing asks for an address any more.
      const file = `${nodeRed.userDir}/flows.json`;
      const flows = JSON.parse(fs.readFileSync(file, 'utf8')) as FlowNode[];
      fs.writeFileSync(file, JSON.stringify(flows.filter(({ type }) => type !== 'inject')));
      const { userDir, port } = nodeRed;
      const again = await NodeRed.start({ userDir, port, version, settings });
      try {
        await eventually(async () => (await fetch(again.url + path)).status === 200, 'the page');
      } finally {
        await again.stop();
      }
    });
  });
