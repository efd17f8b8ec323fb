import type { Incidents } from './incidents';
import type { View } from '../scene/view';
import { visitOf } from '../scene/subject';
import type { Camera } from './world';

/** What stands in every picture as it is; a caption need not say it again. */
const MARK = /^SANDBOX /;

/** What a camera sees: its scene, with an intruder whenever one of its alarms was going on. */
export function viewOf(camera: Camera, incidents: Incidents): View {
  return {
    scene: camera.scene,
    sound: camera.sound,
    label: camera.name.replace(MARK, ''),
    intruder: (second) => {
      for (const alarm of incidents.of(camera.id)) {
        const visit = visitOf(alarm, second);
        if (visit !== undefined) return visit;
      }
      return undefined;
    },
  };
}
