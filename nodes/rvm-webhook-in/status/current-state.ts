import type { NodeAPI } from 'node-red';
import type { Inbox } from '../../../lib/inbox/inbox';
import type { UnknownIds } from '../../../lib/message/event-filter';
import type { UnseenProblems } from '../../../lib/webhook/endpoint-health';
import { lackStatus } from '../../rvm-central-station/station';
import type { InboxNode } from '../../rvm-inbox/inboxes';
import { hasSettler } from '../../support/flows';
import { textOf, type Properties, type UnsetVariables } from '../../support/settings';
import type { StatusName } from '../../support/status';
import type { WebhookServer } from '../../support/webhook-server';
import { termsOf } from '../delivery-terms';
import type { ServedStations } from '../stations/served-stations';
import type { WebhookState } from './webhook-status';

/** What a *webhook in* consists of, as far as its state is to be seen there. */
export interface StateSources {
  properties: Properties;
  fault: StatusName | undefined;
  unsetVariables: UnsetVariables | undefined;
  server: Pick<WebhookServer, 'status'>;
  stations: ServedStations;
  inboxNode: InboxNode | undefined;
  inbox: Pick<Inbox, 'state' | 'waiting'>;
  endpointId: string | undefined;
  samePhrase: { readonly names: string };
  filters: { readonly unknown: UnknownIds };
  problems: UnseenProblems;
  outputs: { readonly lastAt: Date | undefined };
}

/** How it is at the moment. */
export function currentState(RED: NodeAPI, sources: StateSources): WebhookState {
  const { properties, server, inboxNode, inbox, endpointId, problems } = sources;
  const stations = sources.stations.all;
  const isSettled = termsOf(properties).handledWhen === 'settled';
  return {
    fault: sources.fault,
    unsetVariables: sources.unsetVariables,
    serverStatus: server.status(),
    hasStations: stations.length > 0,
    stationStatus: stations.map((station) => lackStatus(RED, station)).find((lack) => lack !== undefined),
    mayJudge: sources.stations.mayJudge(),
    isDurable: inbox.state().durable !== false,
    isInboxRefused: inboxNode?.isRefused() ?? textOf(properties, 'inbox') !== '',
    lacksSettler: sources.stations.areRunning && isSettled && !hasSettler(),
    samePhrase: sources.samePhrase.names,
    unknownIds: sources.filters.unknown,
    isUnproven: problems.isUnproven,
    unseenProblems: problems.count,
    backlog: endpointId === undefined ? 0 : inbox.waiting(endpointId),
    offlineSince: stations.map((station) => station.offlineSince).find((since) => since !== undefined),
    lastAt: sources.outputs.lastAt,
    isSandbox: stations.some((station) => station.isSandbox),
  };
}
