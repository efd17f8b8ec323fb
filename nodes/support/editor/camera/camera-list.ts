import type { PickedDevice } from '../../picker-data';
import { askStation, stationAsKept } from '../ask-station';

/** The list of cameras as it was last seen, for a service that cannot be reached. */
export interface Seen {
  /** Milliseconds since 1970. */
  at: number;
  devices: PickedDevice[];
}

/** The cameras of a Central Station, which this browser remembers. @param fresh asks the service now. @throws AskError */
export async function camerasOf(
  node: EditorNode,
  station: EditorNode,
  fresh: boolean,
): Promise<PickedDevice[]> {
  const asked = { fresh: String(fresh) };
  const answer = await askStation<{ devices: PickedDevice[] }>(
    node,
    'devices',
    stationAsKept(station),
    asked,
  );
  remember(placeOf(station), { at: Date.now(), devices: answer.devices });
  return answer.devices;
}

/** As they were when this browser last saw them. */
export function camerasSeen(station: EditorNode): Seen | undefined {
  try {
    return (JSON.parse(localStorage.getItem(placeOf(station)) ?? 'null') as Seen | null) ?? undefined;
  } catch {
    return undefined;
  }
}

/** The camera of this id, or the only one of this name. */
export function cameraIn(devices: readonly PickedDevice[], value: string): PickedDevice | undefined {
  const ofId = devices.find(({ id }) => id === value);
  if (ofId !== undefined) return ofId;
  const [only, ...others] = devices.filter(({ name }) => name === value);
  return others.length === 0 ? only : undefined;
}

function placeOf(station: EditorNode): string {
  return `rvm-devices-${station.id}`;
}

/** A list that is too long for the memory of the browser is not kept. */
function remember(place: string, seen: Seen): void {
  try {
    localStorage.setItem(place, JSON.stringify(seen));
  } catch {
    localStorage.removeItem(place);
  }
}
