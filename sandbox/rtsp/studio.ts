import type { Grant } from './grants';
import { Programme } from './media/programme';
import type { Scenes } from '../scene/scenes';
import { emptyGate } from '../scene/view';

/** Makes what cameras show out of the scenes. */
export class Studio {
  readonly #scenes: Scenes;

  constructor(scenes: Scenes) {
    this.#scenes = scenes;
  }

  async programme({ cameraName, view = emptyGate(cameraName) }: Grant): Promise<Programme> {
    const sound = view.sound ? await this.#scenes.sound() : undefined;
    return new Programme(await this.#scenes.footage(view.scene), sound, view);
  }
}
