import type { NodeAPI, NodeStatus } from 'node-red';
import { RvmError } from '../../lib/error';
import { unsetVariableError } from '../support/settings';
import { status, unsetStatus } from '../support/status';
import type { NotReceiving, Station } from './station';

/** What a node shows whose station cannot judge a message; undefined where it can, or is about to. */
export function lackStatus(RED: NodeAPI, station: Station): NodeStatus | undefined {
  const lack = station.notReceiving();
  switch (lack) {
    case undefined:
    case 'not-ready':
      return undefined;
    case 'no-secret':
      return status(RED, 'noSecret');
    case 'refused':
      return station.status();
    case 'not-configured':
      return status(RED, 'notConfigured');
    default:
      return unsetStatus(RED, lack.variables);
  }
}

const CURES: Record<Extract<NotReceiving, string>, string> = {
  'no-secret': 'has no Shared Secret Phrase to judge a message by: enter it in its settings.',
  'not-ready': 'is not in the sandbox yet: try again in a moment.',
  'not-configured': 'has no short name of its own: give each Central Station another.',
  refused: 'is not in the sandbox: its status says why.',
};

/** Why a station cannot judge a message, for the flow. */
export function lackError(station: Station): RvmError {
  const lack = station.notReceiving() ?? 'not-ready';
  if (typeof lack === 'object') return unsetVariableError(lack.variables);
  return new RvmError('CONFIG_MISSING', `The Central Station "${station.name}" ${CURES[lack]}`);
}
