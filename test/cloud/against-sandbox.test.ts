import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { StationClient, type StationClientOptions } from '../../lib/cloud/station-client';
import type { RvmEvent } from '../../lib/event';
import { Sandbox, type RemoteIdPlace, type SandboxOptions, type StationCredentials } from '../../sandbox';
import { rtspForEvent, settingsOf } from '../support/service/scripted-station';

const QUALITY = { quality: 'high' };

/** A sandbox, a receiver for its alarms, and clients of its one station. */
class Bench {
  readonly #clients: StationClient[] = [];

  private constructor(
    readonly sandbox: Sandbox,
    readonly credentials: StationCredentials,
    private readonly receiver: Server,
  ) {}

  static async start(options: SandboxOptions = {}): Promise<Bench> {
    const sandbox = await Sandbox.start({ eventsPerMinute: 0, rtspPort: 0, seed: 7, ...options });
    const credentials = sandbox.setStation('a', { scheme: 'http' });
    const receiver = createServer();
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    const address = receiver.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    sandbox.setEndpoint('e', { station: 'a', url: () => `http://127.0.0.1:${port}/hook` });
    return new Bench(sandbox, credentials, receiver);
  }

  client(options: Partial<StationClientOptions> = {}): StationClient {
    const { url, apiKey } = this.sandbox;
    const { username, password } = this.credentials;
    const client = new StationClient({
      ...settingsOf({ url, apiKey, username, password }),
      ...options,
    });
    this.#clients.push(client);
    return client;
  }

  /** Raises a security alarm of an online camera and gives the event as the webhook brought it. */
  async alarm(): Promise<RvmEvent> {
    const [camera] = (await this.client().listDevices()).filter(({ online }) => online);
    const arrived = new Promise<RvmEvent>((resolve) => {
      this.receiver.once('request', (request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => {
          response.end();
          resolve(payloadOf(JSON.parse(Buffer.concat(chunks).toString('utf8'))));
        });
      });
    });
    this.sandbox.raiseAlarm({ camera: camera?.id ?? '', eventClass: 'security' });
    return arrived;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) await client.close();
    await this.sandbox.close();
    this.receiver.closeAllConnections();
    this.receiver.close();
  }
}

function payloadOf(message: unknown): RvmEvent {
  if (typeof message !== 'object' || message === null || !('payload' in message)) return {};
  return { ...(typeof message.payload === 'object' ? message.payload : {}) };
}

describe('client against the sandbox', () => {
  let bench: Bench;

  beforeEach(async () => {
    bench = await Bench.start();
  });
  afterEach(() => bench.close());

  it('gets along with a dotted version, and with live video that is asked for with the time "live"', async () => {
    await bench.close();
    bench = await Bench.start({ versions: '1.2', liveStyle: 'live' });
    const client = bench.client({ liveStyle: 'live' });
    const camera = (await client.listDevices()).find(({ online }) => online)?.id ?? '';
    const { url } = await client.openRtsp({ mode: 'live', camera, quality: '', whenOffline: 'fail' });
    assert.ok(url.startsWith(bench.sandbox.rtspUrl));
    assert.deepEqual(client.state, { kind: 'connected', version: '1.2' });
  });

  it('gets the video of an alarm, warm with one request', async () => {
    const event = await bench.alarm();
    const client = bench.client();
    const cold = await rtspForEvent(client, event, QUALITY);
    assert.ok(cold.url.startsWith(bench.sandbox.rtspUrl));
    assert.equal(cold.cameraRemoteId, event.cameraRemoteId);
    assert.equal(cold.t, event.eventStartTime);
    const warm = await rtspForEvent(client, event, QUALITY);
    assert.equal(warm.requests, 1);
    assert.notEqual(warm.url, cold.url);
  });

  for (const remoteId of ['record', 'details'] satisfies RemoteIdPlace[]) {
    it(`finds the remote id in the ${remoteId} where the event has none`, async () => {
      await bench.close();
      bench = await Bench.start({ remoteId });
      const event = await bench.alarm();
      const session = await rtspForEvent(bench.client(), { ...event, cameraRemoteId: null }, QUALITY);
      assert.equal(session.cameraRemoteId, event.cameraRemoteId);
    });

    it(`finds the camera by its remote id in the ${remoteId} where the event has nothing else`, async () => {
      await bench.close();
      bench = await Bench.start({ remoteId });
      const event = await bench.alarm();
      const session = await rtspForEvent(bench.client(), { ...event, cameraId: null }, QUALITY);
      assert.equal(session.cameraId, event.cameraId);
    });
  }
});
