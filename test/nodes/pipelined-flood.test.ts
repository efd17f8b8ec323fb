import assert from 'node:assert/strict';
import { listenerNode, PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import { freePort, NodeRed } from '../support/node-red/node-red';
import { few } from '../support/suite/lanes';
import { alarmMessage, answerTo, sendUntilAnswered } from '../support/webhook/alarm-message';
import { PipelinedFlood } from '../support/webhook/pipelined-flood';

const ALARMS = 40;

for (const on of ['Node-RED', 'a listener'])
  describe(`a stranger with many connections of many forged posts, on the server of ${on}`, () => {
    const nodeRed = NodeRed.ofGroup({ fresh: true });
    let flood: PipelinedFlood | undefined;
    afterEach(() => flood?.stop());

    it('keeps no alarm out, nor the editor', async () => {
      const listenerPort = await freePort();
      const hasListener = on === 'a listener';
      const webhook = { listener: 'listener' };
      await nodeRed.deploy(
        hasListener ? webhookFlow({ webhook }, listenerNode({ port: listenerPort })) : webhookFlow(),
      );
      const port = hasListener ? listenerPort : nodeRed.port;
      const url = `http://127.0.0.1:${port}${PATH}`;
      assert.equal((await sendUntilAnswered(url, alarmMessage(), PHRASE)).at(-1), 200);
      flood = await PipelinedFlood.start({
        port,
        path: PATH,
        connections: few(40, 40, 400),
        posts: few(200, 200, 500),
      });
      const answers = [];
      for (let index = 0; index < ALARMS; index += 1)
        answers.push(await answerTo(url, alarmMessage(), PHRASE));
      assert.deepEqual(
        answers,
        Array.from({ length: ALARMS }, () => 200),
      );
      assert.equal((await fetch(nodeRed.url)).status, 200);
    });
  });
