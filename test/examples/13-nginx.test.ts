import assert from 'node:assert/strict';
import { alarmMessage } from '../support/webhook/alarm-message';
import { Authority } from '../support/network/certificates';
import { withChanges } from '../support/examples/example-run';
import { example } from '../support/examples/examples';
import { part } from '../support/node-red/flows';
import { NodeRed } from '../support/node-red/node-red';
import { needs } from '../support/suite/programs';
import { PROXY_NAME, ReverseProxy } from '../support/network/proxies';

const PHRASE = 'six swans cross the weir';
const PATH = '/remote-monitoring/example-13';
const BESIDE = { alarm: 'alarm', proof: 'proof', video: 'video', health: 'health', problems: 'problems' };

describe('the example flow 13, HTTPS behind nginx', () => {
  const nodeRed = NodeRed.ofGroup();

  it('works at once: an alarm of the sandbox arrives, proven by the phrase inside, and its video is found', async () => {
    await nodeRed.deploy(example('13', BESIDE));
    const { webhook } = await nodeRed.message('alarm');
    const { sandbox, proof, warnings } = part({ webhook }, 'webhook');
    assert.deepEqual([sandbox, proof, warnings], [true, 'token', []]);
    const { payload } = await nodeRed.message('video');
    assert.match(String(payload), /^rtsp:\/\//);
  });

  describe('behind the real nginx', () => {
    let authority: Authority;
    let proxy: ReverseProxy;

    before(async function () {
      needs(this, 'nginx', 'openssl');
      // All else of it is as it is imported.
      const station = { credentials: { secret: PHRASE } };
      await nodeRed.deploy(withChanges(example('13', BESIDE), { station }));
      authority = new Authority();
      proxy = await ReverseProxy.start('nginx', { upstream: nodeRed.port, authority });
    });

    after(async () => {
      await proxy?.stop();
      authority?.remove();
    });

    /** Posts a message to the address that the example registers, and gives the first line of the answer. */
    async function post(message: Record<string, unknown>, phrase = PHRASE): Promise<string> {
      const body = JSON.stringify({ ...message, authenticationToken: phrase });
      const head = [`POST ${PATH} HTTP/1.1`, `Host: ${PROXY_NAME}`, 'Connection: close'];
      const length = `Content-Length: ${Buffer.byteLength(body)}`;
      const answer = await proxy.exchange([...head, length, '', body].join('\r\n'));
      return answer.slice(0, answer.indexOf('\r\n'));
    }

    function isOf({ messageId }: Record<string, unknown>): (msg: Record<string, unknown>) => boolean {
      return (msg) => part(msg, 'webhook').messageId === messageId;
    }

    it('an alarm to its public URL arrives proven, and is shown how', async () => {
      const message = alarmMessage();
      assert.equal(await post(message), 'HTTP/1.1 200 OK');
      const alarm = await nodeRed.message('alarm', isOf(message));
      assert.equal(part(alarm, 'webhook').proof, 'token');
      await nodeRed.message('proof', isOf(message));
    });

    it('a health event takes its own way', async () => {
      const message = alarmMessage({ eventClass: 'health' });
      assert.equal(await post(message), 'HTTP/1.1 200 OK');
      await nodeRed.message('health', isOf(message));
    });

    it('a message with another phrase is refused, and its reason leaves the third output', async () => {
      assert.equal(await post(alarmMessage(), 'another phrase'), 'HTTP/1.1 401 Unauthorized');
      await nodeRed.message('problems', (msg) => part(msg, 'payload').reason === 'bad-token');
    });

    it('its public URL is the name of the configuration', () => {
      const webhook = example('13').find(({ type }) => type === 'rvm-webhook-in');
      assert.deepEqual([webhook?.publicUrl, webhook?.path], [`https://${PROXY_NAME}`, PATH]);
    });
  });
});
