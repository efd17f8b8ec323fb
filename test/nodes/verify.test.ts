import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { alarmMessage, post, signature } from '../support/webhook/alarm-message';
import { cloud, PHRASE, station } from '../support/node-red/flows';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import {
  entrance,
  inject,
  NodeRed,
  probes,
  ROOT,
  watched,
  type FlowNode,
} from '../support/node-red/node-red';
import {
  arrived,
  codeOf,
  functionNode,
  node,
  problemOf,
  shows,
  type Message,
} from '../support/node-red/alarms-through';

const PREVIOUS = 'the phrase of last year';

/** Reports what is left of a request, hidden places included. */
const INSPECTOR = `const { req, res, headers } = msg;
  const text = util.inspect({ req, res }, { depth: 5, showHidden: true, maxArrayLength: null, maxStringLength: null });
  const lists = JSON.stringify([req.headers, req.rawHeaders, req.headersDistinct, headers]);
  const kept = res !== undefined && req.rawHeaders.includes('x-kept') && req.body === undefined;
  global.get('probe')('inspected', { payload: { text, lists, kept, messageId: msg.webhook?.messageId } });`;

const httpIn = (id: string, changes: Message = {}): FlowNode => {
  const usual = { url: `/${id}`, method: 'post', skipBodyParsing: true, wires: [['verify']] };
  return node('http in', { id, ...usual, ...changes });
};

function flow(changes: { station?: Message; verify?: Message } = {}): FlowNode[] {
  const credentials = { secret: PHRASE, previousSecret: PREVIOUS };
  const wires = ['authentic', 'refused'].map((id) => [id, 'inspector', 'answer']);
  return watched(
    cloud(),
    station({ credentials, ...changes.station }),
    httpIn('raw'),
    httpIn('parsed', { skipBodyParsing: false }),
    httpIn('put', { method: 'put' }),
    node('rvm-verify', { id: 'verify', station: 'station', wires, ...changes.verify }),
    ...probes('authentic', 'refused'),
    functionNode('inspector', INSPECTOR),
    node('http response', { id: 'answer', statusCode: '', headers: {} }),
    ...entrance('source', 'to-buffer'),
    functionNode('to-buffer', 'msg.payload = Buffer.from(msg.payload); return msg;', 'verify'),
  );
}

const reasonIs =
  (reason: string | null): ((msg: Message) => boolean) =>
  (msg) =>
    problemOf(msg).reason === reason;

for (const version of NODE_RED_VERSIONS)
  describe(`verify webhook on Node-RED ${version}`, () => {
    const nodeRed = NodeRed.ofGroup({ version }, flow);
    let url: string;
    before(() => (url = `${nodeRed.url}/raw`));

    it('sends a signed message behind http in to output 1, in the shape of webhook in, answers 200 and shows the time', async () => {
      const message = alarmMessage({ eventName: 'Fence climbed' });
      assert.equal((await post(url, message, PHRASE)).status, 200);
      const msg = await arrived(nodeRed, message, 'authentic');
      assert.equal((msg.payload as Message).eventName, 'Fence climbed');
      assert.deepEqual(msg.event, msg.payload);
      assert.deepEqual([msg.topic, msg.statusCode], ['security', 200]);
      const unstored = { deliveryId: null, sequence: null, attempt: 1, first: true, ended: false };
      assert.partialDeepStrictEqual(msg.webhook, { station: 'north', proof: 'hmac', ...unstored });
      await nodeRed.until(() => nodeRed.statuses('verify').some((text) => /^last \d/.test(text)), 'the time');
    });

    it('proves the bytes as they were sent, white space and key order included', async () => {
      const body = JSON.stringify(alarmMessage(), null, 4).replace('"messageId"', '\n\t"messageId"') + '\n';
      assert.equal((await post(url, body, PHRASE)).status, 200);
      const changed = await post(url, `${body} `, undefined, { Authorization: signature(body, PHRASE) });
      assert.equal(changed.status, 401);
    });

    it('answers 401 with WWW-Authenticate to what is not proven, and sends a problem to output 2', async () => {
      const response = await post(url, alarmMessage());
      assert.equal(response.status, 401);
      assert.equal(response.headers.get('www-authenticate'), 'HMAC-SHA256');
      const msg = await nodeRed.message('refused', reasonIs('no-signature'));
      assert.deepEqual([msg.topic, msg.statusCode], ['unauthentic', 401]);
      const { bytes, ...problem } = problemOf(msg);
      const of = { station: 'north', stationName: 'North', remoteAddress: '127.0.0.1' };
      assert.partialDeepStrictEqual(problem, { kind: 'unauthentic', count: 1, ...of });
      assert.ok(Number(bytes) > 500);
      for (const name of ['event', 'webhook']) assert.equal(name in msg || name in problemOf(msg), false);
    });

    it('C-17 counts all Authorization lines', async () => {
      const body = JSON.stringify(alarmMessage());
      const line = signature(body, PHRASE);
      assert.equal(await statusOf(url, body, [line]), 200);
      assert.equal(await statusOf(url, body, [line, line]), 401);
      assert.equal(await statusOf(url, body, [line, 'Bearer x']), 401);
    });

    it('answers 405, 413 and 415, and says why on output 2', async () => {
      const put = await fetch(`${nodeRed.url}/put`, { method: 'PUT', body: '{}' });
      assert.deepEqual([put.status, put.headers.get('allow')], [405, 'POST']);
      assert.equal((await post(url, 'x'.repeat(1024 * 1024 + 1), PHRASE)).status, 413);
      const zipped = gzipSync(JSON.stringify(alarmMessage()));
      const headers = { 'Content-Encoding': 'gzip', Authorization: signature(zipped, PHRASE) };
      assert.equal((await fetch(url, { method: 'POST', body: zipped, headers })).status, 415);
      for (const reason of ['method', 'large', 'compressed'])
        await nodeRed.message('refused', reasonIs(reason));
    });

    it('answers 200 to what is authentic and of no use, and sends it to output 2 with its event', async () => {
      const transmitTime = new Date(Date.now() - 27 * 60 * 60 * 1000).toISOString();
      const odd = [{ messageId: null }, { payloadType: 'Hello' }, { transmitTime }];
      for (const body of ['not JSON at all', ...odd.map((changes) => alarmMessage({}, changes))])
        assert.equal((await post(url, body, PHRASE)).status, 200);
      const kinds = { 'dead-letter': 'no-message-id', other: null, stale: 'too-old' };
      for (const [kind, reason] of Object.entries(kinds)) {
        const msg = await nodeRed.message('refused', (seen) => seen.topic === kind && reasonIs(reason)(seen));
        assert.equal(msg.statusCode, 200);
        assert.equal((problemOf(msg).event as Message).cameraName, 'Gate 1');
        assert.equal('deliveryId' in problemOf(msg), false);
      }
      await nodeRed.message('refused', reasonIs('not-json'));
    });

    it('says what to do where http in has parsed the body: 500, output 2, and one warning in 10 s', async () => {
      const before = nodeRed.log.split('Do not parse request body').length;
      for (let time = 0; time < 3; time++)
        assert.equal((await post(`${nodeRed.url}/parsed`, alarmMessage(), PHRASE)).status, 500);
      const msg = await nodeRed.message('refused', reasonIs('raw-body-missing'));
      assert.equal(msg.topic, 'unauthentic');
      await nodeRed.logged(/\[rvm-verify:verify\].*Do not parse request body/);
      assert.equal(nodeRed.log.split('Do not parse request body').length - before, 1);
    });

    it('judges the bytes of any source by msg.headers, however the header is written', async () => {
      const message = alarmMessage();
      const payload = JSON.stringify(message);
      const Authorization = signature(payload, PHRASE);
      await inject(nodeRed, 'source', {
        payload,
        headers: { Authorization, 'x-other': 'kept', 'content-encoding': null },
        mine: 7,
      });
      const msg = await arrived(nodeRed, message, 'authentic');
      assert.deepEqual(msg.headers, { 'x-other': 'kept', 'content-encoding': null });
      assert.equal(msg.mine, 7);
      await inject(nodeRed, 'source', { payload, headers: { authorization: [Authorization, 'x'] }, mine: 8 });
      await nodeRed.message('refused', (seen) => seen.mine === 8 && reasonIs('bad-signature')(seen));
    });

    it('C-100 leaves the proof in no place of req, res and headers, and keeps the rest', async () => {
      await nodeRed.deploy(flow({ station: { scheme: 'https' } }));
      const seen = nodeRed.at('inspected').length;
      const message = alarmMessage({}, { authenticationToken: PHRASE });
      const wrong = alarmMessage({}, { authenticationToken: 'planted wrong token' });
      const header = { 'x-kept': '1', Authorization: 'Basic cGxhbnRlZA==' };
      assert.equal((await post(url, message, undefined, header)).status, 200);
      assert.equal((await post(url, wrong, undefined, header)).status, 401);
      assert.equal((await post(`${nodeRed.url}/parsed`, message, undefined, header)).status, 500);
      await nodeRed.until(() => nodeRed.at('inspected').length >= seen + 3, 'three looks at a request');
      for (const msg of nodeRed.at('inspected').slice(seen)) {
        const { text, lists, kept } = msg.payload as { text: string; lists: string; kept: boolean };
        assert.ok(kept);
        assert.doesNotMatch(lists, /authorization/i);
        for (const secret of [PHRASE, 'planted wrong token', 'cGxhbnRlZA=='])
          assert.equal(text.includes(secret), false);
      }
      const all = JSON.stringify(nodeRed.seen.filter(({ probe: name }) => name !== 'inspected'));
      assert.doesNotMatch(all, /authenticationToken|planted wrong token|cGxhbnRlZA/);
      assert.equal((all + nodeRed.log).includes(PHRASE), false);
    });

    it('sets no property that its help does not name', () => {
      const help = fs.readFileSync(path.join(ROOT, 'dist/locales/en-US/rvm-verify.html'), 'utf8');
      const own = ['authentic', 'refused'].flatMap((name) => nodeRed.at(name));
      const names = own.flatMap((msg) => [
        ...Object.keys(msg),
        ...Object.keys((msg.webhook as object | undefined) ?? msg.payload ?? {}),
      ]);
      for (const name of new Set(names.filter((each) => !['_msgid', 'mine'].includes(each))))
        assert.match(help, new RegExp(`\\b${name}\\b`), name);
    });

    for (const [title, secret, status, message] of [
      ['C-26 answers 500 without a phrase', '', 'status.noSecret', /"North" has no Shared Secret Phrase/],
      [
        'C-136 answers 500 and never judges by a variable that is not set',
        '${RVM_UNSET}',
        'RVM_UNSET is not set',
        /RVM_UNSET is not set/,
      ],
    ] as const)
      it(`${title}, shows it, and names what is missing on output 2`, async () => {
        await nodeRed.deploy(flow({ station: { credentials: { secret } } }));
        await shows(nodeRed, status, 'verify');
        await assertBlocked(message, secret || PHRASE);
      });

    it('is CONFIG_MISSING without a Central Station, in Catch nodes where output 2 is not wired', async () => {
      await nodeRed.deploy(flow({ verify: { station: '' } }));
      await shows(nodeRed, 'status.notConfigured', 'verify');
      await assertBlocked(/missing or disabled/);
      await nodeRed.deploy(flow({ verify: { station: '', wires: [['authentic'], []] } }));
      const gone = new AbortController();
      const body = `{"authenticationToken":"${PHRASE}"}`;
      const asked = nodeRed.next('caught');
      const request = fetch(url, { method: 'POST', body, signal: gone.signal });
      const msg = await asked;
      assert.equal(codeOf(msg), 'CONFIG_MISSING');
      assert.equal(JSON.stringify(msg).includes('authenticationToken'), false);
      // An answer would be here before that of a later request.
      assert.equal((await fetch(`${nodeRed.url}/settings`)).status, 200);
      gone.abort();
      await assert.rejects(request);
    });

    async function assertBlocked(message: RegExp, phrase = PHRASE): Promise<void> {
      const msg = await nodeRed.next('refused', async () =>
        assert.equal((await post(url, alarmMessage(), phrase)).status, 500),
      );
      assert.deepEqual([msg.topic, msg.statusCode, codeOf(msg)], ['blocked', 500, 'CONFIG_MISSING']);
      assert.match(String((msg.error as Message).message), message);
    }
  });

/** Posts with header lines that fetch would join. */
async function statusOf(url: string, body: string, lines: string[]): Promise<number | undefined> {
  const headers = ['Content-Type', 'application/json', 'Host', new URL(url).host];
  const request = http.request(url, {
    method: 'POST',
    headers: [...headers, ...lines.flatMap((line) => ['Authorization', line])],
    agent: false,
  });
  request.end(body);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.resume();
  return response.statusCode;
}
