import type { SceneName } from './scenes';
import type { Subject } from './subject';

/** What a camera of the sandbox looks at, and whether it has a microphone. */
export interface View extends Subject {
  scene: SceneName;
  sound: boolean;
}

/** A gate where nobody ever comes. */
export function emptyGate(label: string): View {
  return { scene: 'gate', sound: false, label, intruder: () => undefined };
}
