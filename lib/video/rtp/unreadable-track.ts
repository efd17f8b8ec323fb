import type { RvmError } from '../../error';
import type { Track } from './track';

/** Of which nothing can be made. */
export class UnreadableTrack implements Track {
  readonly audio = undefined;

  constructor(readonly fault: RvmError) {}

  read(): [] {
    return [];
  }

  gap(): void {}

  flush(): [] {
    return [];
  }
}
