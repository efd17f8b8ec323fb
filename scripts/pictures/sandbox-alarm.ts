import type { NodeRed } from '../../test/support/node-red/node-red';

export interface SandboxAlarm {
  camera: string;
  eventName: string;
}

/** An intruder climbs the fence. The recording is available at once, and in H.264, which Chromium plays. */
export const FENCE: SandboxAlarm = { camera: 'SANDBOX North Fence 1', eventName: 'Person at the fence' };

/** Longer than a picture takes, so that no message of the end arrives meanwhile. */
const LASTS_SECONDS = 600;
const STARTED = /sandbox started: service on ([^,\s]+)/;

/** Raises an alarm in the sandbox of a Node-RED, once the sandbox has started. */
export async function raiseAlarm(nodeRed: NodeRed, alarm: SandboxAlarm = FENCE): Promise<void> {
  await nodeRed.logged(STARTED);
  const [, url = ''] = STARTED.exec(nodeRed.log) ?? [];
  const body = JSON.stringify({ ...alarm, seconds: LASTS_SECONDS });
  const response = await fetch(`${url}/sandbox/alarms`, { method: 'POST', body });
  if (!response.ok) throw new Error(`The sandbox raises no alarm: ${response.status}.`);
}
