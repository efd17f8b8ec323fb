import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { RvmError } from '../../lib/error';
import { PendingSelfTests, selfTest } from '../../lib/webhook/self-test';
import type { SelfTestReport } from '../../lib/webhook/self-test-steps';
import { portOf } from '../support/network/servers';

describe('where a self-test has arrived', () => {
  const pending = new PendingSelfTests();
  const sent: string[] = [];
  /** Whether the message comes in here before its answer. */
  let comesHere = false;
  let server: http.Server;
  let url: string;

  before(async () => {
    server = http.createServer((req, res) => {
      let text = '';
      req.on('data', (piece: Buffer) => (text += piece.toString()));
      req.on('end', () => {
        const [, messageId = ''] = /"messageId":"([^"]+)"/.exec(text) ?? [];
        sent.push(messageId);
        if (comesHere) pending.came(messageId);
        res.writeHead(200).end();
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${portOf(server)}`;
  });

  after(() => once(server.close(), 'close'));

  beforeEach(() => {
    comesHere = false;
    sent.splice(0);
  });

  function tested(isElsewhere: (messageId: string) => Promise<boolean>): Promise<SelfTestReport> {
    return selfTest({ url, scheme: 'http', phrase: 'a phrase', pending, isElsewhere, timeoutMs: 10_000 });
  }

  it('is not asked of the inbox where it came in here', async () => {
    comesHere = true;
    assert.deepEqual(await tested(() => assert.fail('nobody has to ask')), { url });
  });

  it('is asked of the inbox by its id until that knows it', async () => {
    const asked: string[] = [];
    const report = await tested(async (messageId) => asked.push(messageId) === 2);
    assert.deepEqual(report, { url, elsewhere: true });
    assert.deepEqual(asked, [...sent, ...sent]);
  });

  it('is asked once more of an inbox that failed to say it', async () => {
    let asked = 0;
    const report = await tested(async () => {
      asked += 1;
      if (asked === 1) throw new RvmError('STORE_FAILED', 'The database is away.');
      return true;
    });
    assert.deepEqual(report, { url, elsewhere: true });
  });
});
