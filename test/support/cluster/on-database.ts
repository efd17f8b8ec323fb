import { Cluster } from './cluster';
import type { InstanceOptions } from './instance';

type Plan = Omit<InstanceOptions, 'connection'>;

/** Instances that share the inbox in a database. */
export function sharing(connection: string, ...instances: (string | Plan)[]): InstanceOptions[] {
  return instances.map((each) => ({ ...(typeof each === 'string' ? { name: each } : each), connection }));
}

/** Runs a scenario with a cluster of its own, which is ended whatever comes. */
export async function withCluster(
  instances: readonly InstanceOptions[],
  scenario: (cluster: Cluster) => Promise<void>,
): Promise<void> {
  const cluster = await Cluster.start(instances);
  try {
    await scenario(cluster);
  } finally {
    await cluster.end();
  }
}
