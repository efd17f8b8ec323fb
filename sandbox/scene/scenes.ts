import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Footage } from './footage';
import { Pack, Sound, Stills, type Subject } from './packs';

export const SCENE_NAMES = ['gate', 'yard', 'dock', 'fence', 'car-park', 'fuel-store'] as const;
/** A drawn place; docs/sandbox.md says how its files were made. */
export type SceneName = (typeof SCENE_NAMES)[number];

const FOLDER = path.join(__dirname, '..', 'fixture');

/** The recordings that come with the package. Each file is read once, at its first use. */
export class Scenes {
  readonly #footage = new Map<SceneName, Promise<Footage>>();
  readonly #stills = new Map<SceneName, Promise<Stills>>();
  #sound: Promise<Sound> | undefined;

  footage(name: SceneName): Promise<Footage> {
    return cached(this.#footage, name, async () => new Footage(new Pack(await bytesOf(`${name}.pack`))));
  }

  stills(name: SceneName): Promise<Stills> {
    return cached(this.#stills, name, async () => new Stills(await bytesOf(`${name}.stills`)));
  }

  sound(): Promise<Sound> {
    this.#sound ??= bytesOf('sound.aac').then((bytes) => new Sound(bytes));
    return this.#sound;
  }
}

function cached<T>(known: Map<SceneName, Promise<T>>, name: SceneName, read: () => Promise<T>): Promise<T> {
  const found = known.get(name) ?? read();
  known.set(name, found);
  return found;
}

function bytesOf(name: string): Promise<Buffer> {
  return readFile(path.join(FOLDER, name));
}

/** What a camera of the sandbox looks at, and whether it has a microphone. */
export interface View extends Subject {
  scene: SceneName;
  sound: boolean;
}

/** A gate that never has an intruder. */
export function emptyGate(label: string): View {
  return { scene: 'gate', sound: false, label, intruder: () => undefined };
}
