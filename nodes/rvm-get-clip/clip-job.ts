import path from 'node:path';
import type { NodeAPI, NodeMessage } from 'node-red';
import type { RtspWanted } from '../../lib/cloud/calls';
import { RvmError } from '../../lib/error';
import { isRecord } from '../../lib/json/json';
import { readTime } from '../../lib/time';
import type { ClipFolder } from '../../lib/video/clip-folder';
import type { ClipDestination } from '../../lib/video/mp4/clip-destination';
import { cameraOf } from '../../lib/video/sessions/session-slots';
import { type Properties, strictNumberOf, textOf } from '../support/settings';

/** Milliseconds between two queries for the end of an alarm. */
const LOOK = 2000;

/** An alarm that may still continue. */
interface Alarm {
  station: string;
  alarmId: string;
  /** Time of its first event, in milliseconds since 1970. */
  since: number;
}

/**
 * The alarm that a message belongs to.
 * @throws RvmError BAD_INPUT where the message is not from *webhook in*
 */
export function alarmOf(msg: NodeMessage): Alarm {
  const { event, webhook } = msg as { event?: unknown; webhook?: unknown };
  if (isRecord(event) && isRecord(webhook)) {
    const { alarmId } = event;
    const { station, receivedTime } = webhook;
    const since = readTime(receivedTime)?.getTime();
    if (typeof alarmId === 'string' && typeof station === 'string' && since !== undefined)
      return { station, alarmId, since };
  }
  throw new RvmError(
    'BAD_INPUT',
    'A clip to the end of the alarm needs msg.event and msg.webhook of webhook in, with an alarmId: keep both, or switch "To the end of the alarm" off.',
  );
}

/** Queries the end time every two seconds, until there is one. */
export class EndWatch {
  /** End time in milliseconds since 1970; undefined while the alarm continues. */
  end: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(look: () => Promise<number | undefined>) {
    this.#look(look);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #look(look: () => Promise<number | undefined>): void {
    void look()
      // An inbox that cannot be read now may be readable in two seconds.
      .catch(() => undefined)
      .then((end) => {
        this.end = end;
        if (end === undefined && !this.#closed) this.#timer = setTimeout(() => this.#look(look), LOOK);
      });
  }
}

type MemoryModule = typeof import('../../lib/video/mp4/clip-destination');
type FolderModule = typeof import('../../lib/video/clip-folder');

/** Destination of one clip. */
interface OpenClip {
  destination: ClipDestination;
  /** Payload of the message, once the clip is complete. */
  payload: () => Buffer | string;
}

/** Destinations of a node's clips: the message, or files in a folder. */
export class ClipDestinations {
  #folder: ClipFolder | undefined;

  constructor(
    private readonly RED: NodeAPI,
    private readonly properties: Properties,
  ) {}

  /**
   * @param start start of the clip, in milliseconds since 1970
   * @throws RvmError BAD_INPUT for a folder that cannot be used
   */
  async open(wanted: RtspWanted, start: number): Promise<OpenClip> {
    const folder = textOf(this.properties, 'folder').trim();
    return folder === '' ? memory() : this.#file(folder, wanted, start);
  }

  async #file(folder: string, wanted: RtspWanted, start: number): Promise<OpenClip> {
    const { ClipFile } = require('../../lib/video/clip-folder') as FolderModule;
    const alarmId = wanted.mode === 'event' ? wanted.event.alarmId : undefined;
    const subject = {
      cameraId: cameraOf(wanted),
      ...(typeof alarmId === 'string' && { alarmId }),
      time: new Date(start),
    };
    const file = new ClipFile(await this.#clips(folder).place(subject));
    return { destination: file, payload: () => file.path };
  }

  #clips(folder: string): ClipFolder {
    const { ClipFolder } = require('../../lib/video/clip-folder') as FolderModule;
    const keepDays = strictNumberOf(this.properties, 'keepDays', 0);
    const base = path.resolve(this.RED.settings.userDir ?? process.cwd(), folder);
    this.#folder ??= new ClipFolder({ folder: base, keepDays });
    return this.#folder;
  }
}

function memory(): OpenClip {
  const { ClipMemory } = require('../../lib/video/mp4/clip-destination') as MemoryModule;
  const destination = new ClipMemory();
  return { destination, payload: () => destination.content };
}
