import { RvmError } from '../error';
import type { Answer } from './answer';
import type { DataSources } from './data-sources';
import type { DeviceEntry } from './device-directory';
import { DIALECT } from './dialect';
import type { Operation } from './operation';
import type { TrustedUrl } from './origin';
import { recordedRequest, rtspUrlOf, type RecordedRequest, type RtspRelay } from './rtsp';
import type { SessionKeeper } from './session';

const { rtsp: RTSP } = DIALECT.relations;

/** Asks the service for RTSP sessions. Each is asked for anew: a URL is never cached. */
export class RtspSessions {
  readonly #session: SessionKeeper;
  readonly #sources: DataSources;

  constructor(session: SessionKeeper, sources: DataSources) {
    this.#session = session;
    this.#sources = sources;
  }

  /**
   * Opens a session for recorded video.
   * @throws RvmError BAD_RESPONSE, HTTP_ERROR, and those of the session
   */
  async openRecorded(
    operation: Operation,
    entry: DeviceEntry,
    wanted: { cameraRemoteId: string; quality: string; t: string },
  ): Promise<{ url: string; relay: RtspRelay }> {
    const body = recordedRequest(wanted.cameraRemoteId, wanted.quality, wanted.t);
    return rtspUrlOf(await this.#post(operation, entry, body));
  }

  /**
   * A cached address or remote id may be out of date, so a failure makes the next message ask for them anew. An
   * address that is gone (404) is asked for at once, and only if it is another one the request is made there: it
   * is never repeated blindly.
   */
  async #post(operation: Operation, entry: DeviceEntry, body: RecordedRequest): Promise<Answer> {
    const { url } = await this.#sources.offer(operation, entry, RTSP);
    try {
      return await this.#postTo(operation, url, body);
    } catch (error) {
      if (!(error instanceof RvmError) || error.code !== 'HTTP_ERROR') throw error;
      this.#sources.forget(entry.device.id);
      if (meansOffline(error)) throw offlineAfterAll(error);
      if (error.cause.status !== 404) throw error;
      const { url: other } = await this.#sources.offer(operation, entry, RTSP);
      if (other.href === url.href) throw error;
      return this.#postTo(operation, other, body);
    }
  }

  #postTo(operation: Operation, url: TrustedUrl, body: RecordedRequest): Promise<Answer> {
    return this.#session.follow(operation, { method: 'POST', url, relation: RTSP, body });
  }
}

function meansOffline(error: RvmError): boolean {
  return DIALECT.error.cameraOffline.includes((error.cause.serverCode ?? '').toLowerCase());
}

function offlineAfterAll(error: RvmError): RvmError {
  return new RvmError(
    'DEVICE_OFFLINE',
    'The service cannot reach the camera now, although it lists it as online; try again in a while.',
    error.cause,
  );
}
