import { randomUUID } from 'node:crypto';
import type { ProvenMessage } from '../../lib/message/record';
import { proven } from '../../test/inbox/samples';

export const ENDPOINT = ':/remote-monitoring/north';

/** Events of about 1 KiB, each with an id and an alarm of its own, as the receiver hands them to an inbox. */
export function sampleEvents(count: number): ProvenMessage[] {
  return Array.from({ length: count }, () =>
    proven(
      { alarmId: randomUUID(), comment: 'x'.repeat(300) },
      { endpointId: ENDPOINT, remoteAddress: '127.0.0.1' },
    ),
  );
}
