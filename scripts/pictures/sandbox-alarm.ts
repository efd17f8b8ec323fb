import type { NodeRed } from '../../test/support/node-red/node-red';

/** Where somebody climbs. Its recording is there at once, in H.264, which Chromium plays. */
const CAMERA = 'SANDBOX North Fence 1';
const STARTED = /sandbox started: service on ([^,\s]+)/;

/** Raises an alarm of a camera in the sandbox of a Node-RED, once that runs. */
export async function raiseAlarm(nodeRed: NodeRed): Promise<void> {
  await nodeRed.logged(STARTED);
  const [, url = ''] = STARTED.exec(nodeRed.log) ?? [];
  const body = JSON.stringify({ camera: CAMERA, eventName: 'Person at the fence', seconds: 120 });
  const response = await fetch(`${url}/sandbox/alarms`, { method: 'POST', body });
  if (!response.ok) throw new Error(`The sandbox raises no alarm: ${response.status}.`);
}
