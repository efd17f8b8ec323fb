import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { MOST_VIDEO_SESSIONS, VIDEO_SESSIONS } from '../../lib/limits';
import type { CloudVideo } from '../../lib/video/cloud-video';
import type { Decoder } from '../../lib/video/picture/decoder';
import { noteRecording } from '../support/recent-video';
import { isRelayHost } from '../support/rules';
import { flagOf, listOf, numberOf, type Properties, textOf } from '../support/settings';
import { tlsOf } from '../support/tls-node';
import type { CloudNode } from './connection';

type VideoModule = typeof import('../../lib/video/cloud-video');
type StreamModule = typeof import('../../lib/video/rtsp/open-stream');

/** The video of one `rvm-cloud`, created at first use and closed with the node. */
export class VideoHost {
  #video: Promise<CloudVideo> | undefined;
  #closed = false;

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: CloudNode,
    private readonly properties: Properties,
  ) {}

  /** @throws RvmError CANCELLED after close, CONFIG_MISSING, BAD_INPUT, NETWORK (sandbox) */
  video(): Promise<CloudVideo> {
    if (this.#closed) return Promise.reject(closed());
    this.#video ??= this.#made().catch((error: unknown) => {
      this.#video = undefined;
      throw error;
    });
    return this.#video;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const video = await this.#video?.catch(() => undefined);
    await video?.close();
  }

  async #made(): Promise<CloudVideo> {
    const { sessions, relayHosts, localRelays } = videoSettingsOf(this.properties);
    const relays = { suffixes: relayHosts, localAllowed: localRelays, ...(await this.#ownRelay()) };
    const tls = this.node.isSandbox ? undefined : tlsOf(this.RED, textOf(this.properties, 'tls'), 'cloud');

    // Loaded lazily: registering the node types must not cost the memory of a video client.
    const { CloudVideo } = require('../../lib/video/cloud-video') as VideoModule;
    const { openStream } = require('../../lib/video/rtsp/open-stream') as StreamModule;
    if (this.#closed) throw closed();
    return new CloudVideo({
      sessions,
      decoder: newDecoder(this.RED),
      heard: noteRecording,
      open: (url, signal, isLive) => openStream({ url, relays, signal, isLive, ...(tls && { tls }) }),
    });
  }

  /**
   * The sandbox runs on this machine. Its relay is exempt from the ban on local relays, because it is no way into the user's
   * network.
   */
  async #ownRelay(): Promise<{ exempt?: { host: string; port: number } }> {
    if (!this.node.isSandbox) return {};
    const { hostname, port } = new URL((await this.node.sandbox()).rtspUrl);
    return { exempt: { host: hostname, port: Number(port) } };
  }
}

function closed(): RvmError {
  return new RvmError('CANCELLED', 'The cloud of this video was closed.');
}

type DecoderModule = typeof import('../../lib/video/picture/decoder');

/** Creates a decoder with the ffmpeg of `rvmFfmpeg` in settings.js, else with that on the PATH. */
export function newDecoder(RED: NodeAPI): Decoder {
  // Loaded lazily: most flows make no pictures of video.
  const { Decoder } = require('../../lib/video/picture/decoder') as DecoderModule;
  const path: unknown = RED.settings.get('rvmFfmpeg');
  return new Decoder(typeof path === 'string' && path !== '' ? { path } : {});
}

/** Video settings of a cloud. */
interface VideoSettings {
  /** Maximum of concurrent RTSP sessions; further ones wait. */
  sessions: number;
  /** Allowed relay hosts and domain suffixes; empty = those that the service names. */
  relayHosts: readonly string[];
  /** True where relays may be on this machine or in its network. */
  localRelays: boolean;
}

/** @throws RvmError BAD_INPUT for an invalid host: dropping it could leave an empty list, which allows all. */
export function videoSettingsOf(properties: Properties): VideoSettings {
  const relayHosts = listOf(properties, 'relayHosts');
  if (!relayHosts.every(isRelayHost)) {
    throw new RvmError(
      'BAD_INPUT',
      'The video relays of the cloud are not names of hosts such as video.example.com, separated by commas: correct them.',
    );
  }
  const sessions = Math.trunc(numberOf(properties, 'videoSessions', VIDEO_SESSIONS, 1));
  return {
    sessions: Math.min(sessions, MOST_VIDEO_SESSIONS),
    relayHosts,
    localRelays: flagOf(properties, 'localRelays'),
  };
}
