import type { NodeAPI, NodeStatus } from 'node-red';
import { WORDS_TOPIC, wordsIn, type SentWords } from '../support/status-words';

/** What the runtime tells of a node whose status has changed. */
interface StatusEvent {
  id: string;
  /** Absent where the node has ended. */
  status?: NodeStatus;
}

/**
 * Sends the words of each status with values to the editors, beside the status itself: Node-RED passes on its text, fill and
 * shape alone. They are kept for editors that come later, until the node shows something else.
 */
export function sendWords(RED: NodeAPI): void {
  const kept = new Set<string>();
  RED.events.on('node-status', ({ id, status }: StatusEvent) => {
    const words = status === undefined ? undefined : wordsIn(status);
    const topic = `${WORDS_TOPIC}/${id}`;
    if (words !== undefined) {
      kept.add(id);
      RED.comms.publish(topic, { text: status?.text ?? '', words } satisfies SentWords, true);
    } else if (kept.delete(id)) {
      RED.comms.publish(topic, {}, false);
    }
  });
}
