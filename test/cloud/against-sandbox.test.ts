import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { StationClient, type StationClientOptions } from '../../lib/cloud/station-client';
import type { RvmEvent } from '../../lib/event';
import { Sandbox, type RemoteIdPlace, type SandboxOptions, type StationCredentials } from '../../sandbox';
import { rtspForEvent, settingsOf } from '../support/service/scripted-station';

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
    const client = new StationClient({ ...settingsOf({ url, apiKey, ...this.credentials }), ...options });
    this.#clients.push(client);
    return client;
  }

  /** Raises a security alarm of an online camera and gives the event as the webhook brought it. */
  async alarm(): Promise<RvmEvent> {
    const [camera] = (await this.client().listDevices()).filter(({ online }) => online);
    const arrived = new Promise<[IncomingMessage, ServerResponse]>((resolve) => {
      this.receiver.once('request', (...exchange) => resolve(exchange));
    });
    this.sandbox.raiseAlarm({ camera: camera?.id ?? '', eventClass: 'security' });
    const [request, response] = await arrived;
    const message: unknown = JSON.parse(await text(request));
    response.end();
    return Object(message).payload;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) await client.close();
    await this.sandbox.close();
    this.receiver.closeAllConnections();
    this.receiver.close();
  }
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
    const cold = await rtspForEvent(client, event);
    assert.ok(cold.url.startsWith(bench.sandbox.rtspUrl));
    assert.equal(cold.cameraRemoteId, event.cameraRemoteId);
    assert.equal(cold.t, event.eventStartTime);
    const warm = await rtspForEvent(client, event);
    assert.equal(warm.requests, 1);
    assert.notEqual(warm.url, cold.url);
  });

  for (const remoteId of ['record', 'details'] satisfies RemoteIdPlace[]) {
    for (const [what, missing] of [
      ['the remote id in the record or details', { cameraRemoteId: null }],
      ['the camera by its remote id', { cameraId: null }],
    ] as const) {
      it(`finds ${what} where the event has nothing else: ${remoteId}`, async () => {
        await bench.close();
        bench = await Bench.start({ remoteId });
        const event = await bench.alarm();
        const { cameraId, cameraRemoteId } = await rtspForEvent(bench.client(), { ...event, ...missing });
        assert.deepEqual([cameraId, cameraRemoteId], [event.cameraId, event.cameraRemoteId]);
      });
    }
  }
});
