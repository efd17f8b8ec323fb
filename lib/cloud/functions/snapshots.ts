import { RvmError } from '../../error';
import { fileNameOf } from '../../files';
import type { Answer } from '../http/answer';
import type { Snapshot } from '../calls';
import { WIDEST_SNAPSHOT } from '../../limits';
import type { CameraFinder } from '../cameras/camera-finder';
import type { CameraLinks } from '../cameras/camera-links';
import { DIALECT } from '../dialect';
import { firstJpegOf } from './first-jpeg';
import type { Operation } from '../operation';
import type { Origins, TrustedUrl } from '../http/origin';
import { pictureIn } from './picture';
import type { SessionKeeper } from '../session/session-keeper';

const { snapshot: FACTS } = DIALECT;

/** Takes pictures of now. None is kept. */
export class Snapshots {
  readonly #session: SessionKeeper;
  readonly #finder: CameraFinder;
  readonly #links: CameraLinks;
  readonly #origins: Origins;
  readonly #relations: readonly string[];

  constructor(
    session: SessionKeeper,
    finder: CameraFinder,
    links: CameraLinks,
    origins: Origins,
    wanted: readonly string[],
  ) {
    this.#session = session;
    this.#finder = finder;
    this.#links = links;
    this.#origins = origins;
    this.#relations = wanted;
  }

  /**
   * @param width in pixels, if the service can choose
   * @throws RvmError BAD_INPUT for a width that is none, BAD_RESPONSE where the answer holds no JPEG, LINK_NOT_OFFERED,
   *   DEVICE_NOT_FOUND, DEVICE_OFFLINE, and those of the session
   */
  async take(operation: Operation, camera: string, width: number | undefined): Promise<Snapshot> {
    checkWidth(width);
    const entry = await this.#finder.chosen(operation, camera);
    const answer = await this.#links.call(
      operation,
      entry,
      (device) => this.#links.offer(operation, device, this.#relations),
      ({ url, relation }) => this.#get(operation, withWidth(url, width), relation),
    );
    const { jpeg, time } = await this.#picture(operation, answer);
    const { id, name } = entry.device;
    return { jpeg, filename: fileNameOf(name || id, time, 'jpg'), cameraId: id, time: time.toISOString() };
  }

  /** What the answer holds, or what the address in it leads to: once, so that no two answers point at each other. */
  async #picture(operation: Operation, answer: Answer): Promise<{ jpeg: Buffer; time: Date }> {
    const first = pictureIn(answer);
    if (first === undefined) throw noPicture(answer);
    if ('jpeg' in first) return { jpeg: first.jpeg, time: first.time ?? new Date() };
    const url = this.#origins.resolve(first.address, answer.url, answer.relation);
    const second = await this.#get(operation, url, answer.relation);
    const picture = pictureIn(second);
    if (picture === undefined || !('jpeg' in picture)) throw noPicture(second);
    return { jpeg: picture.jpeg, time: picture.time ?? new Date() };
  }

  #get(operation: Operation, url: TrustedUrl, relation: string): Promise<Answer> {
    const { accept, otherMethod } = FACTS;
    const request = { url, relation, accept, otherMethod, enough: firstJpegOf };
    return this.#session.follow(operation, { method: 'GET', ...request });
  }
}

function checkWidth(width: number | undefined): void {
  if (width === undefined || (Number.isInteger(width) && width > 0 && width <= WIDEST_SNAPSHOT)) return;
  throw new RvmError(
    'BAD_INPUT',
    `The width of a snapshot must be a whole number from 1 to ${WIDEST_SNAPSHOT}.`,
  );
}

/** The query of the link stays as it was sent. */
function withWidth(url: TrustedUrl, width: number | undefined): TrustedUrl {
  if (width === undefined) return url;
  const wide = url.copy();
  wide.search = `${url.search === '' ? '?' : `${url.search}&`}${FACTS.width}=${width}`;
  return wide;
}

function noPicture(answer: Answer): RvmError {
  return new RvmError(
    'BAD_RESPONSE',
    'The service answered without a JPEG picture; try again, or report it to the service.',
    { status: answer.status, relation: answer.relation, attempts: 1 },
  );
}
