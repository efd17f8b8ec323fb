import { setTimeout as delay } from 'node:timers/promises';
import type { TcpGate } from '../network/servers';
import type { PostgresServer } from '../postgres/postgres-server';
import { steadyNow } from '../time/event-loop';
import { EVENTS_OF_ALARM } from './records';
import type { Cluster, ClusterProcess } from './cluster';

/** Of the events that an instance takes at once. */
const FEW = 8;

/** What may happen to a cluster under way. All leave it complete again; times are milliseconds. */

/** An instance is killed while its flow has events. @returns time until others had those */
export async function killAndStart(cluster: Cluster, victim: ClusterProcess): Promise<number> {
  await cluster.load(victim);
  await victim.kill();
  const since = steadyNow();
  const held = cluster.heldBy(victim);
  cluster.sink.gone(victim.name);
  const taken = await cluster.takenOver(victim, held, since);
  await victim.start();
  return taken - since;
}

/**
 * An instance stands still for so long at least, and until others have what it had: from the moment on in which it has taken many
 * events at once, and handed over but a few of them.
 */
export async function freeze(cluster: Cluster, victim: ClusterProcess, time: number): Promise<void> {
  const { instances, sink } = cluster;
  for (const { name } of instances) sink.hold(name);
  await cluster.load(victim, victim.window);
  // Each alarm has several events, of which the first alone may go: as many alarms wait as it can take.
  await cluster.progress(EVENTS_OF_ALARM * victim.window);
  await victim.frozenAt(FEW, () => sink.letGo(victim.name));
  const since = steadyNow();
  for (const { name } of instances) if (name !== victim.name) sink.letGo(name);
  await Promise.all([delay(time), cluster.takenOver(victim, cluster.heldBy(victim), since)]);
  victim.resume();
  await goesOn(cluster, victim);
}

/** An instance is cut off from its database, by the gates to it, and from the balancer until others have what its flow had. @returns time until then */
export async function cutOff(
  cluster: Cluster,
  victim: ClusterProcess,
  database: readonly TcpGate[],
): Promise<number> {
  const gates = [...database, ...(victim.gate ? [victim.gate] : [])];
  await cluster.load(victim);
  for (const gate of gates) gate.cut();
  const since = steadyNow();
  const taken = await cluster.takenOver(victim, cluster.heldBy(victim), since);
  cluster.sink.letGo(victim.name);
  for (const gate of gates) gate.mend();
  await goesOn(cluster, victim);
  return taken - since;
}

/** An instance is ended as a service manager does. @returns time from its end until others had what its flow had; negative before */
export async function stop(cluster: Cluster, victim: ClusterProcess): Promise<number> {
  await cluster.load(victim);
  // What the flow has confirmed and not settled would come again, in good order.
  await cluster.settledBy(victim);
  const held = cluster.heldBy(victim);
  const since = steadyNow();
  await victim.stop();
  const stopped = steadyNow();
  cluster.sink.gone(victim.name);
  const taken = await cluster.takenOver(victim, held, since);
  return taken - stopped;
}

/** All instances die, and are started again after a while. */
export async function killAll(cluster: Cluster, time: number): Promise<void> {
  await Promise.all(cluster.instances.map((instance) => instance.kill()));
  for (const { name } of cluster.instances) cluster.sink.gone(name);
  await delay(time);
  await Promise.all(cluster.instances.map((instance) => instance.start()));
}

/** The database ends in good order, then at once. */
export async function restartTwice(server: PostgresServer): Promise<void> {
  for (const how of ['fast', 'immediate'] as const) {
    await server.end(how);
    await server.run();
  }
}

/** One of the connections to a database dies on the server's side, which then recovers. */
export async function killBackend(server: PostgresServer, database: string): Promise<void> {
  const [backend] = await server.sql(
    `SELECT pid FROM pg_stat_activity WHERE datname = '${database}' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1`,
  );
  if (backend !== undefined) process.kill(Number(backend.pid), 'SIGKILL');
}

function goesOn(cluster: Cluster, instance: ClusterProcess): Promise<void> {
  const since = steadyNow();
  const isBack = (): boolean => instance.handOvers.all().some(({ at }) => at > since);
  return cluster.until(isBack, `${instance.name} to go on`);
}
