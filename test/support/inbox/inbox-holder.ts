import { DurableInbox } from '../../../lib/inbox/durable-inbox';
import { proven, Taker } from '../../inbox/samples';

/**
 * A process that has an inbox open, to be killed: `<file> <spill folder> <file of the last sequence>`. The flow leaves all open. It takes
 * ids of messages to accept, and says what became of each; and tells what befell the inbox.
 */
const [file = '', spillFolder = '', lastSequence = ''] = process.argv.slice(2);
const DAY = 24 * 60 * 60 * 1000;
const inbox = new DurableInbox({
  file,
  spillFolder,
  lastSequence,
  keep: { keys: 7 * DAY, bodies: 30 * DAY },
  lookAgain: 100,
  log: (news) => process.send?.({ news }),
});
void new Taker(inbox, {
  handledWhen: 'settled',
  onIncident: (incident) => process.send?.({ incident }),
});
inbox.watch(() => process.send?.({ durable: inbox.state().durable }));
process.on('message', (messageId: string) => {
  inbox.accept(proven({}, { messageId })).then(
    ({ outcome }) => process.send?.({ messageId, outcome }),
    () => process.send?.({ messageId, outcome: 'cut' }),
  );
});
process.on('disconnect', () => process.exit());
