import { setMeter, type Meter } from '../../../lib/meter';

type Told = { [Name in keyof Meter]: [Name, ...Parameters<Meter[Name]>] }[keyof Meter];

/** Hears what happens in this process, until it is ended. Its durations are left out. */
export class RecordingMeter {
  readonly #told: Told[] = [];

  constructor() {
    const hear =
      <Name extends keyof Meter>(name: Name) =>
      (...told: Parameters<Meter[Name]>): void =>
        void this.#told.push([name, ...told] as unknown as Told);
    setMeter({
      answered: hear('answered'),
      delivered: hear('delivered'),
      problem: hear('problem'),
      requested: hear('requested'),
      failed: hear('failed'),
      videoBegan: hear('videoBegan'),
      videoEnded: hear('videoEnded'),
      firstFrame: hear('firstFrame'),
      committed: hear('committed'),
      spilled: hear('spilled'),
    });
  }

  /** What was told of one kind, oldest first. */
  told<Name extends keyof Meter>(name: Name): Parameters<Meter[Name]>[] {
    return this.#told.flatMap(([heard, ...told]) =>
      heard === name ? [told as unknown as Parameters<Meter[Name]>] : [],
    );
  }

  end(): void {
    setMeter(undefined);
  }
}
