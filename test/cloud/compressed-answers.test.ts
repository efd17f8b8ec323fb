import assert from 'node:assert/strict';
import { StationClient } from '../../lib/cloud/station-client';
import { JPEG } from '../support/service/pictures';
import { ForkedServices, type Access } from '../support/service/forked-services';
import { BOMB, type PeculiarityName } from '../support/service/peculiarities';
import { EVENT_OF_GATE, failure, rtspForEvent, settingsOf } from '../support/service/scripted-station';
import { slowIt } from '../support/suite/lanes';

const MIB = 1024 * 1024;
const CODINGS = ['gzip', 'deflate', 'br'];
/** Beside those that are asked for. */
const TOLERATED = ['x-gzip', 'deflate without the head of zlib', 'no coding, in so many words'];

describe('answers of a service that compresses', () => {
  let services: ForkedServices;
  const clients: StationClient[] = [];

  before(async () => {
    services = await ForkedServices.start();
  });
  afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));
  after(() => services.kill());

  function clientOf(access: Access): StationClient {
    // On a busy machine a bomb takes its time.
    const client = new StationClient({ ...settingsOf(access), timeoutMs: 30_000 });
    clients.push(client);
    return client;
  }

  async function clientFor(peculiarity: PeculiarityName, how = ''): Promise<StationClient> {
    return clientOf(await services.service(peculiarity, how));
  }

  it('T-29 asks for those it can read, with each request', async () => {
    const access = await services.service('plain');
    await rtspForEvent(clientOf(access), EVENT_OF_GATE);
    const asked = (await services.seen(access)).map(({ headers }) => headers['accept-encoding']);
    assert.deepEqual(new Set(asked), new Set(['gzip, deflate, br']));
  });

  for (const coding of [...CODINGS, ...TOLERATED]) {
    it(`T-29 reads JSON, the address of a video and a picture in ${coding}`, async () => {
      const client = await clientFor('compressing', coding);
      const session = await rtspForEvent(client, EVENT_OF_GATE);
      assert.equal(session.url, 'rtsp://relay.example:8554/token-1');
      assert.deepEqual((await client.snapshot('Gate')).jpeg, JPEG);
    });

    it(`T-29 reads why a key is refused, in ${coding}`, async () => {
      const access = await services.service('compressing', coding);
      const error = await failure(clientOf({ ...access, apiKey: 'wrong' }).listDevices(), 'API_KEY_REJECTED');
      assert.equal(error.cause.serverMessage, 'key missing');
    });
  }

  it('T-29 gives api request the body as it was before, and no word of its coding', async () => {
    const client = await clientFor('compressing', 'br');
    const { payload, headers } = await client.request({
      start: 'system',
      rels: ['rel/devices'],
      method: 'GET',
    });
    assert.match(JSON.stringify(payload), /Gate/);
    assert.equal(headers['content-encoding'], undefined);
    assert.equal(headers['content-length'], undefined);
  });

  for (const coding of ['zstd', 'gzip, br', 'compress', 'gzip, gzip']) {
    it(`T-29 fails with BAD_RESPONSE that names "${coding}" where nothing else is sent`, async () => {
      const error = await failure((await clientFor('oddlyCoded', coding)).listDevices(), 'BAD_RESPONSE');
      assert.ok(error.message.includes(`"${coding}"`), error.message);
      assert.equal(error.cause.relation, 'rel/devices');
    });
  }

  it('T-29 repeats no key and no address of a video that stands in the name of a coding', async () => {
    const access = await services.service('plain');
    const coding = `x-${access.apiKey}-rtsp://user:word@relay.example/way`;
    const error = await failure((await clientFor('oddlyCoded', coding)).listDevices(), 'BAD_RESPONSE');
    assert.ok(!error.message.includes(access.apiKey), error.message);
    assert.doesNotMatch(error.message, /relay/);
  });

  it('T-29 takes a command as accepted whatever the body of the answer comes in', async () => {
    const client = await clientFor('oddlyCodedCommands', 'zstd');
    assert.equal((await client.ptz('Gate', { action: 'goto-home' })).accepted, true);
  });

  for (const coding of CODINGS) {
    for (const fault of ['cut', 'never packed']) {
      it(`T-29 fails with BAD_RESPONSE where ${coding} is ${fault}`, async () => {
        const client = await clientFor('brokenlyCoded', `${coding} ${fault}`);
        const error = await failure(client.listDevices(), 'BAD_RESPONSE');
        assert.match(error.message, /broken/);
      });
    }
  }

  for (const coding of CODINGS) {
    (coding === 'gzip' ? it : slowIt)(
      `T-29 cuts a bomb in ${coding} at the limit, and holds no more than that`,
      async () => {
        const client = await clientFor('bombing', `${coding} /devices`);
        const { error, most } = await watchingMemory(() => failure(client.listDevices(), 'BAD_RESPONSE'));
        assert.match(error.message, /too large/);
        assert.ok(most < BOMB / 2, `${Math.round(most / MIB)} MiB at most`);
      },
    );
  }

  slowIt('T-29 cuts a bomb in the place of a picture as well', async () => {
    const client = await clientFor('bombing', 'gzip /picture');
    assert.match((await failure(client.snapshot('Gate'), 'BAD_RESPONSE')).message, /too large/);
  });

  slowIt('T-29 unpacks few at a time, however many bombs come', async () => {
    const client = await clientFor('bombing', 'br /picture');
    const { most } = await watchingMemory(() =>
      Promise.all(Array.from({ length: 12 }, () => failure(client.snapshot('Gate'), 'BAD_RESPONSE'))),
    );
    assert.ok(most < BOMB, `${Math.round(most / MIB)} MiB at most`);
  });

  slowIt('T-29 holds JSON to its own limit once it is unpacked', async () => {
    const error = await failure((await clientFor('muchJson')).listDevices(), 'BAD_RESPONSE');
    assert.match(error.message, /more JSON than can be read/);
  });
});

/** The error that work gives, and the most bytes outside of the heap, where bodies are, that it took meanwhile. */
async function watchingMemory<Result>(work: () => Promise<Result>): Promise<{ error: Result; most: number }> {
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().arrayBuffers - before)), 5);
  try {
    return { error: await work(), most };
  } finally {
    clearInterval(watch);
  }
}
