import type { NodeMessage } from 'node-red';
import type { ClipDestination } from '../../lib/video/mp4/clip-destination';

type MemoryModule = typeof import('../../lib/video/mp4/clip-memory');

/** Where one clip goes. */
export interface ClipPlace {
  destination: ClipDestination;
  /** What leaves the node, once the clip is complete. */
  payload: () => Buffer | string;
}

/** Where the clips of a node go: into the message, or into files below a folder. */
export class ClipPlaces {
  /** @throws RvmError BAD_INPUT for a folder that cannot be used */
  async open(_msg: NodeMessage): Promise<ClipPlace> {
    const { ClipMemory } = require('../../lib/video/mp4/clip-memory') as MemoryModule;
    const destination = new ClipMemory();
    return { destination, payload: () => destination.content };
  }
}
