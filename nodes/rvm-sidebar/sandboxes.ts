import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import type { JsonRecord } from '../../lib/json/json';
import { stationsOfCloud } from '../rvm-central-station/station';
import type { CloudNode } from '../rvm-cloud/connection';
import type { PendingRow } from './overview';

/**
 * Raises an alarm in every sandbox.
 * @throws RvmError CONFIG_MISSING where there is none, and those of its start
 */
export async function raiseAlarms(RED: NodeAPI): Promise<{ alarmIds: string[] }> {
  const clouds = sandboxClouds(RED);
  if (clouds.length === 0) {
    throw new RvmError('CONFIG_MISSING', 'No cloud is the sandbox: only that raises alarms on demand.');
  }
  const sandboxes = await Promise.all(clouds.map((cloud) => cloud.sandbox()));
  return { alarmIds: sandboxes.map((sandbox) => sandbox.raiseAlarm().alarmId) };
}

/** Pending sites of every running sandbox: opening the sidebar must not start one. */
export function pendingSites(RED: NodeAPI): PendingRow[] {
  return sandboxClouds(RED).flatMap((cloud) => pendingAt(cloud));
}

/**
 * Accepts a site, as the provider does at the service. Resolves after its cameras are listed, because a Central Station would
 * not list them before its next refresh.
 * @throws RvmError BAD_INPUT
 */
export async function acceptSite(RED: NodeAPI, { cloud: id, customer }: JsonRecord): Promise<void> {
  if (typeof id !== 'string' || typeof customer !== 'string') {
    throw new RvmError('BAD_INPUT', 'Name a cloud, and the customer whose site is accepted.');
  }
  const cloud = sandboxClouds(RED).find((known) => known.id === id);
  if (cloud === undefined || !pendingAt(cloud).some((row) => row.customer === customer)) {
    throw new RvmError('BAD_INPUT', 'This site is not pending any more: see what the sidebar shows now.');
  }
  cloud.runningSandbox()?.acceptCustomer(customer);
  // A station that fails now shows that in its status, and tries again later.
  await Promise.allSettled(stationsOfCloud(RED, id).map((station) => station.refreshCameras()));
}

function pendingAt(cloud: CloudNode): PendingRow[] {
  const customers = cloud.runningSandbox()?.customers() ?? [];
  return customers
    .filter(({ state }) => state === 'pending')
    .map(({ id, name, siteName }) => ({ cloud: cloud.id, customer: id, name, site: siteName }));
}

function sandboxClouds(RED: NodeAPI): CloudNode[] {
  const clouds: CloudNode[] = [];
  RED.nodes.eachNode(({ type, id }) => {
    const node = type === 'rvm-cloud' ? (RED.nodes.getNode(id) as CloudNode | null) : undefined;
    if (node?.isSandbox === true) clouds.push(node);
  });
  return clouds;
}
