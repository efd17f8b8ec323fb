import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { MediaFrame, VideoFrame } from '../../../lib/video/media';
import { FragmentWriter } from '../../../lib/video/mp4/fragment-writer';
import { assetsOf } from '../../../lib/video/view/page';
import { signAddress, type ViewRight } from '../../../lib/video/view/signed-address';
import type { Fragments } from '../../../lib/video/view/video-answers';
import { ViewServer, type ViewServerOptions } from '../../../lib/video/view/view-server';
import { playerFiles } from '../../../scripts/build';
import { type CountingSource, pictureAt } from './made-stream';

/** Sends of frames what their units are, so that a test sees in an answer what was sent. */
export class PassedFragments implements Fragments {
  readonly mimeType = 'video/mp4; codecs="avc1.42C015"';

  #count = 0;

  add(frame: MediaFrame): Buffer[] {
    this.#count += 1;
    return frame.kind === 'video' ? [...frame.nals] : [frame.data];
  }

  end(): Buffer[] {
    return this.#count === 0 ? [] : [Buffer.from(' end')];
  }
}

export function passedFrame(data: Buffer, key: boolean): VideoFrame {
  return pictureAt(0, { key, nals: [data] });
}

export const PREFIX = '/red/remote-monitoring/view/';
const START = Date.UTC(2026, 2, 4, 5, 6, 7);

/** Of the sources, bundled once. */
let built: ReturnType<typeof assetsOf> | undefined;

/** A right to 20 seconds around an alarm, and to see the camera live; for an hour. */
export function rightFor(changes: Partial<ViewRight> = {}): ViewRight {
  return {
    station: 'north',
    node: 'view-1',
    camera: { id: '4711' },
    recorded: { from: START - 5000, to: START + 15_000 },
    live: true,
    expires: Date.now() + 3_600_000,
    facts: { time: START, site: 'Harbour Depot', camera: 'Gate 1', rule: 'Intrusion', sandbox: false },
    ...changes,
  };
}

/** A right to see the camera live, and no recording. */
export function liveRight(): ViewRight {
  const { recorded: _recorded, ...right } = rightFor();
  return right;
}

/** A view server on a port of the loopback, with one node. Video is sent as it is to users, and what a test sends as it is. */
export class ServedView {
  readonly key = randomBytes(32);
  readonly server = http.createServer();
  readonly views: ViewServer;
  readonly failures: Error[] = [];
  /** Methods and targets, as they came. */
  readonly requests: string[] = [];

  constructor(
    readonly source: CountingSource,
    { viewers = 4, ...options }: Partial<ViewServerOptions> & { viewers?: number } = {},
  ) {
    this.views = new ViewServer({
      key: this.key,
      prefix: PREFIX,
      assets: (built ??= assetsOf(playerFiles())),
      fragments: ({ audio }, seconds) =>
        source.script.video === undefined ? new PassedFragments() : new FragmentWriter(audio, seconds),
      ...options,
    });
    this.views.add('view-1', {
      viewers,
      source: () => source,
      failed: (error) => void this.failures.push(error),
    });
    this.server.on('request', (req, res) => {
      this.requests.push(`${req.method} ${req.url}`);
      if (!this.views.handle(req, res)) res.writeHead(404).end('not a view');
    });
  }

  async listen(): Promise<this> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return this;
  }

  get origin(): string {
    const address = this.server.address();
    assert.ok(address !== null && typeof address === 'object');
    return `http://127.0.0.1:${address.port}`;
  }

  /** The address of the page of a right. */
  page(right: ViewRight = rightFor()): string {
    return `${this.origin}${PREFIX}${signAddress(this.key, right)}`;
  }

  async close(): Promise<void> {
    this.views.close();
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

/** What a browser loads by itself when it opens a page: the page, its scripts and styles. */
export async function openPage(url: string): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await fetch(url);
  const text = await response.text();
  for (const [, file] of text.matchAll(/(?:src|href)="([^"]+)"/g))
    await (await fetch(new URL(file ?? '', response.url))).arrayBuffer();
  return { status: response.status, text, headers: response.headers };
}
