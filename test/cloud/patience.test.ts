import assert from 'node:assert/strict';
import type { RtspSession } from '../../lib/cloud/calls';
import { StationClient } from '../../lib/cloud/station-client';
import { STATION_TIMING } from '../../lib/cloud/timing';
import { failure, rtspForEvent } from '../support/service/scripted-station';
import { few } from '../support/suite/lanes';
import { alarms, CAMERAS, StumblingService, videoOf, type Seen } from '../support/service/stumbling-service';

/** Cold sessions that a service with rotating cookies is asked by, one after the other. */
const RUNS = few(10, 10, 50);
const VIDEOS = CAMERAS.map((name) => videoOf(`remote-${name}`));
/** Far more than an alarm has: a busy machine may need it. */
const DEADLINE = { deadlineMs: 60_000 };

/** What becomes of six alarms at once while the service is away for 5 s. */
async function throughOutage(how: 'unavailable' | 'reset' | 'hang', isWarm: boolean): Promise<Through> {
  const service = await StumblingService.start();
  const client = new StationClient(service.settings);
  try {
    if (isWarm) await sixAlarms(client);
    await service.stumble({ kind: 'outage', how, ms: 5_000 });
    const sessions = await sixAlarms(client);
    return { sessions, state: client.state.kind, seen: await service.seen() };
  } finally {
    await client.close();
    await service.stop();
  }
}

interface Through {
  sessions: RtspSession[];
  state: string;
  seen: Seen[];
}

function sixAlarms(client: StationClient): Promise<RtspSession[]> {
  return Promise.all(alarms().map((event) => rtspForEvent(client, event, DEADLINE)));
}

describe('patience with a service that is away for 5 s', () => {
  const outages = (['unavailable', 'reset', 'hang'] as const).flatMap((how) =>
    [false, true].map((isWarm) => ({ how, isWarm })),
  );
  let ended: PromiseSettledResult<Through>[];

  // Side by side, for they do nothing but wait.
  before(async () => {
    ended = await Promise.allSettled(outages.map(({ how, isWarm }) => throughOutage(how, isWarm)));
  });

  for (const [index, { how, isWarm }] of outages.entries()) {
    it(`six alarms at once have their video: ${how}, ${isWarm ? 'warm' : 'cold'}`, () => {
      const outcome = ended[index];
      if (outcome?.status !== 'fulfilled') throw outcome?.reason;
      const { sessions, state, seen } = outcome.value;
      assert.deepEqual(
        sessions.map(({ url }) => url),
        VIDEOS,
      );
      assert.equal(state, 'connected');
      // Of hundred requests that could be sent in that time.
      const vain = seen.filter(({ status }) => status === 503 || status === 0);
      assert.ok(vain.length > 0 && vain.length < 80, `${vain.length} requests in vain`);
    });
  }
});

describe('patience with a service that stumbles', () => {
  let service: StumblingService;
  let clients: StationClient[];

  before(async () => {
    service = await StumblingService.start();
  });
  beforeEach(async () => {
    await service.stumble({ kind: 'none' });
    clients = [];
  });
  afterEach(async () => {
    for (const client of clients) await client.close();
  });
  after(() => service.stop());

  function newClient(): StationClient {
    const client = new StationClient(service.settings);
    clients.push(client);
    return client;
  }

  async function allHaveTheirVideo(client: StationClient): Promise<RtspSession[]> {
    const sessions = await sixAlarms(client);
    assert.deepEqual(
      sessions.map(({ url }) => url),
      VIDEOS,
    );
    return sessions;
  }

  async function requestsFor(path: string): Promise<Seen[]> {
    return (await service.seen()).filter((request) => request.path === path);
  }

  it('six alarms at once have their video after three 503 in a row for the list of devices', async () => {
    await service.stumble({ kind: 'devices', times: 3 });
    const sessions = await allHaveTheirVideo(newClient());
    const statuses = (await requestsFor('/devices')).map(({ status }) => status);
    assert.deepEqual(statuses, [503, 503, 503, 200]);
    const probes = (await requestsFor('/system')).length - 2;
    assert.equal(
      sessions.reduce((sum, { requests }) => sum + requests, 0),
      (await service.seen()).length - probes,
      'each request but the probes is counted for the alarm that caused it',
    );
  });

  it('six alarms at once have their video after 429 on two of their requests, and the pause is kept', async () => {
    await service.stumble({ kind: 'limit', times: 2, expected: 6, seconds: 1 });
    await allHaveTheirVideo(newClient());
    const asked = await requestsFor('/rtsp');
    assert.equal(asked.length, 8);
    const limited = asked.filter(({ status }) => status === 429).map(({ answeredAt }) => answeredAt);
    const again = asked.slice(-2).map(({ at }) => at);
    assert.equal(limited.length, 2);
    assert.ok(Math.min(...again) - Math.max(...limited) >= 1_000, `${again.join()} after ${limited.join()}`);
  });

  it('six alarms at once have their video where the first /system after the login does not show it', async () => {
    await service.stumble({ kind: 'blind', times: 2 });
    await allHaveTheirVideo(newClient());
    assert.equal((await requestsFor('/login')).length, 1);
    assert.equal((await requestsFor('/system')).length, 4);
  });

  it('a login that shows no effect for two seconds is LOGIN_FAILED', async () => {
    await service.stumble({ kind: 'blind', times: 1_000 });
    const [event = {}] = alarms();
    await failure(rtspForEvent(newClient(), event, DEADLINE), 'LOGIN_FAILED');
    const looks = await requestsFor('/system');
    const settling = (looks.at(-1)?.at ?? 0) - (looks[1]?.at ?? 0);
    assert.ok(settling > STATION_TIMING.loginSettlesMs / 2, `${settling} ms`);
  });

  for (const when of ['request', 'answer'] as const) {
    for (const clears of [false, true]) {
      const refusal = clears ? 'a refusal takes the cookie back' : 'a refusal brings none';
      it(`six alarms at once always have their video where cookies rotate with each ${when} and ${refusal}`, async () => {
        await service.stumble({ kind: 'rotation', when, clears });
        for (let run = 0; run < RUNS; run += 1) {
          const client = newClient();
          await allHaveTheirVideo(client);
          await client.close();
        }
      });
    }
  }
});
