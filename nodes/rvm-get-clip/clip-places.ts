import path from 'node:path';
import type { NodeAPI } from 'node-red';
import type { RtspWanted } from '../../lib/cloud/calls';
import type { ClipFolder } from '../../lib/video/clip-folder';
import type { ClipDestination } from '../../lib/video/mp4/clip-destination';
import { cameraOf } from '../../lib/video/sessions/session-slots';
import { strictNumberOf, textOf, type Properties } from '../support/settings';

type MemoryModule = typeof import('../../lib/video/mp4/clip-destination');
type FolderModule = typeof import('../../lib/video/clip-folder');
type FileModule = typeof import('../../lib/video/clip-folder');

/** Where one clip goes. */
export interface ClipPlace {
  destination: ClipDestination;
  /** What leaves the node, once the clip is complete. */
  payload: () => Buffer | string;
}

/** Where the clips of a node go: into the message, or into files in a folder. */
export class ClipPlaces {
  readonly #RED: NodeAPI;
  readonly #properties: Properties;
  #folder: ClipFolder | undefined;

  constructor(RED: NodeAPI, properties: Properties) {
    this.#RED = RED;
    this.#properties = properties;
  }

  /**
   * @param start of the clip, in milliseconds since 1970
   * @throws RvmError BAD_INPUT for a folder that cannot be used
   */
  async open(wanted: RtspWanted, start: number): Promise<ClipPlace> {
    const folder = textOf(this.#properties, 'folder').trim();
    return folder === '' ? memory() : this.#file(folder, wanted, start);
  }

  async #file(folder: string, wanted: RtspWanted, start: number): Promise<ClipPlace> {
    const { ClipFile } = require('../../lib/video/clip-folder') as FileModule;
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
    const keepDays = strictNumberOf(this.#properties, 'keepDays', 0);
    const place = path.resolve(this.#RED.settings.userDir ?? process.cwd(), folder);
    this.#folder ??= new ClipFolder({ folder: place, keepDays });
    return this.#folder;
  }
}

function memory(): ClipPlace {
  const { ClipMemory } = require('../../lib/video/mp4/clip-destination') as MemoryModule;
  const destination = new ClipMemory();
  return { destination, payload: () => destination.content };
}
