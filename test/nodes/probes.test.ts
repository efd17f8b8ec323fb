import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { alarmMessage, answerTo, post } from '../support/webhook/alarm-message';
import { fileInbox, listenerNode, PATH, PHRASE, webhookFlow, webhookIn } from '../support/node-red/flows';
import { freePort, NodeRed, type FlowNode } from '../support/node-red/node-red';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import { eventually } from '../support/time/patience';
import { node, shows } from '../support/node-red/alarms-through';

const SETTINGS = `httpNodeRoot: '/api', httpNodeAuth: { user: 'u', pass: 'x' },
  runtimeState: { enabled: true, ui: false },`;

/** A type of nodes that do not come to their end, as one that waits for a device. */
const STAYING = `module.exports = (RED) => {
  RED.nodes.registerType('staying', function (config) {
    RED.nodes.createNode(this, config);
    this.on('close', (done) => undefined);
  });
};`;

for (const version of NODE_RED_VERSIONS)
  describe(`live and ready of Node-RED ${version}`, () => {
    let listening: number;
    let servers: string[];
    const nodeRed = NodeRed.ofGroup(async () => {
      listening = await freePort();
      const waiting = [...flows(), node('of-no-package')];
      return { version, settings: SETTINGS, nodes: STAYING, flows: waiting, flowsWait: true };
    });
    before(() => (servers = [`${nodeRed.url}/api`, `http://127.0.0.1:${listening}`]));

    function flows(inbox: Record<string, unknown> = {}, ...further: FlowNode[]): FlowNode[] {
      return webhookFlow(
        { webhook: { id: 'own', inbox: 'inbox' } },
        webhookIn({ inbox: 'inbox', listener: 'listener' }),
        listenerNode({ port: listening }),
        fileInbox('store', inbox),
        ...further,
      );
    }

    const probe = (server: string, name: 'live' | 'ready'): Promise<number | 'refused'> =>
      fetch(`${server}/remote-monitoring/${name}`).then(
        ({ status }) => status,
        () => 'refused',
      );

    const allAnswer = async (name: 'live' | 'ready', status: number): Promise<void> =>
      assert.deepEqual(
        await Promise.all(servers.map((server) => probe(server, name))),
        servers.map(() => status),
      );

    async function becomes(wanted: 200 | 503): Promise<void> {
      for (const server of servers)
        await eventually(async () => (await probe(server, 'ready')) === wanted, `${wanted} of ${server}`);
    }

    async function run(state: 'start' | 'stop'): Promise<void> {
      assert.ok((await post(`${nodeRed.url}/flows/state`, { state })).ok);
    }

    it('before the flows run: it lives, and is not ready; a listener does not listen yet', async () => {
      const [own = '', listener = ''] = servers;
      assert.deepEqual([await probe(own, 'live'), await probe(own, 'ready')], [200, 503]);
      assert.equal(await probe(listener, 'ready'), 'refused');
    });

    it('while they run: both servers are ready, below httpNodeRoot and without its password', async () => {
      await nodeRed.deploy(flows());
      await becomes(200);
      await allAnswer('live', 200);
      assert.notEqual(await probe(nodeRed.url, 'ready'), 200);
    });

    it('after they were stopped: neither is ready, until they run again', async () => {
      await run('stop');
      await becomes(503);
      await allAnswer('live', 200);
      await run('start');
      await becomes(200);
    });

    it('while the store fails and alarms are spilled: ready', async () => {
      const spillFolder = path.join(nodeRed.userDir, 'spill');
      await nodeRed.deploy(flows({ folder: folderInFile('a'), spillFolder }));
      await becomes(200);
      assert.equal(await answerTo(`${servers[1]}${PATH}`, alarmMessage(), PHRASE), 200);
    });

    it('while neither store nor spill folder takes them: not ready', async () => {
      await nodeRed.deploy(flows({ folder: folderInFile('b'), spillFolder: folderInFile('c') }));
      await shows(nodeRed, 'status.notDurable');
      await allAnswer('ready', 503);
      await allAnswer('live', 200);
    });

    it('while Node-RED shuts down: not ready, as long as it answers at all', async () => {
      await nodeRed.deploy(flows({}, node('staying')));
      await becomes(200);
      process.kill(nodeRed.pid, 'SIGTERM');
      await becomes(503);
      await nodeRed.stop('SIGKILL');
    });

    /** One that cannot be made, for a file is in its way. */
    function folderInFile(name: string): string {
      const file = path.join(nodeRed.userDir, `file-${name}`);
      fs.writeFileSync(file, '');
      return path.join(file, 'folder');
    }
  });
